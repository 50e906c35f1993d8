/* Kinds by name: tables of patterns, the first row that matches wins. A new kernel library is a new row.
 *
 * Patterns are those of lumos_trace_matches. A kernel's row may ask for a piece of the
 * name of the op that launched it as well. Fused Triton kernels list the ops that were fused into them, so they come
 * first: what they are called tells how they run (poi: pointwise, red and per: reductions), not each word in it.
 */
#include "trace/classify.h"

#include <lumos/trace.h>
#include <stdbool.h>
#include <string.h>

struct kernel_row {
  const char *name; /* NULL: any */
  const char *op;   /* NULL: any */
  enum lumos_task_kind kind;
};

static const struct kernel_row kernel_rows[] = {
    /* DeepEP counts which tokens go where before it sends any */
    {"get_dispatch_layout", NULL, LUMOS_REDUCTION},

    /* communication libraries */
    {"^nccl*sendrecv", NULL, LUMOS_P2P},
    {"^nccl", NULL, LUMOS_COLLECTIVE},
    {"^rccl", NULL, LUMOS_COLLECTIVE},
    {"^msccl", NULL, LUMOS_COLLECTIVE},
    {"deep_ep::", NULL, LUMOS_COLLECTIVE},
    {"hybrid_ep::", NULL, LUMOS_COLLECTIVE},
    {"uccl::ep", NULL, LUMOS_COLLECTIVE},
    {"dpsk::ep", NULL, LUMOS_COLLECTIVE},
    {"^oneccl", NULL, LUMOS_COLLECTIVE},
    {"^xccl::", NULL, LUMOS_COLLECTIVE},
    {"^hccl", NULL, LUMOS_COLLECTIVE},
    {"userbuffers_push", NULL, LUMOS_P2P}, /* Transformer Engine's, beside products in pieces */
    {"userbuffers", NULL, LUMOS_COLLECTIVE},

    /* torch.compile */
    {"^triton_poi_fused_embedding", NULL, LUMOS_EMBEDDING},
    {"^triton_poi", NULL, LUMOS_ELEMENTWISE},
    {"^triton_for", NULL, LUMOS_ELEMENTWISE},
    {"^triton_tem*attention", NULL, LUMOS_ATTENTION},
    {"^triton_tem", NULL, LUMOS_GEMM},
    {"^triton_mm", NULL, LUMOS_GEMM},
    {"^triton_*vector_norm", NULL, LUMOS_REDUCTION},
    {"^triton_red*norm", NULL, LUMOS_NORM},
    {"^triton_per*norm", NULL, LUMOS_NORM},
    {"^triton_red", NULL, LUMOS_REDUCTION},
    {"^triton_per", NULL, LUMOS_REDUCTION},
    {"^triton_spl", NULL, LUMOS_REDUCTION},

    /* collectives of serving and expert-parallel libraries */
    {"cross_device_reduce", NULL, LUMOS_COLLECTIVE},
    {"multimem_", NULL, LUMOS_COLLECTIVE},
    {"all_to_all", NULL, LUMOS_COLLECTIVE},
    {"alltoall", NULL, LUMOS_COLLECTIVE},
    {"all_reduce", NULL, LUMOS_COLLECTIVE},
    {"allreduce", NULL, LUMOS_COLLECTIVE},
    {"all_gather", NULL, LUMOS_COLLECTIVE},
    {"allgather", NULL, LUMOS_COLLECTIVE},
    {"reduce_scatter", NULL, LUMOS_COLLECTIVE},
    {"reducescatter", NULL, LUMOS_COLLECTIVE},

    /* copies that ROCm shows as kernels */
    {"^__amd_rocclr_copy", NULL, LUMOS_COPY},
    {"^memory_copy", NULL, LUMOS_COPY},
    {"^copydeviceto", NULL, LUMOS_COPY},
    {"^copyhostto", NULL, LUMOS_COPY},
    {"^__amd_rocclr_fillbuffer", NULL, LUMOS_MEMSET},
    {"^fillbuffer", NULL, LUMOS_MEMSET},

    {"flash", NULL, LUMOS_ATTENTION},
    {"fmha", NULL, LUMOS_ATTENTION},
    {"attention", NULL, LUMOS_ATTENTION},
    {"attn", NULL, LUMOS_ATTENTION},
    {"sdpa", NULL, LUMOS_ATTENTION},
    {"_mla_", NULL, LUMOS_ATTENTION},

    {"embedding", NULL, LUMOS_EMBEDDING},
    {"pooled_emb", NULL, LUMOS_EMBEDDING},
    {"bounds_check_indices", NULL, LUMOS_EMBEDDING},
    {"compute_grad_weight", NULL, LUMOS_EMBEDDING},
    {"sum_and_scatter", NULL, LUMOS_EMBEDDING},
    {"linearize_index", NULL, LUMOS_EMBEDDING},
    {"index", "embedding", LUMOS_EMBEDDING},

    {"multi_tensor_apply*copyfunctor", NULL, LUMOS_ELEMENTWISE}, /* as FSDP copies its shares */
    {"multi_tensor_apply", NULL, LUMOS_OPTIMIZER},
    {"adam", NULL, LUMOS_OPTIMIZER},
    {"adagrad", NULL, LUMOS_OPTIMIZER},
    {"lamb_", NULL, LUMOS_OPTIMIZER},

    {"layer_norm", NULL, LUMOS_NORM},
    {"layernorm", NULL, LUMOS_NORM},
    {"rms_norm", NULL, LUMOS_NORM},
    {"rmsnorm", NULL, LUMOS_NORM},
    {"batch_norm", NULL, LUMOS_NORM},
    {"batchnorm", NULL, LUMOS_NORM},
    {"group_norm", NULL, LUMOS_NORM},
    {"groupnorm", NULL, LUMOS_NORM},
    {"instance_norm", NULL, LUMOS_NORM},
    {"rowwisemoments", NULL, LUMOS_NORM},
    {"::ln_fwd", NULL, LUMOS_NORM}, /* Transformer Engine and Apex */
    {"::ln_bwd", NULL, LUMOS_NORM},
    {"gammabeta", NULL, LUMOS_NORM},
    {"cudnn::bn_", NULL, LUMOS_NORM},
    {"welford", NULL, LUMOS_NORM},

    /* a library of recommendation models, which has other kernels than its name says */
    {"fbgemm_gpu", NULL, LUMOS_OTHER_DEVICE},

    /* matrix products and convolutions, with what their libraries launch around them */
    {"gemm", NULL, LUMOS_GEMM},
    {"gemv", NULL, LUMOS_GEMM},
    {"^cijk_", NULL, LUMOS_GEMM},
    {"nvjet", NULL, LUMOS_GEMM},
    {"xmma", NULL, LUMOS_GEMM},
    {"cublas", NULL, LUMOS_GEMM},
    {"splitkreduce", NULL, LUMOS_GEMM},
    {"epilogue::impl", NULL, LUMOS_GEMM},
    {"scudnn", NULL, LUMOS_GEMM},
    {"fprop", NULL, LUMOS_GEMM},
    {"dgrad", NULL, LUMOS_GEMM},
    {"wgrad", NULL, LUMOS_GEMM},
    {"winograd", NULL, LUMOS_GEMM},
    {"conv2d", NULL, LUMOS_GEMM},
    {"convolve", NULL, LUMOS_GEMM},
    {"fft", "conv", LUMOS_GEMM}, /* its arguments are of type reduced_divisor */
    {"conv_depthwise", NULL, LUMOS_GEMM},
    {"miopensp3asmconv", NULL, LUMOS_GEMM},
    {"matmul", NULL, LUMOS_GEMM},
    {"cutlass", NULL, LUMOS_GEMM},

    {"reduce", "vector_norm", LUMOS_REDUCTION}, /* a length, as of gradients, and no normalisation */
    {"reduce", "norm", LUMOS_NORM},
    {"softmax", NULL, LUMOS_REDUCTION},
    {"reduce", NULL, LUMOS_REDUCTION},
    {"loss", NULL, LUMOS_REDUCTION},
    {"cross_entropy", NULL, LUMOS_REDUCTION},
    {"sort", NULL, LUMOS_REDUCTION},
    {"topk", NULL, LUMOS_REDUCTION},
    {"scan", NULL, LUMOS_REDUCTION},
    {"cumsum", NULL, LUMOS_REDUCTION},
    {"histogram", NULL, LUMOS_REDUCTION},
    {"pool", NULL, LUMOS_REDUCTION},
    {"argmax", NULL, LUMOS_REDUCTION},

    {"elementwise", "norm", LUMOS_NORM},
    {"elementwise", NULL, LUMOS_ELEMENTWISE},
    {"catarray", NULL, LUMOS_ELEMENTWISE},
    {"chunk_cat", NULL, LUMOS_ELEMENTWISE},
    {"copy", NULL, LUMOS_ELEMENTWISE},
    {"fill", NULL, LUMOS_ELEMENTWISE},
    {"index", NULL, LUMOS_ELEMENTWISE},
    {"gather", NULL, LUMOS_ELEMENTWISE},
    {"scatter", NULL, LUMOS_ELEMENTWISE},
    {"transpose", NULL, LUMOS_ELEMENTWISE},
    {"permute", NULL, LUMOS_ELEMENTWISE},
    {"nchwtonhwc", NULL, LUMOS_ELEMENTWISE},
    {"nhwctonchw", NULL, LUMOS_ELEMENTWISE},
    {"scalepackedtensor", NULL, LUMOS_ELEMENTWISE},
    {"tensorop", NULL, LUMOS_ELEMENTWISE},
    {"optensor", NULL, LUMOS_ELEMENTWISE},
    {"dropout", NULL, LUMOS_ELEMENTWISE},
    {"distribution", NULL, LUMOS_ELEMENTWISE},
    {"arange", NULL, LUMOS_ELEMENTWISE},
    {"triu", NULL, LUMOS_ELEMENTWISE},
    {"tril", NULL, LUMOS_ELEMENTWISE},
    {"gelu", NULL, LUMOS_ELEMENTWISE},
    {"silu", NULL, LUMOS_ELEMENTWISE},
    {"relu", NULL, LUMOS_ELEMENTWISE},
    {"swiglu", NULL, LUMOS_ELEMENTWISE},
    {"rotary", NULL, LUMOS_ELEMENTWISE},
    {"_rope", NULL, LUMOS_ELEMENTWISE},
    {"quant", NULL, LUMOS_ELEMENTWISE},
    {"cast", NULL, LUMOS_ELEMENTWISE},
    {"to_mx", NULL, LUMOS_ELEMENTWISE},
    {"swizzle", NULL, LUMOS_ELEMENTWISE},
    {"blocked_layout", NULL, LUMOS_ELEMENTWISE},
    {"upsample", NULL, LUMOS_ELEMENTWISE},
    {"offsets_kernel", NULL, LUMOS_ELEMENTWISE},

    /* names that say nothing: what the op does */
    {NULL, "attention", LUMOS_ATTENTION},
    {NULL, "embedding", LUMOS_EMBEDDING},
    {NULL, "^aten::mm$", LUMOS_GEMM},
    {NULL, "^aten::bmm$", LUMOS_GEMM},
    {NULL, "^aten::addmm", LUMOS_GEMM},
    {NULL, "^aten::baddbmm", LUMOS_GEMM},
    {NULL, "^aten::_scaled_mm", LUMOS_GEMM},
    {NULL, "linear", LUMOS_GEMM},
    {NULL, "matmul", LUMOS_GEMM},
    {NULL, "conv", LUMOS_GEMM},
    {NULL, "norm", LUMOS_NORM},
    {NULL, "softmax", LUMOS_REDUCTION},
    {NULL, "loss", LUMOS_REDUCTION},
    {NULL, "^aten::sum$", LUMOS_REDUCTION},
    {NULL, "^aten::copy_$", LUMOS_ELEMENTWISE},
    {NULL, "^aten::fill_$", LUMOS_ELEMENTWISE},
};

