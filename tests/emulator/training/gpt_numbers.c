/* Autograd's numbers. Every thread counts the nodes that it makes, and a node keeps its number, by which its backward
 * op is known. So the number of each node follows from what its thread made before it: passes in the schedule's order,
 * in them layers, in them nodes.
 */
#include "gpt_state.h"

enum numbering gpt_forward_numbering(const struct setup *setup) {
  return setup->parallel.recompute == RECOMPUTE_FULL        ? NUMBERS_CHECKPOINTED
         : setup->parallel.recompute == RECOMPUTE_SELECTIVE ? NUMBERS_CORE_CHECKPOINTED
                                                            : NUMBERS_LAYER;
}

/* Of what a checkpoint computes without gradients only functions make nodes, which nobody will ask for. */
static bool makes_node(const struct gpt *gpt, enum numbering numbering, enum layer_node node) {
  const struct parallelism *parallel = &gpt->setup->parallel;
  bool core = node == NODE_ATTENTION || node == NODE_CONTEXT, function = gpt_layer_nodes[node].forward_method != NULL;
  if (node == NODE_UNIT) /* of the layer itself, not where it is computed again */
    return parallel->fully_sharded && numbering == gpt_forward_numbering(gpt->setup);
  if (node == NODE_CHECKPOINT)
    return numbering == NUMBERS_CHECKPOINTED;
  if (node == NODE_CORE_CHECKPOINT)
    return numbering == NUMBERS_CORE_CHECKPOINTED;
  bool block = node >= NODE_FC1 && node <= NODE_FC2_REDUCE;
  bool of_experts = node >= NODE_ROUTER && node <= NODE_UNPERMUTE;
  if (gpt->setup->model.experts > 0 ? block : of_experts)
    return false;
  if (parallel->expert == 1 && (node == NODE_DISPATCH || node == NODE_COMBINE))
    return false;
  if (parallel->tensor == 1 && (node == NODE_PROJECTION_REDUCE || node == NODE_FC2_REDUCE))
    return false;
  if (numbering == NUMBERS_CORE)
    return core;
  return function || numbering == NUMBERS_LAYER || (numbering == NUMBERS_CORE_CHECKPOINTED && !core);
}

static void number_layer(struct gpt *gpt, enum numbering numbering) {
  struct numbers *numbers = &gpt->numbers[numbering];
  for (int node = 0; node < LAYER_NODES; node++) {
    numbers->place[node] = numbers->count;
    numbers->count += makes_node(gpt, numbering, (enum layer_node)node);
  }
}

static void number_embedding(const struct gpt *gpt, struct numbers *numbers) {
  for (int node = 0; node < FIRST_LAYER_NODE; node++) {
    numbers->place[node] = numbers->count;
    numbers->count += node != NODE_EMBEDDING_REDUCE || gpt->setup->parallel.tensor > 1;
  }
}

static void number_head(struct numbers *numbers) {
  for (int node = 0; node < HEAD_NODES; node++)
    numbers->place[node] = numbers->count++;
}

int64_t gpt_numbers_of(const struct gpt *gpt, const struct chunk *chunk) {
  const struct numbers *numbers = gpt->numbers;
  enum numbering layer = gpt_forward_numbering(gpt->setup);
  return (int64_t)chunk->embeds * numbers[NUMBERS_EMBEDDING].count + (int64_t)chunk->layers * numbers[layer].count +
         (int64_t)chunk->has_head * numbers[NUMBERS_HEAD].count;
}

/* Of a layer, by the thread that computes it again. */
static int recomputed_numbers(const struct gpt *gpt) {
  switch (gpt->setup->parallel.recompute) {
    case RECOMPUTE_FULL:
      return gpt->numbers[NUMBERS_LAYER].count;
    case RECOMPUTE_SELECTIVE:
      return gpt->numbers[NUMBERS_CORE].count;
    case RECOMPUTE_NONE:
    case RECOMPUTES:
      break;
  }
  return 0;
}

static void number_plan(const struct gpt *gpt, struct plan *plan) {
  plan->numbers = memory_new((size_t)plan->count + 1, sizeof *plan->numbers);
  plan->recomputed = memory_new((size_t)plan->count + 1, sizeof *plan->recomputed);
  for (int i = 0; i < plan->count; i++) {
    const struct pass *pass = &plan->passes[i];
    const struct chunk *chunk = &plan->chunks[pass->chunk];
    int again = pass->phase == PHASE_BACKWARD ? recomputed_numbers(gpt) : 0;
    plan->numbers[i + 1] = plan->numbers[i] + (pass->phase == PHASE_FORWARD ? gpt_numbers_of(gpt, chunk) : 0);
    plan->recomputed[i + 1] = plan->recomputed[i] + (int64_t)chunk->layers * again;
  }
}

void gpt_make_numbers(struct gpt *gpt) {
  number_embedding(gpt, &gpt->numbers[NUMBERS_EMBEDDING]);
  for (int layer = NUMBERS_LAYER; layer <= NUMBERS_CORE; layer++)
    number_layer(gpt, (enum numbering)layer);
  number_head(&gpt->numbers[NUMBERS_HEAD]);
  for (int stage = 0; stage < gpt->setup->parallel.pipeline; stage++)
    number_plan(gpt, &gpt->plans[stage]);
}
