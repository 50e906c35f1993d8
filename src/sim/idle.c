/* Causes of idle time, found by walking dependencies back. What is not recorded of a rank is not idle; of a stream,
 * that and what its own next task waits for outside of the recording.
 *
 * An idle instant belongs to the task whose start ends the idle stretch: of the rank the first that starts on any of
 * its streams, of a stream its next one. The chain of what bound that start leads back to the instant, and what stands
 * there is the cause: a thread that works or has not come to it, a launch on its way, other work. A call that waited
 * for the device has cost the host its lead: from there until the device has work again it is that call's doing. Each
 * walk ends where its stretch begins, so that none is walked twice for a rank or a stream.
 */
#include "sim/idle.h"

#include "base/sort.h"
#include "sim/clock.h"
#include "sim/critical.h"
#include "sim/metrics.h"
#include "sim/tally.h"
#include "sim/walk.h"
#include <stdlib.h>

enum cause { HOST, SYNC, LAUNCH, DEPENDENCY, UNEXPLAINED, CAUSES, OUTSIDE = CAUSES /* none of idle time */ };

static const char *const rank_names[CAUSES] = {"idle_host", "idle_sync", "idle_launch", "idle_dependency",
                                               "idle_unexplained"};
static const char *const stream_names[CAUSES] = {"stream_idle_host", "stream_idle_sync", "stream_idle_launch",
                                                 "stream_idle_dependency", "stream_idle_unexplained"};

struct causes {
  int64_t of[CAUSES + 1];
};

/* A task that runs on a stream. */
struct work {
  int64_t start, end;
  uint32_t task;
};
LUMOS_VECTOR_TYPE(works, struct work);

/* [from, to): nothing runs; then `next` starts, LUMOS_NONE: nothing does. */
struct rest {
  int64_t from, to;
  uint32_t next;
};
LUMOS_VECTOR_TYPE(rests, struct rest);

/* A piece of a rest. */
struct piece {
  int64_t from, to;
  uint32_t task; /* for whose sake it is on the chain; LUMOS_NONE: there is none */
  uint8_t cause;
  bool in_op; /* the host is at the op of that task, rather than between two */
};

struct idle {
  struct lumos_job *job;
  const struct lumos_held *bindings;
  const struct lumos_timeline *timeline;
  const struct lumos_idle *expected;
  const struct lumos_unrecorded_interval *unrecorded; /* of the rank in work, by time */
  const struct lumos_unrecorded_interval *unrecorded_end;
  size_t unrecorded_count;
  uint32_t *heads;             /* of threads' runs: streams' walks, which tell no ops, need no more */
  uint32_t *job_step;          /* of every step */
  struct causes *own, *shared; /* by step: within the rank's, within the job's */
  /* Idle time at which the host was at an op, of all ranks, numbered by the job's step and the op. */
  struct lumos_numbering at_ops;
  LUMOS_VECTOR(int64_t) at_op_times;
  size_t *first_at;       /* by step of the job, when all are known: where its own begin in */
  uint32_t *by_step;      /* those numbers, by step */
  struct lumos_tally ops; /* of one step */
  struct lumos_origins *origins;
  struct works works;                /* of a rank, by start */
  struct works lane_works;           /* of each of its streams, in turn */
  struct rests rests;                /* of that rank, */
  struct rests lane_rests;           /* and of one of its streams */
  struct lumos_path_parts parts;     /* of a walk, from late to early */
  LUMOS_VECTOR(struct piece) pieces; /* of a rest, alike */
};

static int64_t later(int64_t left, int64_t right) { return left > right ? left : right; }
static int64_t earlier(int64_t left, int64_t right) { return left < right ? left : right; }

/* --- What runs, and where nothing does --- */

static int by_start(const void *left_item, const void *right_item) {
  const struct work *left = left_item, *right = right_item;
  return left->start != right->start ? LUMOS_ORDER(left->start, right->start) : LUMOS_ORDER(left->task, right->task);
}