/* Commands in the queues of MTIA that move data, with its own memory or another device's. */
static const char *const moving_commands[] = {"^dma_request", "^remote"};

static const struct trace_call_rule call_rows[] = {
    {"streamsynchronize", LUMOS_SYNC, LUMOS_WAIT_STREAM, 0},
    {"eventsynchronize", LUMOS_SYNC, LUMOS_WAIT_EVENT, 0},
    {"devicesynchronize", LUMOS_SYNC, LUMOS_WAIT_DEVICE, 0},
    {"ctxsynchronize", LUMOS_SYNC, LUMOS_WAIT_DEVICE, 0},
    {"threadsynchronize", LUMOS_SYNC, LUMOS_WAIT_DEVICE, 0},
    /* of XPU */
    {"queuefinish", LUMOS_SYNC, LUMOS_WAIT_STREAM, 0},
    {"queuesynchronize", LUMOS_SYNC, LUMOS_WAIT_STREAM, 0},
    {"listhostsynchronize", LUMOS_SYNC, LUMOS_WAIT_STREAM, 0},
    {"eventhostsynchronize", LUMOS_SYNC, LUMOS_WAIT_EVENT, 0},
    {"^ureventwait$", LUMOS_SYNC, LUMOS_WAIT_EVENT, 0},
    {"^pieventswait$", LUMOS_SYNC, LUMOS_WAIT_EVENT, 0},
    {"eventrecord", LUMOS_EVENT, 0, LUMOS_EVENT_RECORD},
    {"streamwaitevent", LUMOS_EVENT, 0, LUMOS_EVENT_WAIT},
    {"event", LUMOS_EVENT, 0, 0},
    {"launchhostfunc", LUMOS_OTHER_HOST, 0, 0}, /* runs on the CPU when the stream comes to it: no row of a stream */
    {"launch", LUMOS_LAUNCH, 0, 0},
    {"job_prep_and_submit", LUMOS_LAUNCH, 0, 0}, /* MTIA */
    /* copies that block their caller, by name */
    {"^cudamemcpy$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cudamemcpy2d$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cudamemcpy3d$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cudamemcpytosymbol$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cudamemcpyfromsymbol$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cumemcpyhtod$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cumemcpyhtod_v2$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cumemcpydtoh$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^cumemcpydtoh_v2$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^hipmemcpy$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^hipmemcpywithstream$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^hipmemcpydtoh$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"^hipmemcpyhtod$", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
    {"memcpy", LUMOS_LAUNCH, 0, 0},
    {"memsetaccess", LUMOS_ALLOC, 0, 0},
    {"memset", LUMOS_LAUNCH, 0, 0},
    {"enqueueusmfill", LUMOS_LAUNCH, 0, 0},
    {"alloc", LUMOS_ALLOC, 0, 0},
    {"free", LUMOS_ALLOC, 0, 0},
    {"^cumem", LUMOS_ALLOC, 0, 0},
    {"^hipmem", LUMOS_ALLOC, 0, 0},
    {"hostregister", LUMOS_ALLOC, 0, 0},
    {"hostunregister", LUMOS_ALLOC, 0, 0},
    {"", LUMOS_OTHER_HOST, 0, 0},
};

static int lower(int byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

/* Does `text` begin with the pattern up to its end, a * or a $? Returns where the pattern goes on, NULL when it does
 * not. */
static const char *match_here(const char *pattern, const char *text, const char **rest) {
  while (*pattern != '\0' && *pattern != '*' && *pattern != '$') {
    if (lower(*text) != *pattern) {
      return NULL;
    }
    pattern++;
    text++;
  }
  *rest = text;
  return *pattern == '$' && *text != '\0' ? NULL : pattern;
}

bool lumos_trace_matches(const char *pattern, const char *text) {
  bool anchored = *pattern == '^';
  pattern += anchored;
  for (;;) {
    const char *rest = NULL;
    const char *next = match_here(pattern, text, &rest);
    if (next != NULL) {
      if (*next != '*') {
        return true;
      }
      pattern = next + 1;
      text = rest;
      anchored = false;
    } else if (anchored || *text == '\0') {
      return false;
    } else {
      text++;
    }
  }
}

/* Which pairs of neighbouring letters a name has, by a hash: a pattern with another pair matches nowhere in it. Names
 * of kernels are long, and there are more than a hundred patterns. */
struct pairs {
  uint64_t bits[16];
};

static unsigned pair_of(const char *place) {
  return ((unsigned)lower((unsigned char)place[0]) * 37 + (unsigned)lower((unsigned char)place[1])) % 1024;
}

static struct pairs pairs_of(const char *text) {
  struct pairs pairs = {{0}};
  for (; text[0] != '\0' && text[1] != '\0'; text++) {
    unsigned pair = pair_of(text);
    pairs.bits[pair / 64] |= UINT64_C(1) << pair % 64;
  }
  return pairs;
}

static bool is_letter_of_pattern(char byte) { return byte != '^' && byte != '*' && byte != '$'; }

static bool has_pairs_of(const struct pairs *pairs, const char *pattern) {
  for (; pattern[0] != '\0' && pattern[1] != '\0'; pattern++) {
    unsigned pair = pair_of(pattern);
    if ((pairs->bits[pair / 64] >> pair % 64 & 1U) == 0 && is_letter_of_pattern(pattern[0]) &&
        is_letter_of_pattern(pattern[1])) {
      return false;
    }
  }
  return true;
}

static bool moves_data(const char *category, const char *name) {
  for (size_t i = 0; i < sizeof moving_commands / sizeof *moving_commands; i++) {
    if (strcmp(category, "mtia_ccp_events") == 0 && lumos_trace_matches(moving_commands[i], name)) {
      return true;
    }
  }
  return false;
}

enum lumos_task_kind lumos_classify_device(const char *category, const char *name, const char *op) {
  if (strcmp(category, "gpu_memcpy") == 0 || moves_data(category, name)) {
    return LUMOS_COPY;
  }
  if (strcmp(category, "gpu_memset") == 0) {
    return LUMOS_MEMSET;
  }
  const struct pairs pairs = pairs_of(name);
  for (size_t i = 0; i < sizeof kernel_rows / sizeof *kernel_rows; i++) {
    const struct kernel_row *row = &kernel_rows[i];
    if ((row->name == NULL || (has_pairs_of(&pairs, row->name) && lumos_trace_matches(row->name, name))) &&
        (row->op == NULL || lumos_trace_matches(row->op, op))) {
      return row->kind;
    }
  }
  return LUMOS_OTHER_DEVICE;
}

const struct trace_call_rule *lumos_trace_call_rule(const char *name) {
  const struct trace_call_rule *row = call_rows;
  while (!lumos_trace_matches(row->pattern, name)) {
    row++; /* the last row matches everything */
  }
  return row;
}
