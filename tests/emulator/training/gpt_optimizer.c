/* Gradients and the optimizer: buckets over the replicas (and the ranks that share their sequences), what several ranks
 * hold in common, the norm, Adam. With the distributed optimizer every replica updates its share of the parameters, and
 * all gather them. Fully sharded replicas (gpt_fsdp.c) have no more than that share. */
#include "gpt_state.h"

enum {
  NS_OPTIMIZER = 60000, /* Python's way through parameter groups */
  NS_LISTS = 9000       /* lists of tensors for one kernel */
};

/* Extensions run a kernel over lists through this. */
#define LISTS "megatron/core/utils.py(1021): multi_tensor_applier"

/* One kernel over lists of tensors takes at most so many elements: 320 blocks of 64 Ki. */
enum { LIST_ELEMENTS = 320 << 16 };

static bool has_share(const struct block *to) {
  return to->setup->parallel.distributed_optimizer || to->setup->parallel.fully_sharded;
}

static int64_t shares(const struct block *to) {
  return has_share(to) ? (int64_t)to->setup->parallel.data * to->setup->parallel.context : 1;
}

/* The last buckets of a chunk are those of experts that others sum than the rest. */
static bool is_of_experts(const struct chunk *chunk, int bucket) {
  return bucket >= chunk->bucket_count - chunk->expert_buckets;
}

static enum role role_of(const struct block *to, const struct chunk *chunk, int bucket) {
  return is_of_experts(chunk, bucket) ? ROLE_EXPERT_DATA : gpt_gradient_role(to->setup);
}

/* Does any rank have parameters of this one, too? */
static bool has_copies(const struct block *to) {
  return has_group(to, gpt_gradient_role(to->setup)) || has_group(to, ROLE_EXPERT_DATA);
}

static bool sums_gradients(const struct block *to, const struct chunk *chunk, int bucket) {
  return has_group(to, role_of(to, chunk, bucket));
}

static int64_t shares_of(const struct block *to, const struct chunk *chunk, int bucket) {
  int64_t all = shares(to);
  return is_of_experts(chunk, bucket) && has_share(to) ? all * to->setup->parallel.tensor / to->setup->parallel.expert
                                                       : all;
}

/* A bucket is padded to a multiple of its shares. */
static int64_t padded(const struct block *to, const struct chunk *chunk, int bucket) {
  int64_t of = shares_of(to, chunk, bucket);
  return (chunk->buckets[bucket] + of - 1) / of * of;
}

int64_t owned_parameters(const struct block *to) {
  int64_t sum = 0;
  for (int i = 0; i < to->setup->parallel.chunks; i++) {
    const struct chunk *chunk = &to->plan->chunks[i];
    for (int j = 0; j < chunk->bucket_count; j++)
      sum += padded(to, chunk, j) / shares_of(to, chunk, j);
  }
  return sum;
}

static enum stream stream_of(const struct chunk *chunk, int bucket) {
  return is_of_experts(chunk, bucket) ? STREAM_EXPERT_DATA : STREAM_DATA;
}

/* ---- buckets ---- */

static int bucket_event(const struct chunk *chunk, int bucket) {
  return EVENT_BUCKET + (chunk->first_bucket + bucket) % BUCKET_EVENTS;
}

static void reduce_bucket(const struct block *to, const struct chunk *chunk, int bucket) {
  int64_t elements = padded(to, chunk, bucket);
  frame_enter(to, "megatron/core/distributed/param_and_grad_buffer.py(326): start_grad_sync");
  struct work scale = kernels_run(to->setup, KERNEL_SCALE, elements, 0);
  op_run_vector(to, "aten::mul_", elements, &scale);
  spend(to, NS_LINE);
  enum collective collective = to->setup->parallel.distributed_optimizer ? REDUCE_SCATTER : ALL_REDUCE;
  struct message message = message_of(to, role_of(to, chunk, bucket), collective, elements, true);
  collective_start(to, stream_of(chunk, bucket), message, bucket_event(chunk, bucket));
  frame_leave(to);
}

