/* The model's two ends: input data and the embedding, the final norm, the logits and the loss. Vocabulary-parallel:
 * each tensor rank has a part of the words, so that the embedding is a sum over the group, and the loss takes three
 * small ones.
 */
#include "gpt_state.h"

static const struct node_names embedding_node = {NODE("aten::embedding", "EmbeddingBackward0")};
static const struct node_names copy_node = {NODE("aten::clone", "CloneBackward0")};
static const struct node_names norm_node = {NODE("aten::native_layer_norm", "NativeLayerNormBackward0")};
static const struct node_names float_node = {NODE("aten::_to_copy", "ToCopyBackward0")};
static const struct node_names loss_node = {
    FUNCTION("_VocabParallelCrossEntropy", "megatron/core/tensor_parallel/cross_entropy.py", "122", "186")};
static const struct node_names mean_node = {NODE("aten::mean", "MeanBackward0")};
static const struct node_names scale_node = {NODE("aten::div", "DivBackward0")};

enum { NS_DATA = 16000 };

static const struct work *piece(const struct block *to, enum end_piece which) { return &to->gpt->ends.pieces[which]; }

static void enter_end(struct block *to, enum part part) {
  to->label.part = (uint8_t)part;
  to->label.layer = -1;
  to->place = -1;
  to->numbers = &to->gpt->numbers[part == PART_HEAD ? NUMBERS_HEAD : NUMBERS_EMBEDDING];
  to->number = to->pass_number;
  if (part == PART_HEAD)
    to->number += gpt_numbers_of(to->gpt, to->chunk) - to->numbers->count;
  to->forward_thread = THREAD_MAIN;
}

/* A mask of a number for every two tokens of a sequence, on the copy stream: cleared before the tokens are copied, and
 * filled by what they are. */
static int64_t mask_elements(const struct block *to) { return to->gpt->tokens * to->setup->model.sequence; }

static void clear_mask(const struct block *to) {
  struct work clear = kernels_copy(to->setup, WORK_MEMSET, 4 * mask_elements(to));
  op_enter(to, "aten::zero_", shape(to, SHAPE_TOKENS));
  spend(to, NS_CALL);
  launch_on(to, STREAM_COPY, &clear);
  op_leave(to);
}

static void fill_mask(const struct block *to) {
  struct work fill = kernels_run(to->setup, KERNEL_FILL, mask_elements(to), 0);
  op_enter(to, "aten::fill_", shape(to, SHAPE_TOKENS));
  spend(to, NS_CALL);
  launch_on(to, STREAM_COPY, &fill);
  op_leave(to);
}

/* Tokens for the first stage, labels for the last: from the loader of the group's first rank, which hands them on. */
void input_load(struct block *to) {
  if (!to->chunk->embeds && !to->chunk->has_head)
    return;
  enter_end(to, PART_OTHER);
  int64_t tokens = to->gpt->tokens;
  python_enter(to, "pretrain_gpt.py(92): get_batch");
  frame_enter(to, "megatron/training/utils.py(276): get_batch_on_this_tp_rank");
  if (to->at.tensor == 0) {
    frame_enter(to, "torch/utils/data/dataloader.py(701): __next__");
    spend(to, NS_DATA);
    frame_leave(to);
    if (to->label.micro_batch > 0) { /* the pinned buffer of the one before is free again */
      program_sync(to->program, DO_SYNC_EVENT, EVENT_INPUT, STREAM_COPY);
      program_query(to->program, EVENT_INPUT);
    }
    if (to->setup->parallel.prepares_inputs)
      clear_mask(to);
    struct work copy = kernels_copy(to->setup, WORK_COPY_TO_DEVICE, 8 * tokens);
    op_enter(to, "aten::to", shape(to, SHAPE_TOKENS));
    op_enter(to, "aten::_to_copy", shape(to, SHAPE_TOKENS));
    op_enter(to, "aten::copy_", shape(to, SHAPE_TOKENS));
    spend(to, NS_CALL);
    launch_on(to, STREAM_COPY, &copy);
    op_leave(to);
    op_leave(to);
    op_leave(to);
    if (to->setup->parallel.prepares_inputs)
      fill_mask(to);
    event_record(to, EVENT_INPUT, STREAM_COPY);
    event_wait(to, STREAM_COMPUTE, EVENT_INPUT);
  }
  if (has_group(to, ROLE_TENSOR)) {
    struct message message = message_of(to, ROLE_TENSOR, BROADCAST, tokens, false);
    message.integers = true;
    message.bytes = 8 * tokens;
    collective_run(to, STREAM_TENSOR, message);
  }
  frame_leave(to);
  python_leave(to);
}

/* ---- embedding ---- */

