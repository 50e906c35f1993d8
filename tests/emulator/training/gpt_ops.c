/* Ops as PyTorch nests them around a kernel, and what they cost the host: nominal times of an eager run on a server of
 * 2024. */
#include "gpt_state.h"
#include "nccl_version.h"
#include <assert.h>
#include <string.h>

enum {
  NS_BEFORE_LAUNCH = 4600, /* checks, allocation of the output */
  NS_AFTER_LAUNCH = 1600,
  NS_BETWEEN_LAUNCHES = 900,
  NS_OUTER = 1200, /* dispatch from one op to the next */
  NS_VIEW = 1400,
  NS_NODE = 1900, /* the engine takes up a node */
  NS_NODE_END = 1200,
  NS_FUNCTION = 4200, /* of an autograd function in Python, before its forward begins */
};

void spend(const struct block *to, int64_t ns) { program_spend(to->program, ns); }

static struct op_facts plain(const char *inputs) { return (struct op_facts){.inputs = inputs, .sequence = -1}; }

void python_enter(const struct block *to, const char *name) {
  frame_enter(to, name);
  program_spend(to->program, NS_PYTHON);
}

void python_leave(const struct block *to) {
  program_spend(to->program, NS_PYTHON);
  frame_leave(to);
}

/* PyTorch asks whether the stream is being captured before it uses an event. */
void event_record(const struct block *to, int event, enum stream stream) {
  program_call(to->program, CALL_IS_CAPTURING);
  program_record(to->program, CALL_EVENT_RECORD_FLAGS, event, stream);
}

void event_wait(const struct block *to, enum stream stream, int event) {
  program_call(to->program, CALL_IS_CAPTURING);
  program_wait(to->program, stream, event);
}

/* ---- ops inside ops ---- */

/* Ops that the dispatcher does not treat like all others. Most are marked with autograd's next number, and what they do
 * is hidden from autograd. */
enum marking { MARKED, MARKED_THROUGHOUT, MARKED_FROM_PYTHON, NEVER_MARKED };
static enum marking marking_of(const char *name) {
  static const struct {
    const char *name;
    enum marking marking;
  } special[] = {
      {"aten::contiguous", MARKED_THROUGHOUT}, {"aten::layer_norm", MARKED_THROUGHOUT},
      {"aten::to", MARKED_THROUGHOUT},         {"aten::matmul", MARKED_THROUGHOUT},
      {"aten::item", MARKED_THROUGHOUT},       {"aten::copy_", MARKED_FROM_PYTHON},
      {"aten::ones_like", NEVER_MARKED},
  };
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (strcmp(special[i].name, name) == 0)
      return special[i].marking;
  return MARKED;
}

static int inside(const struct block *to) { return to->nesting->inside[to->nesting->depth]; }

/* `around` frames of Python that were entered end with it. */
static void nest_called(const struct block *to, int inside, int around) {
  struct nesting *nesting = to->nesting;
  assert(nesting->depth + 1 < MOST_NESTED);
  nesting->depth++;
  nesting->inside[nesting->depth] = (uint8_t)inside;
  nesting->around[nesting->depth] = (uint8_t)around;
  nesting->within[nesting->depth] = 0;
}

void nest(const struct block *to, int inside) { nest_called(to, inside, 0); }

void unnest(const struct block *to) {
  assert(to->nesting->depth > 0);
  to->nesting->depth--;
}

/* A function's own frames: they end before its op does. */
static void run_method(const struct block *to, const char *caller, const char *method) {
  struct nesting *nesting = to->nesting;
  const char *const names[] = {caller, method};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!names[i])
      continue;
    frame_enter(to, names[i]);
    nesting->within[nesting->depth]++;
  }
}

static int called(const struct block *to, const char *op) {
  return inside(to) & INSIDE_PYTHON ? callers_enter(to, op) : 0;
}

void annotate(const struct block *to, const char *name) { annotate_message(to, name, NULL); }

void annotate_message(const struct block *to, const char *name, const struct message *message) {
  program_enter(to->program, FRAME_ANNOTATION, name, (struct op_facts){.sequence = -1, .message = message});
  nest(to, inside(to));
}

void record_enter(const struct block *to, const char *name, const struct message *message) {
  int around = called(to, name);
  program_enter(to->program, FRAME_OP, name, (struct op_facts){.sequence = -1, .message = message});
  nest_called(to, 0, around);
}

void op_enter_with(const struct block *to, const char *name, struct op_facts facts) {
  int within = 0;
  if (inside(to) & INSIDE_AUTOGRAD) {
    enum marking marking = marking_of(name);
    if (marking != NEVER_MARKED && (marking != MARKED_FROM_PYTHON || inside(to) & INSIDE_PYTHON))
      facts.sequence = to->nesting->next_number;
    if (marking == MARKED_THROUGHOUT)
      within = INSIDE_AUTOGRAD;
  }
  int around = called(to, name);
  program_enter(to->program, FRAME_OP, name, facts);
  nest_called(to, within, around);
}

void op_enter(const struct block *to, const char *name, const char *inputs) { op_enter_with(to, name, plain(inputs)); }

void op_leave(const struct block *to) {
  const struct nesting *nesting = to->nesting;
  for (int i = nesting->within[nesting->depth]; i > 0; i--)
    frame_leave(to);
  program_leave(to->program);
  for (int i = nesting->around[nesting->depth]; i > 0; i--)
    frame_leave(to);
  unnest(to);
}

void op_view(const struct block *to, const char *name, const char *inputs) {
  op_enter(to, name, inputs);
  program_spend(to->program, NS_VIEW);
  op_leave(to);
}

