#include "sim/retiming.h"

#include "graph/resource.h"
#include "sim/clock.h"
#include "sim/room.h"
#include <stdlib.h>
#include <string.h>

static const int64_t never = INT64_MIN / 2; /* a lag can be added */

static int64_t later(int64_t left, int64_t right) { return left > right ? left : right; }

bool lumos_retiming_make(struct lumos_retiming *retiming, struct lumos_retiming *ordered, struct lumos_engine *engine,
                         const struct lumos_engine_order *asked, struct lumos_run *runs, struct lumos_error *error) {
  const struct lumos_job *job = engine->job;
  struct lumos_retiming *made[] = {retiming, ordered};
  struct lumos_bounds links = {0};
  struct lumos_order found = {0};
  const bool countable = 2 * (uint64_t)job->tasks.count + job->collectives.count < UINT32_MAX - 2;
  const bool noted = countable && (retiming != NULL || ordered != NULL);
  struct lumos_engine_order order = *asked;
  order.notes.links = noted ? &links : NULL;
  order.notes.order = noted ? &found : NULL;
  bool done = lumos_engine_do(engine, &order, runs, error);
  lumos_engine_rest(engine);
  for (int i = 0; i < 2; i++) {
    if (made[i] != NULL) {
      *made[i] = (struct lumos_retiming){.job = job, .ordered = i == 1};
    }
    if (made[i] != NULL && done && countable) {
      lumos_retiming_read(made[i], engine, &links, &found, runs, asked->nodes_only);
    }
  }
  lumos_vector_free(&links);
  lumos_vector_free(&found.touches);
  lumos_vector_free(&found.transfers);
  lumos_vector_free(&found.rooms);
  return done;
}

void lumos_retiming_free(struct lumos_retiming *retiming) {
  lumos_vector_free(&retiming->rows);
  lumos_vector_free(&retiming->lags);
  lumos_vector_free(&retiming->rooms);
  lumos_vector_free(&retiming->pairs);
  lumos_vector_free(&retiming->ends);
  lumos_vector_free(&retiming->followers);
  lumos_vector_free(&retiming->lengths[0]);
  lumos_vector_free(&retiming->lengths[1]);
  lumos_vector_free(&retiming->thread_lags);
  lumos_vector_free(&retiming->handovers);
  lumos_vector_free(&retiming->launches);
  lumos_vector_free(&retiming->waits);
  lumos_vector_free(&retiming->transfers);
  free(retiming->numbers);
  lumos_retiming_rest(retiming);
}

struct lumos_retiming lumos_retiming_beside(const struct lumos_retiming *retiming) {
  struct lumos_retiming beside = *retiming;
  beside.new_lags = beside.times = beside.clocks = NULL;
  beside.width = 0;
  return beside;
}

void lumos_retiming_rest(struct lumos_retiming *retiming) {
  free(retiming->new_lags);
  free(retiming->times);
  free(retiming->clocks);
  retiming->new_lags = retiming->times = retiming->clocks = NULL;
  retiming->width = 0;
}

/* ---- changes ---- */

/* Are clocks asked for? */
static bool takes_turns(const struct lumos_retiming *retiming) {
  if (retiming->ordered) {
    return false;
  }
  for (size_t i = 0; i < retiming->pairs.count; i++) {
    if (retiming->pairs.items[i].how != LUMOS_BEFORE_ON_THREAD) {
      return true;
    }
  }
  for (size_t i = 0; i < retiming->rows.count; i++) {
    if (retiming->rows.items[i].of == LUMOS_LINK_ROOM || retiming->rows.items[i].of == LUMOS_LINK_NEXT) {
      return true;
    }
  }
  return false;
}

void lumos_retiming_begin(struct lumos_retiming *retiming, unsigned width) {
  size_t rows = retiming->rows.count;
  if (retiming->width != width) {
    lumos_retiming_rest(retiming);
    retiming->width = width;
    retiming->new_lags = lumos_allocate(rows * width * sizeof *retiming->new_lags);
    retiming->times = lumos_allocate((size_t)retiming->instants * width * sizeof *retiming->times);
    size_t clocks = takes_turns(retiming) ? (size_t)retiming->instants * width * sizeof *retiming->clocks : 0;
    retiming->clocks = clocks == 0 ? NULL : lumos_allocate(clocks);
  }
  for (size_t i = 0; i < rows; i++) {
    for (unsigned w = 0; w < width; w++) {
      retiming->new_lags[i * width + w] = retiming->lags.items[i];
    }
  }
  memset(retiming->changed, 0, sizeof retiming->changed);
}

