/* What recording takes on the host: before an op starts, after it ends, and after a call ends.
 *
 * The profiler notes an op's start when it is ready to leave it, and the end of an op or a call before it stores the
 * row. So what it takes lies between rows: in the stretches of the op around, and in the gaps where there is none. A
 * stretch in which just one row begins or ends holds that once, and whatever the op does besides:
 *
 *   before_op   from an op's start to the start of the first op inside it
 *   after_op    from the end of the last op inside an op to its own end
 *   after_call  from the end of a call to the next call, or to the end of the op around both
 *
 * Where that is typically shortest (over names) the op does least, and recording takes no more than what is left: it is
 * known from above. From the end of an op to the start of the next one both costs of an op are in one stretch, which
 * often is shorter than the two alone. A stretch of no length, of which there is no task, counts too: times may be
 * whole microseconds.
 *
 * What every op does besides, be it ever so little, rows cannot tell from what recording takes. Steps timed without the
 * profiler can: recorded ones take longer by no more than all that recording takes in them. So that is known from
 * below, and as it is what lengthens a step it is what is taken for the profiler's then.
 */
#include "graph/profiler.h"

#include "graph/graph.h"
#include "graph/typical.h"

enum cost { BEFORE_OP, AFTER_OP, AFTER_CALL, BETWEEN_OPS, COSTS };

/* Of the same names. Chosen: the least of many means must not be one of few samples, and more than many say no more. */
enum { ENOUGH_STRETCHES = 20, MOST_STRETCHES = 256 };

static bool is_call(const struct lumos_task *task) { return task->kind != LUMOS_OP; }

static int64_t recorded_dur(const struct lumos_job *job, const struct lumos_task *task) {
  int64_t was = lumos_detail_of(job, task)->was;
  return was == LUMOS_ABSENT ? task->dur : was;
}

static const struct lumos_span *span_of(const struct lumos_job *job, const struct lumos_task *task) {
  return task->span == LUMOS_NONE ? NULL : &job->spans.items[task->span];
}

/* The task before it on its thread, or NULL. */
static const struct lumos_task *before(const struct lumos_job *job, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t];
  return t > job->lanes.items[task->lane].task_first ? task - 1 : NULL;
}

static const struct lumos_task *after(const struct lumos_job *job, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_lane *lane = &job->lanes.items[task->lane];
  return t + 1 < lane->task_first + lane->task_count ? task + 1 : NULL;
}

/* Is the neighbour of a task on its thread in the same op, or in one inside that? By how spans nest, for tasks of a
 * changed job have no start. */
static bool shares_op(const struct lumos_job *job, const struct lumos_task *task, const struct lumos_task *neighbour) {
  const struct lumos_span *spans = job->spans.items;
  uint32_t outer = task->span, inner = neighbour->span;
  if (outer == LUMOS_NONE) {
    return false;
  }
  while (inner != LUMOS_NONE && inner != outer && spans[outer].parent != inner) { /* around it nothing is in it */
    inner = spans[inner].parent;
  }
  return inner == outer;
}

/* What ended where this stretch of an op begins: an op or a call inside it; NULL: it begins with the op. */
static const struct lumos_task *ended_before(const struct lumos_job *job, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t], *ended = before(job, t);
  return task->lag == 0 && ended != NULL && shares_op(job, task, ended) ? ended : NULL;
}

/* What begins inside the op where this stretch of it ends; NULL: it ends with the op. */
static const struct lumos_task *begins_behind(const struct lumos_job *job, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t], *next = after(job, t);
  return next != NULL && next->lag == 0 && shares_op(job, task, next) ? next : NULL;
}

/* --- How much that is --- */

/* The cost that the stretch of an op holds alone, BETWEEN_OPS both of an op, or COSTS. */
static enum cost sole_cost(const struct lumos_task *ended, const struct lumos_task *begins) {
  if (ended == NULL) {
    return begins != NULL && !is_call(begins) ? BEFORE_OP : COSTS;
  }
  if (is_call(ended)) {
    return begins == NULL || is_call(begins) ? AFTER_CALL : COSTS;
  }
  return begins == NULL || is_call(begins) ? AFTER_OP : BETWEEN_OPS;
}

