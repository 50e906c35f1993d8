#include "transform/contend.h"

#include "cost/sharing.h"
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

static double *shared_in(const struct lumos_contend *contend, const struct lumos_job *job,
                         const struct lumos_run *runs) {
  if (!(contend->part > 0)) {
    return lumos_allocate_zeroed(job->collectives.count + 1, sizeof(double));
  }
  const struct lumos_nodes nodes = {contend->node_size, false};
  struct lumos_transfers *transfers = lumos_transfers_of(job, &nodes);
  double *shared = lumos_shares_of_transfers(transfers, runs);
  lumos_transfers_free(transfers);
  return shared;
}

/* NULL: the job cannot run; then nobody will see what it takes. `shared`: by collective. */
static void find_shares(const struct lumos_contend *contend, const struct lumos_job *job, double **shares,
                        double **shared) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_error error = {0};
  *shared = NULL;
  if (!communicates(job)) {
    *shared = lumos_allocate_zeroed(job->collectives.count + 1, sizeof **shared);
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
  *shared = done ? shared_in(contend, job, runs) : NULL;
  free(runs);
}

static void find_sharing(struct lumos_contend *contend, const struct lumos_job *job) {
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_transfers *transfers = lumos_transfers_of(job, &nodes);
  contend->node_size = nodes.size;
  contend->part = lumos_sharing_of(transfers).part;
  lumos_transfers_free(transfers);
  contend->collective_of = lumos_allocate(job->tasks.count * sizeof *contend->collective_of + 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    contend->collective_of[t] = LUMOS_NONE;
  }
  for (size_t c = job->collectives.count; c-- > 0;) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    for (uint32_t m = 0; m < collective->member_count; m++) {
      contend->collective_of[job->members.items[collective->member_first + m]] = (uint32_t)c;
    }
  }
}

void lumos_contend_begin(struct lumos_contend *contend, const struct lumos_job *job) {
  contend->beside = lumos_beside_of(job);
  for (int of = 0; of < LUMOS_CONTENDED; of++) {
    contend->factors[of] = 1;
  }
  find_sharing(contend, job);
  find_shares(contend, job, contend->shares, &contend->shared);
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

/* What transfers would take alone, by collective, ns; below 0: it keeps its time. */
static double *transfers_alone(const struct lumos_contend *contend, const struct lumos_job *job,
                               const uint32_t *likes) {
  double *alone = lumos_allocate(job->collectives.count * sizeof *alone + 1);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    uint32_t member = collective->member_count > 0 ? job->members.items[collective->member_first] : LUMOS_NONE;
    uint32_t like = member == LUMOS_NONE || likes == NULL ? member : likes[member];
    uint32_t from = like == LUMOS_NONE ? LUMOS_NONE : contend->collective_of[like];
    bool kept = from == LUMOS_NONE || collective->transfer == LUMOS_ABSENT || contend->shared == NULL;
    alone[c] = kept ? -1 : (double)collective->transfer * (1 - contend->part * contend->shared[from]);
  }
  return alone;
}

static void share_links(const struct lumos_contend *contend, struct lumos_job *job, const double *alone,
                        const double *shared, double step) {
  for (size_t c = 0; c < job->collectives.count; c++) {
    struct lumos_collective *collective = &job->collectives.items[c];
    double is = (double)collective->transfer, to = alone[c] < 0 ? is : alone[c] / (1 - contend->part * shared[c]);
    int64_t transfer = alone[c] < 0 ? collective->transfer : llround(is + step * (to - is));
    if (transfer != collective->transfer) {
      collective->was = collective->was == LUMOS_ABSENT ? collective->transfer : collective->was;
      collective->transfer = transfer;
      collective->dur_source = LUMOS_MODELLED;
    }
  }
}

/* Once they are longer, communication that lasts as long covers less of them. `alone`: by task, ns; below 0: it keeps its time.
 * False: the job cannot run. */
static bool lengthen(const struct lumos_contend *contend, struct lumos_job *job, const double *alone,
                     const double *transfers, double step) {
  double *shares[LUMOS_CONTENDERS] = {NULL}, *shared = NULL;
  find_shares(contend, job, shares, &shared);
  bool done = shares[0] != NULL;
  for (uint32_t t = 0; t < job->tasks.count && done; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_times own = lumos_own_times(job, t);
    double to = alone[t] < 0 ? (double)own.dur : alone[t] / left(contend, task, shares, t, contend->factors);
    int64_t dur = llround((double)own.dur + step * (to - (double)own.dur));
    if (dur != own.dur) {
      (void)lumos_edit_mark(job, task);
      task->dur_source = LUMOS_MODELLED;
      lumos_set_own_times(job, task, (struct lumos_times){dur, own.lag});
    }
  }
  if (done) {
    share_links(contend, job, transfers, shared, step);
  }
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    free(shares[with]);
  }
  free(shared);
  return done;
}

void lumos_contend_end(struct lumos_contend *contend, struct lumos_job *job, const uint32_t *likes) {
  enum { TIMES = 4 }; /* chosen: from then on next to nothing changes */
  double *alone = lumos_allocate(job->tasks.count * sizeof *alone + 1);
  bool done = contend->shares[0] != NULL;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool computes = lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
    alone[t] = done && computes ? (double)lumos_own_times(job, t).dur *
                                      left(contend, task, contend->shares, likes == NULL ? t : likes[t], NULL)
                                : -1;
  }
  double *transfers = transfers_alone(contend, job, likes);
  for (int i = 0; i < TIMES && done; i++) {
    /* Who comes first to a collective waits, beside which its kernels take longer, so that next time another one comes first: only
     * half of the way at a time comes to rest between. */
    done = lengthen(contend, job, alone, transfers, i == 0 ? 1 : 0.5);
  }
  note_error(contend, job);
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    free(contend->shares[with]);
  }
  free(contend->shared);
  free(contend->collective_of);
  free(transfers);
  free(alone);
}
