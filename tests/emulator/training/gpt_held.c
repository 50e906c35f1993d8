/* What is held for each parameter (--memory), as Megatron-LM's replicas hold it, and what stages hand to each other.
 *
 * All gradients have a buffer in float32, into which products add theirs; what the engine is handed in its place is an
 * empty tensor of the weight's size, until its hook has run. Without the distributed optimizer parameters are float32,
 * and so are the optimizer's two numbers of each; weights are copied into the working precision in the first
 * micro-batch's forward pass, and the copies held to the end of the last pass. With it parameters are in the working
 * precision, in a buffer that is gathered, and a replica has its share of them, and of those numbers, in float32.
 *
 * Not there: what tensors between stages are held for by Python beyond the engine's use of them.
 */
#include "gpt_state.h"

static bool is_plain(const struct block *to) { return !to->setup->parallel.fully_sharded; }

static int64_t parameters_of(const struct block *to) {
  int64_t sum = 0;
  for (int i = 0; i < to->setup->parallel.chunks; i++)
    for (int j = 0; j < to->plan->chunks[i].bucket_count; j++)
      sum += to->plan->chunks[i].buckets[j];
  return sum;
}

/* Where sequences are parallel, all column-parallel layers gather what they take into one buffer. */
void held_begin(const struct block *to) {
  if (to->step > 0)
    return;
  hold_libraries(to);
  if (!is_plain(to))
    return;
  bool shares = to->setup->parallel.distributed_optimizer;
  hold_bytes(to, 4 * parameters_of(to));
  hold_bytes(to, (shares ? 2 : 4) * parameters_of(to));
  hold_bytes(to, shares ? 4 * owned_parameters(to) : 0);
  if (gpt_sequence_shards(to->setup) > 1)
    hold(to, TENSOR_HIDDEN_WHOLE);
}

void held_gradient(const struct block *to, enum linear linear) {
  if (is_plain(to))
    release_weight(to, linear);
}

void held_copies(const struct block *to) {
  if (!is_plain(to) || to->setup->parallel.distributed_optimizer)
    return;
  for (int i = 0; i < to->setup->parallel.chunks; i++) {
    const struct chunk *chunk = &to->plan->chunks[i];
    for (int copies = 0; copies < chunk->layers * LAYER_LINEARS; copies++)
      release_weight(to, (enum linear)(copies % LAYER_LINEARS));
    if (chunk->has_head)
      release_weight(to, LINEAR_HEAD);
  }
}

/* It makes a mean and a mean square in its first step. */
void held_update(const struct block *to) {
  for (int i = 0; is_plain(to) && to->step == 0 && i < 2; i++)
    hold_bytes(to, 4 * owned_parameters(to));
}

/* What is received is held from then on; what is sent until that is done. */
void held_exchange(const struct block *to, const struct exchange *exchange, bool done) {
  for (int i = 0; i < exchange->count; i++) {
    bool sends = exchange->parts[i] & SEND;
    if (sends && done)
      release(to, TENSOR_HIDDEN);
    else if (!sends && !done)
      hold(to, TENSOR_HIDDEN);
  }
}
