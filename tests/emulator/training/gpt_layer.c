/* A transformer layer: attention and MLP, each behind a norm and with a residual connection. Column-parallel products
 * come before the parts that are spread over the tensor group, row-parallel ones behind them; a sum over the group, or
 * with sequence parallelism a gather before and a reduce-scatter behind, makes the parts whole.
 */
#include "gpt_state.h"

#define LAYERS "megatron/core/tensor_parallel/layers.py"
#define MAPPINGS "megatron/core/tensor_parallel/mappings.py"
#define LINEAR FUNCTION("LinearWithGradAccumulationAndAsyncCommunication", LAYERS, "436", "480")
#define ROTARY FUNCTION("FusedRoPEFunc", "apex/transformer/functional/fused_rope.py", "37", "56")
#define COMPILED FUNCTION("CompiledFunction", "torch/_functorch/_aot_autograd/runtime_wrappers.py", "1829", "1872")
#define CHECKPOINT FUNCTION("CheckpointFunction", "megatron/core/tensor_parallel/random.py", "419", "443")
#define PERMUTATION "transformer_engine/pytorch/permutation.py"
#define EXCHANGE FUNCTION("_AllToAll", MAPPINGS, "430", "460")
#define SORT FUNCTION("_moe_chunk_sort", PERMUTATION, "548", "590")
#define REDUCE FUNCTION("_ReduceFromModelParallelRegion", MAPPINGS, "218", "223")

const struct node_names gpt_layer_nodes[LAYER_NODES] = {
    [NODE_UNIT] = {FUNCTION("RegisterPostBackwardFunction", "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py",
                            "801", "808")},
    [NODE_CHECKPOINT] = {CHECKPOINT},
    [NODE_NORM_1] = {NODE("aten::native_layer_norm", "NativeLayerNormBackward0")},
    [NODE_QKV] = {LINEAR},
    [NODE_SPLIT] = {NODE("aten::split_with_sizes", "SplitWithSizesBackward0")},
    [NODE_ROTARY_QUERY] = {ROTARY},
    [NODE_ROTARY_KEY] = {ROTARY},
    [NODE_CORE_CHECKPOINT] = {CHECKPOINT},
    [NODE_ATTENTION] = {FUNCTION("FlashAttnFunc", "flash_attn/flash_attn_interface.py", "810", "867")},
    [NODE_CONTEXT] = {NODE("aten::clone", "CloneBackward0")},
    [NODE_PROJECTION] = {LINEAR},
    [NODE_PROJECTION_REDUCE] = {REDUCE},
    [NODE_DROPOUT_ADD_1] = {COMPILED},
    [NODE_NORM_2] = {NODE("aten::native_layer_norm", "NativeLayerNormBackward0")},
    [NODE_FC1] = {LINEAR},
    [NODE_GELU] = {FUNCTION("BiasGeLUFunction", "megatron/core/fusions/fused_bias_gelu.py", "66", "74")},
    [NODE_FC2] = {LINEAR},
    [NODE_FC2_REDUCE] = {REDUCE},
    [NODE_ROUTER] = {LINEAR},
    [NODE_TOP] = {NODE("aten::topk", "TopkBackward0")},
    [NODE_SCORES] = {NODE("aten::_softmax", "SoftmaxBackward0")},
    [NODE_SCATTER] = {NODE("aten::scatter", "ScatterBackward0")},
    [NODE_PERMUTE] = {FUNCTION("_moe_permute_mask_map", PERMUTATION, "181", "246")},
    [NODE_DISPATCH] = {EXCHANGE},
    [NODE_SORT_CHUNKS] = {SORT},
    [NODE_EXPERTS_FC1] = {NODE("aten::_grouped_mm", "GroupedMmBackward0")},
    [NODE_EXPERTS_GELU] = {NODE("aten::gelu", "GeluBackward0")},
    [NODE_EXPERTS_FC2] = {NODE("aten::_grouped_mm", "GroupedMmBackward0")},
    [NODE_SORT_BACK] = {SORT},
    [NODE_COMBINE] = {EXCHANGE},
    [NODE_UNPERMUTE] = {FUNCTION("_moe_unpermute_mask_map", PERMUTATION, "316", "362")},
    [NODE_DROPOUT_ADD_2] = {COMPILED},
};
static const struct node_names *const nodes = gpt_layer_nodes;
static const struct node_names scatter_node = {
    FUNCTION("_ReduceScatterToSequenceParallelRegion", MAPPINGS, "357", "363")};

