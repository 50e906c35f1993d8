/* Experts in place of a layer's feed-forward block, as Megatron-LM has them with the all-to-all dispatcher and grouped
 * products, no token dropped: a router says which experts each token takes; rows are put in the order of experts, sent
 * to the ranks that have these, and come back the same way, where a token's rows are summed by their weights. How many
 * rows go where the host has to read before it can send them.
 */
#include "gpt_state.h"

static const struct node_names *names_of(enum layer_node node) { return &gpt_layer_nodes[node]; }

static const struct work *piece(const struct block *to, enum layer_piece which) { return &to->kernels->pieces[which]; }

/* ---- forward ---- */

static struct linear_use router(const struct block *to) {
  return (struct linear_use){.linear = LINEAR_ROUTER,
                             .node = NODE_ROUTER,
                             .cast = piece(to, PIECE_CAST_ROUTER),
                             .add = piece(to, PIECE_RESIDUAL_ADD)};
}

/* By the host, which waits for them. */
static void read_counts(const struct block *to) {
  struct work copy = kernels_copy(to->setup, WORK_COPY_TO_HOST, 8 * (int64_t)to->setup->model.experts);
  expert_counts(to);
  op_enter(to, "aten::to", shape(to, SHAPE_COUNTS));
  op_enter(to, "aten::_to_copy", shape(to, SHAPE_COUNTS));
  op_run(to, "aten::copy_", shape(to, SHAPE_COUNTS), &copy);
  op_leave(to);
  op_leave(to);
  program_sync(to->program, DO_SYNC_STREAM, 0, STREAM_COMPUTE);
  spend(to, NS_LINE);
}

static void route_forward(const struct block *to) {
  struct linear_use use = router(to);
  module_enter(to, MODULE_ROUTER, 0);
  linear_forward(to, &use, to->kernels->router);
  node_run(to, NODE_TOP, SHAPE_TOP, PIECE_TOP);
  node_run(to, NODE_SCORES, SHAPE_SCORES, PIECE_SCORES);
  node_run(to, NODE_SCATTER, SHAPE_SCORES_SCATTER, PIECE_SCATTER);
  module_leave(to);
  spend(to, NS_LINE);
  op_run(to, "aten::sum", shape(to, SHAPE_COUNT), piece(to, PIECE_COUNT));
  read_counts(to);
}

static void exchange_forward(const struct block *to, enum layer_node node) {
  if (!has_group(to, ROLE_EXPERT))
    return;
  spend(to, NS_LINE);
  node_forward(to, names_of(node), shape(to, SHAPE_EXPERT_ROWS));
  expert_exchange(to);
  op_leave(to);
}

static void grouped_forward(const struct block *to, enum linear linear, enum layer_node node) {
  const char *cast = to->gpt->linear_shapes[linear][SHAPE_CAST];
  spend(to, NS_CALL);
  if (to->casts) {
    op_enter(to, "aten::to", cast);
    op_run_inside(to, "aten::_to_copy", "aten::copy_", cast, piece(to, PIECE_CAST_EXPERTS));
    op_leave(to);
    spend(to, NS_LINE);
  }
  node_forward(to, names_of(node), to->gpt->grouped_shapes[linear == LINEAR_FC2][SHAPE_GROUPED]);
  launch(to, &to->kernels->products[linear][PRODUCT_FORWARD].works[0]);
  op_leave(to);
}

void experts_forward(const struct block *to) {
  module_enter(to, MODULE_MOE, 0);
  spend(to, NS_PYTHON);
  route_forward(to);
  node_run(to, NODE_PERMUTE, SHAPE_PERMUTE, PIECE_PERMUTE);
  exchange_forward(to, NODE_DISPATCH);
  node_run(to, NODE_SORT_CHUNKS, SHAPE_SORT_CHUNKS, PIECE_SORT_CHUNKS);
  module_enter(to, MODULE_EXPERTS, 0);
  grouped_forward(to, LINEAR_FC1, NODE_EXPERTS_FC1);
  node_run(to, NODE_EXPERTS_GELU, SHAPE_EXPERT_FFN, PIECE_EXPERT_GELU);
  grouped_forward(to, LINEAR_FC2, NODE_EXPERTS_FC2);
  module_leave(to);
  node_run(to, NODE_SORT_BACK, SHAPE_SORT_CHUNKS, PIECE_SORT_CHUNKS);
  exchange_forward(to, NODE_COMBINE);
  node_run(to, NODE_UNPERMUTE, SHAPE_UNPERMUTE, PIECE_UNPERMUTE);
  spend(to, NS_PYTHON);
  module_leave(to);
}

/* ---- backward ---- */

static void node_back(const struct block *to, enum layer_node node, enum shape gradient, enum layer_piece which) {
  node_backward(to, names_of(node), (int)node, shape(to, gradient));
  launch(to, piece(to, which));
  node_leave_backward(to);
}

static void op_back(const struct block *to, enum layer_node node, enum shape gradient, const char *op,
                    enum shape inputs, enum layer_piece which) {
  node_backward(to, names_of(node), (int)node, shape(to, gradient));
  op_run(to, op, shape(to, inputs), piece(to, which));
  node_leave_backward(to);
}

