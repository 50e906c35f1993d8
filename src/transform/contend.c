#include "transform/contend.h"

#include "cost/held.h"
#include "cost/passages.h"
#include "job/stretch.h"
#include "sim/engine.h"
#include "transform/edit.h"

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

/* A job that runs again and again while what its kernels and transfers take changes, and nothing else does. */
struct simulated {
  const struct lumos_job *job;
  bool communicates;
  struct lumos_engine engine;
  struct lumos_run *runs;
  struct lumos_placing placing;
  struct lumos_links links;
  uint8_t *computing, *contenders[LUMOS_CONTENDERS];
  double *sms; /* that its collectives hold */
};

/* Most tasks are on threads: what is not written of an array by task takes no memory. */
static double *shares_in(const struct simulated *simulated, const int64_t *lengths, int with) {
  size_t count = simulated->job->tasks.count;
  int64_t *beside =
      lumos_times_beside(simulated->job, simulated->runs, lengths, simulated->computing, simulated->contenders[with]);
  double *shares = lumos_allocate_zeroed(count + 1, sizeof *shares);
  for (size_t t = 0; t < count; t++) {
    if (beside[t] > 0 && simulated->runs[t].dur > 0) {
      shares[t] = (double)beside[t] / (double)simulated->runs[t].dur;
    }
  }
  free(beside);
  return shares;
}

/* SMs that collectives hold, by task; those of which it is not known as many as is typical. */
static double *sms_of(const struct lumos_contend *contend, const struct lumos_placing *placing,
                      const struct lumos_contending *where) {
  const struct lumos_job *job = placing->job;
  const struct lumos_links links = lumos_links_of(where->device);
  double *sms = lumos_held_sms(placing, &links);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    bool holds = job->tasks.items[t].kind == LUMOS_COLLECTIVE && lumos_on_stream(job, &job->tasks.items[t]);
    if (holds && !(sms[t] > 0)) {
      sms[t] = contend->typical;
    }
  }
  return sms;
}

static double *held_in(const struct simulated *simulated, const double *shares) {
  double *held = lumos_held_beside(simulated->job, simulated->runs, simulated->sms);
  for (size_t t = 0; t < simulated->job->tasks.count; t++) {
    double beside = shares[t] * (double)simulated->runs[t].dur;
    if (held[t] != 0) {
      held[t] = beside > 0 ? held[t] / beside : 0;
    }
  }
  return held;
}

static void free_overlaps(struct lumos_overlaps *overlaps) {
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    free(overlaps->shares[with]);
    free(overlaps->transferring[with]);
  }
  free(overlaps->held);
  free(overlaps->slowed);
}

static struct lumos_overlaps no_overlaps(const struct lumos_job *job) {
  struct lumos_overlaps overlaps = {.held = lumos_allocate_zeroed(job->tasks.count + 1, sizeof(double)),
                                    .slowed =
                                        lumos_allocate_zeroed(job->collectives.count + 1, sizeof(struct lumos_slowed))};
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    overlaps.shares[with] = lumos_allocate_zeroed(job->tasks.count + 1, sizeof(double));
    overlaps.transferring[with] = lumos_allocate_zeroed(job->tasks.count + 1, sizeof(double));
  }
  return overlaps;
}

static void open_simulated(struct simulated *simulated, const struct lumos_contend *contend,
                           const struct lumos_job *job, const struct lumos_contending *where) {
  const struct lumos_nodes nodes = {where->node_size, false};
  *simulated = (struct simulated){.job = job, .communicates = communicates(job)};
  if (!simulated->communicates) {
    return;
  }
  lumos_engine_prepare(&simulated->engine, job, LUMOS_MODEL_LUMOS);
  simulated->runs = lumos_engine_room(&simulated->engine, false);
  simulated->placing = lumos_placing_of(job, &nodes);
  simulated->links = lumos_links_of(where->device);
  simulated->sms = sms_of(contend, &simulated->placing, where);
  simulated->computing = lumos_find_computing(job);
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    simulated->contenders[with] = lumos_find_contender(job, with);
  }
}

static void close_simulated(struct simulated *simulated) {
  if (!simulated->communicates) {
    return;
  }
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    free(simulated->contenders[with]);
  }
  free(simulated->computing);
  free(simulated->sms);
  lumos_placing_free(&simulated->placing);
  free(simulated->runs);
  lumos_engine_free(&simulated->engine);
}

