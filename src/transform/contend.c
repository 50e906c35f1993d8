#include "transform/contend.h"

#include "transform/edit.h"

#include <lumos/sim.h>
#include <math.h>
#include <stdlib.h>

static uint8_t *find_communication(const struct lumos_job *job) {
  uint8_t *communication = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    communication[t] = lumos_on_stream(job, task) && lumos_is_communication(task->kind);
  }
  return communication;
}

/* NULL: the job cannot run; then nobody will see what it takes. */
static double *find_shares(const struct lumos_job *job, const uint8_t *communication) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_error error = {0};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs + 1);
  double *shares = NULL;
  if (lumos_engine_run(job, &options, runs, &error)) {
    int64_t *beside = lumos_times_beside(job, runs, communication);
    shares = lumos_allocate(job->tasks.count * sizeof *shares + 1);
    for (size_t t = 0; t < job->tasks.count; t++) {
      shares[t] = runs[t].dur > 0 ? (double)beside[t] / (double)runs[t].dur : 0;
    }
    free(beside);
  }
  free(runs);
  return shares;
}

void lumos_contend_begin(struct lumos_contend *contend, const struct lumos_job *job) {
  uint8_t *communication = find_communication(job);
  lumos_contention_fit(&contend->contention, job, communication);
  contend->shares = find_shares(job, communication);
  free(communication);
}

void lumos_contend_end(struct lumos_contend *contend, struct lumos_job *job) {
  uint8_t *communication = find_communication(job);
  double *shares = contend->shares == NULL ? NULL : find_shares(job, communication);
  for (uint32_t t = 0; t < job->tasks.count && shares != NULL; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    double share = lumos_loss_of(&contend->contention, task)->share, lost = share / (1 + share);
    struct lumos_times own = lumos_own_times(job, t);
    int64_t dur = llround((double)own.dur * (1 - lost * contend->shares[t]) / (1 - lost * shares[t]));
    if (dur != own.dur && lumos_on_stream(job, task) && !communication[t]) {
      (void)lumos_edit_mark(job, task);
      task->dur_source = LUMOS_MODELLED;
      lumos_set_own_times(job, task, (struct lumos_times){dur, own.lag});
    }
  }
  free(shares);
  free(contend->shares);
  free(communication);
}