static const struct node_names context_node = {
    FUNCTION("AttnFuncWithCPAndKVAllGather",
             "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py", "2390", "2662")};

static const struct node_names *attention_node(const struct block *to) {
  return has_group(to, ROLE_CONTEXT) ? &context_node : &nodes[NODE_ATTENTION];
}

static const struct node_names *reduction(const struct block *to) {
  return gpt_sequence_shards(to->setup) > 1 ? &scatter_node : &nodes[NODE_PROJECTION_REDUCE];
}

/* ---- linear layers ---- */

static const char *const *product_shapes(const struct block *to, enum linear linear, enum product product) {
  return to->gpt->product_shapes[linear][product];
}

static void transpose(const struct block *to, const char *inputs) {
  op_enter(to, "aten::t", inputs);
  op_enter(to, "aten::transpose", inputs);
  op_view(to, "aten::as_strided", inputs);
  op_leave(to);
  op_leave(to);
}

void linear_forward(const struct block *to, const struct linear_use *use, const struct product_work *products) {
  const char *const *shapes = to->gpt->linear_shapes[use->linear];
  spend(to, NS_CALL);
  if (to->casts) {
    op_enter(to, "aten::to", shapes[SHAPE_CAST]);
    hold_weight(to, use->linear);
    op_run_inside(to, "aten::_to_copy", "aten::copy_", shapes[SHAPE_CAST], use->cast);
    op_leave(to);
    spend(to, NS_LINE);
  }
  frame_enter(to, LAYERS "(622): linear_with_grad_accumulation_and_async_allreduce");
  node_forward(to, &nodes[NODE_QKV], shapes[SHAPE_FUNCTION]);
  if (use->column && gpt_sequence_shards(to->setup) > 1)
    tensor_run(to, ALL_GATHER);
  transpose(to, shapes[SHAPE_WEIGHT]);
  multiply(to, &products[PRODUCT_FORWARD], product_shapes(to, use->linear, PRODUCT_FORWARD), false);
  hold_output(to, use->linear);
  op_leave(to);
  frame_leave(to);
}

/* The gradient and the input as matrices, of which the weight's gradient is the product. */
static void view_rows(const struct block *to, const struct linear_use *use) {
  op_view(to, "aten::view", product_shapes(to, use->linear, PRODUCT_INPUT)[SHAPE_VIEW]);
  op_view(to, "aten::view", product_shapes(to, use->linear, PRODUCT_FORWARD)[SHAPE_VIEW]);
}

static void multiply_weight(const struct block *to, const struct linear_use *use, const struct product_work *products) {
  bool adds = to->micro_batch && !to->setup->parallel.fully_sharded;
  enum product product = adds ? PRODUCT_WEIGHT_ADDED : PRODUCT_WEIGHT;
  transpose(to, to->gpt->linear_shapes[use->linear][SHAPE_GRADIENT_ROWS]);
  multiply(to, &products[product], product_shapes(to, use->linear, product), true);
}

void linear_backward(const struct block *to, const struct linear_use *use, const struct product_work *products) {
  const char *const *shapes = to->gpt->linear_shapes[use->linear];
  bool whole = to->gradients == GRADIENTS_ALL;
  bool reduces = use->column && has_group(to, ROLE_TENSOR), scatters = reduces && gpt_sequence_shards(to->setup) > 1;
  node_backward(to, &nodes[NODE_QKV], use->node, shapes[SHAPE_GRADIENT]);
  /* The input is gathered again for the weight's product, while the input's gradient is computed; that one is reduced
   * while the weight's is. */
  if (whole && scatters)
    tensor_start(to, ALL_GATHER);
  hold_input_gradient(to, use->linear);
  multiply(to, &products[PRODUCT_INPUT], product_shapes(to, use->linear, PRODUCT_INPUT), false);
  if (whole && scatters)
    tensor_wait(to);
  if (whole)
    view_rows(to, use);
  if (scatters)
    hold(to, TENSOR_HIDDEN);
  if (reduces)
    tensor_start(to, scatters ? REDUCE_SCATTER : ALL_REDUCE);
  if (whole)
    multiply_weight(to, use, products);
  if (reduces)
    tensor_wait(to);
  hold_weight(to, use->linear); /* its gradient, or what stands for it */
  if (scatters)
    release(to, TENSOR_HIDDEN_WHOLE);
  release_linear(to, use->linear);
  if (!use->add) {
    node_leave_backward(to);
    return;
  }
  op_leave(to);
  op_run(to, "aten::add", shape(to, SHAPE_ADD), use->add);
  op_leave(to);
  spend(to, NS_LINE);
}

