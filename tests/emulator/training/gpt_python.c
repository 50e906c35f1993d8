/* What Python calls on the way to an op, as stack recording shows it: functions, built-in ones, and modules by class
 * and number. Nothing in here takes time of its own but the recording of it, and without stacks nothing is written.
 *
 * A profiler numbers the modules of a class in the order in which it first sees them called: those of a rank's layers
 * in their order, then those of the head.
 */
#include "gpt_state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules ---- */

static const struct module_kind {
  const char *class, *forward;
  int of_layer; /* so many in each layer; 0: one in each chunk */
} kinds[MODULES] = {
    [MODULE_DATA_PARALLEL] = {"DistributedDataParallel", "megatron/core/distributed/data_parallel_base.py(22): forward",
                              0},
    [MODULE_PRECISION] = {"Float16Module", "megatron/core/transformer/module.py(174): forward", 0},
    [MODULE_GPT] = {"GPTModel", "megatron/core/models/gpt/gpt_model.py(215): forward", 0},
    [MODULE_EMBEDDING] = {"LanguageModelEmbedding",
                          "megatron/core/models/common/embeddings/language_model_embedding.py(90): forward", 0},
    [MODULE_WORDS] = {"VocabParallelEmbedding", "megatron/core/tensor_parallel/layers.py(251): forward", 0},
    [MODULE_BLOCK] = {"TransformerBlock", "megatron/core/transformer/transformer_block.py(441): forward", 0},
    [MODULE_CHECKPOINT] = {"CheckpointWrapper",
                           "torch/distributed/algorithms/_checkpoint/checkpoint_wrapper.py(158): forward", 1},
    [MODULE_LAYER] = {"TransformerLayer", "megatron/core/transformer/transformer_layer.py(390): forward", 1},
    [MODULE_NORM] = {"LayerNorm", "torch/nn/modules/normalization.py(216): forward", 2},
    [MODULE_ATTENTION] = {"SelfAttention", "megatron/core/transformer/attention.py(389): forward", 1},
    [MODULE_CORE] = {"FlashSelfAttention", "megatron/core/transformer/dot_product_attention.py(137): forward", 1},
    [MODULE_MLP] = {"MLP", "megatron/core/transformer/mlp.py(118): forward", 1},
    [MODULE_COLUMN] = {"ColumnParallelLinear", "megatron/core/tensor_parallel/layers.py(865): forward", 2},
    [MODULE_MOE] = {"MoELayer", "megatron/core/transformer/moe/moe_layer.py(188): forward", 1},
    [MODULE_ROUTER] = {"TopKRouter", "megatron/core/transformer/moe/router.py(420): forward", 1},
    [MODULE_EXPERTS] = {"GroupedMLP", "megatron/core/transformer/moe/experts.py(226): forward", 1},
    [MODULE_ROW] = {"RowParallelLinear", "megatron/core/tensor_parallel/layers.py(1150): forward", 2},
};

static int most_layers(const struct setup *setup) {
  int most = 0;
  for (int stage = 0; stage < setup->parallel.pipeline; stage++)
    most = most < setup_stage_layers(setup, stage) ? setup_stage_layers(setup, stage) : most;
  return most;
}

/* Those of a layer's kind are numbered on by the head. */
void gpt_make_modules(struct gpt *gpt) {
  if (!(gpt->setup->recorded & RECORD_STACKS))
    return;
  for (int module = 0; module < MODULES; module++) {
    const struct module_kind *kind = &kinds[module];
    int count = kind->of_layer ? kind->of_layer * most_layers(gpt->setup) + 1 : gpt->setup->parallel.chunks;
    gpt->module_names[module] = memory_new((size_t)count, sizeof *gpt->module_names[module]);
    for (int i = 0; i < count; i++)
      snprintf(gpt->module_names[module][i], MODULE_NAME, "nn.Module: %s_%d", kind->class, i);
  }
}

void gpt_free_modules(struct gpt *gpt) {
  for (int module = 0; module < MODULES; module++)
    free(gpt->module_names[module]);
}

static int module_number(const struct block *to, enum module module, int which) {
  int chunk = (int)(to->chunk - to->plan->chunks);
  if (!kinds[module].of_layer)
    return chunk;
  int layer = to->place < 0 ? setup_stage_layers(to->setup, to->at.stage) : chunk * to->chunk->layers + to->place;
  return layer * kinds[module].of_layer + which;
}

void module_enter(const struct block *to, enum module module, int which) {
  if (!to->stacks)
    return;
  const char *name = to->gpt->module_names[module][module_number(to, module, which)];
  program_enter(to->program, FRAME_MODULE, name, (struct op_facts){.sequence = -1});
  frame_enter(to, "torch/nn/modules/module.py(1743): _call_impl");
  frame_touch(to, "<built-in method _get_tracing_state of PyCapsule object at 0x7f6c1e0b3c90>");
  frame_enter(to, kinds[module].forward);
  frame_touch(to, "torch/nn/modules/module.py(1915): __getattr__");
}