struct change {
  struct lumos_retiming *retiming;
  const struct lumos_engine *engine;
  const struct lumos_variant *variant;
  unsigned w;
};

static void add(struct change *change, uint32_t row, int64_t more) {
  struct lumos_retiming *retiming = change->retiming;
  retiming->new_lags[(size_t)row * retiming->width + change->w] += more;
  retiming->changed[change->w] = lumos_time_sum(retiming->changed[change->w], llabs(more));
}

static struct lumos_times new_times(const struct change *change, uint32_t task, struct lumos_times own) {
  return change->variant->times(change->variant->context, task, own);
}

static void change_length(struct change *change, uint32_t row, uint32_t task, int64_t own, int64_t dur) {
  if (dur != own) {
    add(change, row, lumos_engine_length(change->engine, task, dur) - lumos_engine_length(change->engine, task, own));
  }
}

static void change_lag(struct change *change, uint32_t row, uint32_t task, int64_t own, int64_t lag) {
  if (lag != own) {
    add(change, row, lumos_engine_lag(change->engine, task, lag) - lumos_engine_lag(change->engine, task, own));
  }
}

static void change_lengths(struct change *change, const struct lumos_row_parts *lengths) {
  for (size_t i = 0; i < lengths->count; i++) {
    const struct lumos_row_part *part = &lengths->items[i];
    struct lumos_times own = lumos_own_times(change->retiming->job, part->of);
    change_length(change, part->row, part->of, own.dur, new_times(change, part->of, own).dur);
  }
}

static void change_threads(struct change *change) {
  const struct lumos_retiming *retiming = change->retiming;
  change_lengths(change, &retiming->lengths[0]);
  for (size_t i = 0; i < retiming->thread_lags.count; i++) {
    const struct lumos_row_part *part = &retiming->thread_lags.items[i];
    struct lumos_times own = lumos_own_times(retiming->job, part->of);
    change_lag(change, part->row, part->of, own.lag, new_times(change, part->of, own).lag);
  }
  for (size_t i = 0; i < retiming->followers.count; i++) {
    const struct lumos_row_followers *followers = &retiming->followers.items[i];
    for (uint32_t t = followers->first; t < followers->end; t++) {
      struct lumos_times own = lumos_own_times(retiming->job, t), times = new_times(change, t, own);
      change_length(change, followers->row, t, own.dur, times.dur);
      change_lag(change, followers->row, t, own.lag, times.lag);
    }
  }
}

static void change_handovers(struct change *change) {
  const struct lumos_retiming *retiming = change->retiming;
  for (size_t i = 0; i < retiming->handovers.count; i++) {
    const struct lumos_row_part *part = &retiming->handovers.items[i];
    int64_t residual = lumos_timing_of(retiming->job, part->of)->residual;
    int64_t own = retiming->lags.items[part->row] - (residual == LUMOS_ABSENT ? 0 : residual);
    add(change, part->row, change->variant->handover(change->variant->context, part->of, own) - own);
  }
}

/* Of something whose own time is one that the job holds. */
static void change_parts(struct change *change, const struct lumos_row_parts *parts,
                         int64_t (*other)(void *context, uint32_t of, int64_t own),
                         int64_t (*own_of)(const struct lumos_job *job, uint32_t of)) {
  for (size_t i = 0; i < parts->count && other != NULL; i++) {
    const struct lumos_row_part *part = &parts->items[i];
    int64_t own = own_of(change->retiming->job, part->of);
    add(change, part->row, other(change->variant->context, part->of, own) - own);
  }
}

static int64_t own_residual(const struct lumos_job *job, uint32_t task) {
  return job->details.items[job->tasks.items[task].detail].wait.residual;
}