/* By start; streams are in that order unless an edit has changed it. */
static void sort_works(struct works *works) {
  lumos_sort_runs(works->items, works->count, sizeof *works->items, by_start);
}

static void find_works(const struct idle *idle, uint32_t l, struct works *works) {
  const struct lumos_lane *lane = &idle->job->lanes.items[l];
  works->count = 0;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    struct work work = {.task = t};
    if (lumos_task_interval(idle->job, idle->timeline->runs, t, &work.start, &work.end) && work.start < work.end) {
      lumos_vector_push(works, work);
    }
  }
  sort_works(works);
}

/* Between `from` and `until`; works are in the order of their starts. */
static void find_rests(const struct works *works, int64_t from, int64_t until, struct rests *rests) {
  int64_t busy_until = from;
  rests->count = 0;
  for (size_t i = 0; i < works->count && busy_until < until; i++) {
    const struct work *work = &works->items[i];
    if (work->start > busy_until) {
      struct rest rest = {busy_until, work->start, work->task};
      lumos_vector_push(rests, rest);
    }
    busy_until = later(busy_until, work->end);
  }
  if (busy_until < until) {
    struct rest rest = {busy_until, until, LUMOS_NONE};
    lumos_vector_push(rests, rest);
  }
}

/* The end of the rank's rest that holds an instant; the instant itself where the rank is busy then. */
static int64_t rests_until(const struct idle *idle, int64_t instant) {
  size_t low = 0;
  size_t high = idle->rests.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (idle->rests.items[middle].to <= instant) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool rests = low < idle->rests.count && idle->rests.items[low].from <= instant;
  return rests ? idle->rests.items[low].to : instant;
}

/* --- Causes --- */

/* What passes between a task and what held it. Of a stream, from one task to the next is the device's latency as a
 * launch is. */
static const uint8_t causes_of_lags[LUMOS_CONSTRAINT_KINDS] = {
    [LUMOS_HELD_BY_NOTHING] = UNEXPLAINED,   [LUMOS_HELD_BY_ITSELF] = UNEXPLAINED,  [LUMOS_HELD_BY_THREAD] = HOST,
    [LUMOS_HELD_BY_STREAM] = LAUNCH,         [LUMOS_HELD_BY_LAUNCH] = LAUNCH,       [LUMOS_HELD_BY_WAIT] = SYNC,
    [LUMOS_HELD_BY_COLLECTIVE] = DEPENDENCY, [LUMOS_HELD_BY_EVENT] = DEPENDENCY,    [LUMOS_HELD_BY_HANDOVER] = HOST,
    [LUMOS_HELD_BY_BOUNDARY] = OUTSIDE,      [LUMOS_HELD_BY_RESOURCE] = DEPENDENCY, [LUMOS_HELD_BY_QUEUE] = SYNC,
    [LUMOS_HELD_BY_OTHER] = DEPENDENCY,
};

static enum cause cause_of(const struct lumos_job *job, const struct lumos_path_part *part) {
  switch ((enum lumos_path_what)part->what) {
    case LUMOS_PATH_RUN:
      return lumos_on_stream(job, &job->tasks.items[part->task]) ? DEPENDENCY : HOST;
    case LUMOS_PATH_LAG:
      return (enum cause)causes_of_lags[part->kind];
    case LUMOS_PATH_OUTSIDE:
      return OUTSIDE;
    case LUMOS_PATH_UNEXPLAINED:
      break;
  }
  return UNEXPLAINED;
}

/* A piece becomes two, the early one behind the late one. */
static void split(struct idle *idle, size_t place, int64_t at) {
  struct piece early = idle->pieces.items[place];
  early.to = at;
  lumos_vector_push(&idle->pieces, early); /* room */
  for (size_t i = idle->pieces.count - 1; i > place + 1; i--) {
    idle->pieces.items[i] = idle->pieces.items[i - 1];
  }
  idle->pieces.items[place].from = at;
  idle->pieces.items[place + 1] = early;
}

