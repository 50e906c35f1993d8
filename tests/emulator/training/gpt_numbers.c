/* Autograd's numbers. Every thread counts the nodes that it makes, and a node keeps its number, by which its backward
 * op is known. So the number of each node follows from what its thread made before it: passes in the schedule's order,
 * in them layers, in them nodes.
 */
#include "gpt_state.h"

/* Of a layer that a checkpoint computes without gradients only functions make nodes, which nobody will ask for. */
static void number_layer(const struct gpt *gpt, struct numbers *numbers, bool checkpointed) {
  const struct parallelism *parallel = &gpt->setup->parallel;
  for (int node = 0; node < LAYER_NODES; node++) {
    bool reduces = node == NODE_PROJECTION_REDUCE || node == NODE_FC2_REDUCE;
    bool made = checkpointed ? gpt_layer_nodes[node].forward_method != NULL : node != NODE_CHECKPOINT;
    if (node == NODE_UNIT) /* of the layer itself, not where it is computed again */
      made = parallel->fully_sharded && checkpointed == parallel->recompute;
    numbers->place[node] = numbers->count;
    numbers->count += made && (!reduces || parallel->tensor > 1);
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
  enum numbering layer = gpt->setup->parallel.recompute ? NUMBERS_CHECKPOINTED : NUMBERS_LAYER;
  return (int64_t)chunk->embeds * numbers[NUMBERS_EMBEDDING].count + (int64_t)chunk->layers * numbers[layer].count +
         (int64_t)chunk->has_head * numbers[NUMBERS_HEAD].count;
}

static void number_plan(const struct gpt *gpt, struct plan *plan) {
  plan->numbers = memory_new((size_t)plan->count + 1, sizeof *plan->numbers);
  plan->recomputed = memory_new((size_t)plan->count + 1, sizeof *plan->recomputed);
  for (int i = 0; i < plan->count; i++) {
    const struct pass *pass = &plan->passes[i];
    const struct chunk *chunk = &plan->chunks[pass->chunk];
    bool recomputes = gpt->setup->parallel.recompute && pass->phase == PHASE_BACKWARD;
    plan->numbers[i + 1] = plan->numbers[i] + (pass->phase == PHASE_FORWARD ? gpt_numbers_of(gpt, chunk) : 0);
    plan->recomputed[i + 1] =
        plan->recomputed[i] + (recomputes ? (int64_t)chunk->layers * gpt->numbers[NUMBERS_LAYER].count : 0);
  }
}

void gpt_make_numbers(struct gpt *gpt) {
  number_embedding(gpt, &gpt->numbers[NUMBERS_EMBEDDING]);
  number_layer(gpt, &gpt->numbers[NUMBERS_LAYER], false);
  number_layer(gpt, &gpt->numbers[NUMBERS_CHECKPOINTED], true);
  number_head(&gpt->numbers[NUMBERS_HEAD]);
  for (int stage = 0; stage < gpt->setup->parallel.pipeline; stage++)
    number_plan(gpt, &gpt->plans[stage]);
}
