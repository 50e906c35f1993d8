/* Passes: what one micro-batch launches at once, forward or back.
 *
 * Autograd works backward on a thread of its own, so the program changes direction where it changes threads; operators
 * of autograd tell it, too. Within a direction a pass ends where something is sent or received, where the other thread
 * has done anything, and with the step. What comes on the program's own thread before work goes back is forward;
 * between the last work back and the next step, or the optimizer's kernels, it is the optimizer's. A run of launches
 * that computes next to nothing is no pass: it prepares the one that follows, or cleans up behind the one before.
 */
#include "program/recovery/recovery.h"

#include <stdlib.h>
#include <string.h>

enum { IN_A_ROW = 8 }; /* launches of a thread, at least and on average */
enum { TRIVIAL = 20 }; /* less than one part in so many of the longest run's work is no pass */

enum role { ROLE_NONE, ROLE_MAIN, ROLE_BACK, ROLE_UPDATE, ROLE_ZERO, ROLE_TRANSFER };

struct run {
  uint32_t first, count;
  int64_t work;
  int32_t step;
  uint8_t role;
  uint8_t previous,
      /* role of the nearest run of the step before and behind that goes back or updates; ROLE_NONE: there is none */
      next;
  uint32_t behind; /* the next pass behind it, or LUMOS_NONE */
};

struct cutter {
  struct lumos_program *program;
  const struct lumos_rank *rank;
  uint8_t *back;    /* by lane - lane_first: a thread of autograd's */
  uint32_t primary; /* the program's own thread, or LUMOS_NONE */
  LUMOS_VECTOR(struct run) runs;
};

/* ---- threads ---- */

struct thread { /* what it launches */
  uint32_t products, back,
      updates; /* matrix products and attention; those in operators of autograd's; the optimizer's kernels */
};

static void count_launches(const struct cutter *cutter, struct thread *threads) {
  for (size_t i = 0; i < cutter->program->elements.count; i++) {
    const struct lumos_element *element = &cutter->program->elements.items[i];
    struct thread *thread = &threads[element->thread - cutter->rank->lane_first];
    uint8_t kind = lumos_element_task(cutter->program, element)->kind;
    bool product = kind == LUMOS_GEMM || kind == LUMOS_ATTENTION;
    thread->products += product;
    thread->back += product && element->says == LUMOS_BACKWARD;
    thread->updates += kind == LUMOS_OPTIMIZER;
  }
}

/* Autograd's threads have its name, or launch nothing but what its operators do. */
static void find_back_threads(struct cutter *cutter, const struct thread *threads) {
  const struct lumos_job *job = cutter->program->job;
  for (uint32_t i = 0; i < cutter->rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[cutter->rank->lane_first + i];
    bool named = strstr(lumos_string(job->strings, lane->name), "autograd") != NULL;
    cutter->back[i] =
        lane->kind == LUMOS_THREAD && (named || (threads[i].products > 0 && threads[i].back == threads[i].products));
  }
}

/* The thread that marks the steps, else the one that updates the parameters, else that which launches most. */
static void find_primary(struct cutter *cutter, const struct thread *threads) {
  const struct lumos_job *job = cutter->program->job;
  const struct lumos_rank *rank = cutter->rank;
  cutter->primary = LUMOS_NONE;
  for (uint32_t i = 0; i < rank->span_count && cutter->primary == LUMOS_NONE; i++) {
    const struct lumos_span *span = &job->spans.items[rank->span_first + i];
    cutter->primary = span->kind == LUMOS_SPAN_STEP ? span->lane : LUMOS_NONE;
  }
  if (cutter->primary != LUMOS_NONE) {
    return;
  }
  struct thread most = {0};
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    bool more = threads[i].updates > most.updates ||
                (threads[i].updates == most.updates && threads[i].products > most.products);
    if (!cutter->back[i] && more) {
      most = threads[i];
      cutter->primary = rank->lane_first + i;
    }
  }
}

/* Where neither names nor operators tell: a thread that launches products while the program's own is silent, many in a
 * row. */
