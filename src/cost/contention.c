#include "cost/contention.h"

#include "base/hash.h"
#include "cost/kernel_cost.h"
#include "cost/moved.h"
#include "cost/passages.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- when kernels run beside communication ---- */

struct stretch {
  uint32_t rank;
  int64_t start, end;
};
LUMOS_VECTOR_TYPE(stretches, struct stretch);

static int by_start(const void *left, const void *right) {
  const struct stretch *a = left, *b = right;
  return a->rank != b->rank ? LUMOS_ORDER(a->rank, b->rank) : LUMOS_ORDER(a->start, b->start);
}

static struct lumos_run run_of(const struct lumos_run *runs, const int64_t *lengths, size_t task) {
  return lengths == NULL ? runs[task] : lumos_passage(runs[task], lengths[task]);
}

/* When communication is there, by rank and time. Members of one stream come one after the other, those of several are
 * united. */
static void find_stretches(struct stretches *stretches, const struct lumos_job *job, const struct lumos_run *runs,
                           const int64_t *lengths, const uint8_t *communication) {
  size_t kept = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (communication[t] && runs[t].start != LUMOS_ABSENT) {
      struct lumos_run run = run_of(runs, lengths, t);
      struct stretch stretch = {lumos_rank_of(job, &job->tasks.items[t]), run.start, run.start + run.dur};
      lumos_vector_push(stretches, stretch);
    }
  }
  lumos_vector_sort(stretches, by_start);
  for (size_t i = 0; i < stretches->count; i++) {
    struct stretch *last = kept == 0 ? NULL : &stretches->items[kept - 1], next = stretches->items[i];
    if (last != NULL && last->rank == next.rank && last->end >= next.start) {
      last->end = next.end > last->end ? next.end : last->end;
    } else {
      stretches->items[kept++] = next;
    }
  }
  stretches->count = kept;
}

/* The first stretch of a rank that ends behind an instant. */
static size_t stretch_behind(const struct stretches *stretches, uint32_t rank, int64_t at) {
  size_t low = 0, high = stretches->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct stretch *stretch = &stretches->items[middle];
    if (stretch->rank < rank || (stretch->rank == rank && stretch->end <= at)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static int64_t time_beside(const struct stretches *stretches, uint32_t rank, int64_t start, int64_t end) {
  int64_t sum = 0;
  for (size_t i = stretch_behind(stretches, rank, start); i < stretches->count; i++) {
    const struct stretch *stretch = &stretches->items[i];
    if (stretch->rank != rank || stretch->start >= end) {
      break;
    }
    int64_t from = stretch->start > start ? stretch->start : start, to = stretch->end < end ? stretch->end : end;
    sum += to - from;
  }
  return sum;
}

static bool computes(const struct lumos_job *job, const struct lumos_task *task) {
  return lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
}

uint8_t *lumos_find_computing(const struct lumos_job *job) {
  uint8_t *computing = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    computing[t] = computes(job, &job->tasks.items[t]);
  }
  return computing;
}

uint8_t *lumos_find_contender(const struct lumos_job *job, int with) {
  static const enum lumos_task_kind kinds[LUMOS_CONTENDERS] = {LUMOS_COLLECTIVE, LUMOS_P2P};
  uint8_t *communication = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    communication[t] = lumos_on_stream(job, task) && task->kind == kinds[with];
  }
  return communication;
}

int64_t *lumos_times_beside(const struct lumos_job *job, const struct lumos_run *runs, const int64_t *lengths,
                            const uint8_t *of, const uint8_t *others) {
  int64_t *times = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *times);
  struct stretches stretches = {0};
  find_stretches(&stretches, job, runs, lengths, others);
  for (size_t t = 0; t < job->tasks.count && stretches.count > 0; t++) {
    if (of[t] && runs[t].start != LUMOS_ABSENT) {
      struct lumos_run run = run_of(runs, lengths, t);
      uint32_t rank = lumos_rank_of(job, &job->tasks.items[t]);
      int64_t time = time_beside(&stretches, rank, run.start, run.start + run.dur);
      if (time != 0) { /* what is not written takes no memory */
        times[t] = time;
      }
    }
  }
  lumos_vector_free(&stretches);
  return times;
}