/* A call that waited for the device returns: until the device has work again nothing else is to blame. */
static void blame_wait(struct idle *idle, const struct rest *rest, const struct lumos_path_part *part) {
  int64_t instant = part->to > part->from ? part->to - 1 : part->from;
  int64_t until = instant < rest->from ? instant : rests_until(idle, instant);
  for (size_t i = idle->pieces.count; i > 0 && idle->pieces.items[i - 1].from < until; i--) {
    if (idle->pieces.items[i - 1].to > until) {
      split(idle, i - 1, until);
      i++;
    }
    idle->pieces.items[i - 1].cause = SYNC;
  }
}

/* The last that begins before an instant; NULL: none does. */
static const struct lumos_unrecorded_interval *unrecorded_before(const struct idle *idle, int64_t instant) {
  size_t low = 0;
  size_t high = idle->unrecorded_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (idle->unrecorded[middle].from < instant) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? NULL : &idle->unrecorded[low - 1];
}

static bool is_on_thread(const struct lumos_job *job, uint32_t task) {
  return task != LUMOS_NONE && !lumos_on_stream(job, &job->tasks.items[task]);
}

/* Pieces in which the rank is not recorded are no idle time; the others are that of the rank. */
static void take_unrecorded(struct idle *idle, const struct rest *rest, bool of_rank) {
  const struct lumos_unrecorded_interval *last = unrecorded_before(idle, rest->to);
  bool any = last != NULL && last->to > rest->from;
  for (size_t i = 0; i < idle->pieces.count; i++) {
    const struct lumos_unrecorded_interval *interval = any ? unrecorded_before(idle, idle->pieces.items[i].to) : NULL;
    if (interval != NULL && interval->to > idle->pieces.items[i].from) {
      if (interval->to < idle->pieces.items[i].to) {
        split(idle, i, interval->to); /* the late one is before no other interval */
      } else {
        if (interval->from > idle->pieces.items[i].from) {
          split(idle, i, interval->from);
        }
        idle->pieces.items[i].cause = OUTSIDE;
        continue;
      }
    }
    if (of_rank && idle->pieces.items[i].cause == OUTSIDE) {
      idle->pieces.items[i].cause = is_on_thread(idle->job, idle->pieces.items[i].task) ? HOST : UNEXPLAINED;
    }
  }
}

static void explain(struct idle *idle, const uint32_t *heads, const struct rest *rest) {
  idle->parts.count = 0;
  idle->pieces.count = 0;
  if (rest->next == LUMOS_NONE) { /* this lane is done, others are not */
    struct piece whole = {rest->from, rest->to, LUMOS_NONE, DEPENDENCY, false};
    lumos_vector_push(&idle->pieces, whole);
    take_unrecorded(idle, rest, heads == NULL);
    return;
  }
  lumos_walk_before(idle->job, idle->bindings, heads, rest->next, rest->from, &idle->parts);
  for (size_t i = 0; i < idle->parts.count; i++) {
    const struct lumos_path_part *part = &idle->parts.items[i];
    enum cause cause = cause_of(idle->job, part);
    if (part->from < part->to) {
      bool between = part->what == LUMOS_PATH_LAG && part->kind == LUMOS_HELD_BY_THREAD;
      struct piece piece = {part->from, part->to, part->task, (uint8_t)cause, !between};
      lumos_vector_push(&idle->pieces, piece);
    }
    if (cause == SYNC) {
      blame_wait(idle, rest, part);
    }
  }
  take_unrecorded(idle, rest, heads == NULL);
}

/* --- Sums --- */

/* Add a piece to the sums of those of the steps that it is in; they are in order, and `place` is kept between calls. */
static int64_t overlap(const struct piece *piece, const struct lumos_step *step) {
  return later(earlier(piece->to, step->end) - later(piece->from, step->start), 0);
}

