#include "transform/contend.h"

#include "base/hash.h"
#include "base/parallel.h"
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
    if (held[t] != 0) {
      double beside = shares[t] * (double)simulated->runs[t].dur;
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

/* The engine, and beside it what its runs are looked at with. */
struct opening {
  struct simulated *simulated;
  const struct lumos_contend *contend;
  const struct lumos_contending *where;
};
enum { OPEN_ENGINE, OPEN_REST, OPENINGS };

static bool open_one(void *context, size_t index, bool callers) {
  struct opening *opening = context;
  struct simulated *simulated = opening->simulated;
  const struct lumos_job *job = simulated->job;
  (void)callers; /* nobody is told */
  if (index == OPEN_ENGINE) {
    lumos_engine_prepare(&simulated->engine, job, LUMOS_MODEL_LUMOS);
    simulated->runs = lumos_engine_room(&simulated->engine, false);
    return true;
  }
  const struct lumos_nodes nodes = {opening->where->node_size, false};
  simulated->placing = lumos_placing_of(job, &nodes);
  simulated->links = lumos_links_of(opening->where->device);
  simulated->sms = sms_of(opening->contend, &simulated->placing, opening->where);
  simulated->computing = lumos_find_computing(job);
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    simulated->contenders[with] = lumos_find_contender(job, with);
  }
  return true;
}

