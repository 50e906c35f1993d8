#include "rebuild/outside.h"

#include "sim/engine.h"
#include <stdlib.h>

/* By task: is it held by what was inferred to lie outside? What is known to, the recording begins with. */
static uint8_t *find_held(const struct lumos_job *job) {
  uint8_t *held = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    held[dep->dst] |= dep->kind == LUMOS_BOUNDARY && dep->evidence == LUMOS_INFERRED;
  }
  return held;
}

int64_t *rebuild_outside(const struct lumos_job *job, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_holds holds = {0};
  const struct lumos_engine_notes notes = {.holds = &holds};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  int64_t *delays = NULL;
  if (lumos_engine_run_noting(job, &options, runs, &notes, error)) {
    uint8_t *held = find_held(job);
    delays = lumos_allocate_zeroed(job->tasks.count, sizeof *delays);
    for (size_t i = 0; i < holds.count; i++) {
      const struct lumos_hold *hold = &holds.items[i];
      bool counts = hold->kind == LUMOS_BOUNDARY && held[hold->task] && hold->from != LUMOS_ABSENT;
      delays[hold->task] += counts ? hold->to - hold->from : 0;
    }
    free(held);
  }
  lumos_vector_free(&holds);
  free(runs);
  return delays;
}
