/* Ops as PyTorch nests them around a kernel, and what they cost the host: nominal times of an eager run on a server of 2024. */
#include "gpt_state.h"
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
  NS_PYTHON = 2000
};

void spend(const struct block *to, int64_t ns) { program_spend(to->program, ns); }

static struct op_facts plain(const char *inputs) { return (struct op_facts){.inputs = inputs, .sequence = -1}; }

void python_enter(const struct block *to, enum frame frame, const char *name) {
  if (to->stacks)
    program_enter(to->program, frame, name, plain(NULL));
  program_spend(to->program, NS_PYTHON);
}

void python_leave(const struct block *to) {
  program_spend(to->program, NS_PYTHON);
  if (to->stacks)
    program_leave(to->program);
}

void annotate(const struct block *to, const char *name) {
  program_enter(to->program, FRAME_ANNOTATION, name, plain(NULL));
}

void op_enter(const struct block *to, const char *name, const char *inputs) {
  program_enter(to->program, FRAME_OP, name, plain(inputs));
}

void op_leave(const struct block *to) { program_leave(to->program); }

void op_view(const struct block *to, const char *name, const char *inputs) {
  op_enter(to, name, inputs);
  program_spend(to->program, NS_VIEW);
  op_leave(to);
}

void launch_on(const struct block *to, enum stream stream, const struct work *work) {
  struct work labelled = *work;
  labelled.label = to->label;
  enum call call = CALL_LAUNCH;
  if (work->kind == WORK_GEMM || work->kind == WORK_COLLECTIVE || work->kind == WORK_P2P)
    call = CALL_LAUNCH_EXC;
  else if (work->kind == WORK_MEMSET)
    call = CALL_MEMSET;
  else if (work->kind == WORK_COPY_TO_DEVICE || work->kind == WORK_COPY_TO_HOST || work->kind == WORK_COPY_ON_DEVICE)
    call = CALL_MEMCPY;
  else if (strncmp(work->name, "triton_", 7) == 0)
    call = CALL_LAUNCH_DRIVER;
  program_launch(to->program, call, stream, labelled);
}

void launch(const struct block *to, const struct work *work) { launch_on(to, STREAM_COMPUTE, work); }

void op_run(const struct block *to, const char *name, const char *inputs, const struct work *work) {
  op_enter(to, name, inputs);
  program_spend(to->program, NS_BEFORE_LAUNCH);
  launch(to, work);
  program_spend(to->program, NS_AFTER_LAUNCH);
  op_leave(to);
}

void op_run_inside(const struct block *to, const char *outer, const char *name, const char *inputs,
                   const struct work *work) {
  op_enter(to, outer, inputs);
  program_spend(to->program, NS_OUTER);
  op_run(to, name, inputs, work);
  op_leave(to);
}

void node_forward(const struct block *to, const struct node_names *names, int node, const char *inputs) {
  struct op_facts facts = plain(inputs);
  if (to->counts)
    facts.sequence = to->number + node;
  program_enter(to->program, FRAME_OP, names->forward, facts);
  program_spend(to->program, NS_FUNCTION);
}

void node_backward(const struct block *to, const struct node_names *names, int node, const char *inputs) {
  struct op_facts facts = {.inputs = inputs, .sequence = to->number + node, .backward = true};
  program_enter(to->program, FRAME_OP, names->evaluate, facts);
  program_spend(to->program, NS_NODE);
  program_enter(to->program, FRAME_OP, names->backward, facts);
  program_spend(to->program, NS_NODE);
}

void node_leave_backward(const struct block *to) {
  op_leave(to);
  program_spend(to->program, NS_NODE_END);
  op_leave(to);
  program_spend(to->program, NS_NODE_END);
}

void multiply(const struct block *to, const struct product_work *product, const char *inputs) {
  op_enter(to, "aten::matmul", inputs);
  op_view(to, "aten::view", NULL);
  op_enter(to, "aten::mm", inputs);
  program_spend(to->program, NS_BEFORE_LAUNCH);
  for (int i = 0; i < product->count; i++) {
    if (i)
      program_spend(to->program, NS_BETWEEN_LAUNCHES);
    launch(to, &product->works[i]);
  }
  program_spend(to->program, NS_AFTER_LAUNCH);
  op_leave(to);
  op_view(to, "aten::_unsafe_view", NULL);
  op_leave(to);
}
