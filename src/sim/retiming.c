#include "sim/retiming.h"

#include "sim/clock.h"
#include "sim/less.h"
#include "transform/scaling.h"
#include <stdlib.h>
#include <string.h>

enum { W = LUMOS_RETIMED };

static const int64_t never = INT64_MIN / 2; /* a lag can be added */

static int64_t later(int64_t left, int64_t right) { return left > right ? left : right; }

bool lumos_retiming_make(struct lumos_retiming *retiming, struct lumos_engine *engine,
                         const struct lumos_engine_order *asked, struct lumos_run *runs, struct lumos_error *error) {
  const struct lumos_job *job = engine->prepared;
  struct lumos_links links = {0};
  struct lumos_order found = {0};
  const bool countable = 2 * (uint64_t)job->tasks.count + job->collectives.count < UINT32_MAX - 2;
  struct lumos_engine_order order = *asked;
  order.notes.links = countable ? &links : NULL;
  order.notes.order = countable ? &found : NULL;
  *retiming = (struct lumos_retiming){.job = job};
  bool done = lumos_engine_do(engine, &order, runs, error);
  if (done && countable) {
    lumos_retiming_read(retiming, &links, &found, runs);
  }
  lumos_vector_free(&links);
  lumos_vector_free(&found.touches);
  lumos_vector_free(&found.transfers);
  return done;
}

void lumos_retiming_free(struct lumos_retiming *retiming) {
  lumos_vector_free(&retiming->rows);
  lumos_vector_free(&retiming->lags);
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
  lumos_retiming_rest(retiming);
}

void lumos_retiming_rest(struct lumos_retiming *retiming) {
  free(retiming->new_lags);
  free(retiming->times);
  free(retiming->clocks);
  retiming->new_lags = retiming->times = retiming->clocks = NULL;
}

/* ---- changes ---- */

/* Are clocks asked for? */
static bool takes_turns(const struct lumos_retiming *retiming) {
  for (size_t i = 0; i < retiming->pairs.count; i++) {
    if (retiming->pairs.items[i].how == LUMOS_BEFORE_IN_TURN) {
      return true;
    }
  }
  for (size_t i = 0; i < retiming->rows.count; i++) {
    if (retiming->rows.items[i].of == LUMOS_LINK_ROOM) {
      return true;
    }
  }
  return false;
}

void lumos_retiming_begin(struct lumos_retiming *retiming) {
  size_t rows = retiming->rows.count;
  if (retiming->new_lags == NULL) {
    retiming->new_lags = lumos_allocate(rows * W * sizeof *retiming->new_lags);
    retiming->times = lumos_allocate((size_t)retiming->instants * W * sizeof *retiming->times);
    size_t clocks = takes_turns(retiming) ? (size_t)retiming->instants * W * sizeof *retiming->clocks : 0;
    retiming->clocks = clocks == 0 ? NULL : lumos_allocate(clocks);
  }
  for (size_t i = 0; i < rows; i++) {
    for (unsigned w = 0; w < W; w++) {
      retiming->new_lags[i * W + w] = retiming->lags.items[i];
    }
  }
  memset(retiming->changed, 0, sizeof retiming->changed);
}

struct change {
  struct lumos_retiming *retiming;
  const struct lumos_engine *engine;
  unsigned w;
  int64_t millionths;
  const struct lumos_times *usual;
  struct lumos_scaling scaling;
};

static void add(struct change *change, const struct lumos_row_part *part, int64_t more) {
  int64_t *changed = &change->retiming->changed[change->w];
  change->retiming->new_lags[(size_t)part->row * W + change->w] += more;
  *changed = lumos_time_sum(*changed, llabs(more));
}

/* Division of 64 bits is far cheaper than of 128. */
static int64_t part_of(int64_t time, int64_t millionths) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(time, millionths, &product)) {
    return product / LUMOS_SCALING_UNIT;
  }
  return (int64_t)((__int128)time * millionths / LUMOS_SCALING_UNIT);
}

static void set_length(struct change *change, const struct lumos_row_part *part, int64_t dur) {
  int64_t old = lumos_own_times(change->retiming->job, part->of).dur;
  if (dur != old) {
    add(change, part,
        lumos_engine_length(change->engine, part->of, dur) - lumos_engine_length(change->engine, part->of, old));
  }
}

static void set_lag(struct change *change, const struct lumos_row_part *part, int64_t lag) {
  int64_t old = lumos_own_times(change->retiming->job, part->of).lag;
  if (lag != old) {
    add(change, part,
        lumos_engine_lag(change->engine, part->of, lag) - lumos_engine_lag(change->engine, part->of, old));
  }
}

