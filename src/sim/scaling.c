#include "sim/scaling.h"

#include "graph/profiler.h"
#include "sim/unrecorded.h"
#include <stdlib.h>

/* In a rooted collective only some members' ends are decided by the transfer, so there both are scaled. */
static void find_decided(struct lumos_scaling *scaling) {
  const struct lumos_job *job = scaling->job;
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    bool decides = collective->rule != LUMOS_ROOTED && collective->rule != LUMOS_CUSTOM;
    for (uint32_t m = 0; decides && m < collective->member_count && lumos_scaling_takes_transfer(scaling, c); m++) {
      scaling->decided[job->members.items[collective->member_first + m]] = 1;
    }
  }
}

void lumos_scaling_open(struct lumos_scaling *scaling) {
  scaling->overflow = false;
  scaling->decided = lumos_allocate_zeroed(scaling->job->tasks.count, 1);
  find_decided(scaling);
}

void lumos_scaling_close(struct lumos_scaling *scaling) { free(scaling->decided); }

static int64_t scaled(struct lumos_scaling *scaling, int64_t time) {
  int64_t small = 0; /* division of 64 bits is far cheaper than of 128 */
  if (!__builtin_mul_overflow(time, scaling->millionths, &small) && small < INT64_MAX / 2) {
    return (small + LUMOS_SCALING_UNIT / 2) / LUMOS_SCALING_UNIT;
  }
  __int128 product = (__int128)time * scaling->millionths + LUMOS_SCALING_UNIT / 2;
  __int128 result = product / LUMOS_SCALING_UNIT;
  if (result >= LUMOS_SCALING_LIMIT) {
    scaling->overflow = true;
    return time;
  }
  return (int64_t)result;
}

/* `time`, of which `foreign` is not the task's own. */
static int64_t scaled_own(struct lumos_scaling *scaling, int64_t time, int64_t foreign) {
  int64_t own = time > foreign ? time - foreign : 0;
  int64_t result = time - own + scaled(scaling, own);
  scaling->overflow = scaling->overflow || result >= LUMOS_SCALING_LIMIT;
  return result;
}

static bool waits(const struct lumos_detail *detail) {
  return detail->wait.on != 0 && detail->event_op != LUMOS_EVENT_WAIT;
}

/* Of a wait of which nothing is known all may be waiting, as of one for what is not recorded. */
bool lumos_scaling_takes_residual(const struct lumos_scaling *scaling, uint32_t task) {
  const struct lumos_detail *detail = lumos_detail_of(scaling->job, &scaling->job->tasks.items[task]);
  return scaling->chosen[task] && waits(detail) && detail->wait.residual != LUMOS_ABSENT &&
         lumos_waits_unrecorded(scaling->job, task) == 0;
}

bool lumos_scaling_takes_dur(const struct lumos_scaling *scaling, uint32_t task) {
  const struct lumos_detail *detail = lumos_detail_of(scaling->job, &scaling->job->tasks.items[task]);
  return scaling->chosen[task] && !waits(detail) && !scaling->decided[task];
}

bool lumos_scaling_takes_transfer(const struct lumos_scaling *scaling, uint32_t collective) {
  const struct lumos_collective *of = &scaling->job->collectives.items[collective];
  return of->transfer != LUMOS_ABSENT && of->member_count > 0 &&
         scaling->chosen[scaling->job->members.items[of->member_first]];
}

static bool takes_lag(const struct lumos_scaling *scaling, uint32_t task) {
  return scaling->lags && scaling->chosen[task] && !lumos_on_stream(scaling->job, &scaling->job->tasks.items[task]);
}

struct lumos_times lumos_scaled_times(struct lumos_scaling *scaling, uint32_t task, struct lumos_times own) {
  const struct lumos_job *job = scaling->job;
  bool on_stream = lumos_on_stream(job, &job->tasks.items[task]);
  struct lumos_profiled profiled = on_stream ? (struct lumos_profiled){0, 0} : lumos_profiled_part(job, task);
  if (lumos_scaling_takes_dur(scaling, task)) {
    own.dur = scaled_own(scaling, own.dur, profiled.dur);
  }
  if (takes_lag(scaling, task)) {
    own.lag = scaled_own(scaling, own.lag, profiled.lag);
  }
  return own;
}

/* Between one thread's end and the other's start the host works too. */
int64_t lumos_scaled_handover(struct lumos_scaling *scaling, uint32_t task, int64_t lag) {
  return scaling->lags && scaling->chosen[task] && lag > 0 ? scaled(scaling, lag) : lag;
}

int64_t lumos_scaled_residual(struct lumos_scaling *scaling, uint32_t task, int64_t residual) {
  return lumos_scaling_takes_residual(scaling, task) ? scaled(scaling, residual) : residual;
}

int64_t lumos_scaled_transfer(struct lumos_scaling *scaling, uint32_t collective, int64_t transfer) {
  return lumos_scaling_takes_transfer(scaling, collective) ? scaled(scaling, transfer) : transfer;
}