void embedding_forward(struct block *to) {
  enter_end(to, PART_EMBEDDING);
  module_enter(to, MODULE_EMBEDDING, 0);
  spend(to, NS_PYTHON);
  module_enter(to, MODULE_WORDS, 0);
  spend(to, NS_CALL);
  node_forward(to, &embedding_node, shape(to, SHAPE_EMBEDDING));
  hold(to, TENSOR_HIDDEN_WHOLE);
  op_run(to, "aten::index_select", shape(to, SHAPE_EMBEDDING_SELECT), piece(to, PIECE_EMBEDDING));
  op_leave(to);
  reduce_forward(to);
  module_leave(to);
  op_enter(to, "aten::contiguous", shape(to, SHAPE_EMBEDDING_COPY));
  node_forward(to, &copy_node, shape(to, SHAPE_EMBEDDING_COPY));
  hold(to, TENSOR_HIDDEN);
  op_run(to, "aten::copy_", shape(to, SHAPE_EMBEDDING_COPY), piece(to, PIECE_EMBEDDING_COPY));
  op_leave(to);
  op_leave(to);
  release(to, TENSOR_HIDDEN); /* as it was before */
  spend(to, NS_PYTHON);
  module_leave(to);
}

void embedding_backward(struct block *to) {
  enter_end(to, PART_EMBEDDING);
  int slot = chunk_slots(to->chunk) - 1;
  if (to->gradients == GRADIENTS_WEIGHT) {
    gradient_ready(to, slot);
    return;
  }
  node_backward(to, &copy_node, NODE_EMBEDDING_COPY, shape(to, SHAPE_HIDDEN_SHARD));
  hold(to, TENSOR_HIDDEN);
  op_run(to, "aten::copy_", shape(to, SHAPE_EMBEDDING_COPY), piece(to, PIECE_EMBEDDING_COPY));
  node_leave_backward(to);
  release(to, TENSOR_HIDDEN);
  reduce_backward(to, NODE_EMBEDDING_REDUCE);
  node_backward(to, &embedding_node, NODE_EMBEDDING, shape(to, SHAPE_EMBEDDING_GRADIENT));
  op_enter(to, "aten::embedding_dense_backward", shape(to, SHAPE_EMBEDDING_BACKWARD));
  spend(to, NS_CALL);
  launch(to, piece(to, PIECE_EMBEDDING_SORT));
  spend(to, NS_LINE);
  hold_weight(to, LINEAR_HEAD);
  launch(to, piece(to, PIECE_EMBEDDING_BACKWARD));
  op_leave(to);
  node_leave_backward(to);
  release(to, TENSOR_HIDDEN_WHOLE);
  bool added = to->setup->parallel.fully_sharded; /* to the head's, whose weight is the same */
  if (added)
    release_weight(to, LINEAR_HEAD);
  gradient_accumulate(to, slot, shape(to, SHAPE_EMBEDDING_WEIGHT), piece(to, PIECE_EMBEDDING_ADD));
  held_gradient(to, LINEAR_HEAD);
}

/* ---- head ---- */

static struct linear_use logits(const struct block *to) {
  return (struct linear_use){
      .linear = LINEAR_HEAD, .node = NODE_LOGITS, .column = true, .cast = piece(to, PIECE_CAST_HEAD)};
}

static void loss_run(const struct block *to, const char *name, enum shape inputs, enum end_piece which) {
  spend(to, NS_LINE);
  op_run(to, name, shape(to, inputs), piece(to, which));
}

static void loss_reduce(const struct block *to) {
  if (!has_group(to, ROLE_TENSOR))
    return;
  spend(to, NS_LINE);
  struct message message = message_of(to, ROLE_TENSOR, ALL_REDUCE, to->gpt->tokens, true);
  message.inner[0] = to->setup->model.micro_batch;
  collective_run(to, STREAM_TENSOR, message);
}

static void cross_entropy_forward(const struct block *to) {
  frame_enter(to, "megatron/core/models/common/language_module/language_module.py(73): compute_language_model_loss");
  python_enter(to, "megatron/core/tensor_parallel/cross_entropy.py(218): vocab_parallel_cross_entropy");
  node_forward(to, &loss_node, shape(to, SHAPE_LOSS_OF_LOGITS));
  loss_run(to, "aten::max", SHAPE_LOGITS_FLOAT, PIECE_LOGITS_MAX);
  loss_reduce(to);
  hold(to, TENSOR_LOGITS_FLOAT);
  loss_run(to, "aten::exp", SHAPE_LOGITS_FLOAT, PIECE_LOGITS_EXP);
  loss_run(to, "aten::index", SHAPE_LOSS_OF_LOGITS, PIECE_LOSS_GATHER);
  loss_reduce(to);
  loss_run(to, "aten::sum", SHAPE_LOGITS_SUM, PIECE_LOGITS_SUM);
  loss_reduce(to);
  loss_run(to, "aten::log", SHAPE_LOSS, PIECE_LOSS_LOG);
  op_leave(to);
  python_leave(to);
  frame_leave(to);
}

void final_norm_forward(struct block *to) {
  enter_end(to, PART_HEAD);
  norm_forward(to, &norm_node, 0, piece(to, PIECE_FINAL_NORM));
}