/* A hook of Python does so, where the engine runs one behind a gradient. */
void gradient_ready(const struct block *to, int slot) {
  int bucket = to->chunk->closes[slot];
  bool last = to->micro_batch == to->setup->model.micro_batches - 1;
  if (to->captured || !to->setup->parallel.overlap_gradients || !last || bucket < 0 ||
      !sums_gradients(to, to->chunk, bucket))
    return;
  bool hooked = to->nesting->depth > 0;
  struct block labelled = *to;
  labelled.label.part = PART_OTHER;
  labelled.label.layer = -1;
  labelled.stacks = to->stacks && hooked;
  frame_enter(&labelled, "megatron/core/distributed/param_and_grad_buffer.py(446): register_grad_ready");
  nest(to, hooked ? INSIDE_PYTHON : 0);
  reduce_bucket(&labelled, to->chunk, bucket);
  unnest(to);
  frame_leave(&labelled);
}

static void reduce_buckets(const struct block *to) {
  if (!has_copies(to) || to->setup->parallel.fully_sharded)
    return;
  python_enter(to, "megatron/core/distributed/distributed_data_parallel.py(418): finish_grad_sync");
  for (int pass = to->setup->parallel.overlap_gradients; pass < 2; pass++)
    for (int i = 0; i < to->setup->parallel.chunks; i++)
      for (int j = 0; j < to->plan->chunks[i].bucket_count; j++) {
        const struct chunk *chunk = &to->plan->chunks[i];
        if (!sums_gradients(to, chunk, j))
          continue;
        if (pass)
          collective_wait(to, role_of(to, chunk, j), bucket_event(chunk, j));
        else
          reduce_bucket(to, chunk, j);
      }
  python_leave(to);
}

void gradients_clear(const struct block *to) {
  if (to->setup->parallel.fully_sharded) /* none are kept */
    return;
  python_enter(to, "megatron/core/distributed/distributed_data_parallel.py(434): zero_grad_buffer");
  for (int i = 0; i < to->setup->parallel.chunks; i++) {
    const struct chunk *chunk = &to->plan->chunks[i];
    const int64_t buffers[] = {chunk->parameters - chunk->expert_parameters, chunk->expert_parameters};
    for (int j = 0; j < 2; j++) {
      struct work clear = kernels_copy(to->setup, WORK_MEMSET, 4 * buffers[j]);
      if (buffers[j] == 0)
        continue;
      op_run_vector(to, "aten::zero_", buffers[j], &clear);
      spend(to, NS_LINE);
    }
  }
  python_leave(to);
}

/* ---- what several ranks hold in common ---- */

/* Norms and biases behind a reduce-scatter saw only the rank's rows: gathered into one tensor, summed, and written
 * back. */
static void reduce_shared(const struct block *to) {
  if (gpt_sequence_shards(to->setup) == 1)
    return;
  int64_t elements = to->plan->shared_parameters;
  if (to->setup->parallel.fully_sharded)
    elements /= shares(to);
  struct work copy = kernels_run(to->setup, KERNEL_TRANSPOSE, elements, 0);
  op_run(to, "aten::cat", to->gpt->shapes[SHAPE_LIST_CAT], &copy);
  collective_run(to, STREAM_TENSOR, message_of(to, ROLE_TENSOR, ALL_REDUCE, elements, true));
  op_run(to, "aten::_foreach_copy_", to->gpt->shapes[SHAPE_LISTS], &copy);
}

static void reduce_embedding(const struct block *to) {
  if (!has_group(to, ROLE_EMBEDDING))
    return;
  int64_t elements = gpt_linear_inputs(to->setup, LINEAR_HEAD) * gpt_linear_outputs(to->setup, LINEAR_HEAD);
  spend(to, NS_CALL);
  collective_run(to, STREAM_EMBEDDING, message_of(to, ROLE_EMBEDDING, ALL_REDUCE, elements, true));
}

/* The order is Megatron-LM's, and every rank of a group keeps to it. */
void gradients_finish(const struct block *to) {
  frame_enter(to, "megatron/core/distributed/finalize_model_grads.py(229): finalize_model_grads");
  reduce_buckets(to);
  reduce_shared(to);
  reduce_embedding(to);
  frame_leave(to);
}

/* ---- optimizer ---- */

