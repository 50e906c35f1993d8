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

/* What kernels now take beside communication. The first time they are as long as they are alone, and communication that in
 * truth lasts as long covers fewer of them. */
static bool slow_down_once(struct lumos_job *job, const uint8_t *communication,
                           const struct lumos_contention *contention, const int64_t *alone, bool first,
                           struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  bool done = lumos_engine_run(job, &options, runs, error);
  int64_t *times = done ? lumos_times_beside(job, runs, communication) : NULL;
  for (uint32_t t = 0; t < job->tasks.count && done; t++) {
    double share = lumos_loss_of(contention, &job->tasks.items[t])->share;
    int64_t loss = llround((double)times[t] * (first ? share : share / (1 + share)));
    if (alone[t] + loss != job->tasks.items[t].dur) {
      rebuild_change_length(job, t, alone[t] + loss - job->tasks.items[t].dur);
    }
  }
  free(times);
  free(runs);
  return done;
}

bool rebuild_slow_down(struct lumos_job *job, const uint8_t *communication, const struct lumos_contention *contention,
                       struct lumos_error *error) {
  enum { TIMES = 3 }; /* chosen: from then on next to nothing changes */
  int64_t *alone = lumos_allocate(job->tasks.count * sizeof *alone);
  bool done = true;
  for (size_t t = 0; t < job->tasks.count; t++) {
    alone[t] = job->tasks.items[t].dur;
  }
  for (int i = 0; i < TIMES && done; i++) {
    done = slow_down_once(job, communication, contention, alone, i == 0, error);
  }
  free(alone);
  return done;
}