static void open_simulated(struct simulated *simulated, const struct lumos_contend *contend,
                           const struct lumos_job *job, const struct lumos_contending *where) {
  struct opening opening = {simulated, contend, where};
  *simulated = (struct simulated){.job = job, .communicates = communicates(job)};
  if (simulated->communicates) {
    (void)lumos_parallel(OPENINGS, job->threads, open_one, &opening);
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

/* What a run shows, in pieces that need nothing of each other. */
struct finding {
  const struct simulated *simulated;
  const int64_t *lengths;
  struct lumos_overlaps overlaps;
};
enum { FIND_SLOWED, FIND_HELD, FIND_TRANSFERRING, FIND_SHARES = FIND_TRANSFERRING + LUMOS_CONTENDERS };
enum { FINDINGS = FIND_SHARES + LUMOS_CONTENDERS - 1 }; /* what is held needs the first shares, and finds them */

static bool find_one(void *context, size_t index, bool callers) {
  struct finding *finding = context;
  const struct simulated *simulated = finding->simulated;
  struct lumos_overlaps *overlaps = &finding->overlaps;
  if (index == FIND_SLOWED) {
    overlaps->slowed = lumos_slowed_transfers(&simulated->placing, &simulated->links, simulated->runs);
  } else if (index == FIND_HELD) {
    overlaps->shares[0] = shares_in(simulated, NULL, 0);
    overlaps->held = held_in(simulated, overlaps->shares[0]);
  } else if (index < FIND_SHARES) {
    int with = (int)index - FIND_TRANSFERRING;
    overlaps->transferring[with] = shares_in(simulated, finding->lengths, with);
  } else {
    int with = (int)index - FIND_SHARES + 1;
    overlaps->shares[with] = shares_in(simulated, NULL, with);
  }
  (void)callers; /* nobody is told */
  return true;
}

/* Without shares: the job cannot run; then nobody will see what it takes. */
static struct lumos_overlaps find_overlaps(struct simulated *simulated) {
  const struct lumos_engine_order order = {.on_streams_only = true};
  struct lumos_error error = {0};
  struct finding finding = {.simulated = simulated};
  if (!simulated->communicates) {
    return no_overlaps(simulated->job);
  }
  lumos_engine_take_lengths(&simulated->engine);
  if (lumos_engine_do(&simulated->engine, &order, simulated->runs, &error)) {
    int64_t *lengths = lumos_transfer_lengths(&simulated->placing, simulated->runs);
    finding.lengths = lengths;
    (void)lumos_parallel(FINDINGS, simulated->job->threads, find_one, &finding);
    free(lengths);
  }
  return finding.overlaps;
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
  *contend = (struct lumos_contend){.hardware = lumos_hardware_read(NULL, &error), .beside = lumos_beside_of(job)};
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

static double part_of(double share) { return share / (1 + share); }

/* How much of its time a task is beside communication, and beside communication that transfers; SMs held meanwhile. */
struct beside {
  double share, transferring, held;
  const struct lumos_contending *where;
};

/* A product lacks the SMs that collectives hold; what else it loses, to memory that they share, it loses beside
 * transfers. */
static double lost_by_product(const struct lumos_contend *contend, const struct lumos_loss *loss,
                              const struct beside *beside) {
  double part = part_of(loss->share);
  double of_sms = fmin(contend->held / contend->was.sms, part); /* some lose less than the SMs that are held */
  double of_memory = of_sms < 1 ? (part - of_sms) / (1 - of_sms) / loss->transferring : 0;
  double now = fmin(of_sms * beside->held / contend->held * contend->was.sms / beside->where->sms, 1);
  return now * beside->share + (1 - now) * fmin(of_memory, LUMOS_MOST_LOST) * beside->transferring;
}

/* In place of one of the ratios of what kernels lose: all of them, on average. */
enum { ON_AVERAGE = LUMOS_UNEVEN };

/* The part of its time that a task loses to one kind of communication. Messages between two hold next to no SMs.
 * `draw`: of what such kernels lose, one of the ratios. */
static double lost_beside(const struct lumos_contend *contend, const struct lumos_task *task, int with,
                          const struct beside *beside, size_t draw) {
  enum lumos_contended of = lumos_contended_of(task);
  bool product = with == 0 && of == LUMOS_CONTENDED_PRODUCTS;
  struct lumos_loss loss = contend->beside.with[with].losses[of];
  double ratio = draw == ON_AVERAGE ? 1 : loss.uneven.ratios[draw];
  if (product && lacks_sms(contend, beside->where, beside->held)) {
    loss.share *= ratio;
    return lost_by_product(contend, &loss, beside);
  }
  loss.share *= beside->where == &contend->is ? contend->factors[of] : 1;
  if (product) {
    return part_of(loss.share * ratio) * beside->share;
  }
  double part = fmin(part_of(loss.share) / loss.transferring, LUMOS_MOST_LOST);
  return part_of(part / (1 - part) * ratio) * beside->transferring;
}

static struct beside beside_of(const struct lumos_overlaps *overlaps, int with, uint32_t at,
                               const struct lumos_contending *where) {
  return at == LUMOS_NONE
             ? (struct beside){0, 0, 0, where}
             : (struct beside){overlaps->shares[with][at], overlaps->transferring[with][at], overlaps->held[at], where};
}

static double speed_left(double lost) { return fmax(1 - lost, LUMOS_LEAST_SPEED); }

/* What was left of the speed of a task beside what it overlapped in the recording. */
static double left(const struct lumos_contend *contend, const struct lumos_task *task, uint32_t at) {
  double lost = 0;
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    struct beside was = beside_of(&contend->overlaps, with, at, &contend->was);
    lost += lost_beside(contend, task, with, &was, ON_AVERAGE);
  }
  return speed_left(lost);
}

/* In which order kernels draw what they lose. */
struct drawing {
  const struct lumos_job *job;
  uint64_t *hashes; /* of names, whose ids depend on the order of reading; 0: not computed */
  uint32_t *nth;    /* by name: how many of the rank's have drawn */
  uint32_t *rank;   /* ... and which rank that is, and one more */
};

static struct drawing begin_drawing(const struct lumos_job *job) {
  size_t names = (size_t)lumos_strings_count(job->strings) + 1;
  return (struct drawing){job, lumos_allocate_zeroed(names, sizeof(uint64_t)),
                          lumos_allocate_zeroed(names, sizeof(uint32_t)),
                          lumos_allocate_zeroed(names, sizeof(uint32_t))};
}

static size_t draw_ratio(struct drawing *drawing, const struct lumos_task *task) {
  uint32_t name = task->name, rank = lumos_rank_of(drawing->job, task);
  if (drawing->hashes[name] == 0) {
    drawing->hashes[name] = lumos_hash_text(lumos_string(drawing->job->strings, name));
  }
  drawing->nth[name] = drawing->rank[name] == rank + 1 ? drawing->nth[name] + 1 : 0;
  drawing->rank[name] = rank + 1;
  return lumos_uneven_draw((uint64_t)drawing->job->ranks.items[rank].rank, drawing->hashes[name], drawing->nth[name]);
}

static void end_drawing(struct drawing *drawing) {
  free(drawing->hashes);
  free(drawing->nth);
  free(drawing->rank);
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

/* A kernel, and what it would take alone, above 0, ns. */
struct alone {
  uint32_t task;
  uint32_t like; /* in the job before the change; LUMOS_NONE: none */
  size_t draw;   /* which of the ratios of what such kernels lose it has */
  double ns;
};
LUMOS_VECTOR_TYPE(alones, struct alone);

static void find_alone(struct alones *alone, const struct lumos_contend *contend, const struct lumos_job *job,
                       const uint32_t *likes) {
  struct drawing drawing = begin_drawing(job);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind)) {
      uint32_t like = likes == NULL ? t : likes[t];
      double ns = (double)lumos_own_times(job, t).dur * left(contend, task, like);
      size_t draw = draw_ratio(&drawing, task);
      if (ns > 0) {
        lumos_vector_push(alone, ((struct alone){t, like, draw, ns}));
      }
    }
  }
  end_drawing(&drawing);
}