static void shorten_launches(struct change *change) {
  const struct lumos_retiming *retiming = change->retiming;
  for (size_t i = 0; i < retiming->launches.count; i++) {
    const struct lumos_row_part *part = &retiming->launches.items[i];
    int64_t lag = lumos_timing_of(retiming->job, part->of)->launch_lag;
    if (lag > 0) {
      add(change, part, part_of(lag, change->millionths) - lag);
    }
  }
}

static struct lumos_times even(struct change *change, uint32_t t) {
  struct lumos_times own = lumos_own_times(change->retiming->job, t), usual = change->usual[t];
  return (struct lumos_times){usual.dur + part_of(own.dur - usual.dur, change->millionths),
                              usual.lag + part_of(own.lag - usual.lag, change->millionths)};
}

static struct lumos_times scale(struct change *change, uint32_t t) { return lumos_scaled_times(&change->scaling, t); }

typedef struct lumos_times new_times(struct change *change, uint32_t task);

static void change_lengths(struct change *change, const struct lumos_row_parts *lengths, new_times *times) {
  for (size_t i = 0; i < lengths->count; i++) {
    set_length(change, &lengths->items[i], times(change, lengths->items[i].of).dur);
  }
}

static void change_threads(struct change *change, new_times *times) {
  const struct lumos_retiming *retiming = change->retiming;
  change_lengths(change, &retiming->lengths[0], times);
  for (size_t i = 0; i < retiming->thread_lags.count; i++) {
    const struct lumos_row_part *part = &retiming->thread_lags.items[i];
    set_lag(change, part, times(change, part->of).lag);
  }
  for (size_t i = 0; i < retiming->followers.count; i++) {
    const struct lumos_row_followers *followers = &retiming->followers.items[i];
    struct lumos_row_part part = {.row = followers->row};
    for (part.of = followers->first; part.of < followers->end; part.of++) {
      struct lumos_times own = times(change, part.of);
      set_length(change, &part, own.dur);
      set_lag(change, &part, own.lag);
    }
  }
}

static void scale_host(struct change *change) {
  const struct lumos_retiming *retiming = change->retiming;
  const struct lumos_task *tasks = retiming->job->tasks.items;
  change_threads(change, scale);
  for (size_t i = 0; i < retiming->handovers.count; i++) {
    const struct lumos_row_part *part = &retiming->handovers.items[i];
    int64_t residual = lumos_timing_of(retiming->job, part->of)->residual;
    int64_t lag = retiming->lags.items[part->row] - (residual == LUMOS_ABSENT ? 0 : residual);
    struct lumos_dep dep = {.kind = LUMOS_HANDOVER, .dst = part->of, .lag = lag};
    add(change, part, lumos_scaled_handover(&change->scaling, &dep) - lag);
  }
  for (size_t i = 0; i < retiming->waits.count; i++) {
    const struct lumos_row_part *part = &retiming->waits.items[i];
    int64_t residual = retiming->job->details.items[tasks[part->of].detail].wait.residual;
    add(change, part, lumos_scaled_residual(&change->scaling, part->of) - residual);
  }
}

static void scale_transfers(struct change *change) {
  const struct lumos_retiming *retiming = change->retiming;
  for (size_t i = 0; i < retiming->transfers.count; i++) {
    const struct lumos_row_part *part = &retiming->transfers.items[i];
    int64_t transfer = retiming->job->collectives.items[part->of].transfer;
    add(change, part, lumos_scaled_transfer(&change->scaling, part->of) - transfer);
  }
}

void lumos_retiming_change(struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                           const struct lumos_work *work, int64_t millionths, const struct lumos_times *usual,
                           uint8_t *chosen) {
  bool host = work->subject == LUMOS_WORK_HOST;
  struct change change = {.retiming = retiming, .engine = engine, .w = w, .millionths = millionths, .usual = usual};
  if (work->subject == LUMOS_WORK_LAUNCHES) {
    shorten_launches(&change);
    return;
  }
  if (work->subject == LUMOS_WORK_STRAGGLERS) {
    change_threads(&change, even);
    change_lengths(&change, &retiming->lengths[1], even);
    return;
  }
  bool transfers = lumos_less_choose(retiming->job, work, chosen);
  change.scaling =
      (struct lumos_scaling){.job = retiming->job, .millionths = millionths, .chosen = chosen, .lags = host};
  lumos_scaling_open(&change.scaling);
  if (host) {
    scale_host(&change);
  }
  change_lengths(&change, &retiming->lengths[1], scale);
  if (transfers) {
    scale_transfers(&change);
  }
  lumos_scaling_close(&change.scaling);
}