static void add_to_own(const struct idle *idle, const struct piece *piece, uint32_t first, uint32_t end,
                       struct causes *sums, uint32_t *place) {
  const struct lumos_step *steps = idle->timeline->steps.items;
  while (*place < end && steps[*place].end <= piece->from) {
    ++*place;
  }
  for (uint32_t i = *place < first ? first : *place; i < end && steps[i].start < piece->to; i++) {
    sums[i].of[piece->cause] += overlap(piece, &steps[i]);
  }
}

/* For how many ranks a step counts. */
static int64_t weight_of(const struct idle *idle, uint32_t step) {
  return lumos_rank_weight(&idle->job->ranks.items[idle->timeline->steps.items[step].rank]);
}

static uint32_t op_at(struct idle *idle, const struct piece *piece) {
  uint32_t span = piece->in_op && piece->task != LUMOS_NONE
                      ? lumos_launch_span(idle->job, &idle->job->tasks.items[piece->task])
                      : LUMOS_NONE;
  return span == LUMOS_NONE ? LUMOS_NO_STRING : lumos_origin_op(idle->origins, span);
}

static void add_at(struct idle *idle, uint32_t step, lumos_string_id op, __int128 time) {
  uint32_t number = lumos_number_of(&idle->at_ops, lumos_key_pair(step, op));
  if (number == idle->at_op_times.count) {
    lumos_vector_push(&idle->at_op_times, 0);
  }
  __int128 sum = idle->at_op_times.items[number] + time;
  idle->at_op_times.items[number] = sum < INT64_MAX ? (int64_t)sum : INT64_MAX;
}

static void add_to_shared(struct idle *idle, const struct piece *piece, uint32_t end, uint32_t *place) {
  const struct lumos_step *steps = idle->timeline->job.items;
  while (*place < end && steps[idle->job_step[*place]].end <= piece->from) {
    ++*place;
  }
  bool at_op = piece->cause == HOST || piece->cause == SYNC;
  for (uint32_t i = *place; i < end && steps[idle->job_step[i]].start < piece->to; i++) {
    int64_t time = overlap(piece, &steps[idle->job_step[i]]);
    idle->shared[i].of[piece->cause] += time;
    if (at_op && time > 0) {
      add_at(idle, idle->job_step[i], op_at(idle, piece), (__int128)time * weight_of(idle, i));
    }
  }
}

static int64_t sum_of(const struct causes *causes) {
  int64_t sum = 0;
  for (int cause = 0; cause < CAUSES; cause++) {
    sum += causes->of[cause];
  }
  return sum;
}

static void write_causes(struct lumos_job *job, const char *const names[CAUSES], const struct lumos_scope *scope,
                         const struct causes *causes) {
  for (int cause = 0; cause < CAUSES; cause++) {
    lumos_metric_add(job, names[cause], scope, LUMOS_METRIC_SIMULATED, (struct lumos_decimal){causes->of[cause], 0});
  }
}

/* Nothing was written of it yet. */
static void drop(struct lumos_job *job) { lumos_metrics_drop(job, job->metrics.count, "the causes of idle time"); }

/* --- A rank --- */

static void explain_rank(struct idle *idle, uint32_t first, uint32_t end) {
  uint32_t own = first;
  uint32_t shared = first;
  for (size_t r = 0; r < idle->rests.count; r++) {
    explain(idle, NULL, &idle->rests.items[r]);
    for (size_t i = idle->pieces.count; i-- > 0;) {
      add_to_own(idle, &idle->pieces.items[i], first, end, idle->own, &own);
      add_to_shared(idle, &idle->pieces.items[i], end, &shared);
    }
  }
  for (uint32_t i = first; i < end; i++) {
    const struct lumos_step *step = &idle->timeline->steps.items[i];
    if (sum_of(&idle->own[i]) != idle->expected[i].own ||
        idle->own[i].of[OUTSIDE] != idle->expected[i].own_unrecorded) {
      drop(idle->job);
      continue;
    }
    struct lumos_scope scope = lumos_everywhere;
    scope.rank = idle->job->ranks.items[step->rank].rank;
    scope.step = step->step;
    write_causes(idle->job, rank_names, &scope, &idle->own[i]);
  }
}

