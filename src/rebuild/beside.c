#include "rebuild/beside.h"

#include "cost/contention.h"
#include "sim/engine.h"
#include <math.h>
#include <stdlib.h>

int64_t *rebuild_find_losses(const struct lumos_job *job, const uint8_t *communication) {
  struct lumos_contention contention;
  struct lumos_run *runs = lumos_measured_runs(job);
  lumos_contention_fit(&contention, job, communication);
  int64_t *losses = lumos_times_beside(job, runs, communication);
  for (size_t t = 0; t < job->tasks.count; t++) {
    double share = lumos_loss_of(&contention, &job->tasks.items[t])->share;
    losses[t] = llround((double)losses[t] * share / (1 + share));
  }
  free(runs);
  return losses;
}

void rebuild_change_length(struct lumos_job *job, uint32_t t, int64_t by) {
  struct lumos_task *task = &job->tasks.items[t];
  struct lumos_detail *detail = lumos_task_detail(job, task);
  detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
  task->dur = task->dur + by > 0 ? task->dur + by : 0;
  task->dur_source = LUMOS_MODELLED;
}

bool rebuild_slow_down(struct lumos_job *job, const uint8_t *communication, const struct lumos_contention *contention,
                       struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  bool done = lumos_engine_run(job, &options, runs, error);
  int64_t *times = done ? lumos_times_beside(job, runs, communication) : NULL;
  for (uint32_t t = 0; t < job->tasks.count && done; t++) {
    if (times[t] > 0) {
      double share = lumos_loss_of(contention, &job->tasks.items[t])->share;
      rebuild_change_length(job, t, llround((double)times[t] * share));
    }
  }
  free(times);
  free(runs);
  return done;
}