struct lumos_run *lumos_measured_runs(const struct lumos_job *job) {
  struct lumos_run *runs = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *runs);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task)) { /* what is not written takes no memory */
      int64_t was = lumos_detail_of(job, task)->was;
      runs[t] = (struct lumos_run){task->start, was == LUMOS_ABSENT ? task->dur : was};
    }
  }
  return runs;
}

/* ---- what the trace shows ---- */

struct sample {  /* a kernel */
  uint64_t kind; /* its name, phase, and the op and shapes that it works on; or how large a product it is */
  uint32_t rank; /* a slow rank is slow beside nothing, too */
  int64_t dur, beside, transferring;
  int64_t weight; /* ranks that are like its own, with that */
  uint8_t of;     /* enum lumos_contended */
};
LUMOS_VECTOR_TYPE(samples, struct sample);

/* Those that ran beside less come first. */
static int by_key(const void *left, const void *right) {
  const struct sample *a = left, *b = right;
  return a->kind != b->kind       ? LUMOS_ORDER(a->kind, b->kind)
         : a->rank != b->rank     ? LUMOS_ORDER(a->rank, b->rank)
         : a->beside != b->beside ? LUMOS_ORDER(a->beside, b->beside)
                                  : LUMOS_ORDER(a->dur, b->dur);
}

enum lumos_contended lumos_contended_of(const struct lumos_task *task) {
  bool product = task->kind == LUMOS_GEMM || task->kind == LUMOS_ATTENTION;
  return product ? LUMOS_CONTENDED_PRODUCTS : LUMOS_CONTENDED_OTHERS;
}

/* The op that launches the task; LUMOS_NONE. */
static uint32_t op_of(const struct lumos_job *job, const struct lumos_task *task) {
  enum { DEEPEST = 1000 };
  uint32_t span = task->call != LUMOS_NONE ? job->tasks.items[task->call].span : task->span;
  for (int depth = 0; span != LUMOS_NONE && depth < DEEPEST; depth++, span = job->spans.items[span].parent) {
    if (job->spans.items[span].kind == LUMOS_SPAN_OP) {
      return span;
    }
  }
  return LUMOS_NONE;
}

/* By span: its shapes were recorded, and it launches no communication, which has nothing to do with what a kernel
 * computes. The caller frees it. */
static uint8_t *find_shaped_ops(const struct lumos_job *job) {
  uint8_t *shaped = lumos_allocate_zeroed(job->spans.count + 1, 1);
  for (size_t s = 0; s < job->spans.count; s++) {
    shaped[s] = job->spans.items[s].shapes != LUMOS_NO_STRING;
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t op = lumos_on_stream(job, task) && lumos_is_communication(task->kind) ? op_of(job, task) : LUMOS_NONE;
    if (op != LUMOS_NONE) {
      shaped[op] = 0;
    }
  }
  return shaped;
}

static uint64_t kind_of(const struct lumos_job *job, const struct lumos_task *task, uint32_t op) {
  uint64_t key = lumos_hash_mix(lumos_hash_mix(1, task->name), task->phase);
  return lumos_hash_mix(lumos_hash_mix(key, job->spans.items[op].shapes), job->spans.items[op].name);
}

/* By task: the size of a product, which is that of the products that give the gradients of its inputs; 0: it is none,
 * or its sides are not known. The caller frees it. */
static uint64_t *find_sizes(const struct lumos_job *job) {
  uint64_t *sizes = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *sizes);
  struct lumos_kernel_costs costs = {0};
  lumos_kernel_costs_find(job, &costs);
  for (size_t i = 0; i < costs.list.count; i++) {
    const struct lumos_kernel_cost *cost = &costs.list.items[i];
    if (job->tasks.items[cost->task].kind == LUMOS_GEMM && cost->rows > 0) {
      uint64_t sides = lumos_hash_mix(0, (uint64_t)cost->rows) + lumos_hash_mix(0, (uint64_t)cost->inner) +
                       lumos_hash_mix(0, (uint64_t)cost->columns); /* in any order */
      sizes[cost->task] = lumos_hash_mix(lumos_hash_mix(sides, (uint64_t)cost->batches), cost->dtype);
    }
  }
  lumos_vector_free(&costs.list);
  return sizes;
}