/* Works, in the order of their starts, of which those before `place` run at times until `until`. */
struct swept {
  size_t place;
  int64_t until;
};

/* How long anything of these runs within a step; steps are asked for in order. */
static int64_t busy_within(const struct works *works, const struct lumos_step *step, struct swept *swept) {
  int64_t busy = later(earlier(swept->until, step->end) - step->start, 0); /* what began before it */
  for (; swept->place < works->count && works->items[swept->place].start < step->end; swept->place++) {
    const struct work *work = &works->items[swept->place];
    int64_t from = later(later(work->start, step->start), swept->until);
    busy += later(earlier(work->end, step->end) - from, 0);
    swept->until = later(swept->until, work->end);
  }
  return busy;
}

static void explain_stream(struct idle *idle, uint32_t lane, uint32_t first, uint32_t end, struct causes *sums) {
  const struct lumos_step *steps = idle->timeline->steps.items;
  find_works(idle, lane, &idle->lane_works);
  find_rests(&idle->lane_works, steps[first].start, steps[end - 1].end, &idle->lane_rests);
  for (uint32_t i = first; i < end; i++) {
    sums[i] = (struct causes){0};
  }
  uint32_t place = first;
  for (size_t r = 0; r < idle->lane_rests.count; r++) {
    explain(idle, idle->heads, &idle->lane_rests.items[r]);
    for (size_t i = idle->pieces.count; i-- > 0;) {
      add_to_own(idle, &idle->pieces.items[i], first, end, sums, &place);
    }
  }
  struct swept swept = {0, steps[first].start};
  for (uint32_t i = first; i < end; i++) {
    int64_t rests = steps[i].end - steps[i].start - busy_within(&idle->lane_works, &steps[i], &swept);
    int64_t unrecorded = sums[i].of[OUTSIDE];
    if (rests != sum_of(&sums[i]) + unrecorded) {
      drop(idle->job);
      continue;
    }
    struct lumos_scope scope = lumos_everywhere;
    scope.rank = idle->job->ranks.items[steps[i].rank].rank;
    scope.step = steps[i].step;
    scope.lane = lane;
    lumos_metric_add(idle->job, "stream_not_recorded", &scope, LUMOS_METRIC_SIMULATED,
                     (struct lumos_decimal){unrecorded, 0});
    lumos_metric_add(idle->job, "stream_idle", &scope, LUMOS_METRIC_SIMULATED,
                     (struct lumos_decimal){rests - unrecorded, 0});
    write_causes(idle->job, stream_names, &scope, &sums[i]);
  }
}

/* All that runs on a rank, by start. */
static void find_works_of_rank(struct idle *idle, const struct lumos_rank *rank) {
  idle->works.count = 0;
  for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
    if (idle->job->lanes.items[lane].kind == LUMOS_STREAM) {
      find_works(idle, lane, &idle->lane_works);
      lumos_vector_reserve(&idle->works, idle->lane_works.count);
      for (size_t i = 0; i < idle->lane_works.count; i++) {
        lumos_vector_push(&idle->works, idle->lane_works.items[i]);
      }
    }
  }
  sort_works(&idle->works);
}

/* Ranks come in order. */
static void next_unrecorded(struct idle *idle, uint32_t rank) {
  if (idle->unrecorded == NULL) {
    return; /* all is recorded */
  }
  idle->unrecorded += idle->unrecorded_count;
  idle->unrecorded_count = 0;
  while (idle->unrecorded < idle->unrecorded_end && idle->unrecorded->rank < rank) {
    idle->unrecorded++;
  }
  while (idle->unrecorded + idle->unrecorded_count < idle->unrecorded_end &&
         idle->unrecorded[idle->unrecorded_count].rank == rank) {
    idle->unrecorded_count++;
  }
}