/* Without shares: the job cannot run; then nobody will see what it takes. */
static struct lumos_overlaps find_overlaps(struct simulated *simulated) {
  const struct lumos_engine_order order = {.variant = NULL};
  struct lumos_error error = {0};
  struct lumos_overlaps overlaps = {.held = NULL};
  if (!simulated->communicates) {
    return no_overlaps(simulated->job);
  }
  bool done = lumos_engine_do(&simulated->engine, &order, simulated->runs, &error);
  lumos_engine_rest(&simulated->engine); /* what comes takes as much memory again */
  if (done) {
    int64_t *lengths = lumos_transfer_lengths(&simulated->placing, simulated->runs);
    for (int with = 0; with < LUMOS_CONTENDERS; with++) {
      overlaps.shares[with] = shares_in(simulated, NULL, with);
      overlaps.transferring[with] = shares_in(simulated, lengths, with);
    }
    free(lengths);
    overlaps.held = held_in(simulated, overlaps.shares[0]);
    overlaps.slowed = lumos_slowed_transfers(&simulated->placing, &simulated->links, simulated->runs);
  }
  return overlaps;
}

/* ---- what was ---- */

/* GPUs are taken to be like the first. */
static struct lumos_contending where_is(const struct lumos_job *job, const struct lumos_hardware *hardware) {
  const struct lumos_rank *rank = job->ranks.count == 0 ? NULL : &job->ranks.items[0];
  struct lumos_contending where = {.node_size = lumos_nodes_of(job, NULL).size};
  if (rank != NULL && hardware != NULL && rank->device_name != LUMOS_NO_STRING) {
    where.device = lumos_hardware_find(hardware, lumos_string(job->strings, rank->device_name));
  }
  where.sms = where.device != NULL ? where.device->sms : 0;
  where.sms = rank != NULL && rank->device_sms != LUMOS_ABSENT ? (double)rank->device_sms : where.sms;
  return where;
}

/* Of those of which it is known, by time. */
static double typical_of(const struct lumos_job *job, const struct lumos_run *runs, const double *sms) {
  double held = 0, time = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    held += sms[t] * (double)runs[t].dur;
    time += sms[t] > 0 ? (double)runs[t].dur : 0;
  }
  return time > 0 ? held / time : 0;
}

/* What is lost was fitted to the products that ran beside collectives as measured: SMs that these held. */
static void find_held(struct lumos_contend *contend, const struct lumos_placing *placing,
                      const struct lumos_run *runs) {
  const struct lumos_job *job = placing->job;
  const struct lumos_links links = lumos_links_of(contend->was.device);
  double *sms = lumos_held_sms(placing, &links);
  contend->typical = typical_of(job, runs, sms);
  free(sms);
  sms = sms_of(contend, placing, &contend->was);
  uint8_t *communication = lumos_find_contender(job, 0);
  uint8_t *computing = lumos_find_computing(job);
  int64_t *beside = lumos_times_beside(job, runs, NULL, computing, communication);
  double *held = lumos_held_beside(job, runs, sms), sum = 0, time = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    bool product = lumos_contended_of(&job->tasks.items[t]) == LUMOS_CONTENDED_PRODUCTS;
    sum += product ? held[t] : 0;
    time += product ? (double)beside[t] : 0;
  }
  contend->held = time > 0 ? sum / time : 0;
  free(held);
  free(beside);
  free(computing);
  free(communication);
  free(sms);
}

static void find_sharing(struct lumos_contend *contend, const struct lumos_job *job) {
  const struct lumos_nodes nodes = {contend->was.node_size, false};
  struct lumos_placing placing = lumos_placing_of(job, &nodes);
  const struct lumos_links links = lumos_links_of(contend->was.device);
  struct lumos_run *runs = lumos_measured_runs(job);
  struct lumos_slowed *slowed = lumos_slowed_transfers(&placing, &links, runs);
  contend->sharing = lumos_sharing_of(&placing, slowed);
  find_held(contend, &placing, runs);
  free(slowed);
  free(runs);
  lumos_placing_free(&placing);
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
  struct lumos_error error = {0};
  *contend =
      (struct lumos_contend){.job = job, .hardware = lumos_hardware_read(NULL, &error), .beside = lumos_beside_of(job)};
  for (int of = 0; of < LUMOS_CONTENDED; of++) {
    contend->factors[of] = 1;
  }
  contend->was = contend->is = where_is(job, contend->hardware);
  find_sharing(contend, job);
  struct simulated simulated;
  open_simulated(&simulated, contend, job, &contend->was);
  contend->overlaps = find_overlaps(&simulated);
  close_simulated(&simulated);
}

