/* The training program of every rank: steps of forward, backward and weight passes in the schedule's order, with what is sent and received
 * between them, then the gradients' rest and the optimizer. Forward passes run on the main thread, the others on the autograd thread, which the
 * main thread waits for.
 */
#include "gpt_state.h"
#include <assert.h>
#include <stdlib.h>

enum { NS_STEP = 90000, NS_PASS = 14000, NS_BACKWARD = 9000, NS_LOSS = 4200, NS_ENGINE = 5000 };

struct gpt *gpt_new(const struct setup *setup) {
  struct gpt *gpt = gpt_zeroed(1, sizeof *gpt);
  gpt->setup = setup;
  gpt->tokens = (int64_t)setup->model.micro_batch * setup->model.sequence;
  gpt->progress = gpt_zeroed((size_t)setup_ranks(setup), sizeof *gpt->progress);
  gpt_make_groups(gpt);
  gpt_make_tensor_collectives(gpt);
  gpt_make_kernels(gpt);
  gpt_make_plans(gpt);
  gpt_make_numbers(gpt);
  return gpt;
}

void gpt_free(struct gpt *gpt) {
  if (!gpt)
    return;
  gpt_free_plans(gpt);
  gpt_free_kernels(gpt);
  free(gpt->tensor_collectives);
  gpt_free_groups(gpt);
  free(gpt->progress);
  free(gpt);
}

const struct communicator *gpt_communicators(const struct gpt *gpt, int *count) {
  *count = gpt->communicator_count;
  return gpt->communicators;
}

static struct block block_of(const struct gpt *gpt, int rank, int step, struct program *program,
                             struct nesting *nesting) {
  struct coordinates at = setup_coordinates(gpt->setup, rank);
  return (struct block){.gpt = gpt,
                        .setup = gpt->setup,
                        .plan = &gpt->plans[at.stage],
                        .program = program,
                        .nesting = nesting,
                        .rank = rank,
                        .at = at,
                        .label = {.phase = PHASE_OPTIMIZER, .part = PART_OPTIMIZER, .micro_batch = -1, .layer = -1},
                        .stacks = gpt->setup->recorded & RECORD_STACKS,
                        .step = step};
}

/* Autograd's count on the main thread before a pass, or, behind all, at the step's end. */
static int64_t first_number(const struct block *to, int pass) {
  return to->step * to->plan->numbers[to->plan->count] + to->plan->numbers[pass];
}

/* The same on the autograd thread. */
static int64_t first_recomputed(const struct block *to, int pass) {
  return to->step * to->plan->recomputed[to->plan->count] + to->plan->recomputed[pass];
}

static void enter_pass(struct block *to, enum phase phase, int micro_batch, int chunk) {
  int place = chunk * to->setup->model.micro_batches + micro_batch;
  to->chunk = &to->plan->chunks[chunk];
  to->micro_batch = micro_batch;
  to->label =
      (struct label){.phase = (uint8_t)phase, .part = PART_OTHER, .micro_batch = (int16_t)micro_batch, .layer = -1};
  to->pass_number = first_number(to, to->plan->forward_at[place]);
  to->recomputed_number = first_recomputed(to, to->plan->backward_at[place]);
}

/* ---- passes ---- */

static void forward_pass(struct block *to) {
  /* Weights that were gathered are in their working precision already. */
  to->casts = to->micro_batch == 0 && !to->setup->parallel.distributed_optimizer;
  annotate(to, "forward_step");
  python_enter(to, FRAME_PYTHON, "megatron/core/pipeline_parallel/schedules.py(231): forward_step");
  spend(to, NS_PASS);
  input_load(to);
  if (to->chunk->embeds)
    embedding_forward(to);
  for (int place = 0; place < to->chunk->layers; place++)
    layer_forward(to, place);
  if (to->chunk->has_head)
    head_forward(to);
  python_leave(to);
  op_leave(to);
  assert(to->nesting->next_number == to->pass_number + gpt_numbers_of(to->gpt, to->chunk));
}

/* The main thread's part of a backward or weight pass: it hands the work over and waits. */
static void hand_over(struct block *to, const struct pass *pass) {
  bool weights = pass->phase == PHASE_WEIGHT;
  annotate(to, weights ? "weight_grad_step" : "backward_step");
  python_enter(to, FRAME_PYTHON,
               weights ? "megatron/core/pipeline_parallel/zb_schedules.py(188): schedule_w"
                       : "megatron/core/pipeline_parallel/schedules.py(329): backward_step");
  spend(to, NS_BACKWARD);
  if (!weights && to->chunk->has_head) {
    to->label.part = PART_HEAD;
    op_enter(to, "aten::ones_like", to->gpt->shapes[SHAPE_SCALAR]);
    op_view(to, "aten::empty_like", to->gpt->shapes[SHAPE_SCALAR]);
    op_run(to, "aten::fill_", to->gpt->shapes[SHAPE_SCALAR], &to->gpt->ends.pieces[PIECE_LOSS_FILL]);
    op_leave(to);
  }
  python_enter(to, FRAME_PYTHON, "torch/autograd/graph.py(825): _engine_run_backward");
  program_post(
      to->program,
      (struct job){.kind = pass->phase, .micro_batch = pass->micro_batch, .chunk = pass->chunk, .step = to->step});
  program_await(to->program);
  python_leave(to);
  python_leave(to);
  op_leave(to);
}