/* What is left of its speed now. What it loses beyond what it lost, it loses as unevenly as others of its kind. */
static double left_now(const struct lumos_contend *contend, const struct lumos_task *task,
                       const struct lumos_overlaps *overlaps, const struct alone *kernel) {
  double sum = 0;
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    struct beside is = beside_of(overlaps, with, kernel->task, &contend->is),
                  was = beside_of(&contend->overlaps, with, kernel->like, &contend->is);
    double lost = lost_beside(contend, task, with, &is, ON_AVERAGE),
           before = lost_beside(contend, task, with, &was, ON_AVERAGE);
    double more = lost > before ? (lost - before) / lost : 0;
    sum += (1 - more) * lost + (more > 0 ? more * lost_beside(contend, task, with, &is, kernel->draw) : 0);
  }
  return speed_left(sum);
}

/* Once they are longer, communication that lasts as long covers less of them. Kernels that are not in `alone` keep
 * their time. False: the job cannot run. */
static bool lengthen(const struct lumos_contend *contend, struct lumos_job *job, struct simulated *simulated,
                     const struct alones *alone, const double *transfers, double step, struct change *change) {
  struct lumos_overlaps overlaps = find_overlaps(simulated);
  bool done = overlaps.shares[0] != NULL;
  for (size_t i = 0; i < alone->count && done; i++) {
    const struct alone *kernel = &alone->items[i];
    uint32_t t = kernel->task;
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_times own = lumos_own_times(job, t);
    double to = kernel->ns / left_now(contend, task, &overlaps, kernel);
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
  if (contend->overlaps.shares[0] == NULL) { /* the job before cannot run */
    note_error(contend, job);
    return;
  }
  struct alones alone = {0};
  find_alone(&alone, contend, job, likes);
  double *transfers = transfers_alone(contend, job, likes);
  struct simulated simulated;
  open_simulated(&simulated, contend, job, &contend->is);
  bool done = true, near = false;
  for (int i = 0; i < TIMES && done && !near; i++) {
    /* Who comes first to a collective waits, beside which its kernels take longer, so that next time another one comes
     * first: only half of the way at a time comes to rest between. */
    struct change change = {0, 0};
    done = lengthen(contend, job, &simulated, &alone, transfers, i == 0 ? 1 : 0.5, &change);
    near = change.changed <= NEAR * change.all;
  }
  close_simulated(&simulated);
  note_error(contend, job);
  free(transfers);
  lumos_vector_free(&alone);
}

double lumos_contend_speed(const struct lumos_contend *contend, const struct lumos_task *task, uint32_t at) {
  bool known = contend->overlaps.shares[0] != NULL;
  return known ? left(contend, task, at) : 1;
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
