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

/* From which recorded step most of a built one was drawn, by tasks on the threads of one rank. */
static int32_t drawn_from(const struct rebuild_templates *templates, const struct rebuild_rank *rank, int32_t step,
                          const struct lumos_timeline *measured) {
  uint32_t most = 0;
  int32_t best = LUMOS_ABSENT_INT;
  for (size_t i = 0; i < measured->job.count; i++) {
    uint32_t count = 0;
    for (size_t k = 0; k < rank->items.count; k++) {
      const struct rebuild_item *item = &rank->items.items[k];
      const struct rebuild_block *block =
          &templates->blocks->items.items[rebuild_draw(templates, item->like, item->turns)];
      count += item->step == step && block->step == measured->job.items[i].step ? block->count : 0;
    }
    if (count > most) {
      most = count;
      best = measured->job.items[i].step;
    }
  }
  return best;
}

static void compare(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                    const struct lumos_timeline *measured, const struct lumos_timeline *rebuilt,
                    struct lumos_decimal *deviation) {
  int64_t sum = 0, off = 0;
  size_t first = rebuilt->job.count > 1; /* as on the page, where the first step settles */
  for (size_t i = first; i < rebuilt->job.count && measured->job.count > 0; i++) {
    int32_t from = drawn_from(templates, &plan->ranks.items[0], rebuilt->job.items[i].step, measured);
    bool begins = from == measured->job.items[0].step && measured->job.count > 1;
    int64_t length = begins ? 0 : length_of(measured, from);
    sum += length;
    off += length == 0 ? 0 : rebuilt->job.items[i].end - rebuilt->job.items[i].start - length;
  }
  *deviation = (struct lumos_decimal){sum == 0 ? LUMOS_ABSENT : (int64_t)((__int128)off * 1000000 / sum), 6};
}

bool rebuild_error(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                   const struct lumos_job *built, struct lumos_decimal *deviation, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  const struct lumos_job *recorded = templates->blocks->job;
  struct lumos_stretches stretches, of_built;
  struct lumos_timeline measured, rebuilt;
  struct lumos_run *runs = lumos_allocate(built->tasks.count * sizeof *runs);
  bool done = lumos_engine_run(built, &options, runs, error);
  if (done) {
    lumos_find_stretches(recorded, &stretches);
    lumos_find_stretches(built, &of_built);
    lumos_timeline_make(&measured, recorded, NULL, &stretches);
    lumos_timeline_make(&rebuilt, built, runs, &of_built);
    compare(templates, plan, &measured, &rebuilt, deviation);
    lumos_timeline_free(&measured);
    lumos_timeline_free(&rebuilt);
    lumos_vector_free(&stretches);
    lumos_vector_free(&of_built);
  }
  free(runs);
  return done;
}
