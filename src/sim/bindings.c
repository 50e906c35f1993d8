/* What held every task: the engine's run once more, with notes. */
#include <lumos/path.h>

#include "sim/engine.h"
#include <stdlib.h>

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
    [LUMOS_HELD_BY_BOUNDARY] = "boundary",
    [LUMOS_HELD_BY_RESOURCE] = "free SMs",
    [LUMOS_HELD_BY_QUEUE] = "full queue",
    [LUMOS_HELD_BY_OTHER] = "other dependency",
};

const char *lumos_constraint_kind_name(enum lumos_constraint_kind kind) { return kind_names[kind]; }

static int by_place(const void *left_item, const void *right_item) {
  const struct lumos_constraint *left = left_item;
  const struct lumos_constraint *right = right_item;
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
      return lumos_fail(error,
                        "task %d:%u: its simulated times are not those that the graph gives, so what held it is not "
                        "known; run lumos-sim again",
                        job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
    }
  }
  return true;
}

bool lumos_bindings_find(const struct lumos_job *job, struct lumos_bindings *bindings, const uint8_t *watched,
                         struct lumos_constraints *all, struct lumos_error *error) {
  const struct lumos_sim_options carry = {.model = lumos_model_of(job)};
  if (job->runs.count != job->tasks.count) {
    return lumos_fail(error, "the job has not been simulated; run lumos-sim first");
  }
  const struct lumos_engine_notes notes = {.bindings = bindings, .watched = watched, .constraints = all};
  struct lumos_binding nothing = {LUMOS_NONE, LUMOS_HELD_BY_NOTHING, LUMOS_END, LUMOS_UNEXPLAINED};
  for (size_t t = 0; t < job->tasks.count; t++) {
    bindings[t] = (struct lumos_bindings){nothing, nothing};
  }
  size_t first = watched == NULL ? 0 : all->count;
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  bool done = lumos_engine_run_noting(job, &carry, runs, &notes, error) && check_runs(job, runs, error);
  if (done && watched != NULL && all->count > first) {
    qsort(all->items + first, all->count - first, sizeof *all->items, by_place);
  }
  free(runs);
  return done;
}