/* A weight's gradient that the backward pass has put off. */
void linear_weight(const struct block *to, const struct linear_use *use, const struct product_work *products) {
  node_backward(to, &nodes[NODE_QKV], use->node, to->gpt->linear_shapes[use->linear][SHAPE_GRADIENT]);
  if (use->column && gpt_sequence_shards(to->setup) > 1)
    tensor_run(to, ALL_GATHER);
  view_rows(to, use);
  multiply_weight(to, use, products);
  node_leave_backward(to);
}

static struct linear_use use_of(const struct block *to, enum linear linear) {
  static const enum layer_node linear_nodes[LAYER_LINEARS] = {NODE_QKV, NODE_PROJECTION, NODE_FC1, NODE_FC2};
  return (struct linear_use){.linear = linear,
                             .node = (int)linear_nodes[linear],
                             .column = linear == LINEAR_QKV || linear == LINEAR_FC1,
                             .cast = &to->kernels->pieces[PIECE_CAST_QKV + (int)linear]};
}

static void forward_product(const struct block *to, enum linear linear) {
  struct linear_use use = use_of(to, linear);
  bool second = linear == LINEAR_FC1 || linear == LINEAR_FC2;
  module_enter(to, use.column ? MODULE_COLUMN : MODULE_ROW, second);
  linear_forward(to, &use, to->kernels->products[linear]);
  if (!use.column)
    reduce_forward(to);
  module_leave(to);
}

/* ---- gradients into the buffer ---- */

void gradient_accumulate(const struct block *to, int slot, const char *gradient, const struct work *work) {
  record_enter(to, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL);
  spend(to, NS_LINE);
  op_enter(to, "torch::autograd::AccumulateGrad", gradient);
  if (work && !to->setup->parallel.fully_sharded)
    op_run(to, to->micro_batch ? "aten::add_" : "aten::copy_", gradient, work);
  else
    op_view(to, "aten::detach", gradient);
  op_leave(to);
  frame_enter(to, "megatron/core/distributed/distributed_data_parallel.py(390): hook");
  if (to->gradients != GRADIENTS_INPUT)
    gradient_ready(to, slot);
  frame_leave(to);
  op_leave(to);
  spend(to, NS_LINE);
}

static void accumulate(const struct block *to, enum layer_slot slot, enum layer_piece write, enum layer_piece add) {
  gradient_accumulate(to, to->first_slot + (int)slot, to->gpt->gradient_shapes[slot],
                      &to->kernels->pieces[to->micro_batch ? add : write]);
}

static void backward_product(const struct block *to, enum linear linear, enum layer_slot slot) {
  struct linear_use use = use_of(to, linear);
  linear_backward(to, &use, to->kernels->products[linear]);
  if (to->gradients == GRADIENTS_ALL)
    gradient_accumulate(to, to->first_slot + (int)slot, to->gpt->gradient_shapes[slot], NULL);
  held_gradient(to, linear);
}

static void weight_product(const struct block *to, enum linear linear, enum layer_slot slot) {
  struct linear_use use = use_of(to, linear);
  linear_weight(to, &use, to->kernels->products[linear]);
  gradient_accumulate(to, to->first_slot + (int)slot, to->gpt->gradient_shapes[slot], NULL);
}

/* ---- forward ---- */

void norm_forward(const struct block *to, const struct node_names *names, int which, const struct work *work) {
  module_enter(to, MODULE_NORM, which);
  spend(to, NS_CALL);
  op_enter(to, "aten::layer_norm", shape(to, SHAPE_NORM));
  node_forward(to, names, shape(to, SHAPE_NORM));
  hold(to, TENSOR_HIDDEN);
  hold(to, TENSOR_ROW_NUMBERS);
  hold(to, TENSOR_ROW_NUMBERS);
  launch(to, work);
  op_leave(to);
  op_leave(to);
  release_unkept(to, TENSOR_ROW_NUMBERS);
  release_unkept(to, TENSOR_ROW_NUMBERS);
  module_leave(to);
}

/* Dropout keeps a mask; what is added is not kept. */
static void hold_made(const struct block *to, enum layer_node node) {
  bool drops = node == NODE_DROPOUT_ADD_1 || node == NODE_DROPOUT_ADD_2;
  hold(to, drops ? TENSOR_HIDDEN : node == NODE_GELU ? TENSOR_FFN : TENSOR_HEADS);
  if (drops) {
    hold(to, TENSOR_MASK);
    release_unkept(to, TENSOR_MASK);
  }
}