/* Kernels that ran beside other communication, too, show nothing of this one; and those of an op without shapes may be
 * of any size, so that they are not compared. `sizes`: products alone, by their size (find_sizes); NULL: all, by name,
 * phase, op and shapes. */
static void find_samples(struct samples *samples, const struct lumos_placing *placing, const uint8_t *communication,
                         const uint64_t *sizes) {
  const struct lumos_job *job = placing->job;
  struct lumos_run *runs = lumos_measured_runs(job);
  int64_t *lengths = lumos_transfer_lengths(placing, runs);
  uint8_t *shaped = find_shaped_ops(job);
  uint8_t *others = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    others[t] = lumos_on_stream(job, task) && lumos_is_communication(task->kind) && !communication[t];
  }
  uint8_t *computing = lumos_find_computing(job);
  int64_t *beside = lumos_times_beside(job, runs, NULL, computing, communication),
          *beside_others = lumos_times_beside(job, runs, NULL, computing, others),
          *beside_transfers = lumos_times_beside(job, runs, lengths, computing, communication);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool runs_alone = runs[t].start != LUMOS_ABSENT && runs[t].dur > 0 && beside_others[t] == 0;
    uint32_t op = runs_alone && computes(job, task) ? op_of(job, task) : LUMOS_NONE;
    bool compared = op != LUMOS_NONE && shaped[op] && (sizes == NULL || sizes[t] != 0);
    if (compared) {
      uint64_t kind = sizes == NULL ? kind_of(job, task, op) : sizes[t];
      uint32_t rank = lumos_rank_of(job, task);
      struct sample sample = {kind,
                              rank,
                              runs[t].dur,
                              beside[t],
                              beside_transfers[t],
                              lumos_rank_weight(&job->ranks.items[rank]),
                              (uint8_t)lumos_contended_of(task)};
      lumos_vector_push(samples, sample);
    }
  }
  free(beside);
  free(beside_others);
  free(beside_transfers);
  free(computing);
  free(lengths);
  free(others);
  free(shaped);
  free(runs);
  lumos_vector_sort(samples, by_key);
}

struct kind { /* of all ranks' kernels: ns */
  uint64_t number;
  double lost, beside;
};

struct shown { /* by kernels of one class, of all kinds */
  double lost, beside,
      transferring; /* ns: what they took longer; how long they ran beside communication, and beside transfers */
  int64_t kernels;
  LUMOS_VECTOR(struct kind) kinds;
  struct lumos_uneven_losses losses, alone;
};

/* Beside communication that mostly waits a kernel loses little for that reason. */
static void add_loss(struct shown *shown, const struct sample *sample, int64_t base) {
  static const double MOSTLY = 0.75; /* chosen */
  double lost = (double)(sample->dur - base), alone = (double)sample->beside - lost;
  if ((double)sample->transferring >= MOSTLY * (double)sample->beside && alone > 0) {
    double weight = (double)sample->weight;
    struct lumos_uneven_loss loss = {weight * lost, weight * alone};
    lumos_vector_push(&shown->losses, loss);
  }
}

/* Of one kind on one rank: those beside nothing, [first, alone), give what it takes; the others, [alone, end), what it
 * loses. */