/* ---- what comes ---- */

/* Is it known how many SMs a product lacks, in the recording and now? */
static bool lacks_sms(const struct lumos_contend *contend, const struct lumos_contending *where, double held) {
  return contend->held > 0 && contend->was.sms > 0 && where->sms > 0 && held > 0;
}

/* How much of its time a task is beside communication, and beside communication that transfers; SMs held meanwhile. */
struct beside {
  double share, transferring, held;
};

/* A product lacks the SMs that collectives hold; what else it loses, to memory that they share, it loses beside
 * transfers. */
static double lost_by_product(const struct lumos_contend *contend, const struct lumos_loss *loss,
                              const struct beside *beside, const struct lumos_contending *where) {
  double part = loss->share / (1 + loss->share);
  double of_sms = fmin(contend->held / contend->was.sms, part); /* some lose less than the SMs that are held */
  double of_memory = of_sms < 1 ? (part - of_sms) / (1 - of_sms) / loss->transferring : 0;
  double now = fmin(of_sms * beside->held / contend->held * contend->was.sms / where->sms, 1);
  return now * beside->share + (1 - now) * fmin(of_memory, LUMOS_MOST_LOST) * beside->transferring;
}

/* The part of its time that a task loses to one kind of communication. Messages between two hold next to no SMs. */
static double lost_beside(const struct lumos_contend *contend, const struct lumos_task *task, int with,
                          const struct beside *beside, const struct lumos_contending *where, const double *factors) {
  enum lumos_contended of = lumos_contended_of(task);
  bool product = with == 0 && of == LUMOS_CONTENDED_PRODUCTS;
  struct lumos_loss loss = contend->beside.with[with].losses[of];
  if (product && lacks_sms(contend, where, beside->held)) {
    return lost_by_product(contend, &loss, beside, where);
  }
  loss.share *= factors == NULL ? 1 : factors[of];
  double part = loss.share / (1 + loss.share);
  return product ? part * beside->share : fmin(part / loss.transferring, LUMOS_MOST_LOST) * beside->transferring;
}

/* What is left of the speed of a task beside what it overlaps. */
static double left(const struct lumos_contend *contend, const struct lumos_task *task,
                   const struct lumos_overlaps *overlaps, uint32_t at, const struct lumos_contending *where,
                   const double *factors) {
  static const double LEAST = 0.1; /* no kernel is ten times as long beside communication */
  double lost = 0;
  for (int with = 0; with < LUMOS_CONTENDERS && at != LUMOS_NONE; with++) {
    struct beside beside = {overlaps->shares[with][at], overlaps->transferring[with][at], overlaps->held[at]};
    lost += lost_beside(contend, task, with, &beside, where, factors);
  }
  return fmax(1 - lost, LEAST);
}

static void note_error(const struct lumos_contend *contend, struct lumos_job *job) {
  (void)lumos_job_common_error(job, LUMOS_ERROR_CONTENDED, "kernels beside communication",
                               (int32_t)lround(contend->beside.error * LUMOS_WHOLE_SHARE),
                               "kernels of one shape beside communication and alone");
}

/* What transfers would take alone, by collective, ns; below 0: it keeps its time. One that is like none has the time of
 * a model of links, which knows of nothing beside it (cost/transfers.c). */
static double *transfers_alone(const struct lumos_contend *contend, const struct lumos_job *job,
                               const uint32_t *likes) {
  double *alone = lumos_allocate(job->collectives.count * sizeof *alone + 1);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    uint32_t member = collective->member_count > 0 ? job->members.items[collective->member_first] : LUMOS_NONE;
    uint32_t like = member == LUMOS_NONE || likes == NULL ? member : likes[member];
    uint32_t from = like == LUMOS_NONE ? LUMOS_NONE : contend->collective_of[like];
    bool added = member != LUMOS_NONE && like == LUMOS_NONE;
    bool kept =
        (from == LUMOS_NONE && !added) || collective->transfer == LUMOS_ABSENT || contend->overlaps.slowed == NULL;
    double speed = kept || added ? 1 : lumos_slowed_speed(&contend->sharing, contend->overlaps.slowed[from]);
    alone[c] = kept ? -1 : (double)collective->transfer * speed;
  }
  return alone;
}

/* What kernels and transfers take, and by how much of it a pass over them changed that, ns. */
struct change {
  double all, changed;
};

