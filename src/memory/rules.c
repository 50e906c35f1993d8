/* Sources: derivatives.yaml of PyTorch says what is kept; the ops' meta functions say what comes out. */
#include "memory/rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define OP(name, output, keep) \
  { "aten::" name, OUTPUT_##output, (keep) }

static const struct memory_rule rules[] = {
    /* views */
    OP("view", VIEW, 0),
    OP("_unsafe_view", VIEW, 0),
    OP("t", VIEW, 0),
    OP("transpose", VIEW, 0),
    OP("permute", VIEW, 0),
    OP("unsqueeze", VIEW, 0),
    OP("squeeze", VIEW, 0),
    OP("detach", VIEW, 0),
    OP("alias", VIEW, 0),
    OP("unflatten", VIEW, 0),
    OP("split", PART, 0),
    OP("split_with_sizes", PART, 0),
    OP("chunk", PART, 0),
    OP("unbind", PART, 0),
    OP("slice", PART, 0),
    OP("select", PART, 0),
    OP("narrow", PART, 0),
    OP("expand", SPREAD, 0),
    OP("as_strided", VIEW, 0),
    OP("diagonal", PART, 0),
    /* copies and fills, whose sizes show inside */
    OP("_to_copy", INNER, 0),
    OP("clone", INNER, 0),
    OP("contiguous", INNER, 0),
    OP("zeros", INNER, 0),
    OP("zeros_like", INNER, 0),
    OP("new_zeros", INNER, 0),
    OP("ones", INNER, 0),
    OP("ones_like", INNER, 0),
    OP("full", INNER, 0),
    OP("full_like", INNER, 0),
    OP("slice_backward", INNER, 0),
    OP("select_backward", INNER, 0),
    /* they only call others, or nothing at all */
    OP("to", CALLS, 0),
    OP("reshape", CALLS, 0),
    OP("flatten", CALLS, 0),
    OP("dropout", CALLS, 0),
    OP("linear", CALLS, 0),
    OP("matmul", CALLS, 0),
    OP("layer_norm", CALLS, 0),
    OP("rms_norm", CALLS, 0),
    OP("scaled_dot_product_attention", CALLS, 0),
    OP("cross_entropy_loss", CALLS, 0),
    OP("expand_as", CALLS, 0),
    OP("type_as", CALLS, 0),
    /* number by number */
    OP("add", LIKE, 0),
    OP("sub", LIKE, 0),
    OP("rsub", LIKE, 0),
    OP("mul", LIKE, KEEP_OTHERS),
    OP("div", LIKE, KEEP_OTHERS),
    OP("neg", LIKE, 0),
    OP("gelu", LIKE, KEEP_FIRST),
    OP("silu", LIKE, KEEP_FIRST),
    OP("pow", LIKE, KEEP_FIRST),
    OP("cos", LIKE, KEEP_FIRST),
    OP("sin", LIKE, KEEP_FIRST),
    OP("log", LIKE, KEEP_FIRST),
    OP("abs", LIKE, KEEP_FIRST),
    OP("clamp", LIKE, KEEP_FIRST),
    OP("softplus", LIKE, KEEP_FIRST),
    OP("relu", LIKE, KEEP_OUTPUT),
    OP("exp", LIKE, KEEP_OUTPUT),
    OP("tanh", LIKE, KEEP_OUTPUT),
    OP("sigmoid", LIKE, KEEP_OUTPUT),
    OP("rsqrt", LIKE, KEEP_OUTPUT),
    OP("sqrt", LIKE, KEEP_OUTPUT),
    OP("reciprocal", LIKE, KEEP_OUTPUT),
    OP("where", LIKE, KEEP_FIRST),
    OP("masked_fill", LIKE, KEEP_SECOND),
    OP("native_dropout", LIKE, KEEP_STATISTICS),
    OP("triu", FIRST, 0),
    OP("tril", FIRST, 0),
    OP("cumsum", FIRST, 0),
    OP("eq", TRUTH, 0),
    OP("ne", TRUTH, 0),
    OP("lt", TRUTH, 0),
    OP("le", TRUTH, 0),
    OP("gt", TRUTH, 0),
    OP("ge", TRUTH, 0),
    OP("bitwise_not", TRUTH, 0),
    OP("logical_not", TRUTH, 0),
    /* products */
    OP("mm", PRODUCT, KEEP_OTHERS),
    OP("bmm", PRODUCT, KEEP_OTHERS),
    OP("addmm", SUMMED, KEEP_OTHERS),
    OP("baddbmm", SUMMED, KEEP_OTHERS),
    OP("_grouped_mm", GROUPED, KEEP_OTHERS),
    /* norms, attention, probabilities */
    OP("native_layer_norm", NORM, KEEP_FIRST | KEEP_STATISTICS),
    OP("_fused_rms_norm", ROOT, KEEP_FIRST | KEEP_STATISTICS),
    OP("_scaled_dot_product_flash_attention", ATTENTION,
       KEEP_FIRST | KEEP_SECOND | KEEP_THIRD | KEEP_OUTPUT | KEEP_STATISTICS),
    OP("_scaled_dot_product_cudnn_attention", ATTENTION,
       KEEP_FIRST | KEEP_SECOND | KEEP_THIRD | KEEP_OUTPUT | KEEP_STATISTICS),
    OP("_scaled_dot_product_efficient_attention", ATTENTION,
       KEEP_FIRST | KEEP_SECOND | KEEP_THIRD | KEEP_OUTPUT | KEEP_STATISTICS),
    OP("_flash_attention_forward", ATTENTION, KEEP_FIRST | KEEP_SECOND | KEEP_THIRD | KEEP_OUTPUT | KEEP_STATISTICS),
    OP("_efficient_attention_forward", ATTENTION,
       KEEP_FIRST | KEEP_SECOND | KEEP_THIRD | KEEP_OUTPUT | KEEP_STATISTICS),
    {"FlashAttnFunc", OUTPUT_ATTENTION, KEEP_FIRST | KEEP_SECOND | KEEP_THIRD | KEEP_OUTPUT | KEEP_STATISTICS},
    {"flash_attn::_flash_attn_forward", OUTPUT_ATTENTION,
     KEEP_FIRST | KEEP_SECOND | KEEP_THIRD | KEEP_OUTPUT | KEEP_STATISTICS},
    OP("_softmax", FIRST, KEEP_OUTPUT),
    OP("_log_softmax", FIRST, KEEP_OUTPUT),
    OP("nll_loss_forward", ONE, KEEP_FIRST),
    /* sums */
    OP("mean", ROWS, 0),
    OP("sum", ROWS, 0),
    OP("amax", ROWS, 0),
    OP("max", ROWS, 0),
    OP("var", ROWS, KEEP_FIRST),
    OP("all", ONE, 0),
    OP("any", ONE, 0),
    OP("linalg_vector_norm", ONE, 0),
    OP("_foreach_norm", NONE, 0),
    /* rows by number */
    OP("embedding", WORDS, KEEP_SECOND),
    OP("index", GATHERED, 0),
    OP("gather", SECOND, KEEP_SECOND),
    OP("cat", JOINED, 0),
    OP("stack", JOINED, 0),
    OP("sort", SORTED, 0),
    OP("topk", NONE, 0),
    OP("arange", NONE, 0),
    OP("randint", NONE, 0),
    OP("item", NONE, 0),
    OP("is_nonzero", NONE, 0),
    OP("pin_memory", NONE, 0),
    OP("result_type", NONE, 0),
    OP("is_pinned", NONE, 0),
    OP("resize_", NONE, 0),
    OP("set_", NONE, 0),
    OP("lift_fresh", NONE, 0),
    OP("_has_compatible_shallow_copy_type", NONE, 0),
    /* regions that are done again in the backward pass keep what they begin with */
    {"_NoopSaveInputs", OUTPUT_NONE, KEEP_FIRST | KEEP_SECOND},
    {"CheckpointFunction", OUTPUT_CALLS, KEEP_FIRST | KEEP_SECOND | KEEP_THIRD},
    /* what reserves memory is counted by the op around it */
    OP("empty", NONE, 0),
    OP("empty_like", NONE, 0),
    OP("empty_strided", NONE, 0),
    OP("new_empty", NONE, 0),
    OP("new_empty_strided", NONE, 0),
    /* functions of Megatron-LM, and what it calls of other libraries: the weight that a product keeps is a parameter */
    {"LinearWithGradAccumulationAndAsyncCommunication", OUTPUT_CALLS, KEEP_FIRST},
    {"FusedRoPEFunc", OUTPUT_FIRST, 0},
    {"BiasGeLUFunction", OUTPUT_FIRST, KEEP_FIRST},
    {"_VocabParallelCrossEntropy", OUTPUT_CALLS, KEEP_FIRST},
    {"FusedRoPEFuncBackward", OUTPUT_FIRST, 0},
    {"BiasGeLUFunctionBackward", OUTPUT_FIRST, 0},
    {"flash_attn::_flash_attn_backward", OUTPUT_GRADIENTS, 0},
    /* a sum with dropout, compiled: a mask is kept (of others nothing is known: known.c) */
    {"CompiledFunction", OUTPUT_FIRST, KEEP_STATISTICS},
    {"CompiledFunctionBackward", OUTPUT_FIRST, 0},
    /* of sequences that tensor-parallel ranks share */
    {"c10d::_allgather_base_", OUTPUT_OWN, 0},
    {"c10d::_reduce_scatter_base_", OUTPUT_OWN, 0},
    /* of fully sharded replicas (shards.c) */
    {"fsdp::all_gather_copy_in", OUTPUT_NONE, 0},
    {"fsdp::split_with_sizes_copy", OUTPUT_NONE, 0},
    {"fsdp::chunk_cat", OUTPUT_NONE, 0},
    /* gradients */
    OP("nll_loss_backward", SECOND, 0),
    OP("_log_softmax_backward_data", FIRST, 0),
    OP("_softmax_backward_data", FIRST, 0),
    OP("native_layer_norm_backward", NORM_BACK, 0),
    OP("_fused_rms_norm_backward", NORM_BACK, 0),
    OP("_scaled_dot_product_flash_attention_backward", GRADIENTS, 0),
    OP("_scaled_dot_product_cudnn_attention_backward", GRADIENTS, 0),
    OP("_scaled_dot_product_efficient_attention_backward", GRADIENTS, 0),
    OP("_flash_attention_backward", GRADIENTS, 0),
    OP("embedding_backward", TAKEN, 0),
    OP("embedding_dense_backward", TAKEN, 0),
};

/* In lists of tensors, a step of the optimizer: what is not in place makes lists as long. */
static const struct memory_rule of_lists = {"aten::_foreach_", OUTPUT_LISTS, 0};
static const struct memory_rule lists_in_place = {"", OUTPUT_CALLS, 0};
static const struct memory_rule in_place = {"", OUTPUT_NONE, 0};
static const struct memory_rule assumed = {"aten::", OUTPUT_ASSUMED, 0};

const struct memory_rule *memory_rule_of(const char *op) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (strcmp(op, rules[i].op) == 0) {
      return &rules[i];
    }
  }
  size_t length = strlen(op);
  if (strncmp(op, assumed.op, strlen(assumed.op)) != 0) {
    return NULL;
  }
  bool lists = strncmp(op, of_lists.op, strlen(of_lists.op)) == 0 || strncmp(op, "aten::_fused_ad", 15) == 0;
  if (op[length - 1] == '_') {
    return lists ? &lists_in_place : &in_place;
  }
  return lists ? &of_lists : &assumed;
}