/* The steps from `first` to `end` are those of one rank. */
static void write_rank(struct idle *idle, uint32_t first, uint32_t end, struct causes *sums) {
  const struct lumos_step *steps = idle->timeline->steps.items;
  const struct lumos_step *jobs = idle->timeline->job.items;
  const struct lumos_rank *rank = &idle->job->ranks.items[steps[first].rank];
  find_works_of_rank(idle, rank);
  next_unrecorded(idle, steps[first].rank);
  int64_t from = earlier(steps[first].start, jobs[idle->job_step[first]].start);
  int64_t until = later(steps[end - 1].end, jobs[idle->job_step[end - 1]].end);
  find_rests(&idle->works, from, until, &idle->rests);
  explain_rank(idle, first, end);
  for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
    if (idle->job->lanes.items[lane].kind == LUMOS_STREAM) {
      explain_stream(idle, lane, first, end, sums);
    }
  }
}

/* --- The job --- */

enum { MOST_ROWS = 50 }; /* ops of a step, the longest. Chosen: it bounds a report */

static void add_at_op(struct lumos_job *job, lumos_string_id op, int32_t step, int64_t time) {
  struct lumos_scope scope = lumos_everywhere;
  scope.step = step;
  scope.op = op;
  lumos_metric_add(job, "idle_at_op", &scope, LUMOS_METRIC_SIMULATED, (struct lumos_decimal){time, 0});
}

/* Means over the ranks, of sums in a row: each is what it raises the rounded mean of all before it by, so that they add
 * up. */
static int64_t next_mean(__int128 *before, __int128 sum, int64_t count) {
  int64_t mean = (int64_t)((*before + sum) / count - *before / count);
  *before += sum;
  return mean;
}

/* A counting sort, in the order in which they came. */
static void sort_by_step(struct idle *idle) {
  size_t steps = idle->timeline->job.count, count = idle->at_ops.keys.count;
  size_t *first = lumos_allocate_zeroed(steps + 2, sizeof *first);
  for (size_t i = 0; i < count; i++) {
    first[(idle->at_ops.keys.items[i] >> 32U) + 2]++;
  }
  for (size_t k = 2; k < steps + 2; k++) {
    first[k] += first[k - 1];
  }
  idle->first_at = first;
  idle->by_step = lumos_allocate(count * sizeof *idle->by_step);
  for (uint32_t i = 0; i < count; i++) {
    idle->by_step[first[(idle->at_ops.keys.items[i] >> 32U) + 1]++] = i;
  }
}

static void write_ops(struct idle *idle, size_t k, __int128 before, int64_t count) {
  struct lumos_tally *ops = &idle->ops;
  int32_t step = idle->timeline->job.items[k].step;
  int64_t rest = 0;
  lumos_tally_clear(ops);
  for (size_t i = idle->first_at[k]; i < idle->first_at[k + 1]; i++) {
    uint32_t at = idle->by_step[i];
    lumos_tally_add(ops, (uint32_t)idle->at_ops.keys.items[at], idle->at_op_times.items[at]);
  }
  lumos_tally_sort(ops, idle->job->strings);
  for (size_t i = 0; i < ops->rows.count; i++) {
    const struct lumos_tally_row *row = &ops->rows.items[i];
    int64_t mean = next_mean(&before, row->sum, count);
    if (i < MOST_ROWS) {
      lumos_string_id none = row->key == LUMOS_NO_STRING ? lumos_intern_text(idle->job->strings, "(none)") : row->key;
      add_at_op(idle->job, none, step, mean);
    } else {
      rest += mean;
    }
  }
  if (rest > 0) {
    add_at_op(idle->job, lumos_intern_text(idle->job->strings, "(rest)"), step, rest);
  }
}