/* How libraries launch their kernels: by what these are called, all others as CUDA's compiler does. */
static enum call call_of(const struct setup *setup, const struct work *work) {
  static const struct {
    const char *beginning;
    enum call call;
  } libraries[] = {{"nvjet_", CALL_LAUNCH_EX},
                   {"sm90_xmma_", CALL_LAUNCH_EXC},
                   {"triton_", CALL_LAUNCH_DRIVER},
                   {"_", CALL_LAUNCH_DRIVER}};
  static const uint8_t calls[WORK_KINDS] = {[WORK_COPY_TO_DEVICE] = CALL_MEMCPY,
                                            [WORK_COPY_TO_HOST] = CALL_MEMCPY,
                                            [WORK_COPY_ON_DEVICE] = CALL_MEMCPY,
                                            [WORK_MEMSET] = CALL_MEMSET};
  if (work->message)
    return setup->nccl->launches_by_driver ? CALL_LAUNCH_NCCL : CALL_LAUNCH_EXC;
  if (calls[work->kind])
    return (enum call)calls[work->kind];
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (strncmp(work->name, libraries[i].beginning, strlen(libraries[i].beginning)) == 0)
      return libraries[i].call;
  return CALL_LAUNCH;
}

void launch_on(const struct block *to, enum stream stream, const struct work *work) {
  struct work labelled = *work;
  labelled.label = to->label;
  program_launch(to->program, call_of(to->setup, work), stream, labelled);
}

void launch(const struct block *to, const struct work *work) { launch_on(to, STREAM_COMPUTE, work); }

static void run_entered(const struct block *to, const struct work *work) {
  program_spend(to->program, NS_BEFORE_LAUNCH);
  launch(to, work);
  program_spend(to->program, NS_AFTER_LAUNCH);
  op_leave(to);
}

void op_run(const struct block *to, const char *name, const char *inputs, const struct work *work) {
  op_enter(to, name, inputs);
  run_entered(to, work);
}

void op_run_vector(const struct block *to, const char *name, int64_t elements, const struct work *work) {
  struct op_facts facts = plain(NULL);
  facts.elements = elements;
  op_enter_with(to, name, facts);
  run_entered(to, work);
}

void op_run_inside(const struct block *to, const char *outer, const char *name, const char *inputs,
                   const struct work *work) {
  op_enter(to, outer, inputs);
  program_spend(to->program, NS_OUTER);
  op_run(to, name, inputs, work);
  op_leave(to);
}

void node_forward(const struct block *to, const struct node_names *names, const char *inputs) {
  struct op_facts facts = plain(inputs);
  bool function = names->forward_method;
  if (function || inside(to) & INSIDE_AUTOGRAD)
    facts.sequence = to->nesting->next_number++;
  int around = function ? function_enter(to) : called(to, names->forward);
  program_enter(to->program, FRAME_OP, names->forward, facts);
  nest_called(to, function ? INSIDE_PYTHON : 0, around);
  run_method(to, NULL, names->forward_method);
  program_spend(to->program, NS_FUNCTION);
}

void node_backward(const struct block *to, const struct node_names *names, int node, const char *inputs) {
  struct op_facts facts = {.sequence = to->number + to->numbers->place[node],
                           .forward_thread = (uint8_t)(to->forward_thread + 1)};
  bool function = names->backward_method;
  program_enter(to->program, FRAME_OP, names->evaluate, facts);
  nest(to, 0);
  program_spend(to->program, NS_NODE);
  facts.inputs = inputs; /* the engine's own op has none */
  program_enter(to->program, FRAME_OP, names->backward, facts);
  nest(to, function ? INSIDE_PYTHON : 0);
  if (function)
    run_method(to, "torch/autograd/function.py(293): apply", names->backward_method);
  program_spend(to->program, NS_NODE);
}

void node_leave_backward(const struct block *to) {
  op_leave(to);
  program_spend(to->program, NS_NODE_END);
  op_leave(to);
  program_spend(to->program, NS_NODE_END);
}

void multiply(const struct block *to, const struct product_work *product, const char *const *shapes, bool of_matrices) {
  op_enter(to, "aten::matmul", shapes[SHAPE_MATMUL]);
  if (!of_matrices) {
    op_enter(to, "aten::reshape", shapes[SHAPE_VIEW]);
    op_view(to, "aten::view", shapes[SHAPE_VIEW]);
    op_leave(to);
  }
  op_enter(to, "aten::mm", shapes[SHAPE_MM]);
  program_spend(to->program, NS_BEFORE_LAUNCH);
  for (int i = 0; i < product->count; i++) {
    if (i)
      program_spend(to->program, NS_BETWEEN_LAUNCHES);
    launch(to, &product->works[i]);
  }
  program_spend(to->program, NS_AFTER_LAUNCH);
  op_leave(to);
  if (!of_matrices)
    op_view(to, "aten::_unsafe_view", shapes[SHAPE_UNSAFE_VIEW]);
  op_leave(to);
}

void scalar_read(const struct block *to) {
  struct work copy = kernels_copy(to->setup, WORK_COPY_TO_HOST, 4);
  op_enter(to, "aten::item", to->gpt->shapes[SHAPE_SCALAR]);
  op_enter(to, "aten::_local_scalar_dense", to->gpt->shapes[SHAPE_SCALAR]);
  spend(to, NS_LINE);
  launch(to, &copy);
  program_sync(to->program, DO_SYNC_STREAM, 0, STREAM_COMPUTE);
  spend(to, NS_LINE);
  op_leave(to);
  op_leave(to);
}