/* There is no memory for the logits in float: the allocator frees what it has kept, which the device still uses, and
 * tries again. */
static void make_room(const struct block *to) {
  program_call(to->program, CALL_MALLOC);
  program_free_used(to->program, STREAM_COMPUTE);
  program_call(to->program, CALL_MALLOC);
}

void head_forward(struct block *to) {
  module_enter(to, MODULE_COLUMN, 0);
  spend(to, NS_PYTHON);
  struct linear_use use = logits(to);
  linear_forward(to, &use, to->gpt->ends.products);
  spend(to, NS_PYTHON);
  module_leave(to);
  op_enter(to, "aten::to", shape(to, SHAPE_LOGITS_TO_FLOAT));
  if (to->setup->scarce_memory)
    make_room(to);
  node_forward(to, &float_node, shape(to, SHAPE_LOGITS_TO_FLOAT));
  hold(to, TENSOR_LOGITS_FLOAT);
  op_run(to, "aten::copy_", shape(to, SHAPE_LOGITS_TO_FLOAT), piece(to, PIECE_LOGITS_TO_FLOAT));
  op_leave(to);
  op_leave(to);
  cross_entropy_forward(to);
  release(to, TENSOR_LOGITS_FLOAT); /* only the exponentials are kept; the module's function holds the logits so long */
  release(to, TENSOR_LOGITS);
}

/* Of a micro-batch, outside the model. */
void loss_forward(const struct block *to) {
  frame_enter(to, "pretrain_gpt.py(118): loss_func");
  spend(to, NS_CALL);
  node_forward(to, &mean_node, shape(to, SHAPE_LOSS));
  launch(to, piece(to, PIECE_LOSS_MEAN));
  op_leave(to);
  spend(to, NS_LINE);
  node_forward(to, &scale_node, shape(to, SHAPE_SCALAR_DIVIDE));
  launch(to, piece(to, PIECE_LOSS_DIVIDE));
  op_leave(to);
  frame_leave(to);
}

static void loss_backward(const struct block *to) {
  node_backward(to, &scale_node, NODE_LOSS_SCALE, shape(to, SHAPE_SCALAR));
  op_run(to, "aten::div", shape(to, SHAPE_SCALAR_DIVIDE), piece(to, PIECE_LOSS_DIVIDE));
  node_leave_backward(to);
  node_backward(to, &mean_node, NODE_LOSS_MEAN, shape(to, SHAPE_SCALAR));
  op_run(to, "aten::div", shape(to, SHAPE_LOSS_DIVIDE), piece(to, PIECE_LOSS_SCALE));
  node_leave_backward(to);
  node_backward(to, &loss_node, NODE_LOSS, shape(to, SHAPE_LOSS));
  hold(to, TENSOR_LOGITS_FLOAT);
  op_run(to, "aten::mul", shape(to, SHAPE_LOGITS_SCALE), piece(to, PIECE_SOFTMAX_BACKWARD));
  node_leave_backward(to);
  release(to, TENSOR_LOGITS_FLOAT);
  node_backward(to, &float_node, NODE_LOGITS_TO_FLOAT, shape(to, SHAPE_LOGITS_FLOAT));
  hold(to, TENSOR_LOGITS);
  op_run_inside(to, "aten::_to_copy", "aten::copy_", shape(to, SHAPE_LOGITS_TO_BFLOAT),
                piece(to, PIECE_LOGITS_TO_BFLOAT));
  node_leave_backward(to);
  release(to, TENSOR_LOGITS_FLOAT);
}

void head_backward(struct block *to) {
  enter_end(to, PART_HEAD);
  struct linear_use use = logits(to);
  if (to->gradients == GRADIENTS_WEIGHT) {
    linear_weight(to, &use, to->gpt->ends.products);
    gradient_accumulate(to, SLOT_HEAD, to->gpt->linear_shapes[LINEAR_HEAD][SHAPE_WEIGHT_GRADIENT], NULL);
    gradient_ready(to, SLOT_FINAL_NORM);
    return;
  }
  loss_backward(to);
  linear_backward(to, &use, to->gpt->ends.products);
  if (to->gradients == GRADIENTS_ALL)
    gradient_accumulate(to, SLOT_HEAD, to->gpt->linear_shapes[LINEAR_HEAD][SHAPE_WEIGHT_GRADIENT], NULL);
  held_gradient(to, LINEAR_HEAD);
  norm_backward(to, &norm_node, NODE_FINAL_NORM, piece(to, PIECE_FINAL_NORM_BACKWARD_INPUT),
                piece(to, PIECE_FINAL_NORM_BACKWARD_WEIGHT), NULL);
  gradient_accumulate(to, SLOT_FINAL_NORM, to->gpt->gradient_shapes[SLOT_NORM_1],
                      piece(to, to->micro_batch ? PIECE_FINAL_NORM_ADD : PIECE_FINAL_NORM_WRITE));
}