static void exchange_backward(const struct block *to, enum layer_node node) {
  if (!has_group(to, ROLE_EXPERT))
    return;
  node_backward(to, names_of(node), (int)node, shape(to, SHAPE_EXPERT_ROWS));
  expert_exchange(to);
  node_leave_backward(to);
}

static void grouped_weight(const struct block *to, enum linear linear) {
  const char *inputs = to->gpt->grouped_shapes[linear == LINEAR_FC2][SHAPE_GROUPED_WEIGHT];
  op_view(to, "aten::transpose", shape(to, linear == LINEAR_FC2 ? SHAPE_EXPERT_FFN : SHAPE_EXPERT_ROWS));
  op_run(to, "aten::_grouped_mm", inputs, &to->kernels->products[linear][PRODUCT_WEIGHT].works[0]);
}

static void grouped_accumulate(const struct block *to, enum layer_slot slot) {
  gradient_accumulate(to, to->first_slot + (int)slot, to->gpt->gradient_shapes[slot],
                      piece(to, to->micro_batch ? PIECE_ADD_EXPERTS : PIECE_WRITE_EXPERTS));
}

static void grouped_enter(const struct block *to, enum linear linear, enum layer_node node) {
  enum shape gradient = linear == LINEAR_FC2 ? SHAPE_EXPERT_ROWS : SHAPE_EXPERT_FFN;
  node_backward(to, names_of(node), (int)node, shape(to, gradient));
}

static void grouped_backward(const struct block *to, enum linear linear, enum layer_node node, enum layer_slot slot) {
  const char *inputs = to->gpt->grouped_shapes[linear == LINEAR_FC2][SHAPE_GROUPED_INPUT];
  bool whole = to->gradients == GRADIENTS_ALL;
  grouped_enter(to, linear, node);
  op_run(to, "aten::_grouped_mm", inputs, &to->kernels->products[linear][PRODUCT_INPUT].works[0]);
  if (whole)
    grouped_weight(to, linear);
  node_leave_backward(to);
  if (whole)
    grouped_accumulate(to, slot);
}

static void route_backward(const struct block *to) {
  struct linear_use use = router(to);
  node_back(to, NODE_SCATTER, SHAPE_SCORES, PIECE_SCATTER);
  op_back(to, NODE_SCORES, SHAPE_SCORES, "aten::_softmax_backward_data", SHAPE_SCORES, PIECE_SCORES_BACKWARD);
  op_back(to, NODE_TOP, SHAPE_SCORES, "aten::scatter", SHAPE_TOP_BACKWARD, PIECE_SCATTER);
  linear_backward(to, &use, to->kernels->router);
  if (to->gradients == GRADIENTS_ALL)
    gradient_accumulate(to, to->first_slot + SLOT_ROUTER, to->gpt->gradient_shapes[SLOT_ROUTER], NULL);
}

void experts_backward(const struct block *to) {
  node_back(to, NODE_DROPOUT_ADD_2, SHAPE_HIDDEN_SHARD, PIECE_DROPOUT_BACKWARD);
  node_back(to, NODE_UNPERMUTE, SHAPE_ROWS, PIECE_UNPERMUTE_BACKWARD);
  exchange_backward(to, NODE_COMBINE);
  node_back(to, NODE_SORT_BACK, SHAPE_EXPERT_ROWS, PIECE_SORT_CHUNKS);
  grouped_backward(to, LINEAR_FC2, NODE_EXPERTS_FC2, SLOT_FC2);
  op_back(to, NODE_EXPERTS_GELU, SHAPE_EXPERT_FFN, "aten::gelu_backward", SHAPE_EXPERT_FFN, PIECE_EXPERT_GELU_BACKWARD);
  grouped_backward(to, LINEAR_FC1, NODE_EXPERTS_FC1, SLOT_FC1);
  node_back(to, NODE_SORT_CHUNKS, SHAPE_EXPERT_ROWS, PIECE_SORT_CHUNKS);
  exchange_backward(to, NODE_DISPATCH);
  node_back(to, NODE_PERMUTE, SHAPE_EXPERT_ROWS, PIECE_UNPERMUTE);
  route_backward(to);
}

static void grouped_weight_apart(const struct block *to, enum linear linear, enum layer_node node,
                                 enum layer_slot slot) {
  grouped_enter(to, linear, node);
  grouped_weight(to, linear);
  node_leave_backward(to);
  grouped_accumulate(to, slot);
}

void experts_weight(const struct block *to) {
  struct linear_use use = router(to);
  grouped_weight_apart(to, LINEAR_FC2, NODE_EXPERTS_FC2, SLOT_FC2);
  grouped_weight_apart(to, LINEAR_FC1, NODE_EXPERTS_FC1, SLOT_FC1);
  linear_weight(to, &use, to->kernels->router);
  gradient_accumulate(to, to->first_slot + SLOT_ROUTER, to->gpt->gradient_shapes[SLOT_ROUTER], NULL);
}