void module_leave(const struct block *to) {
  for (int i = 0; i < 3; i++)
    frame_leave(to);
}

/* ---- functions ---- */

void frame_enter(const struct block *to, const char *name) {
  if (to->stacks)
    program_enter(to->program, FRAME_PYTHON, name, (struct op_facts){.sequence = -1});
}

void frame_leave(const struct block *to) {
  if (to->stacks)
    program_leave(to->program);
}

void frame_touch(const struct block *to, const char *name) {
  frame_enter(to, name);
  frame_leave(to);
}

/* Ops that Python calls, and through what. An operator such as `*` calls without a function. */
#define TENSOR(method) "<built-in method " method " of Tensor object at 0x7f6a90c41d10>"
#define TORCH(function) "<built-in method " function " of type object at 0x7f6d2b3e0640>"
#define GROUP(method) "<built-in method " method " of PyCapsule object at 0x7f6a97d1c4b0>"
#define LOGGED "torch/distributed/c10d_logger.py(79): wrapper"
#define DISTRIBUTED(place) "torch/distributed/distributed_c10d.py" place
static const struct {
  const char *op, *callers[MOST_CALLERS];
} called[] = {
    {"aten::contiguous", {TENSOR("contiguous")}},
    {"aten::to", {TENSOR("to")}},
    {"aten::zero_", {TENSOR("zero_")}},
    {"aten::copy_", {TENSOR("copy_")}},
    {"aten::t", {TENSOR("t")}},
    {"aten::sum", {TENSOR("sum")}},
    {"aten::mean", {TENSOR("mean")}},
    {"aten::item", {TENSOR("item")}},
    {"aten::max", {TORCH("max")}},
    {"aten::exp", {TORCH("exp")}},
    {"aten::log", {TORCH("log")}},
    {"aten::cat", {TORCH("cat")}},
    {"aten::matmul", {TORCH("matmul")}},
    {"aten::ones_like", {TORCH("ones_like")}},
    {"aten::_foreach_copy_", {TORCH("_foreach_copy_")}},
    {"aten::topk", {TORCH("topk")}},
    {"aten::_softmax", {"torch/nn/functional.py(2113): softmax", TENSOR("softmax")}},
    {"aten::scatter", {TENSOR("scatter")}},
    {"aten::gelu", {"<built-in function gelu>"}},
    {"aten::_grouped_mm", {TORCH("_grouped_mm")}},
    {"aten::embedding", {"torch/nn/functional.py(2436): embedding", TORCH("embedding")}},
    {"aten::layer_norm", {"torch/nn/functional.py(2878): layer_norm", TORCH("layer_norm")}},
    {"aten::split_with_sizes", {"torch/_tensor.py(1018): split", "<built-in function split_with_sizes>"}},
    {"flash_attn::_flash_attn_forward",
     {"flash_attn/flash_attn_interface.py(78): _flash_attn_forward", "torch/_ops.py(1112): __call__"}},
    {"flash_attn::_flash_attn_backward",
     {"flash_attn/flash_attn_interface.py(237): _flash_attn_backward", "torch/_ops.py(1112): __call__"}},
    {"c10d::allreduce_", {LOGGED, DISTRIBUTED("(2762): all_reduce"), GROUP("allreduce")}},
    {"c10d::broadcast_", {LOGGED, DISTRIBUTED("(2675): broadcast"), GROUP("broadcast")}},
    {"c10d::_allgather_base_", {LOGGED, DISTRIBUTED("(3811): all_gather_into_tensor"), GROUP("_allgather_base")}},
    {"c10d::_reduce_scatter_base_",
     {LOGGED, DISTRIBUTED("(4293): reduce_scatter_tensor"), GROUP("_reduce_scatter_base")}},
    {"c10d::alltoall_base_", {LOGGED, DISTRIBUTED("(4474): all_to_all_single"), GROUP("alltoall_base")}},
    {"c10d::send", {DISTRIBUTED("(2360): isend"), GROUP("send")}},
    {"c10d::recv_", {DISTRIBUTED("(2405): irecv"), GROUP("recv")}},
    {"record_param_comms", {GROUP("wait")}},
};

int callers_enter(const struct block *to, const char *op) {
  int count = 0;
  for (size_t i = 0; to->stacks && i < sizeof called / sizeof *called; i++) {
    if (strcmp(called[i].op, op) != 0)
      continue;
    while (count < MOST_CALLERS && called[i].callers[count])
      frame_enter(to, called[i].callers[count++]);
    break;
  }
  return count;
}

int function_enter(const struct block *to) {
  frame_enter(to, "torch/autograd/function.py(559): apply");
  frame_enter(to, "<built-in method apply of FunctionMeta object at 0x55c12fa6d570>");
  return 2;
}