/* The least typical stretch of a kind; LUMOS_ABSENT where none is seen often enough. */
struct least {
  struct lumos_typical *stretches;
  LUMOS_VECTOR(uint32_t) counts; /* by group */
};

static void add(struct least *least, lumos_string_id ended, lumos_string_id around, lumos_string_id begins,
                int64_t length) {
  uint32_t group = lumos_typical_group(least->stretches, ended, around, begins);
  if (group >= least->counts.count) {
    lumos_vector_push(&least->counts, 0);
  }
  if (least->counts.items[group]++ < MOST_STRETCHES) {
    lumos_typical_add(least->stretches, group, length);
  }
}

static lumos_string_id name_of(const struct lumos_task *task) { return task == NULL ? LUMOS_NO_STRING : task->name; }

static void add_stretch(const struct lumos_job *job, uint32_t t, struct least *least) {
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_task *ended = ended_before(job, t);
  const struct lumos_task *begins = begins_behind(job, t);
  enum cost cost = sole_cost(ended, begins);
  if (cost != COSTS) {
    add(&least[cost], name_of(ended), task->name, name_of(begins), task->dur);
  }
}

/* A whole call that ends with the op around it, or where the next one in that op begins. */
static void add_no_stretch_behind_call(const struct lumos_job *job, uint32_t t, struct least *least) {
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_span *around = span_of(job, task);
  const struct lumos_task *next = begins_behind(job, t);
  bool in_op = around != NULL && around->kind == LUMOS_SPAN_OP;
  bool last = in_op && around->start + around->dur == task->start + task->dur;
  bool followed = next != NULL && is_call(next) && next->span == task->span;
  if (in_op && (last || followed)) {
    add(&least[AFTER_CALL], task->name, around->name, name_of(next), 0);
  }
}

/* An op that begins, or ends, with the op around it. */
static void add_no_stretches_of_op(const struct lumos_job *job, const struct lumos_span *span, struct least *least) {
  const struct lumos_span *around = span->parent == LUMOS_NONE ? NULL : &job->spans.items[span->parent];
  if (span->kind != LUMOS_SPAN_OP || around == NULL || around->kind != LUMOS_SPAN_OP) {
    return;
  }
  if (span->start == around->start) {
    add(&least[BEFORE_OP], LUMOS_NO_STRING, around->name, span->name, 0);
  }
  if (span->start + span->dur == around->start + around->dur) {
    add(&least[AFTER_OP], span->name, around->name, LUMOS_NO_STRING, 0);
  }
}

static int64_t value_of(const struct least *least) {
  int64_t value = LUMOS_ABSENT;
  for (uint32_t group = 0; group < least->counts.count; group++) {
    int64_t typical = 0;
    if (lumos_typical_value(least->stretches, group, ENOUGH_STRETCHES, &typical) &&
        (value == LUMOS_ABSENT || typical < value)) {
      value = typical;
    }
  }
  return value;
}

/* Both costs of an op are no more than the stretch that holds both: each gives in as it is large. */
static struct lumos_profiler known_from_above(const struct least *least) {
  struct lumos_profiler profiler = {value_of(&least[BEFORE_OP]), value_of(&least[AFTER_OP]),
                                    value_of(&least[AFTER_CALL]), LUMOS_ABSENT_INT};
  int64_t both = value_of(&least[BETWEEN_OPS]);
  if (both == LUMOS_ABSENT || profiler.before_op == LUMOS_ABSENT || profiler.after_op == LUMOS_ABSENT) {
    return profiler;
  }
  __int128 sum = (__int128)profiler.before_op + profiler.after_op;
  if (sum > both) {
    profiler.before_op = (int64_t)((profiler.before_op * (__int128)both * 2 + sum) / (2 * sum));
    profiler.after_op = both - profiler.before_op;
  }
  return profiler;
}

/* The share of it that recorded steps take longer than those without the profiler; LUMOS_ABSENT_INT: none were
 * timed. */