void node_run(const struct block *to, enum layer_node node, enum shape inputs, enum layer_piece piece) {
  spend(to, NS_LINE);
  node_forward(to, &nodes[node], shape(to, inputs));
  hold_made(to, node);
  launch(to, &to->kernels->pieces[piece]);
  op_leave(to);
}

/* Sums the parts of a row-parallel product. */
void reduce_forward(const struct block *to) {
  if (!has_group(to, ROLE_TENSOR))
    return;
  spend(to, NS_LINE);
  node_forward(to, reduction(to), shape(to, SHAPE_HIDDEN));
  bool scatters = gpt_sequence_shards(to->setup) > 1;
  if (scatters)
    hold(to, TENSOR_HIDDEN);
  tensor_run(to, scatters ? REDUCE_SCATTER : ALL_REDUCE);
  op_leave(to);
  if (scatters)
    release(to, TENSOR_HIDDEN_WHOLE);
}

void reduce_backward(const struct block *to, int node) {
  if (!has_group(to, ROLE_TENSOR))
    return;
  node_backward(to, reduction(to), node, shape(to, SHAPE_HIDDEN_SHARD));
  bool gathers = gpt_sequence_shards(to->setup) > 1;
  if (gathers) {
    hold(to, TENSOR_HIDDEN_WHOLE);
    tensor_run(to, ALL_GATHER);
  }
  node_leave_backward(to);
  if (gathers)
    release(to, TENSOR_HIDDEN);
}

/* Keys and values of the sequence's other parts, one after the other, and both into their order: a rank has an early
 * and a late piece. */
static void gather_keys(const struct block *to) {
  for (int i = 0; i < 2; i++)
    context_run(to, ALL_GATHER);
  for (int i = 0; i < 2; i++)
    op_run(to, "aten::index_select", shape(to, SHAPE_KEYS_SELECT), &to->kernels->pieces[PIECE_KEYS_COPY]);
}

/* The gradients of all keys and values that this rank's queries saw: each rank takes the sum for its own. */
static void scatter_keys(const struct block *to) {
  for (int i = 0; i < 2; i++)
    op_run(to, "aten::index_select", shape(to, SHAPE_KEYS_SELECT), &to->kernels->pieces[PIECE_KEYS_COPY]);
  for (int i = 0; i < 2; i++)
    context_run(to, REDUCE_SCATTER);
}

/* Into the layout that attention wants. */
static void copy_heads(const struct block *to) {
  const struct work *own = &to->kernels->pieces[PIECE_HEADS_COPY];
  const struct work *keys = has_group(to, ROLE_CONTEXT) ? &to->kernels->pieces[PIECE_KEYS_COPY] : own;
  op_run_inside(to, "aten::contiguous", "aten::copy_", shape(to, SHAPE_HEADS_COPY), own);
  for (int i = 0; i < 2; i++)
    op_run_inside(to, "aten::contiguous", "aten::copy_", shape(to, SHAPE_KEYS_COPY), keys);
  hold(to, TENSOR_QKV);
}

static void core_forward(const struct block *to) {
  const struct work *pieces = to->kernels->pieces;
  bool gathers = has_group(to, ROLE_CONTEXT);
  module_enter(to, MODULE_CORE, 0);
  if (!gathers)
    copy_heads(to);
  spend(to, NS_CALL);
  node_forward(to, attention_node(to), shape(to, SHAPE_ATTENTION));
  if (gathers) {
    gather_keys(to);
    copy_heads(to);
  }
  hold(to, TENSOR_HEADS);
  hold(to, TENSOR_HEAD_NUMBERS);
  op_run(to, "flash_attn::_flash_attn_forward", shape(to, SHAPE_ATTENTION_FORWARD), &pieces[PIECE_ATTENTION]);
  op_leave(to);
  op_enter(to, "aten::contiguous", shape(to, SHAPE_CONTEXT_COPY));
  node_forward(to, &nodes[NODE_CONTEXT], shape(to, SHAPE_CONTEXT_COPY));
  hold(to, TENSOR_HEADS);
  op_run(to, "aten::copy_", shape(to, SHAPE_CONTEXT_COPY), &pieces[PIECE_HEADS_COPY]);
  op_leave(to);
  op_leave(to);
  module_leave(to);
}

/* Around what a checkpoint computes without gradients, of which it keeps the inputs. */
static void checkpoint_enter(const struct block *to, enum layer_node node, enum shape inputs) {
  frame_enter(to, "megatron/core/tensor_parallel/random.py(496): checkpoint");
  spend(to, NS_PYTHON);
  node_forward(to, &nodes[node], shape(to, inputs));
}

