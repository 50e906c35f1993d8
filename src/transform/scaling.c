#include "transform/scaling.h"

#include "graph/profiler.h"
#include <stdlib.h>

static const int64_t time_limit = (int64_t)1 << 53;

enum trait { DECIDED = 1, COVERED = 2 };

static int by_task(const void *left_item, const void *right_item) {
  const struct lumos_covered *left = left_item;
  const struct lumos_covered *right = right_item;
  return (left->task > right->task) - (left->task < right->task);
}

/* Of each task the longest of either: of the lag before it, which is another thread's time, and of a call in a full
 * queue. */
static void find_covered(struct lumos_scaling *scaling) {
  const struct lumos_job *job = scaling->job;
  LUMOS_VECTOR(struct lumos_covered) found = {0};
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->covers != LUMOS_ABSENT && dep->covers > 0) {
      bool call = dep->kind == LUMOS_QUEUE;
      lumos_vector_push(&found, ((struct lumos_covered){dep->dst, call ? dep->covers : 0, call ? 0 : dep->covers}));
      scaling->traits[dep->dst] |= COVERED;
    }
  }
  if (found.count > 0) {
    qsort(found.items, found.count, sizeof *found.items, by_task);
  }
  size_t kept = 0;
  for (size_t i = 0; i < found.count; i++) {
    struct lumos_covered *last = kept == 0 ? NULL : &found.items[kept - 1];
    const struct lumos_covered one = found.items[i];
    if (last == NULL || last->task != one.task) {
      found.items[kept++] = one;
    } else {
      last->call = one.call > last->call ? one.call : last->call;
      last->lag = one.lag > last->lag ? one.lag : last->lag;
    }
  }
  scaling->covered = found.items;
  scaling->covered_count = kept;
}

static struct lumos_covered covered(const struct lumos_scaling *scaling, uint32_t task) {
  const struct lumos_covered key = {.task = task};
  return (scaling->traits[task] & COVERED) == 0
             ? key
             : *(const struct lumos_covered *)bsearch(&key, scaling->covered, scaling->covered_count, sizeof key,
                                                      by_task);
}

/* In a rooted collective only some members' ends are decided by the transfer, so there both are scaled. */
static void find_decided(struct lumos_scaling *scaling) {
  const struct lumos_job *job = scaling->job;
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    bool decides = collective->rule != LUMOS_ROOTED && collective->rule != LUMOS_CUSTOM;
    for (uint32_t m = 0; decides && m < collective->member_count && lumos_scaling_takes_transfer(scaling, c); m++) {
      scaling->traits[job->members.items[collective->member_first + m]] |= DECIDED;
    }
  }
}

void lumos_scaling_open(struct lumos_scaling *scaling) {
  scaling->overflow = false;
  scaling->traits = lumos_allocate_zeroed(scaling->job->tasks.count, 1);
  find_covered(scaling);
  find_decided(scaling);
}

void lumos_scaling_close(struct lumos_scaling *scaling) {
  free(scaling->traits);
  free(scaling->covered);
}

static int64_t scaled(struct lumos_scaling *scaling, int64_t time) {
  int64_t small = 0; /* division of 64 bits is far cheaper than of 128 */
  if (!__builtin_mul_overflow(time, scaling->millionths, &small) && small < INT64_MAX / 2) {
    return (small + LUMOS_SCALING_UNIT / 2) / LUMOS_SCALING_UNIT;
  }
  __int128 product = (__int128)time * scaling->millionths + LUMOS_SCALING_UNIT / 2;
  __int128 result = product / LUMOS_SCALING_UNIT;
  if (result >= time_limit) {
    scaling->overflow = true;
    return time;
  }
  return (int64_t)result;
}

/* `time`, of which `foreign` is not the task's own. */
static int64_t scaled_own(struct lumos_scaling *scaling, int64_t time, int64_t foreign) {
  int64_t own = time > foreign ? time - foreign : 0;
  int64_t result = time - own + scaled(scaling, own);
  scaling->overflow = scaling->overflow || result >= time_limit;
  return result;
}

static bool waits(const struct lumos_detail *detail) {
  return detail->wait.on != 0 && detail->event_op != LUMOS_EVENT_WAIT;
}

