/* What held every task: as sim kept it, or by a run of the engine with notes. */
#include <lumos/path.h>

#include "sim/metrics.h"
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[LUMOS_CONSTRAINT_KINDS] = {
    [LUMOS_HELD_BY_NOTHING] = "nothing recorded",
    [LUMOS_HELD_BY_ITSELF] = "its own duration",
    [LUMOS_HELD_BY_THREAD] = "thread order",
    [LUMOS_HELD_BY_STREAM] = "stream order",
    [LUMOS_HELD_BY_LAUNCH] = "launch",
    [LUMOS_HELD_BY_WAIT] = "wait",
    [LUMOS_HELD_BY_COLLECTIVE] = "collective",
    [LUMOS_HELD_BY_EVENT] = "event",
    [LUMOS_HELD_BY_HANDOVER] = "hand-over",
    [LUMOS_HELD_BY_BOUNDARY] = "outside the recording",
    [LUMOS_HELD_BY_RESOURCE] = "free SMs",
    [LUMOS_HELD_BY_QUEUE] = "full queue",
    [LUMOS_HELD_BY_OTHER] = "other dependency",
};

const char *lumos_constraint_kind_name(enum lumos_constraint_kind kind) { return kind_names[kind]; }

static int by_place(const void *left_item, const void *right_item) {
  const struct lumos_constraint *left = left_item, *right = right_item;
  if (left->dst != right->dst) {
    return left->dst < right->dst ? -1 : 1;
  }
  if (left->bound != right->bound) {
    return left->bound < right->bound ? -1 : 1;
  }
  if (left->src != right->src) {
    return left->src < right->src ? -1 : 1;
  }
  int by_kind = left->kind - right->kind;
  return by_kind != 0 ? by_kind : left->to - right->to;
}

/* A stream's times may have been edited on the way; then what bound them is not known. */
static bool check_runs(const struct lumos_job *job, const struct lumos_run *runs, struct lumos_error *error) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (runs[t].start != job->runs.items[t].start || runs[t].dur != job->runs.items[t].dur) {
      const struct lumos_task *task = &job->tasks.items[t];
      return lumos_fail(
          error,
          "task %d:%u: its simulated times are not those that the graph gives, so the cause of its start is not "
          "known; run lumos-sim again",
          job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
    }
  }
  return true;
}

static void copy_held(const struct lumos_held *from, struct lumos_held *to, size_t tasks) {
  size_t words = tasks / 64 + 1;
  lumos_held_free(to);
  to->kept = lumos_copied(from->kept, words, sizeof *to->kept);
  to->before = lumos_copied(from->before, words + 1, sizeof *to->before);
  to->items = lumos_copied(from->items, from->before[words], sizeof *to->items);
}

/* The notes that sim has kept. */
static void give_kept(const struct lumos_job *job, const struct lumos_engine_notes *notes) {
  if (notes->bindings != NULL) {
    copy_held(job->bindings, notes->bindings, job->tasks.count);
  }
  for (size_t i = 0; notes->holds != NULL && i < job->hold_count; i++) {
    lumos_vector_push(notes->holds, job->holds[i]);
  }
}

bool lumos_run_noting(const struct lumos_job *job, const struct lumos_engine_notes *notes, struct lumos_error *error) {
  if (job->runs.count != job->tasks.count) {
    return lumos_fail(error, "the job has not been simulated; run lumos-sim first");
  }
  if (job->bindings != NULL && notes->links == NULL && notes->watched == NULL) {
    give_kept(job, notes);
    return true;
  }
  struct lumos_engine engine;
  lumos_engine_prepare(&engine, job, lumos_model_of(job));
  bool known = job->bindings != NULL; /* what comes out is what sim kept */
  const struct lumos_engine_order order = {.notes = *notes, .nodes_only = known};
  struct lumos_run *runs = lumos_engine_room(&engine, order.nodes_only);
  bool done = lumos_engine_do(&engine, &order, runs, error) && (known || check_runs(job, runs, error));
  lumos_engine_free(&engine);
  free(runs);
  return done;
}

bool lumos_bindings_find(const struct lumos_job *job, struct lumos_held *bindings, const uint8_t *watched,
                         struct lumos_constraints *all, struct lumos_error *error) {
  const struct lumos_engine_notes notes = {.bindings = bindings, .watched = watched, .constraints = all};
  size_t first = watched == NULL ? 0 : all->count;
  bool done = lumos_run_noting(job, &notes, error);
  if (done && watched != NULL && all->count > first) {
    qsort(all->items + first, all->count - first, sizeof *all->items, by_place);
  }
  return done;
}

static int by_task(const void *left_item, const void *right_item) {
  const struct lumos_doubt *left = left_item, *right = right_item;
  return left->task != right->task ? LUMOS_ORDER(left->task, right->task) : left->kind - right->kind;
}

static void add_unexplained(const struct lumos_job *job, struct lumos_doubts *doubts) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    int64_t residual = lumos_timing_of(job, t)->residual;
    if (residual != LUMOS_ABSENT && residual > LUMOS_UNEXPLAINED_NS && lumos_on_stream(job, &job->tasks.items[t])) {
      int64_t start = job->runs.items[t].start;
      lumos_vector_push(doubts, ((struct lumos_doubt){t, LUMOS_DOUBT_UNEXPLAINED, start - residual, start}));
    }
  }
}

bool lumos_doubts_find(const struct lumos_job *job, struct lumos_held *bindings, struct lumos_doubts *doubts,
                       struct lumos_error *error) {
  struct lumos_holds holds = {0};
  const struct lumos_engine_notes notes = {.bindings = bindings, .holds = &holds};
  bool done = lumos_run_noting(job, &notes, error);
  for (size_t i = 0; done && i < holds.count; i++) {
    const struct lumos_hold *hold = &holds.items[i];
    uint8_t kind = hold->kind == LUMOS_RESOURCE ? LUMOS_DOUBT_RESOURCE : LUMOS_DOUBT_BOUNDARY;
    lumos_vector_push(doubts, ((struct lumos_doubt){hold->task, kind, hold->from, hold->to}));
  }
  if (done) {
    add_unexplained(job, doubts);
  }
  lumos_vector_sort(doubts, by_task);
  lumos_vector_free(&holds);
  return done;
}