static void find_alternating(struct cutter *cutter, const struct thread *threads) {
  const struct lumos_rank *rank = cutter->rank;
  uint32_t *turns = lumos_allocate_zeroed(rank->lane_count, sizeof *turns);
  uint32_t *launches = lumos_allocate_zeroed(rank->lane_count, sizeof *launches);
  uint32_t before = LUMOS_NONE;
  for (size_t i = 0; i < cutter->program->elements.count; i++) {
    uint32_t thread = cutter->program->elements.items[i].thread - rank->lane_first;
    turns[thread] += thread != before;
    launches[thread]++;
    before = thread;
  }
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    bool own = rank->lane_first + i == cutter->primary;
    cutter->back[i] |= !own && threads[i].products > 0 && threads[i].back == 0 && launches[i] >= IN_A_ROW * turns[i];
  }
  free(turns);
  free(launches);
}

/* Did the thread start anything in [from, to)? O(log tasks). */
static bool stirred(const struct lumos_job *job, uint32_t lane, int64_t from, int64_t to) {
  const struct lumos_lane *thread = &job->lanes.items[lane];
  const struct lumos_task *tasks = job->tasks.items + thread->task_first;
  uint32_t low = 0;
  for (uint32_t high = thread->task_count; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    if (tasks[middle].start < from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < thread->task_count && tasks[low].start < to;
}

/* ---- runs ---- */

/* Gradients are set to zero before a step's first pass, or between its passes, and that updates nothing. */
static bool sets_to_zero(const struct cutter *cutter, uint32_t at) {
  const struct lumos_element *elements = cutter->program->elements.items;
  const struct lumos_task *task = lumos_element_task(cutter->program, &elements[at]);
  const struct run *last = cutter->runs.count > 0 ? &cutter->runs.items[cutter->runs.count - 1] : NULL;
  bool first = last == NULL || last->step != task->step || last->role == ROLE_ZERO;
  return elements[at].says == LUMOS_SAYS_ZERO || (first && task->kind == LUMOS_MEMSET);
}

static enum role role_of(const struct cutter *cutter, uint32_t at) {
  const struct lumos_element *element = &cutter->program->elements.items[at];
  uint8_t kind = lumos_element_task(cutter->program, element)->kind;
  if (sets_to_zero(cutter, at)) {
    return ROLE_ZERO;
  }
  if (element->says == LUMOS_OPTIMIZER_PHASE || kind == LUMOS_OPTIMIZER) {
    return ROLE_UPDATE;
  }
  if (cutter->back[element->thread - cutter->rank->lane_first] || element->says == LUMOS_BACKWARD) {
    return ROLE_BACK;
  }
  if (element->thread != cutter->primary) {
    return ROLE_NONE;
  }
  return kind == LUMOS_P2P ? ROLE_TRANSFER : ROLE_MAIN;
}

static void cut_runs(struct cutter *cutter) {
  const struct lumos_program *program = cutter->program;
  int64_t before = 0;
  for (uint32_t i = 0; i < program->elements.count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    const struct lumos_task *task = lumos_element_task(program, element);
    uint8_t role = (uint8_t)role_of(cutter, i);
    struct run *last = cutter->runs.count > 0 ? &cutter->runs.items[cutter->runs.count - 1] : NULL;
    bool more = last != NULL && last->role == role && last->step == task->step;
    if (more && role == ROLE_BACK && cutter->primary != LUMOS_NONE && element->thread != cutter->primary) {
      more = !stirred(program->job, cutter->primary, before, element->at);
    }
    if (!more) {
      lumos_vector_push(&cutter->runs, ((struct run){.first = i, .step = task->step, .role = role}));
      last = &cutter->runs.items[cutter->runs.count - 1];
    }
    last->count++;
    last->work += lumos_is_compute(task->kind) ? task->dur : 0;
    before = element->at;
  }
}

/* What `run` passes on to its neighbour of step `step`. */
static uint8_t role_for(const struct run *run, int32_t step, uint8_t beyond) {
  bool tells = run->role == ROLE_BACK || run->role == ROLE_UPDATE;
  return run->step != step ? ROLE_NONE : tells ? run->role : beyond;
}

static void find_neighbours(struct cutter *cutter) {
  struct run *runs = cutter->runs.items;
  for (size_t i = 1; i < cutter->runs.count; i++) {
    runs[i].previous = role_for(&runs[i - 1], runs[i].step, runs[i - 1].previous);
  }
  for (size_t i = cutter->runs.count; i-- > 1;) {
    runs[i - 1].next = role_for(&runs[i], runs[i - 1].step, runs[i].next);
  }
}

/* After the update those who made a part of it give it to the others: up to the last such collective all is the
 * optimizer's. */
static uint32_t end_of_spreading(const struct cutter *cutter, const struct run *run) {
  const struct lumos_job *job = cutter->program->job;
  uint32_t end = run->first;
  for (uint32_t i = run->first; i < run->first + run->count; i++) {
    const struct lumos_task *task = lumos_element_task(cutter->program, &cutter->program->elements.items[i]);
    const char *op = lumos_string(job->strings, lumos_detail_of(job, task)->comm.op);
    end = strcmp(op, "all_gather") == 0 || strcmp(op, "broadcast") == 0 ? i + 1 : end;
  }
  return end;
}

static void split_spreading(struct cutter *cutter) {
  for (size_t r = 1; r < cutter->runs.count; r++) {
    struct run *run = &cutter->runs.items[r], *before = run - 1;
    if (run->role == ROLE_MAIN && before->role == ROLE_UPDATE && before->step == run->step && run->next == ROLE_NONE) {
      uint32_t spread = end_of_spreading(cutter, run) - run->first;
      before->count += spread;
      run->first += spread;
      run->count -= spread;
    }
  }
}

static int64_t longest(const struct cutter *cutter, uint8_t role) {
  int64_t most = 0;
  for (size_t i = 0; i < cutter->runs.count; i++) {
    const struct run *run = &cutter->runs.items[i];
    most = run->role == role && run->work > most ? run->work : most;
  }
  return most;
}

/* ---- passes ---- */

/* What the program's own thread launches in a run is forward when work goes back next, and the optimizer's between the
 * last work back and the last update. */
static uint8_t phase_of(const struct cutter *cutter, size_t at) {
  const struct run *run = &cutter->runs.items[at];
  if (run->role == ROLE_BACK) {
    return LUMOS_BACKWARD;
  }
  if (run->role == ROLE_UPDATE || run->role == ROLE_ZERO) {
    return LUMOS_OPTIMIZER_PHASE;
  }
  if (run->role == ROLE_NONE) {
    return LUMOS_OTHER_PHASE;
  }
  if (run->next == ROLE_BACK) {
    return LUMOS_FORWARD;
  }
  if (run->previous == ROLE_BACK || (run->previous == ROLE_UPDATE && run->next == ROLE_UPDATE)) {
    return LUMOS_OPTIMIZER_PHASE;
  }
  return LUMOS_OTHER_PHASE;
}

static void take(struct lumos_program *program, const struct run *run, uint32_t pass) {
  for (uint32_t i = run->first; i < run->first + run->count; i++) {
    program->elements.items[i].pass = pass;
  }
}

/* What is no pass itself prepares the forward pass that follows, or else belongs to the pass before. */
static void attach(struct lumos_program *program, const struct run *run) {
  const struct lumos_element *elements = program->elements.items;
  uint32_t before = run->first > 0 ? elements[run->first - 1].pass : LUMOS_NONE, behind = run->behind;
  const struct lumos_pass *passes = program->passes.items;
  bool next = behind != LUMOS_NONE && passes[behind].step == run->step;
  bool previous = before != LUMOS_NONE && passes[before].step == run->step;
  if (next && (!previous || (passes[behind].phase == LUMOS_FORWARD && passes[behind].round == passes[before].round))) {
    take(program, run, behind);
  } else if (previous) {
    take(program, run, before);
  }
}

static void find_behind(struct cutter *cutter) {
  uint32_t behind = LUMOS_NONE;
  for (size_t i = cutter->runs.count; i-- > 0;) {
    struct run *run = &cutter->runs.items[i];
    run->behind = behind;
    uint32_t pass = run->count > 0 ? cutter->program->elements.items[run->first].pass : LUMOS_NONE;
    behind = pass != LUMOS_NONE ? pass : behind;
  }
}

/* ---- weight gradients that are put off ---- */

static bool is_product(const struct lumos_program *program, uint32_t at) {
  return lumos_is_product(program, &program->elements.items[at]);
}

/* What a pass back through layers must hold beside matrix products. */
static bool is_of_layers(const struct lumos_program *program, uint32_t at) {
  uint8_t kind = lumos_element_task(program, &program->elements.items[at])->kind;
  return kind == LUMOS_ATTENTION || kind == LUMOS_NORM || kind == LUMOS_EMBEDDING;
}

/* A product, or the first communication between `from` and it: that is for the product, or sums up what was ready
 * before it. */
static uint32_t with_communication(const struct lumos_program *program, uint32_t from, uint32_t product) {
  for (; from < product; from++) {
    if (lumos_is_communication(lumos_element_task(program, &program->elements.items[from])->kind)) {
      return from;
    }
  }
  return product;
}

/* Where in a run back the gradients of weights begin that the run has put off: behind the last work of layers, as many
 * products as before. The run's end: nowhere; its first element: it is nothing else. */
static uint32_t weights_from(const struct lumos_program *program, const struct run *run) {
  uint32_t end = run->first + run->count, from = end;
  while (from > run->first && !is_of_layers(program, from - 1)) {
    from--;
  }
  uint32_t before = 0, behind = 0;
  for (uint32_t i = run->first; i < end; i++) {
    *(i < from ? &before : &behind) += is_product(program, i);
  }
  bool whole = from == run->first && behind > 0;
  if (!whole && (behind == 0 || before % behind != 0)) {
    return end;
  }
  uint32_t product = from;
  while (!is_product(program, product)) {
    product++;
  }
  return whole ? run->first : with_communication(program, from, product);
}

/* ---- all together ---- */

static void add_pass(struct lumos_program *program, const struct run *run, uint8_t phase, uint32_t round) {
  if (run->count == 0) {
    return;
  }
  take(program, run, (uint32_t)program->passes.count);
  lumos_vector_push(&program->passes, ((struct lumos_pass){.first = run->first,
                                                           .count = run->count,
                                                           .forward = LUMOS_NONE,
                                                           .step = run->step,
                                                           .round = round,
                                                           .phase = phase,
                                                           .micro_batch = LUMOS_ABSENT_INT}));
}

static uint32_t count_products(const struct lumos_program *program, uint32_t first, uint32_t count) {
  uint32_t products = 0;
  for (uint32_t i = first; i < first + count; i++) {
    products += is_product(program, i);
  }
  return products;
}

/* Gradients of weights that were put off; those of several micro-batches when a run holds several times the products of
 * the shortest. */
static void add_weights(struct lumos_program *program, const struct run *run, uint32_t round, uint32_t each) {
  uint32_t all = count_products(program, run->first, run->count), products = 0;
  each = each == 0 || all % each != 0 ? all : each;
  struct run part = {.first = run->first, .step = run->step};
  uint32_t end = run->first + run->count, last = run->first; /* `last`: behind the last product */
  for (uint32_t i = run->first; i < end; i++) {
    if (is_product(program, i)) {
      if (products > 0 && products % each == 0) {
        uint32_t next = with_communication(program, last, i);
        part.count = next - part.first;
        add_pass(program, &part, LUMOS_WEIGHT, round);
        part.first = next;
      }
      products++;
      last = i + 1;
    }
  }
  part.count = end - part.first;
  add_pass(program, &part, LUMOS_WEIGHT, round);
}

/* How many products the weight gradients of one micro-batch take; 0: none are put off. As many micro-batches put some
 * off as go back; where that does not come out even, those of the run that has fewest. */
static uint32_t weights_of_one(const struct cutter *cutter) {
  uint32_t fewest = 0, all = 0, backward = 0;
  for (size_t r = 0; r < cutter->runs.count; r++) {
    const struct run *run = &cutter->runs.items[r];
    if (run->role == ROLE_BACK) {
      uint32_t from = weights_from(cutter->program, run);
      uint32_t products = count_products(cutter->program, from, run->first + run->count - from);
      fewest = products > 0 && (fewest == 0 || products < fewest) ? products : fewest;
      all += products;
      backward += from > run->first && count_products(cutter->program, run->first, from - run->first) > 0;
    }
  }
  return backward > 0 && all % backward == 0 ? all / backward : fewest;
}

static void add_backward(struct lumos_program *program, const struct run *run, uint32_t round, uint32_t each) {
  uint32_t end = run->first + run->count, from = each == 0 ? end : weights_from(program, run);
  struct run back = *run, weights = *run;
  back.count = from - run->first;
  weights.first = from;
  weights.count = end - from;
  add_pass(program, &back, LUMOS_BACKWARD, round);
  add_weights(program, &weights, round, each);
}

/* Only pipelines put gradients off, to fill their bubbles. */
static bool puts_off(const struct cutter *cutter) {
  bool pipeline = false;
  for (size_t r = 0; r < cutter->runs.count && !pipeline; r++) {
    pipeline = cutter->runs.items[r].role == ROLE_TRANSFER;
  }
  for (size_t r = 0; r < cutter->runs.count && pipeline; r++) {
    const struct run *run = &cutter->runs.items[r];
    for (uint32_t i = run->first; i < run->first + run->count && run->role == ROLE_BACK; i++) {
      if (is_of_layers(cutter->program, i)) {
        return true;
      }
    }
  }
  return false;
}

static bool is_trivial(const struct run *run, uint8_t phase, const int64_t *most) {
  bool works = phase == LUMOS_FORWARD || phase == LUMOS_BACKWARD;
  return run->role == ROLE_NONE || run->role == ROLE_TRANSFER || (works && run->work <= most[run->role] / TRIVIAL);
}

static void add_passes(struct cutter *cutter) {
  int64_t most[] = {[ROLE_MAIN] = longest(cutter, ROLE_MAIN), [ROLE_BACK] = longest(cutter, ROLE_BACK)};
  bool off = puts_off(cutter), updated = false;
  uint32_t round = 0, each = off ? weights_of_one(cutter) : 0;
  for (size_t i = 0; i < cutter->runs.count; i++) {
    const struct run *run = &cutter->runs.items[i];
    uint8_t phase = phase_of(cutter, i);
    if (is_trivial(run, phase, most)) {
      continue;
    }
    round += updated && phase != LUMOS_OPTIMIZER_PHASE;
    updated = phase == LUMOS_OPTIMIZER_PHASE && (updated || run->role != ROLE_ZERO);
    if (phase == LUMOS_BACKWARD) {
      add_backward(cutter->program, run, round, each);
    } else {
      add_pass(cutter->program, run, phase, round);
    }
  }
}

void lumos_program_passes(struct lumos_program *program) {
  const struct lumos_rank *rank = &program->job->ranks.items[program->rank];
  struct cutter cutter = {.program = program, .rank = rank, .back = lumos_allocate_zeroed(rank->lane_count, 1)};
  struct thread *threads = lumos_allocate_zeroed(rank->lane_count, sizeof *threads);
  count_launches(&cutter, threads);
  find_back_threads(&cutter, threads);
  find_primary(&cutter, threads);
  find_alternating(&cutter, threads);
  free(threads);
  cut_runs(&cutter);
  find_neighbours(&cutter);
  split_spreading(&cutter);
  add_passes(&cutter);
  find_behind(&cutter);
  for (size_t i = 0; i < cutter.runs.count; i++) {
    const struct run *run = &cutter.runs.items[i];
    if (run->count > 0 && run->role != ROLE_NONE && run->role != ROLE_TRANSFER &&
        program->elements.items[run->first].pass == LUMOS_NONE) {
      attach(program, run);
    }
  }
  lumos_vector_free(&cutter.runs);
  free(cutter.back);
}