static void run_lists(const struct block *to, enum kernel kernel, int64_t elements) {
  struct work whole = kernels_run(to->setup, kernel, LIST_ELEMENTS, 0);
  frame_enter(to, LISTS);
  frame_enter(to, "<built-in method multi_tensor_apply of PyCapsule object at 0x7f6a8e0b2a60>");
  for (; elements > 0; elements -= LIST_ELEMENTS) {
    struct work rest = elements < LIST_ELEMENTS ? kernels_run(to->setup, kernel, elements, 0) : whole;
    spend(to, NS_LISTS);
    launch(to, &rest);
  }
  frame_leave(to);
  frame_leave(to);
}

/* Over all that holds parts of the gradient: the model's ranks, or the whole job where replicas have shares. */
static void clip_gradients(const struct block *to) {
  int64_t owned = owned_parameters(to);
  python_enter(to, "megatron/core/optimizer/clip_grads.py(52): get_grad_norm_fp32");
  spend(to, NS_CALL);
  run_lists(to, KERNEL_L2_NORM, owned);
  struct work reduce = kernels_run(to->setup, KERNEL_L2_NORM_REDUCE, 320, 0);
  launch(to, &reduce);
  const struct parallelism *parallel = &to->setup->parallel;
  bool by_experts = gpt_experts_apart(to->setup) && parallel->expert >= parallel->tensor;
  enum role role = has_share(to) ? ROLE_WORLD : by_experts ? ROLE_EXPERT_MODEL : ROLE_MODEL;
  if (has_group(to, role))
    collective_run(to, STREAM_MODEL, message_of(to, role, ALL_REDUCE, 1, true));
  scalar_read(to);
  python_leave(to);
  python_enter(to, "megatron/core/optimizer/clip_grads.py(143): clip_grad_by_total_norm_fp32");
  run_lists(to, KERNEL_CLIP, owned);
  python_leave(to);
}

static void gather_parameters(const struct block *to) {
  if (!to->setup->parallel.distributed_optimizer || !has_copies(to))
    return;
  python_enter(to, "megatron/core/distributed/param_and_grad_buffer.py(196): start_param_sync");
  for (int waits = 0; waits < 2; waits++)
    for (int i = 0; i < to->setup->parallel.chunks; i++)
      for (int j = 0; j < to->plan->chunks[i].bucket_count; j++) {
        const struct chunk *chunk = &to->plan->chunks[i];
        enum role role = role_of(to, chunk, j);
        int64_t elements = padded(to, chunk, j);
        int event = bucket_event(chunk, j);
        if (!has_group(to, role))
          continue;
        if (waits)
          collective_wait(to, role, event);
        else
          collective_start(to, stream_of(chunk, j), message_of(to, role, ALL_GATHER, elements, false), event);
      }
  python_leave(to);
}

void optimizer_step(const struct block *to) {
  nest(to, INSIDE_PYTHON); /* no gradients are recorded */
  frame_enter(to, "torch/utils/_contextlib.py(113): decorate_context");
  frame_enter(to, to->setup->parallel.distributed_optimizer ? "megatron/core/optimizer/distrib_optimizer.py(2156): step"
                                                            : "megatron/core/optimizer/optimizer.py(474): step");
  annotate(to, "optimizer.step");
  spend(to, NS_OPTIMIZER);
  clip_gradients(to);
  frame_enter(to, "torch/optim/optimizer.py(473): wrapper");
  annotate(to, "Optimizer.step#FusedAdam.step");
  frame_enter(to, "apex/optimizers/fused_adam.py(127): step");
  spend(to, NS_OPTIMIZER);
  held_update(to);
  fsdp_update(to);
  run_lists(to, KERNEL_ADAM, owned_parameters(to));
  frame_leave(to);
  op_leave(to);
  frame_leave(to);
  if (to->setup->parallel.distributed_optimizer) {
    struct work cast = kernels_run(to->setup, KERNEL_CAST_TO_BFLOAT, owned_parameters(to), 0);
    op_run(to, "aten::_foreach_copy_", to->gpt->shapes[SHAPE_LISTS], &cast);
    gather_parameters(to);
  }
  op_leave(to);
  frame_leave(to);
  frame_leave(to);
  unnest(to);
}