/* ---- runs ---- */

struct pass {
  const struct lumos_retiming *retiming;
  unsigned kept;
};

static void pass_on(const struct pass *pass, const struct lumos_row *row, const int64_t *lags) {
  const int64_t *from = pass->retiming->times + (size_t)row->src * W;
  int64_t *to = pass->retiming->times + (size_t)row->dst * W;
  for (unsigned w = 0; w < W; w++) {
    to[w] = later(to[w], from[w] + lags[w]);
  }
}

static void pass_clock_on(const struct pass *pass, const struct lumos_row *row) {
  const int64_t *times = pass->retiming->times + (size_t)row->src * W;
  const int64_t *from = pass->retiming->clocks + (size_t)row->src * W;
  int64_t *to = pass->retiming->clocks + (size_t)row->dst * W;
  for (unsigned w = 0; w < W; w++) {
    int64_t own = row->event ? times[w] : never;
    to[w] = later(to[w], later(from[w], own));
  }
}

/* What asks for clocks has them: then they are never NULL. */
static const int64_t *clocks_of(const struct lumos_retiming *retiming, uint32_t instant) {
  const int64_t *clocks = retiming->clocks == NULL ? retiming->times : retiming->clocks;
  return clocks + (size_t)instant * W;
}

/* The occupant's end is known when something from which it follows has been taken, no later than its clock. */
static void make_room(struct pass *pass, const struct lumos_row *row, const int64_t *lags) {
  const int64_t *end = pass->retiming->times + (size_t)row->src * W;
  const int64_t *clock = clocks_of(pass->retiming, row->src);
  const int64_t *start = pass->retiming->times + (size_t)row->occupant * W;
  int64_t *to = pass->retiming->times + (size_t)row->dst * W;
  for (unsigned w = 0; w < W; w++) {
    if (start[w] <= to[w]) {
      pass->kept &= clock[w] < to[w] ? ~0U : ~(1U << w);
      to[w] = later(to[w], end[w] + lags[w]);
    }
  }
}

static void pass_all(struct pass *pass) {
  const struct lumos_retiming *retiming = pass->retiming;
  for (size_t i = 0; i < retiming->rows.count; i++) {
    const struct lumos_row *row = &retiming->rows.items[i];
    if (row->of == LUMOS_LINK_ROOM) {
      make_room(pass, row, retiming->new_lags + i * W);
      continue;
    }
    if (row->of != LUMOS_LINK_CAUSE) {
      pass_on(pass, row, retiming->new_lags + i * W);
    }
    if (retiming->clocks != NULL) {
      pass_clock_on(pass, row);
    }
  }
}

static void check_pair(struct pass *pass, const struct lumos_row_pair *pair) {
  const int64_t *first = pass->retiming->times + (size_t)pair->first * W;
  const int64_t *clock = pair->how == LUMOS_BEFORE_IN_TURN ? clocks_of(pass->retiming, pair->first) : first;
  const int64_t *then = pass->retiming->times + (size_t)pair->then * W;
  for (unsigned w = 0; w < W; w++) {
    bool before = pair->how == LUMOS_BEFORE_ON_THREAD ? first[w] <= then[w] : later(first[w], clock[w]) < then[w];
    pass->kept &= before ? ~0U : ~(1U << w);
  }
}

unsigned lumos_retiming_run(struct lumos_retiming *retiming) {
  struct pass pass = {.retiming = retiming, .kept = ~0U};
  for (size_t i = 0; i < (size_t)retiming->instants * W; i++) {
    retiming->times[i] = i < W ? 0 : never;
  }
  for (size_t i = 0; retiming->clocks != NULL && i < (size_t)retiming->instants * W; i++) {
    retiming->clocks[i] = never;
  }
  pass_all(&pass);
  for (size_t i = 0; i < retiming->pairs.count; i++) {
    check_pair(&pass, &retiming->pairs.items[i]);
  }
  for (unsigned w = 0; w < W; w++) { /* far from where the engine would say that a time is too large */
    bool near = retiming->latest < LUMOS_TIME_LIMIT / 4 && retiming->changed[w] < LUMOS_TIME_LIMIT / 4;
    pass.kept &= near ? ~0U : ~(1U << w);
  }
  return pass.kept;
}

void lumos_retiming_ends(const struct lumos_retiming *retiming, unsigned w, struct lumos_run *runs) {
  for (size_t i = 0; i < retiming->ends.count; i++) {
    const struct lumos_row_end *end = &retiming->ends.items[i];
    runs[end->task] = (struct lumos_run){retiming->times[(size_t)end->instant * W + w], 0};
  }
}
