#include "rebuild/error.h"

#include "sim/steps.h"
#include <stdlib.h>

/* The length of a job's step; 0: it has none of that number. */
static int64_t length_of(const struct lumos_timeline *timeline, int32_t step) {
  for (size_t i = 0; i < timeline->job.count; i++) {
    if (timeline->job.items[i].step == step) {
      return timeline->job.items[i].end - timeline->job.items[i].start;
    }
  }
  return 0;
}

struct drawn { /* tasks on the threads of one rank, from a recorded step to a built one */
  int32_t step, from;
  uint32_t count;
};

static int by_steps(const void *left, const void *right) {
  const struct drawn *a = left, *b = right;
  return a->step != b->step ? LUMOS_ORDER(a->step, b->step) : LUMOS_ORDER(a->from, b->from);
}

LUMOS_VECTOR_TYPE(draws, struct drawn);

/* For each built step the recorded one that most of it was drawn from, ascending. */
static void find_draws(struct draws *draws, const struct rebuild_templates *templates,
                       const struct rebuild_rank *rank) {
  *draws = (struct draws){0};
  for (size_t k = 0; k < rank->items.count; k++) {
    const struct rebuild_item *item = &rank->items.items[k];
    const struct rebuild_block *block =
        &templates->blocks->items.items[rebuild_draw(templates, item->like, item->turns)];
    lumos_vector_push(draws, ((struct drawn){item->step, block->step, block->count}));
  }
  lumos_vector_sort(draws, by_steps);
  size_t kept = 0;
  for (size_t i = 0; i < draws->count; i++) {
    const struct drawn *drawn = &draws->items[i];
    struct drawn sum = *drawn;
    while (i + 1 < draws->count && by_steps(drawn, &draws->items[i + 1]) == 0) {
      sum.count += draws->items[++i].count;
    }
    bool same = kept > 0 && draws->items[kept - 1].step == sum.step;
    if (!same) {
      draws->items[kept++] = sum;
    } else if (sum.count > draws->items[kept - 1].count) {
      draws->items[kept - 1] = sum;
    }
  }
  draws->count = kept;
}

static int by_step(const void *left, const void *right) {
  const struct drawn *a = left, *b = right;
  return LUMOS_ORDER(a->step, b->step);
}

/* LUMOS_ABSENT_INT: nothing of it was built. */
static int32_t drawn_from(const struct draws *draws, int32_t step) {
  const struct drawn wanted = {.step = step}, *found = NULL;
  if (draws->count > 0) {
    found = bsearch(&wanted, draws->items, draws->count, sizeof wanted, by_step);
  }
  return found == NULL ? LUMOS_ABSENT_INT : found->from;
}

static void compare(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                    const struct lumos_timeline *was, const struct lumos_timeline *rebuilt,
                    struct lumos_decimal *deviation) {
  int64_t sum = 0, off = 0;
  struct draws draws;
  find_draws(&draws, templates, &plan->ranks.items[0]);
  size_t first = rebuilt->job.count > 1; /* as on the page, where the first step settles */
  for (size_t i = first; i < rebuilt->job.count && was->job.count > 0; i++) {
    int32_t from = drawn_from(&draws, rebuilt->job.items[i].step);
    bool begins = from == was->job.items[0].step && was->job.count > 1;
    int64_t length = begins ? 0 : length_of(was, from);
    sum += length;
    off += length == 0 ? 0 : rebuilt->job.items[i].end - rebuilt->job.items[i].start - length;
  }
  lumos_vector_free(&draws);
  *deviation = (struct lumos_decimal){sum == 0 ? LUMOS_ABSENT : (int64_t)((__int128)off * 1000000 / sum), 6};
}

/* Of a job that was changed before, the step that is simulated of it stands in for the measured one. */
static bool run_changed(const struct lumos_job *job, struct lumos_run **runs, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  *runs = lumos_job_edited(job) ? lumos_allocate(job->tasks.count * sizeof **runs) : NULL;
  return *runs == NULL || lumos_engine_run(job, &options, *runs, error);
}

bool rebuild_error(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                   const struct lumos_job *built, struct lumos_decimal *deviation, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  const struct lumos_job *recorded = templates->blocks->job;
  struct lumos_stretches stretches, of_built;
  struct lumos_timeline was, rebuilt;
  struct lumos_run *runs = lumos_allocate(built->tasks.count * sizeof *runs), *of_changed = NULL;
  bool done = lumos_engine_run(built, &options, runs, error) && run_changed(recorded, &of_changed, error);
  if (done) {
    lumos_find_stretches(recorded, &stretches);
    lumos_find_stretches(built, &of_built);
    lumos_timeline_make(&was, recorded, of_changed, &stretches);
    lumos_timeline_make(&rebuilt, built, runs, &of_built);
    compare(templates, plan, &was, &rebuilt, deviation);
    lumos_timeline_free(&was);
    lumos_timeline_free(&rebuilt);
    lumos_vector_free(&stretches);
    lumos_vector_free(&of_built);
  }
  free(runs);
  free(of_changed);
  return done;
}