static void count_change(struct change *change, int64_t was, int64_t is) {
  change->all += (double)was;
  change->changed += fabs((double)(is - was));
}

static void slow_transfers(const struct lumos_contend *contend, struct lumos_job *job, const double *alone,
                           const struct lumos_slowed *slowed, double step, struct change *change) {
  for (size_t c = 0; c < job->collectives.count; c++) {
    struct lumos_collective *collective = &job->collectives.items[c];
    double is = (double)collective->transfer;
    double to = alone[c] < 0 ? is : alone[c] / lumos_slowed_speed(&contend->sharing, slowed[c]);
    int64_t transfer = alone[c] < 0 ? collective->transfer : llround(is + step * (to - is));
    if (alone[c] >= 0) {
      count_change(change, collective->transfer, transfer);
    }
    if (transfer != collective->transfer) {
      for (uint32_t m = 0; m < collective->member_count && is > 0; m++) {
        lumos_stretch_end(job, job->members.items[collective->member_first + m], (double)transfer / is);
      }
      collective->was = collective->was == LUMOS_ABSENT ? collective->transfer : collective->was;
      collective->transfer = transfer;
      collective->dur_source = LUMOS_MODELLED;
    }
  }
}

/* Once they are longer, communication that lasts as long covers less of them. `alone`: by task, ns; 0: it keeps its
 * time. False: the job cannot run. */
static bool lengthen(const struct lumos_contend *contend, struct lumos_job *job, struct simulated *simulated,
                     const double *alone, const double *transfers, double step, struct change *change) {
  struct lumos_overlaps overlaps = find_overlaps(simulated);
  bool done = overlaps.shares[0] != NULL;
  for (uint32_t t = 0; t < job->tasks.count && done; t++) {
    if (!(alone[t] > 0)) {
      continue;
    }
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_times own = lumos_own_times(job, t);
    double to = alone[t] / left(contend, task, &overlaps, t, &contend->is, contend->factors);
    int64_t dur = llround((double)own.dur + step * (to - (double)own.dur));
    count_change(change, own.dur, dur);
    if (dur != own.dur) {
      (void)lumos_edit_mark(job, task);
      task->dur_source = LUMOS_MODELLED;
      lumos_set_own_times(job, task, (struct lumos_times){dur, own.lag});
    }
  }
  if (done) {
    slow_transfers(contend, job, transfers, overlaps.slowed, step, change);
  }
  free_overlaps(&overlaps);
  return done;
}

void lumos_contend_apply(const struct lumos_contend *contend, struct lumos_job *job, const uint32_t *likes) {
  enum { TIMES = 4 };                /* chosen: from then on next to nothing changes */
  static const double NEAR = 0.0005; /* of the time of kernels and transfers: so little is next to nothing. Chosen */
  double *alone = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *alone);
  bool done = contend->overlaps.shares[0] != NULL;
  for (uint32_t t = 0; t < job->tasks.count && done; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind)) {
      alone[t] = (double)lumos_own_times(job, t).dur *
                 left(contend, task, &contend->overlaps, likes == NULL ? t : likes[t], &contend->was, NULL);
    }
  }
  double *transfers = transfers_alone(contend, job, likes);
  struct simulated simulated;
  open_simulated(&simulated, contend, job, &contend->is);
  bool near = false;
  for (int i = 0; i < TIMES && done && !near; i++) {
    /* Who comes first to a collective waits, beside which its kernels take longer, so that next time another one comes
     * first: only half of the way at a time comes to rest between. */
    struct change change = {0, 0};
    done = lengthen(contend, job, &simulated, alone, transfers, i == 0 ? 1 : 0.5, &change);
    near = change.changed <= NEAR * change.all;
  }
  close_simulated(&simulated);
  note_error(contend, job);
  free(transfers);
  free(alone);
}

double lumos_contend_speed(const struct lumos_contend *contend, uint32_t task) {
  bool known = contend->overlaps.shares[0] != NULL;
  return known ? left(contend, &contend->job->tasks.items[task], &contend->overlaps, task, &contend->was, NULL) : 1;
}

void lumos_contend_free(struct lumos_contend *contend) {
  free_overlaps(&contend->overlaps);
  lumos_hardware_free(contend->hardware);
  free(contend->collective_of);
}

void lumos_contend_end(struct lumos_contend *contend, struct lumos_job *job, const uint32_t *likes) {
  lumos_contend_apply(contend, job, likes);
  lumos_contend_free(contend);
}