static void write_pass(struct block *to, int index) {
  const struct pass *pass = &to->plan->passes[index];
  if (index == 0)
    exchanges_start(to, -1);
  exchanges_wait(to, index);
  enter_pass(to, (enum phase)pass->phase, pass->micro_batch, pass->chunk);
  if (pass->phase == PHASE_FORWARD)
    forward_pass(to);
  else
    hand_over(to, pass);
  exchanges_start(to, index);
}

static void serve(void *self, int rank, struct job job, struct program *program) {
  const struct gpt *gpt = self;
  struct nesting nesting = {.inside = {0}};
  struct block to = block_of(gpt, rank, job.step, program, &nesting);
  enter_pass(&to, (enum phase)job.kind, job.micro_batch, job.chunk);
  nesting.next_number = to.recomputed_number;
  to.gradients = job.kind == PHASE_WEIGHT ? GRADIENTS_WEIGHT : GRADIENTS_ALL;
  if (job.kind == PHASE_BACKWARD && gpt->setup->parallel.schedule == SCHEDULE_ZERO_BUBBLE)
    to.gradients = GRADIENTS_INPUT;
  spend(&to, NS_ENGINE);
  if (to.chunk->has_head)
    head_backward(&to);
  for (int place = to.chunk->layers; place-- > 0;)
    layer_backward(&to, place);
  if (to.chunk->embeds)
    embedding_backward(&to);
}

/* ---- steps ---- */

static void begin_step(const struct block *to) {
  if (to->step == to->setup->warmup)
    program_mark(to->program, DO_PROFILE, 1);
  program_mark(to->program, DO_STEP, to->step);
  program_enter(to->program, FRAME_ANNOTATION, to->gpt->step_names[to->step], (struct op_facts){.sequence = -1});
  spend(to, NS_STEP);
  gradients_clear(to);
}

/* The mean over micro-batches and replicas, for the log: the last stage's. */
static void report_loss(struct block *to) {
  if (to->at.stage != to->setup->parallel.pipeline - 1)
    return;
  to->label = (struct label){.phase = PHASE_OTHER, .part = PART_OTHER, .micro_batch = -1, .layer = -1};
  struct work mean = kernels_run(to->setup, KERNEL_LOSS_MEAN, to->setup->model.micro_batches, 0);
  spend(to, NS_LOSS);
  op_run_vector(to, "aten::mean", to->setup->model.micro_batches, &mean);
  if (has_group(to, ROLE_DATA))
    collective_run(to, STREAM_DATA, message_of(to, ROLE_DATA, ALL_REDUCE, 1, true));
}

static void end_step(struct block *to) {
  exchanges_wait(to, to->plan->count);
  gradients_finish(to);
  optimizer_step(to);
  report_loss(to);
  spend(to, NS_STEP);
  program_leave(to->program); /* the step's annotation */
  if (to->step == to->setup->warmup + to->setup->steps - 1) {
    program_sync(to->program, DO_SYNC_DEVICE, 0, STREAM_COMPUTE);
    program_mark(to->program, DO_PROFILE, 0);
  }
}

/* Block by block: a step's begin, each of its passes, its end. */
static bool next(void *self, int rank, struct program *program) {
  struct gpt *gpt = self;
  struct progress *progress = &gpt->progress[rank];
  if (progress->step == gpt->setup->warmup + gpt->setup->steps)
    return false;
  struct nesting nesting = {.inside = {INSIDE_AUTOGRAD | INSIDE_PYTHON}};
  struct block to = block_of(gpt, rank, progress->step, program, &nesting);
  int position = progress->position++;
  nesting.next_number = first_number(&to, position == 0 ? 0 : position - 1);
  if (position == 0) {
    begin_step(&to);
  } else if (position <= to.plan->count) {
    write_pass(&to, position - 1);
  } else {
    end_step(&to);
    *progress = (struct progress){.step = progress->step + 1};
  }
  return true;
}

struct software gpt_software(struct gpt *gpt) {
  return (struct software){.self = gpt, .next = next, .serve = serve};
}