/* Of a wait of which nothing is known all may be waiting. */
bool lumos_scaling_takes_residual(const struct lumos_scaling *scaling, uint32_t task) {
  const struct lumos_detail *detail = lumos_detail_of(scaling->job, &scaling->job->tasks.items[task]);
  return scaling->chosen[task] && waits(detail) && detail->wait.residual != LUMOS_ABSENT;
}

bool lumos_scaling_takes_dur(const struct lumos_scaling *scaling, uint32_t task) {
  const struct lumos_detail *detail = lumos_detail_of(scaling->job, &scaling->job->tasks.items[task]);
  return scaling->chosen[task] && !waits(detail) && (scaling->traits[task] & DECIDED) == 0;
}

bool lumos_scaling_takes_transfer(const struct lumos_scaling *scaling, uint32_t collective) {
  const struct lumos_collective *of = &scaling->job->collectives.items[collective];
  return of->transfer != LUMOS_ABSENT && of->member_count > 0 &&
         scaling->chosen[scaling->job->members.items[of->member_first]];
}

static int64_t scaled_dur(struct lumos_scaling *scaling, uint32_t task, int64_t profiled) {
  int64_t dur = scaling->job->tasks.items[task].dur;
  bool takes = lumos_scaling_takes_dur(scaling, task);
  return takes ? scaled_own(scaling, dur, covered(scaling, task).call + profiled) : dur;
}

static bool takes_lag(const struct lumos_scaling *scaling, uint32_t task) {
  return scaling->lags && scaling->chosen[task] && !lumos_on_stream(scaling->job, &scaling->job->tasks.items[task]);
}

static int64_t scaled_lag(struct lumos_scaling *scaling, uint32_t task, int64_t profiled) {
  int64_t lag = scaling->job->tasks.items[task].lag, foreign = covered(scaling, task).lag + profiled;
  return lag > foreign ? scaled_own(scaling, lag, foreign) : lag;
}

static struct lumos_profiled profiled_part(const struct lumos_scaling *scaling, uint32_t task) {
  bool on_stream = lumos_on_stream(scaling->job, &scaling->job->tasks.items[task]);
  return on_stream ? (struct lumos_profiled){0, 0} : lumos_profiled_part(scaling->job, task);
}

int64_t lumos_scaled_dur(struct lumos_scaling *scaling, uint32_t task) {
  return scaled_dur(scaling, task, profiled_part(scaling, task).dur);
}

int64_t lumos_scaled_lag(struct lumos_scaling *scaling, uint32_t task) {
  bool takes = takes_lag(scaling, task);
  return takes ? scaled_lag(scaling, task, profiled_part(scaling, task).lag) : scaling->job->tasks.items[task].lag;
}

struct lumos_scaled_times lumos_scaled_times(struct lumos_scaling *scaling, uint32_t task) {
  struct lumos_profiled part = profiled_part(scaling, task);
  struct lumos_scaled_times times = {scaled_dur(scaling, task, part.dur), scaling->job->tasks.items[task].lag};
  if (takes_lag(scaling, task)) {
    times.lag = scaled_lag(scaling, task, part.lag);
  }
  return times;
}

/* Between one thread's end and the other's start the host works too. */
int64_t lumos_scaled_handover(struct lumos_scaling *scaling, const struct lumos_dep *dep) {
  bool taken = scaling->lags && dep->kind == LUMOS_HANDOVER && scaling->chosen[dep->dst] && dep->lag > 0;
  return taken ? scaled(scaling, dep->lag) : dep->lag;
}

int64_t lumos_scaled_residual(struct lumos_scaling *scaling, uint32_t task) {
  int64_t residual = lumos_detail_of(scaling->job, &scaling->job->tasks.items[task])->wait.residual;
  return lumos_scaling_takes_residual(scaling, task) ? scaled(scaling, residual) : residual;
}

int64_t lumos_scaled_transfer(struct lumos_scaling *scaling, uint32_t collective) {
  int64_t transfer = scaling->job->collectives.items[collective].transfer;
  return lumos_scaling_takes_transfer(scaling, collective) ? scaled(scaling, transfer) : transfer;
}