static int32_t known_from_below(const struct lumos_rank_graph *graph) {
  const struct lumos_job *job = graph->job;
  const struct lumos_rank *rank = graph->rank;
  __int128 recorded = 0, taken = 0;
  int64_t steps = 0;
  if (rank->unprofiled_dur == LUMOS_ABSENT || rank->unprofiled_steps <= 0) {
    return LUMOS_ABSENT_INT;
  }
  for (uint32_t s = rank->span_first; s < rank->span_first + rank->span_count; s++) {
    if (job->spans.items[s].kind == LUMOS_SPAN_STEP) {
      recorded += job->spans.items[s].dur;
      steps++;
    }
  }
  for (uint32_t t = graph->first; t < graph->first + rank->task_count; t++) {
    if (!lumos_on_stream(job, &job->tasks.items[t])) {
      struct lumos_profiled part = lumos_profiled_part(job, t);
      taken += part.dur + part.lag;
    }
  }
  if (steps == 0 || taken == 0) {
    return LUMOS_ABSENT_INT;
  }
  __int128 longer = recorded - (__int128)rank->unprofiled_dur * steps / rank->unprofiled_steps;
  return longer <= 0 ? 0 : longer >= taken ? LUMOS_WHOLE_SHARE : (int32_t)(longer * LUMOS_WHOLE_SHARE / taken);
}

void lumos_graph_profiler(struct lumos_rank_graph *graph) {
  const struct lumos_job *job = graph->job;
  struct least least[COSTS];
  for (int cost = 0; cost < COSTS; cost++) {
    least[cost] = (struct least){.stretches = lumos_typical_new()};
  }
  uint32_t in_call = LUMOS_NONE; /* from here to the last task seen a call goes on, cut by others inside it */
  for (uint32_t t = graph->first + graph->rank->task_count; t-- > graph->first;) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task)) {
      continue;
    }
    if (!is_call(task)) {
      add_stretch(job, t, least);
    } else if (t < in_call) {
      add_no_stretch_behind_call(job, t, least);
    }
    uint32_t first = lumos_detail_of(job, task)->first_segment;
    in_call = first < in_call ? first : in_call;
  }
  for (uint32_t s = graph->rank->span_first; s < graph->rank->span_first + graph->rank->span_count; s++) {
    add_no_stretches_of_op(job, &job->spans.items[s], least);
  }
  graph->rank->profiler = known_from_above(least);
  graph->rank->profiler.least = known_from_below(graph);
  for (int cost = 0; cost < COSTS; cost++) {
    lumos_typical_free(least[cost].stretches);
    lumos_vector_free(&least[cost].counts);
  }
}

/* --- Where it is --- */

static int64_t known(const struct lumos_profiler *profiler, int64_t cost) {
  if (cost == LUMOS_ABSENT || profiler->least == LUMOS_ABSENT_INT) {
    return cost == LUMOS_ABSENT ? 0 : cost;
  }
  return (int64_t)((__int128)cost * profiler->least / LUMOS_WHOLE_SHARE);
}

static int64_t after_row(const struct lumos_profiler *profiler, const struct lumos_task *row) {
  return row == NULL ? 0 : known(profiler, is_call(row) ? profiler->after_call : profiler->after_op);
}

static int64_t before_row(const struct lumos_profiler *profiler, const struct lumos_task *row) {
  return row == NULL || is_call(row) ? 0 : known(profiler, profiler->before_op);
}

static int64_t at_most(int64_t value, int64_t most) { return value < most ? value : most; }

struct lumos_profiled lumos_profiled_part(const struct lumos_job *job, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_profiler *profiler = &job->ranks.items[lumos_rank_of(job, task)].profiler;
  struct lumos_profiled part = {0, 0};
  if (!is_call(task)) {
    int64_t cost = after_row(profiler, ended_before(job, t)) + before_row(profiler, begins_behind(job, t));
    part.dur = at_most(cost, recorded_dur(job, task));
  }
  if (task->lag > 0) {
    part.lag = at_most(after_row(profiler, before(job, t)) + before_row(profiler, task), task->lag);
  }
  return part;
}