static void add_kind(const struct sample *samples, size_t first, size_t alone, size_t end, struct shown *shown) {
  enum { LEAST_ALONE = 3, LEAST_PART = 4 }; /* a kernel of which less than a fourth is beside shows little. Chosen */
  if (alone - first < LEAST_ALONE) {
    return;
  }
  int64_t base = samples[first + (alone - first) / 2].dur; /* sorted by duration */
  double lost = 0, beside = 0, transferring = 0;
  int64_t kernels = 0;
  for (size_t i = alone; i < end; i++) {
    if (samples[i].beside >= samples[i].dur / LEAST_PART) {
      double weight = (double)samples[i].weight;
      lost += weight * (double)(samples[i].dur - base);
      beside += weight * (double)samples[i].beside;
      transferring += weight * (double)samples[i].transferring;
      kernels += samples[i].weight;
      add_loss(shown, &samples[i], base);
    }
  }
  for (size_t i = first; i < alone && kernels > 0 && base > 0; i++) {
    double weight = (double)samples[i].weight;
    struct lumos_uneven_loss differs = {weight * (double)(samples[i].dur - base), weight * (double)base};
    lumos_vector_push(&shown->alone, differs);
  }
  shown->lost += lost;
  shown->beside += beside;
  shown->transferring += transferring;
  shown->kernels += kernels;
  if (kernels > 0) {
    if (shown->kinds.count == 0 || shown->kinds.items[shown->kinds.count - 1].number != samples[first].kind) {
      lumos_vector_push(&shown->kinds, ((struct kind){.number = samples[first].kind}));
    }
    struct kind *kind = &shown->kinds.items[shown->kinds.count - 1];
    kind->lost += lost;
    kind->beside += beside;
  }
}

/* One standard deviation of the part of their time that kernels lose, of which their kinds are a sample: what comes to
 * run beside communication are others, or these in other proportions. A few that happen to be alike would promise too
 * much, so that kinds differ by as much as they lose counts as one more. */
static double error_of(const struct shown *shown, double part) {
  double squares = 0, usual = 0;
  for (size_t i = 0; i < shown->kinds.count; i++) {
    const struct kind *kind = &shown->kinds.items[i];
    double off = kind->lost - part * kind->beside, lost = part * kind->beside;
    squares += off * off;
    usual += lost * lost / (double)shown->kinds.count;
  }
  return sqrt(squares + usual) / shown->beside;
}

/* Of time beside communication, a part is lost: a kernel that takes 1 + share as long loses share / (1 + share) of
 * it. */
static void judge(struct shown *shown, struct lumos_loss *loss) {
  enum { LEAST_KINDS = 3, LEAST_KERNELS = 12 }; /* chosen: less is chance */
  /* Of the time: of less than that, nothing is concluded on what transfers cost. Chosen. */
  static const double LEAST = 0.1;
  if (shown->kinds.count < LEAST_KINDS || shown->kernels < LEAST_KERNELS) {
    return;
  }
  double part = fmin(fmax(shown->lost / shown->beside, 0), LUMOS_MOST_LOST);
  loss->share = part / (1 - part);
  loss->error = error_of(shown, part) / ((1 - part) * (1 - part));
  loss->evidence = shown->kernels;
  double transferring = shown->transferring / shown->beside;
  loss->transferring = transferring < LEAST ? 1 : fmin(transferring, 1);
  lumos_uneven_find(&loss->uneven, &shown->losses, &shown->alone);
}

/* Matrix products were measured to take 13 to 27 % longer, all kernels 38 % on average (Echo, 2024). On another
 * machine, whose communication holds other SMs, they may lose nothing, or twice as much: recordings with communication
 * of both kinds show 14 to 60 %. */
static const struct lumos_loss elsewhere[LUMOS_CONTENDED] = {
    [LUMOS_CONTENDED_PRODUCTS] = {.share = 0.2, .error = 0.2, .transferring = 1},
    [LUMOS_CONTENDED_OTHERS] = {.share = 0.38, .error = 0.38, .transferring = 1}};

/* Where a step has one micro-batch, all products of its backward pass may run beside the sum of gradients, and all of
 * its forward pass alone. A product of the same size in the other pass takes 0.98 of the time, with a standard
 * deviation of 0.05, both weighed by time; single ones 0.85 to 1.27 (329 products of 36 recordings, examples/pairs). */
static const double OTHER_PASS = 0.06; /* one standard deviation; chosen by that */

