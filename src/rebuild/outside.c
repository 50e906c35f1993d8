#include "rebuild/outside.h"

#include "sim/engine.h"
#include <stdlib.h>

/* By task: is it held by what was inferred to lie outside? What is known to, the recording begins with. False: none
 * is. */
static bool find_held(const struct lumos_job *job, uint8_t *held) {
  bool any = false;
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    bool counts = dep->kind == LUMOS_BOUNDARY && dep->evidence == LUMOS_INFERRED;
    held[dep->dst] |= counts;
    any = any || counts;
  }
  return any;
}

static bool run(const struct lumos_job *job, struct lumos_holds *holds, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  const struct lumos_engine_notes notes = {.holds = holds};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  bool done = lumos_engine_run_noting(job, &options, runs, &notes, error);
  free(runs);
  return done;
}

int64_t *rebuild_outside(const struct lumos_job *job, struct lumos_error *error) {
  struct lumos_holds holds = {0};
  int64_t *delays = lumos_allocate_zeroed(job->tasks.count, sizeof *delays);
  uint8_t *held = lumos_allocate_zeroed(job->tasks.count, 1);
  bool done = !find_held(job, held) || run(job, &holds, error);
  for (size_t i = 0; i < holds.count && done; i++) {
    const struct lumos_hold *hold = &holds.items[i];
    bool counts = hold->kind == LUMOS_BOUNDARY && held[hold->task] && hold->from != LUMOS_ABSENT;
    delays[hold->task] += counts ? hold->to - hold->from : 0;
  }
  free(held);
  lumos_vector_free(&holds);
  if (!done) {
    free(delays);
  }
  return done ? delays : NULL;
}