static void checkpoint_leave(const struct block *to) {
  op_leave(to);
  spend(to, NS_PYTHON);
  frame_leave(to);
}

static void core_checkpoint_forward(const struct block *to) {
  bool selective = to->setup->parallel.recompute == RECOMPUTE_SELECTIVE;
  if (selective)
    checkpoint_enter(to, NODE_CORE_CHECKPOINT, SHAPE_CORE);
  core_forward(to);
  if (selective)
    checkpoint_leave(to);
}

static void attention_forward(const struct block *to) {
  module_enter(to, MODULE_ATTENTION, 0);
  spend(to, NS_PYTHON);
  forward_product(to, LINEAR_QKV);
  release_unkept(to, TENSOR_HIDDEN);
  node_forward(to, &nodes[NODE_SPLIT], shape(to, SHAPE_QKV_SPLIT));
  op_leave(to);
  frame_enter(to, "megatron/core/models/common/embeddings/rope_utils.py(190): apply_rotary_pos_emb");
  node_run(to, NODE_ROTARY_QUERY, SHAPE_ROTARY, PIECE_ROTARY);
  frame_leave(to);
  frame_enter(to, "megatron/core/models/common/embeddings/rope_utils.py(190): apply_rotary_pos_emb");
  node_run(to, NODE_ROTARY_KEY, SHAPE_ROTARY, PIECE_ROTARY);
  frame_leave(to);
  core_checkpoint_forward(to);
  forward_product(to, LINEAR_PROJECTION);
  spend(to, NS_PYTHON);
  release(to, TENSOR_QKV); /* values are a view of it; as queries and keys, a local of the module's function */
  release(to, TENSOR_HEADS);
  release(to, TENSOR_HEADS);
  release_unkept(to, TENSOR_QKV);
  release_unkept(to, TENSOR_HEADS);
  release_unkept(to, TENSOR_HEADS);
  release_unkept(to, TENSOR_HEAD_NUMBERS);
  module_leave(to);
}

static void mlp_forward(const struct block *to) {
  if (has_experts(to)) {
    experts_forward(to);
    return;
  }
  module_enter(to, MODULE_MLP, 0);
  spend(to, NS_PYTHON);
  forward_product(to, LINEAR_FC1);
  release_unkept(to, TENSOR_HIDDEN);
  frame_enter(to, "megatron/core/fusions/fused_bias_gelu.py(85): bias_gelu_impl");
  node_run(to, NODE_GELU, SHAPE_GELU, PIECE_GELU);
  frame_leave(to);
  release_unkept(to, TENSOR_FFN);
  forward_product(to, LINEAR_FC2);
  release_unkept(to, TENSOR_FFN);
  spend(to, NS_PYTHON);
  module_leave(to);
}

static void dropout_add_forward(const struct block *to, enum layer_node node) {
  frame_enter(to, "megatron/core/fusions/fused_bias_dropout.py(70): bias_dropout_add_fused_train");
  frame_enter(to, "torch/_dynamo/eval_frame.py(738): _fn");
  node_run(to, node, SHAPE_DROPOUT_ADD, PIECE_DROPOUT_ADD);
  release(to, TENSOR_HIDDEN); /* the product that was added */
  frame_leave(to);
  frame_leave(to);
}

static void body_forward(const struct block *to) {
  norm_forward(to, &nodes[NODE_NORM_1], 0, &to->kernels->pieces[PIECE_NORM_1]);
  attention_forward(to);
  dropout_add_forward(to, NODE_DROPOUT_ADD_1);
  norm_forward(to, &nodes[NODE_NORM_2], 1, &to->kernels->pieces[PIECE_NORM_2]);
  mlp_forward(to);
  dropout_add_forward(to, NODE_DROPOUT_ADD_2);
  release_unkept(to, TENSOR_HIDDEN); /* the sum behind attention */
}

static void enter_layer(struct block *to, int place) {
  int layer = to->chunk->first_layer + place;
  to->label.part = PART_LAYER;
  to->label.layer = (int16_t)layer;
  to->kernels = &to->gpt->layers[layer];
  to->place = place;
  to->numbers = &to->gpt->numbers[gpt_forward_numbering(to->setup)];
  to->number = to->pass_number + place * to->numbers->count;
  if (to->chunk->embeds)
    to->number += to->gpt->numbers[NUMBERS_EMBEDDING].count;
  to->forward_thread = THREAD_MAIN;
  to->first_slot = FIRST_LAYER_SLOT + (to->chunk->layers - 1 - place) * LAYER_SLOTS;
}