/* The mean over the ranks, in which idle is the last of the parts of the step: rounded as breakdown.c rounds. */
static void write_job_step(struct idle *idle, size_t k) {
  const struct lumos_timeline *timeline = idle->timeline;
  const struct lumos_step *step = &timeline->job.items[k];
  __int128 sums[CAUSES] = {0};
  __int128 before = 0;
  int64_t count = 0;
  bool adds_up = true;
  for (uint32_t s = timeline->sharers_first[k]; s < timeline->sharers_first[k + 1]; s++) {
    uint32_t i = timeline->sharers[s];
    if (idle->expected[i].shared != LUMOS_ABSENT) {
      int64_t weight = weight_of(idle, i);
      adds_up = adds_up && sum_of(&idle->shared[i]) == idle->expected[i].shared &&
                idle->shared[i].of[OUTSIDE] == idle->expected[i].shared_unrecorded;
      for (int cause = 0; cause < CAUSES; cause++) {
        sums[cause] += (__int128)idle->shared[i].of[cause] * weight;
      }
      before += (__int128)(step->end - step->start - idle->expected[i].shared) * weight;
      count += weight;
    }
  }
  if (!adds_up) {
    drop(idle->job);
    return;
  }
  if (count == 0) {
    return;
  }
  write_ops(idle, k, before, count);
  struct lumos_scope scope = lumos_everywhere;
  scope.step = step->step;
  struct causes means;
  for (int cause = 0; cause < CAUSES; cause++) {
    means.of[cause] = next_mean(&before, sums[cause], count);
  }
  write_causes(idle->job, rank_names, &scope, &means);
}

static void write_all(struct idle *idle) {
  const struct lumos_timeline *timeline = idle->timeline;
  struct causes *sums = lumos_allocate((timeline->steps.count + 1) * sizeof *sums);
  for (uint32_t first = 0, end = 0; first < timeline->steps.count; first = end) {
    for (end = first + 1;
         end < timeline->steps.count && timeline->steps.items[end].rank == timeline->steps.items[first].rank;) {
      end++;
    }
    if (idle->expected[first].own != LUMOS_ABSENT) {
      write_rank(idle, first, end, sums);
    }
  }
  sort_by_step(idle);
  for (size_t k = 0; k < timeline->job.count; k++) {
    write_job_step(idle, k);
  }
  free(sums);
}

void lumos_write_idle(struct lumos_job *job, const struct lumos_held *bindings, const struct lumos_timeline *simulated,
                      const struct lumos_idle *expected, const struct lumos_unrecorded_intervals *unrecorded,
                      struct lumos_origins *origins) {
  struct idle idle = {.job = job,
                      .bindings = bindings,
                      .origins = origins,
                      .timeline = simulated,
                      .expected = expected,
                      .unrecorded = unrecorded->items,
                      .unrecorded_end = unrecorded->count > 0 ? unrecorded->items + unrecorded->count : NULL};
  idle.job_step = lumos_job_steps_of(simulated);
  idle.own = lumos_allocate_zeroed(simulated->steps.count + 1, sizeof *idle.own);
  idle.shared = lumos_allocate_zeroed(simulated->steps.count + 1, sizeof *idle.shared);
  idle.heads = lumos_allocate((job->tasks.count + 1) * sizeof *idle.heads);
  lumos_find_heads(job, bindings, idle.heads);
  write_all(&idle);
  free(idle.heads);
  free(idle.job_step);
  free(idle.own);
  free(idle.shared);
  free(idle.first_at);
  free(idle.by_step);
  lumos_numbering_free(&idle.at_ops);
  lumos_vector_free(&idle.at_op_times);
  lumos_tally_free(&idle.ops);
  lumos_vector_free(&idle.works);
  lumos_vector_free(&idle.lane_works);
  lumos_vector_free(&idle.rests);
  lumos_vector_free(&idle.lane_rests);
  lumos_vector_free(&idle.parts);
  lumos_vector_free(&idle.pieces);
}
