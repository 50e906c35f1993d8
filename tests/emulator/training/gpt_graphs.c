/* Captured graphs (--graphs). What launches the work of a layer, or of a pass, is written as ever; then it is taken
 * from the block, and one call launches it. Of the ops inside nothing is left but one: the node that stands for all of
 * theirs, which has the number of the first of them.
 *
 * A graph's other streams begin behind the one that it is launched on, and end before it does: so they do in the
 * program that is captured, where they wait for its input and it for their results. Data-parallel gradients and all
 * that is between passes stay outside.
 */
#include "gpt_state.h"

static const struct node_names replay = {
    FUNCTION("_CudagraphReplayNode", "megatron/core/transformer/cuda_graphs.py", "520", "563")};

/* A graph has its layer, or its chunk, and its kind of pass. The first micro-batch has graphs of its own: it casts
 * weights and writes gradients, to which all others add. */
static uint32_t graph_number(const struct block *to) {
  int place = to->setup->graphs == GRAPHS_LAYERS ? to->label.layer : (int)(to->chunk - to->plan->chunks);
  return 1 + (uint32_t)((place * PHASES + to->label.phase) * 2 + (to->micro_batch > 0));
}

static struct capture begin(struct block *to) {
  to->captured = true;
  return (struct capture){.is_on = true, .first = to->program->count};
}

struct capture graph_forward(struct block *to, enum graphs what) {
  if (to->setup->graphs != what)
    return (struct capture){.is_on = false};
  const struct nesting *nesting = to->nesting;
  int around = nesting->inside[nesting->depth];
  node_forward(to, &replay, shape(to, SHAPE_HIDDEN_SHARD));
  to->nesting->next_number--; /* the first node's inside */
  nest(to, around);           /* which are counted as ever */
  return begin(to);
}

struct capture graph_backward(struct block *to, enum graphs what) {
  if (to->setup->graphs != what)
    return (struct capture){.is_on = false};
  if (what == GRAPHS_PASSES) {
    to->numbers = &to->gpt->numbers[NUMBERS_LAYER];
    to->number = to->pass_number;
    to->forward_thread = THREAD_MAIN;
  }
  node_backward(to, &replay, 0, shape(to, SHAPE_HIDDEN_SHARD));
  return begin(to);
}

/* Gradients that are complete then are reduced behind it. */
static void gradients_ready(const struct block *to) {
  bool layers = to->setup->graphs == GRAPHS_LAYERS;
  int first = layers ? to->first_slot : 0, count = layers ? LAYER_SLOTS : chunk_slots(to->chunk);
  for (int slot = first; slot < first + count && to->gradients != GRADIENTS_INPUT; slot++)
    gradient_ready(to, slot);
}

void graph_leave(struct block *to, const struct capture *capture) {
  if (!capture->is_on)
    return;
  to->captured = false;
  program_capture(to->program, capture->first, STREAM_COMPUTE, graph_number(to));
  if (to->label.phase == PHASE_FORWARD) {
    unnest(to);
    op_leave(to);
  } else {
    node_leave_backward(to);
    gradients_ready(to);
  }
}