static void show(struct shown *shown, const struct lumos_placing *placing, const uint8_t *communication,
                 const uint64_t *sizes) {
  struct samples samples = {0};
  find_samples(&samples, placing, communication, sizes);
  for (size_t first = 0, end = 0; first < samples.count; first = end) {
    size_t alone = first;
    for (end = first; end < samples.count && samples.items[end].kind == samples.items[first].kind &&
                      samples.items[end].rank == samples.items[first].rank;
         end++) {
      alone += samples.items[end].beside == 0;
    }
    add_kind(samples.items, first, alone, end, &shown[samples.items[first].of]);
  }
  lumos_vector_free(&samples);
}

static void free_shown(struct shown *shown) {
  for (int of = 0; of < LUMOS_CONTENDED; of++) {
    lumos_vector_free(&shown[of].losses);
    lumos_vector_free(&shown[of].alone);
    lumos_vector_free(&shown[of].kinds);
  }
}

static void fit_by_size(struct lumos_loss *loss, const struct lumos_placing *placing, const uint8_t *communication) {
  struct shown shown[LUMOS_CONTENDED] = {{0}};
  uint64_t *sizes = find_sizes(placing->job);
  show(shown, placing, communication, sizes);
  judge(&shown[LUMOS_CONTENDED_PRODUCTS], loss);
  free_shown(shown);
  loss->error = loss->evidence == 0 ? loss->error : hypot(loss->error, OTHER_PASS);
  free(sizes);
}

void lumos_contention_fit(struct lumos_contention *contention, const struct lumos_placing *placing,
                          const uint8_t *communication) {
  struct shown shown[LUMOS_CONTENDED] = {{0}};
  struct lumos_uneven_losses none = {0};
  bool shows = memchr(communication, 1, placing->job->tasks.count) != NULL;
  if (shows) {
    show(shown, placing, communication, NULL);
  }
  for (int of = 0; of < LUMOS_CONTENDED; of++) {
    contention->losses[of] = elsewhere[of];
    lumos_uneven_find(&contention->losses[of].uneven, &none, &none);
    judge(&shown[of], &contention->losses[of]);
  }
  free_shown(shown);
  struct lumos_loss *products = &contention->losses[LUMOS_CONTENDED_PRODUCTS];
  if (shows && products->evidence == 0) {
    fit_by_size(products, placing, communication);
  }
}

const struct lumos_loss *lumos_loss_of(const struct lumos_contention *contention, const struct lumos_task *task) {
  return &contention->losses[lumos_contended_of(task)];
}

/* ---- what kernels take alone ---- */

static void slow_down(double *speeds, const struct lumos_placing *placing, const struct lumos_run *runs,
                      const uint8_t *computing, const uint8_t *communication) {
  const struct lumos_job *job = placing->job;
  struct lumos_contention contention;
  lumos_contention_fit(&contention, placing, communication);
  int64_t *beside = lumos_times_beside(job, runs, NULL, computing, communication);
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (beside[t] > 0 && runs[t].dur > 0) {
      double share = lumos_loss_of(&contention, &job->tasks.items[t])->share;
      speeds[t] -= share / (1 + share) * (double)beside[t] / (double)runs[t].dur;
    }
  }
  free(beside);
}

double *lumos_measured_speeds(const struct lumos_job *job) {
  const struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_placing placing = lumos_placing_of(job, &nodes);
  struct lumos_run *runs = lumos_measured_runs(job);
  uint8_t *computing = lumos_find_computing(job);
  double *speeds = lumos_allocate((job->tasks.count + 1) * sizeof *speeds);
  for (size_t t = 0; t < job->tasks.count; t++) {
    speeds[t] = 1;
  }
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    uint8_t *communication = lumos_find_contender(job, with);
    slow_down(speeds, &placing, runs, computing, communication);
    free(communication);
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    speeds[t] = fmax(speeds[t], LUMOS_LEAST_SPEED);
  }
  free(computing);
  free(runs);
  lumos_placing_free(&placing);
  return speeds;
}