static void checkpoint_forward(const struct block *to) {
  checkpoint_enter(to, NODE_CHECKPOINT, SHAPE_HIDDEN_SHARD);
  module_enter(to, MODULE_LAYER, 0);
  body_forward(to);
  module_leave(to);
  checkpoint_leave(to);
}

void layer_forward(struct block *to, int place) {
  enter_layer(to, place);
  struct capture capture = graph_forward(to, GRAPHS_LAYERS);
  bool checkpoints = to->setup->parallel.recompute == RECOMPUTE_FULL;
  if (checkpoints && to->setup->parallel.fully_sharded) {
    module_enter(to, MODULE_CHECKPOINT, 0);
    fsdp_layer_forward(to, place);
    checkpoint_forward(to);
    fsdp_layer_leave(to, place);
    module_leave(to);
  } else if (checkpoints) {
    checkpoint_forward(to);
  } else {
    module_enter(to, MODULE_LAYER, 0);
    fsdp_layer_forward(to, place);
    spend(to, NS_PYTHON);
    body_forward(to);
    spend(to, NS_PYTHON);
    fsdp_layer_leave(to, place);
    module_leave(to);
  }
  graph_leave(to, &capture);
}

/* ---- backward ---- */

void norm_backward(const struct block *to, const struct node_names *names, int node, const struct work *input,
                   const struct work *weight, const struct work *add) {
  node_backward(to, names, node, shape(to, SHAPE_HIDDEN_SHARD));
  op_enter(to, "aten::native_layer_norm_backward", shape(to, SHAPE_NORM_BACKWARD));
  spend(to, NS_LINE);
  hold(to, TENSOR_HIDDEN);
  launch(to, input);
  launch(to, weight);
  op_leave(to);
  op_leave(to);
  release(to, TENSOR_HIDDEN); /* the gradient, what was kept, and what was found of its rows */
  release(to, TENSOR_HIDDEN);
  release(to, TENSOR_ROW_NUMBERS);
  release(to, TENSOR_ROW_NUMBERS);
  /* The residual's gradient joins: the engine sums what comes to one node from two. */
  if (add) {
    hold(to, TENSOR_HIDDEN);
    op_run(to, "aten::add", shape(to, SHAPE_ADD), add);
    release(to, TENSOR_HIDDEN);
    release(to, TENSOR_HIDDEN);
  }
  op_leave(to);
  spend(to, NS_LINE);
}

static void layer_norm_backward(const struct block *to, enum layer_node node, enum layer_slot slot) {
  const struct work *pieces = to->kernels->pieces;
  norm_backward(to, &nodes[node], (int)node, &pieces[PIECE_NORM_BACKWARD_INPUT], &pieces[PIECE_NORM_BACKWARD_WEIGHT],
                &pieces[PIECE_RESIDUAL_ADD]);
  accumulate(to, slot, PIECE_WRITE_NORM, PIECE_ADD_NORM);
}

/* A fused kernel's backward, and the sum over rows that is its bias's gradient. */
static void fused_backward(const struct block *to, enum layer_node node, enum shape inputs, enum shape sum,
                           enum layer_piece piece, enum layer_piece bias) {
  node_backward(to, &nodes[node], (int)node, shape(to, inputs));
  spend(to, NS_LINE);
  bool drops = node != NODE_GELU;
  hold(to, drops ? TENSOR_HIDDEN : TENSOR_FFN);
  launch(to, &to->kernels->pieces[piece]);
  op_run(to, "aten::sum", shape(to, sum), &to->kernels->pieces[bias]);
  node_leave_backward(to);
  release(to, drops ? TENSOR_MASK : TENSOR_FFN); /* what was kept; the residual's gradient stays */
  if (!drops)
    release(to, TENSOR_FFN);
}

/* Without experts, up to the norm before. */
static void products_backward(const struct block *to) {
  fused_backward(to, NODE_DROPOUT_ADD_2, SHAPE_HIDDEN_SHARD, SHAPE_HIDDEN_SUM, PIECE_DROPOUT_BACKWARD, PIECE_BIAS_FC2);
  accumulate(to, SLOT_FC2_BIAS, PIECE_WRITE_FC2, PIECE_ADD_FC2);
  reduce_backward(to, NODE_FC2_REDUCE);
  backward_product(to, LINEAR_FC2, SLOT_FC2);
  fused_backward(to, NODE_GELU, SHAPE_FFN, SHAPE_FFN_SUM, PIECE_GELU_BACKWARD, PIECE_BIAS_FC1);
  accumulate(to, SLOT_FC1_BIAS, PIECE_WRITE_FC1, PIECE_ADD_FC1);
  backward_product(to, LINEAR_FC1, SLOT_FC1);
}