static int64_t own_launch(const struct lumos_job *job, uint32_t task) {
  int64_t lag = lumos_timing_of(job, task)->launch_lag;
  return lag == LUMOS_ABSENT ? 0 : lag;
}

static int64_t own_transfer(const struct lumos_job *job, uint32_t collective) {
  return job->collectives.items[collective].transfer;
}

void lumos_retiming_change(struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                           const struct lumos_variant *variant) {
  struct change change = {.retiming = retiming, .engine = engine, .variant = variant, .w = w};
  if (variant->times != NULL && variant->threads) {
    change_threads(&change);
  }
  if (variant->times != NULL && variant->streams) {
    change_lengths(&change, &retiming->lengths[1]);
  }
  if (variant->handover != NULL) {
    change_handovers(&change);
  }
  change_parts(&change, &retiming->waits, variant->residual, own_residual);
  change_parts(&change, &retiming->launches, variant->launch, own_launch);
  change_parts(&change, &retiming->transfers, variant->transfer, own_transfer);
  if (variant->boundary != NULL || variant->added_count > 0) { /* no row tells of them */
    retiming->changed[w] = LUMOS_TIME_LIMIT;
  }
}

/* ---- runs ---- */

/* The width is the retiming's, told as a constant so that loops over it are unrolled. */
#define INLINE static inline __attribute__((always_inline))

struct pass {
  const struct lumos_retiming *retiming;
  unsigned kept;
  size_t room; /* the next row's */
};

INLINE void pass_on(const struct pass *pass, unsigned width, const struct lumos_row *row, const int64_t *lags) {
  const int64_t *from = pass->retiming->times + (size_t)row->src * width;
  int64_t *to = pass->retiming->times + (size_t)row->dst * width;
  for (unsigned w = 0; w < width; w++) {
    to[w] = later(to[w], from[w] + lags[w]);
  }
}

INLINE void pass_clock_on(const struct pass *pass, unsigned width, const struct lumos_row *row) {
  const int64_t *times = pass->retiming->times + (size_t)row->src * width;
  const int64_t *from = pass->retiming->clocks + (size_t)row->src * width;
  int64_t *to = pass->retiming->clocks + (size_t)row->dst * width;
  for (unsigned w = 0; w < width; w++) {
    int64_t own = row->event ? times[w] : never;
    to[w] = later(to[w], later(from[w], own));
  }
}

/* What asks for clocks has them: then they are never NULL. */
INLINE const int64_t *clocks_of(const struct lumos_retiming *retiming, unsigned width, uint32_t instant) {
  const int64_t *clocks = retiming->clocks == NULL ? retiming->times : retiming->clocks;
  return clocks + (size_t)instant * width;
}

/* What a run says of the stream that occupies the device holds as long as its tasks stand so: one that runs when `dst`
 * is ready, whose end is known when something from which it follows has been taken, no later than its clock; one that
 * comes soon, and is known to; or one that is over. What is ready before it is known of looks when its clock says. */
INLINE void make_room(struct pass *pass, unsigned width, const struct lumos_row *row, const int64_t *lags) {
  struct lumos_room room = {0, 0};
  if (row->of == LUMOS_LINK_ROOM) {
    room = pass->retiming->rooms.items[pass->room++];
  }
  const int64_t *time = pass->retiming->times + (size_t)row->src * width;
  const int64_t *clock = clocks_of(pass->retiming, width, row->src);
  const int64_t *start = pass->retiming->times + (size_t)row->occupant * width;
  const int64_t *looks = clocks_of(pass->retiming, width, row->dst);
  int64_t *to = pass->retiming->times + (size_t)row->dst * width;
  for (unsigned w = 0; w < width; w++) {
    bool known = clock[w] < to[w] && time[w] > later(looks[w], to[w]);
    bool same = row->of == LUMOS_LINK_NEXT   ? known && time[w] <= to[w] + LUMOS_QUEUE_GAP
                : row->of == LUMOS_LINK_OVER ? start[w] < to[w] && time[w] <= to[w]
                                             : known && start[w] < to[w];
    pass->kept &= same || pass->retiming->ordered ? ~0U : ~(1U << w);
    int64_t lag = row->of == LUMOS_LINK_ROOM ? lumos_room_lag(room, time[w] - start[w]) : lags[w];
    to[w] = row->of == LUMOS_LINK_OVER ? to[w] : later(to[w], time[w] + lag);
  }
}

