/* The training program of every rank: steps of forward, backward and weight passes in the schedule's order, with what
 * is sent and received between them, then the gradients' rest and the optimizer. Forward passes run on the main thread,
 * the others on the autograd thread, which the main thread waits for.
 */
#include "gpt_state.h"
#include <assert.h>
#include <stdlib.h>

enum { NS_STEP = 90000, NS_PASS = 14000, NS_BACKWARD = 9000, NS_LOSS = 4200, NS_ENGINE = 5000 };

struct gpt *gpt_new(const struct setup *setup) {
  struct gpt *gpt = memory_new(1, sizeof *gpt);
  gpt->setup = setup;
  gpt->tokens = (int64_t)setup->model.micro_batch * gpt_sequence(setup);
  gpt->progress = memory_new((size_t)setup_ranks(setup), sizeof *gpt->progress);
  gpt_make_groups(gpt);
  gpt_make_tensor_collectives(gpt);
  gpt_make_kernels(gpt);
  gpt_make_plans(gpt);
  gpt_make_numbers(gpt);
  gpt_make_modules(gpt);
  gpt_make_leaving(gpt);
  return gpt;
}

void gpt_free(struct gpt *gpt) {
  if (!gpt)
    return;
  gpt_free_leaving(gpt);
  gpt_free_modules(gpt);
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

static void model_forward(struct block *to) {
  static const enum module around[] = {MODULE_DATA_PARALLEL, MODULE_PRECISION, MODULE_GPT};
  enum { AROUND = sizeof around / sizeof *around };
  for (int i = 0; i < AROUND; i++)
    module_enter(to, around[i], 0);
  fsdp_forward(to);
  if (to->chunk->embeds)
    embedding_forward(to);
  module_enter(to, MODULE_BLOCK, 0);
  for (int place = 0; place < to->chunk->layers; place++) {
    layer_forward(to, place);
    for (int i = 0; i < to->setup->read_back; i++)
      scalar_read(to);
  }
  if (to->chunk->has_head)
    final_norm_forward(to);
  module_leave(to);
  if (to->chunk->has_head)
    head_forward(to);
  fsdp_leave(to);
  for (int i = 0; i < AROUND; i++)
    module_leave(to);
}

static void forward_pass(struct block *to) {
  /* Weights that were gathered are in their working precision already. */
  const struct parallelism *parallel = &to->setup->parallel;
  to->casts = to->micro_batch == 0 && !parallel->distributed_optimizer && !parallel->fully_sharded;
  annotate(to, "forward_step");
  python_enter(to, "megatron/core/pipeline_parallel/schedules.py(231): forward_step");
  spend(to, NS_PASS);
  frame_enter(to, "pretrain_gpt.py(182): forward_step");
  input_load(to);
  struct capture capture = graph_forward(to, GRAPHS_PASSES);
  model_forward(to);
  bool captures_loss = capture.is_on && to->chunk->has_head;
  if (captures_loss)
    loss_forward(to);
  graph_leave(to, &capture);
  frame_leave(to);
  if (to->chunk->has_head && !captures_loss)
    loss_forward(to);
  python_leave(to);
  op_leave(to);
  assert(to->nesting->next_number == to->pass_number + gpt_numbers_of(to->gpt, to->chunk));
}

/* The main thread's part of a backward or weight pass: it hands the work over and waits. */
static void hand_over(struct block *to, const struct pass *pass) {
  bool weights = pass->phase == PHASE_WEIGHT;
  annotate(to, weights ? "weight_grad_step" : "backward_step");
  python_enter(to, weights ? "megatron/core/pipeline_parallel/zb_schedules.py(188): schedule_w"
                           : "megatron/core/pipeline_parallel/schedules.py(329): backward_step");
  spend(to, NS_BACKWARD);
  frame_enter(to, "torch/autograd/__init__.py(242): backward");
  if (!weights && to->chunk->has_head) {
    to->label.part = PART_HEAD;
    frame_enter(to, "torch/autograd/__init__.py(88): _make_grads");
    op_enter(to, "aten::ones_like", to->gpt->shapes[SHAPE_SCALAR]);
    op_view(to, "aten::empty_like", to->gpt->shapes[SHAPE_SCALAR]);
    op_run(to, "aten::fill_", to->gpt->shapes[SHAPE_SCALAR], &to->gpt->ends.pieces[PIECE_LOSS_FILL]);
    op_leave(to);
    frame_leave(to);
  }
  python_enter(to, ENGINE_CALL);
  frame_enter(to, ENGINE);
  program_post(
      to->program,
      (struct job){.kind = pass->phase, .micro_batch = pass->micro_batch, .chunk = pass->chunk, .step = to->step});
  program_await(to->program);
  frame_leave(to);
  python_leave(to);
  frame_leave(to);
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
  struct capture capture = graph_backward(&to, GRAPHS_PASSES);
  fsdp_backward(&to);
  if (to.chunk->has_head)
    head_backward(&to);
  for (int place = to.chunk->layers; place-- > 0;)
    layer_backward(&to, place);
  if (to.chunk->embeds)
    embedding_backward(&to);
  fsdp_reduce(&to);
  graph_leave(&to, &capture);
  gpt_leave_out(gpt, rank, program);
}

/* ---- steps ---- */

/* What is open through all steps, and through one. */
static const char *const program_frames[] = {"pretrain_gpt.py(300): <module>",
                                             "megatron/training/training.py(653): pretrain",
                                             "megatron/training/training.py(1954): train"};
static const char *const step_frame = "megatron/training/training.py(1241): train_step";
static const char *schedule_frame(const struct setup *setup) {
  if (setup->parallel.pipeline == 1)
    return "megatron/core/pipeline_parallel/schedules.py(477): forward_backward_no_pipelining";
  switch (setup->parallel.schedule) {
    case SCHEDULE_INTERLEAVED:
      return "megatron/core/pipeline_parallel/schedules.py(797): forward_backward_pipelining_with_interleaving";
    case SCHEDULE_ZERO_BUBBLE:
      return "megatron/core/pipeline_parallel/zb_schedules.py(240): forward_backward_pipelining_with_zero_bubble";
    case SCHEDULE_1F1B:
    case SCHEDULE_GPIPE:
    case SCHEDULES:
      break;
  }
  return "megatron/core/pipeline_parallel/schedules.py(1863): forward_backward_pipelining_without_interleaving";
}

static void frames_enter(const struct block *to, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    frame_enter(to, names[i]);
}

static void frames_leave(const struct block *to, size_t count) {
  for (size_t i = 0; i < count; i++)
    frame_leave(to);
}
#define COUNT(array) (sizeof(array) / sizeof *(array))

#define PROFILER_STEP "torch/profiler/profiler.py(821): step"
#define PROFILER_CHANGE "torch/profiler/profiler.py(852): _transit_action"

static void start_profiler(const struct block *to) {
  static const char *const around[] = {PROFILER_STEP, PROFILER_CHANGE, "torch/profiler/profiler.py(199): start_trace",
                                       "torch/autograd/profiler.py(358): _start_trace"};
  frames_enter(to, around, COUNT(around));
  program_mark(to->program, DO_PROFILE, 1);
  frames_leave(to, COUNT(around));
}

/* It stops when the device has done all. */
static void stop_profiler(const struct block *to) {
  static const char *const around[] = {PROFILER_CHANGE, "torch/profiler/profiler.py(235): stop_trace",
                                       "torch/autograd/profiler.py(363): __exit__"};
  static const char *const waiting[] = {"torch/cuda/__init__.py(975): synchronize",
                                        "<built-in function _cuda_synchronize>"};
  enum { DISABLING = 17000 }; /* from the return of the synchronisation to the end of the window */
  frames_enter(to, around, COUNT(around));
  frames_enter(to, waiting, COUNT(waiting));
  program_sync(to->program, DO_SYNC_DEVICE, 0, STREAM_COMPUTE);
  frames_leave(to, COUNT(waiting));
  frame_enter(to, "<built-in method _disable_profiler of PyCapsule object at 0x7f468be78960>");
  program_spend(to->program, DISABLING);
  program_mark(to->program, DO_PROFILE, 0);
  frame_leave(to);
  frames_leave(to, COUNT(around));
}

/* Python's iterator waits for a process that reads ahead, and has not kept up. */
static void wait_for_data(const struct block *to) {
  int64_t wait = to->setup->slow_data ? to->setup->slow_data[to->rank] : 0;
  if (wait == 0)
    return;
  frame_enter(to, "torch/utils/data/dataloader.py(701): __next__");
  program_sleep(to->program, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", wait);
  frame_leave(to);
}

static void begin_step(const struct block *to) {
  if (to->step == 0)
    frames_enter(to, program_frames, COUNT(program_frames));
  if (to->step == to->setup->warmup)
    start_profiler(to);
  frame_enter(to, "torch/utils/data/dataloader.py(701): __next__");
  program_mark(to->program, DO_STEP, to->step);
  frame_leave(to);
  program_enter(to->program, FRAME_ANNOTATION, to->gpt->step_names[to->step], (struct op_facts){.sequence = -1});
  wait_for_data(to);
  frame_enter(to, step_frame);
  if (to->setup->unseen && to->step == to->setup->warmup)
    program_sync(to->program, DO_SYNC_DEVICE, 0, STREAM_COMPUTE);
  spend(to, NS_STEP);
  held_begin(to);
  fsdp_begin(to);
  gradients_clear(to);
  frame_enter(to, schedule_frame(to->setup));
}

/* The mean over micro-batches and replicas, for the log: the last stage's. */
static void report_loss(struct block *to) {
  if (to->at.stage != to->setup->parallel.pipeline - 1)
    return;
  to->label = (struct label){.phase = PHASE_OTHER, .part = PART_OTHER, .micro_batch = -1, .layer = -1};
  struct work mean = kernels_run(to->setup, KERNEL_LOSS_MEAN, to->setup->model.micro_batches, 0);
  spend(to, NS_LOSS);
  op_run_vector(to, "aten::mean", to->setup->model.micro_batches, &mean);
  enum role role = gpt_gradient_role(to->setup);
  if (has_group(to, role))
    collective_run(to, STREAM_DATA, message_of(to, role, ALL_REDUCE, 1, true));
}

static void end_step(struct block *to) {
  exchanges_wait(to, to->plan->count);
  gradients_finish(to);
  frame_leave(to); /* the schedule */
  held_copies(to);
  optimizer_step(to);
  report_loss(to);
  spend(to, NS_STEP);
  frame_leave(to);            /* the step */
  program_leave(to->program); /* its annotation */
  bool last = to->step == to->setup->warmup + to->setup->steps - 1;
  frame_enter(to, PROFILER_STEP);
  if (last)
    stop_profiler(to);
  frame_leave(to);
  if (last)
    frames_leave(to, COUNT(program_frames));
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
  gpt_leave_out(gpt, rank, program);
  return true;
}

struct software gpt_software(struct gpt *gpt) {
  return (struct software){.self = gpt, .next = next, .serve = serve};
}