static void mlp_backward(const struct block *to) {
  if (has_experts(to))
    experts_backward(to);
  else
    products_backward(to);
  layer_norm_backward(to, NODE_NORM_2, SLOT_NORM_2);
}

static void rotary_backward(const struct block *to, enum layer_node node) {
  node_backward(to, &nodes[node], (int)node, shape(to, SHAPE_HEADS));
  hold(to, TENSOR_HEADS);
  launch(to, &to->kernels->pieces[PIECE_ROTARY_BACKWARD]);
  node_leave_backward(to);
  release(to, TENSOR_HEADS);
}

/* What is computed again takes its numbers from the thread that does so, in that order: the last layer first. */
static void enter_recomputed(struct block *to, int place, enum numbering numbering) {
  to->numbers = &to->gpt->numbers[numbering];
  to->number = to->recomputed_number + (int64_t)(to->chunk->layers - 1 - place) * to->numbers->count;
  to->forward_thread = THREAD_AUTOGRAD;
}

/* Inside a checkpoint's backward op, when its part is there once more, with its graph: the engine goes through that. */
static void engine_enter(const struct block *to) {
  frame_enter(to, "torch/autograd/__init__.py(242): backward");
  frame_enter(to, ENGINE_CALL);
  frame_enter(to, ENGINE);
}

/* What goes in is a leaf of that graph, as parameters are: the engine keeps its gradient, at which no hook waits. */
static void engine_leave(const struct block *to, int inputs, enum shape gradient) {
  for (int i = 0; i < inputs; i++) {
    record_enter(to, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL);
    spend(to, NS_LINE);
    op_enter(to, "torch::autograd::AccumulateGrad", shape(to, gradient));
    op_view(to, "aten::detach", shape(to, gradient));
    op_leave(to);
    op_leave(to);
  }
  for (int i = 0; i < 3; i++)
    frame_leave(to);
}

static void core_backward(const struct block *to) {
  const struct work *pieces = to->kernels->pieces;
  node_backward(to, &nodes[NODE_CONTEXT], NODE_CONTEXT, shape(to, SHAPE_HEADS));
  node_leave_backward(to);
  node_backward(to, attention_node(to), NODE_ATTENTION, shape(to, SHAPE_CONTEXT));
  if (has_group(to, ROLE_CONTEXT))
    gather_keys(to); /* they were not kept */
  op_run_inside(to, "aten::contiguous", "aten::copy_", shape(to, SHAPE_HEADS_COPY), &pieces[PIECE_HEADS_COPY]);
  hold(to, TENSOR_HEADS);
  op_enter(to, "flash_attn::_flash_attn_backward", shape(to, SHAPE_ATTENTION_BACKWARD));
  spend(to, NS_CALL);
  hold(to, TENSOR_QKV);
  hold(to, TENSOR_HEADS_FLOAT); /* sums for queries, and of rows: while it runs */
  hold(to, TENSOR_HEAD_NUMBERS);
  launch(to, &pieces[PIECE_ATTENTION_DOT]);
  launch(to, &pieces[PIECE_ATTENTION_BACKWARD]);
  launch(to, &pieces[PIECE_ATTENTION_CONVERT]);
  release(to, TENSOR_HEADS_FLOAT);
  release(to, TENSOR_HEAD_NUMBERS);
  op_leave(to);
  if (has_group(to, ROLE_CONTEXT))
    scatter_keys(to);
  node_leave_backward(to);
  release(to, TENSOR_QKV); /* what was kept: inputs, output and its numbers; the gradient and its copy */
  for (int i = 0; i < 3; i++)
    release(to, TENSOR_HEADS);
  release(to, TENSOR_HEAD_NUMBERS);
}

static void core_checkpoint_backward(const struct block *to) {
  struct block inside = *to;
  node_backward(to, &nodes[NODE_CORE_CHECKPOINT], NODE_CORE_CHECKPOINT, shape(to, SHAPE_CONTEXT));
  enter_recomputed(&inside, to->place, NUMBERS_CORE);
  nest(to, INSIDE_AUTOGRAD | INSIDE_PYTHON);
  core_forward(&inside);
  unnest(to);
  engine_enter(&inside);
  core_backward(&inside);
  engine_leave(&inside, 3, SHAPE_HEADS);
  node_leave_backward(to);
}