INLINE void pass_all(struct pass *pass, unsigned width) {
  const struct lumos_retiming *retiming = pass->retiming;
  for (size_t i = 0; i < retiming->rows.count; i++) {
    const struct lumos_row *row = &retiming->rows.items[i];
    if (row->of == LUMOS_LINK_ROOM || row->of == LUMOS_LINK_NEXT || row->of == LUMOS_LINK_OVER) {
      make_room(pass, width, row, retiming->new_lags + i * width);
      continue;
    }
    if (row->of != LUMOS_LINK_CAUSE) {
      pass_on(pass, width, row, retiming->new_lags + i * width);
    }
    if (retiming->clocks != NULL) {
      pass_clock_on(pass, width, row);
    }
  }
}

INLINE void check_pair(struct pass *pass, unsigned width, const struct lumos_row_pair *pair) {
  const int64_t *first = pass->retiming->times + (size_t)pair->first * width;
  const int64_t *clock = pair->how == LUMOS_BEFORE_ON_THREAD ? first : clocks_of(pass->retiming, width, pair->first);
  const int64_t *then = pass->retiming->times + (size_t)pair->then * width;
  for (unsigned w = 0; w < width; w++) {
    int64_t gap = pair->how == LUMOS_BEFORE_BY_GAP ? LUMOS_QUEUE_GAP : 0;
    bool before = pair->how == LUMOS_BEFORE_ON_THREAD ? first[w] <= then[w] : later(first[w] + gap, clock[w]) < then[w];
    pass->kept &= before ? ~0U : ~(1U << w);
  }
}

INLINE unsigned run(struct lumos_retiming *retiming, unsigned width) {
  struct pass pass = {.retiming = retiming, .kept = ~0U};
  for (size_t i = 0; i < (size_t)retiming->instants * width; i++) {
    retiming->times[i] = i < width ? 0 : never;
  }
  for (size_t i = 0; retiming->clocks != NULL && i < (size_t)retiming->instants * width; i++) {
    retiming->clocks[i] = never;
  }
  pass_all(&pass, width);
  for (size_t i = 0; i < retiming->pairs.count; i++) {
    check_pair(&pass, width, &retiming->pairs.items[i]);
  }
  for (unsigned w = 0; w < width; w++) { /* far from where the engine would say that a time is too large */
    bool near = retiming->latest < LUMOS_TIME_LIMIT / 4 && retiming->changed[w] < LUMOS_TIME_LIMIT / 4;
    pass.kept &= near ? ~0U : ~(1U << w);
  }
  return pass.kept;
}

unsigned lumos_retiming_run(struct lumos_retiming *retiming) {
  return retiming->width == 1 ? run(retiming, 1) : run(retiming, LUMOS_RETIMED);
}

void lumos_retiming_ends(const struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                         struct lumos_run *runs) {
  for (size_t i = 0; i < retiming->ends.count; i++) {
    const struct lumos_row_end *end = &retiming->ends.items[i];
    runs[engine->node_of[end->task]] =
        (struct lumos_run){retiming->times[(size_t)end->instant * retiming->width + w], 0};
  }
}

INLINE struct lumos_run run_of(const struct lumos_retiming *retiming, uint32_t node, unsigned w) {
  const uint32_t *numbers = &retiming->numbers[2 * (size_t)node];
  int64_t start = retiming->times[(size_t)numbers[0] * retiming->width + w];
  return (struct lumos_run){start, retiming->times[(size_t)numbers[1] * retiming->width + w] - start};
}

void lumos_retiming_runs(const struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                         const struct lumos_variant *variant, struct lumos_run *runs) {
  for (uint32_t n = 0; n < engine->node_count; n++) {
    runs[engine->nodes[n]] = run_of(retiming, n, w);
  }
  lumos_followers_fill(engine, variant, runs);
}

void lumos_retiming_nodes(const struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                          struct lumos_run *runs) {
  for (uint32_t n = 0; n < engine->node_count; n++) {
    runs[n] = run_of(retiming, n, w);
  }
}
