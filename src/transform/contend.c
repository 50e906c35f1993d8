#include "transform/contend.h"

#include "transform/edit.h"

#include <lumos/sim.h>
#include <math.h>
#include <stdlib.h>

static bool communicates(const struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (lumos_on_stream(job, &job->tasks.items[t]) && lumos_is_communication(job->tasks.items[t].kind)) {
      return true;
    }
  }
  return false;
}

static double *shares_in(const struct lumos_job *job, const struct lumos_run *runs, int with) {
  uint8_t *communication = lumos_find_contender(job, with);
  int64_t *beside = lumos_times_beside(job, runs, communication);
  double *shares = lumos_allocate(job->tasks.count * sizeof *shares + 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    shares[t] = runs[t].dur > 0 ? (double)beside[t] / (double)runs[t].dur : 0;
  }
  free(beside);
  free(communication);
  return shares;
}

/* NULL: the job cannot run; then nobody will see what it takes. */
static void find_shares(const struct lumos_job *job, double **shares) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_error error = {0};
  if (!communicates(job)) {
    for (int with = 0; with < LUMOS_CONTENDERS; with++) {
      shares[with] = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *shares[with]);
    }
    return;
  }
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs + 1);
  bool done = lumos_engine_run(job, &options, runs, &error);
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    shares[with] = done ? shares_in(job, runs, with) : NULL;
  }
  free(runs);
}

void lumos_contend_begin(struct lumos_contend *contend, const struct lumos_job *job) {
  contend->beside = lumos_beside_of(job);
  for (int of = 0; of < LUMOS_CONTENDED; of++) {
    contend->factors[of] = 1;
  }
  find_shares(job, contend->shares);
}

/* What is left of a task's speed; `shares`: of it beside each kind of communication. */
static double left(const struct lumos_contend *contend, const struct lumos_task *task, double *const *shares,
                   uint32_t at, const double *factors) {
  double lost = 0;
  for (int with = 0; with < LUMOS_CONTENDERS && at != LUMOS_NONE; with++) {
    const struct lumos_contention *contention = &contend->beside.with[with];
    double share = lumos_loss_of(contention, task)->share;
    share *= factors == NULL ? 1 : factors[lumos_contended_of(task)];
    lost += share / (1 + share) * shares[with][at];
  }
  static const double LEAST = 0.1; /* no kernel is ten times as long beside communication */
  return fmax(1 - lost, LEAST);
}

static void note_error(const struct lumos_contend *contend, struct lumos_job *job) {
  (void)lumos_job_common_error(job, LUMOS_ERROR_CONTENDED, "kernels beside communication",
                               (int32_t)lround(contend->beside.error * LUMOS_WHOLE_SHARE),
                               "kernels of one shape beside communication and alone");
}

/* Once they are longer, communication that lasts as long covers less of them. `alone`: by task, ns; below 0: it keeps its time.
 * False: the job cannot run. */
static bool lengthen(const struct lumos_contend *contend, struct lumos_job *job, const double *alone) {
  double *shares[LUMOS_CONTENDERS] = {NULL};
  find_shares(job, shares);
  bool done = shares[0] != NULL;
  for (uint32_t t = 0; t < job->tasks.count && done; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_times own = lumos_own_times(job, t);
    int64_t dur = alone[t] < 0 ? own.dur : llround(alone[t] / left(contend, task, shares, t, contend->factors));
    if (dur != own.dur) {
      (void)lumos_edit_mark(job, task);
      task->dur_source = LUMOS_MODELLED;
      lumos_set_own_times(job, task, (struct lumos_times){dur, own.lag});
    }
  }
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    free(shares[with]);
  }
  return done;
}

void lumos_contend_end(struct lumos_contend *contend, struct lumos_job *job, const uint32_t *likes) {
  enum { TIMES = 3 }; /* chosen: from then on next to nothing changes */
  double *alone = lumos_allocate(job->tasks.count * sizeof *alone + 1);
  bool done = contend->shares[0] != NULL;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool computes = lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
    alone[t] = done && computes ? (double)lumos_own_times(job, t).dur *
                                      left(contend, task, contend->shares, likes == NULL ? t : likes[t], NULL)
                                : -1;
  }
  for (int i = 0; i < TIMES && done; i++) {
    done = lengthen(contend, job, alone);
  }
  note_error(contend, job);
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    free(contend->shares[with]);
  }
  free(alone);
}