/* Up to the product of queries, keys and values. */
static void queries_backward(const struct block *to) {
  rotary_backward(to, NODE_ROTARY_KEY);
  rotary_backward(to, NODE_ROTARY_QUERY);
  node_backward(to, &nodes[NODE_SPLIT], NODE_SPLIT, shape(to, SHAPE_QKV_PARTS));
  hold(to, TENSOR_QKV);
  op_run(to, "aten::cat", shape(to, SHAPE_QKV_CAT), &to->kernels->pieces[PIECE_QKV_CONCATENATE]);
  op_run(to, "aten::sum", shape(to, SHAPE_QKV_SUM), &to->kernels->pieces[PIECE_BIAS_QKV]);
  node_leave_backward(to);
  release(to, TENSOR_QKV);
}

static void attention_backward(const struct block *to) {
  fused_backward(to, NODE_DROPOUT_ADD_1, SHAPE_HIDDEN_SHARD, SHAPE_HIDDEN_SUM, PIECE_DROPOUT_BACKWARD,
                 PIECE_BIAS_PROJECTION);
  accumulate(to, SLOT_PROJECTION_BIAS, PIECE_WRITE_PROJECTION, PIECE_ADD_PROJECTION);
  reduce_backward(to, NODE_PROJECTION_REDUCE);
  backward_product(to, LINEAR_PROJECTION, SLOT_PROJECTION);
  if (to->setup->parallel.recompute == RECOMPUTE_SELECTIVE)
    core_checkpoint_backward(to);
  else
    core_backward(to);
  queries_backward(to);
  accumulate(to, SLOT_QKV_BIAS, PIECE_WRITE_QKV, PIECE_ADD_QKV);
  backward_product(to, LINEAR_QKV, SLOT_QKV);
  layer_norm_backward(to, NODE_NORM_1, SLOT_NORM_1);
}

/* What the backward pass has put off; with it the gradients that were ready then are complete. */
static void products_weight(const struct block *to) {
  gradient_ready(to, to->first_slot + SLOT_FC2_BIAS);
  weight_product(to, LINEAR_FC2, SLOT_FC2);
  gradient_ready(to, to->first_slot + SLOT_FC1_BIAS);
  weight_product(to, LINEAR_FC1, SLOT_FC1);
}

static void weights_backward(const struct block *to) {
  if (has_experts(to))
    experts_weight(to);
  else
    products_weight(to);
  gradient_ready(to, to->first_slot + SLOT_NORM_2);
  gradient_ready(to, to->first_slot + SLOT_PROJECTION_BIAS);
  weight_product(to, LINEAR_PROJECTION, SLOT_PROJECTION);
  gradient_ready(to, to->first_slot + SLOT_QKV_BIAS);
  weight_product(to, LINEAR_QKV, SLOT_QKV);
  gradient_ready(to, to->first_slot + SLOT_NORM_1);
}

static void checkpoint_backward(struct block *to, int place) {
  node_backward(to, &nodes[NODE_CHECKPOINT], NODE_CHECKPOINT, shape(to, SHAPE_HIDDEN_SHARD));
  enter_recomputed(to, place, NUMBERS_LAYER);
  nest(to, INSIDE_AUTOGRAD | INSIDE_PYTHON);
  module_enter(to, MODULE_LAYER, 0);
  body_forward(to);
  module_leave(to);
  unnest(to);
  engine_enter(to);
  mlp_backward(to);
  attention_backward(to);
  engine_leave(to, 1, SHAPE_HIDDEN_SHARD);
  node_leave_backward(to);
  release(to, TENSOR_HIDDEN); /* what was computed again in the end */
}

void layer_backward(struct block *to, int place) {
  bool recomputes = to->setup->parallel.recompute == RECOMPUTE_FULL;
  enter_layer(to, place);
  struct capture capture = graph_backward(to, GRAPHS_LAYERS);
  fsdp_layer_backward(to, place);
  if (to->gradients == GRADIENTS_WEIGHT) {
    if (recomputes)
      enter_recomputed(to, place, NUMBERS_LAYER);
    weights_backward(to);
  } else if (recomputes) {
    checkpoint_backward(to, place);
  } else {
    mlp_backward(to);
    attention_backward(to);
  }
  enter_layer(to, place); /* whose own number is not among those of what is computed again */
  fsdp_layer_reduce(to, place);
  graph_leave(to, &capture);
}
