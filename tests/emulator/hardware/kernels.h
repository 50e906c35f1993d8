/* Which kernels a tensor operation runs, and how long they take alone: names as the libraries of 2025 print them,
 * durations from the roofline and the tiles of the output.
 *
 *   matrix product   tiles = ceil(M / tile M) * ceil(N / tile N) * splits; waves = tiles / SMs, rounded up where waves
 *                    are emulated; duration = waves * SMs * tile M * tile N * 2 K / splits / (peak * reached * the
 *                    tile's own efficiency), not less than the bytes at the memory's reached bandwidth, plus the
 *                    kernel's start (ramp)
 *   all else         bytes / (bandwidth * reached * the kernel's own share) plus the kernel's start
 *
 * The tile is chosen as a heuristic would: the fastest of the table's by this very formula, with waves rounded up
 * whether or not they are emulated, so that this mechanism changes durations and no kernel. With MECHANISM_VARIETY a
 * layer's autotuning may choose the second or third fastest instead (by `place`), and products with few tiles and long
 * K are split along K, which adds a reduction kernel.
 */
#ifndef EMULATOR_KERNELS_H
#define EMULATOR_KERNELS_H

#include "setup.h"
#include "work.h"

enum gemm_layout { GEMM_TN, GEMM_NN, GEMM_NT }; /* forward, gradient of the input, gradient of the weight */

struct gemm {
  int64_t m, n, k;
  enum gemm_layout layout;
  bool accumulates; /* adds to a float32 gradient */
};

/* Fills works[0], and works[1] with the reduction of a split product; returns their number. `place`: where the choice
 * belongs (layer, operation; not the step: autotuning chooses once; not the rank, replicas choose alike). flops is 2 M
 * N K on works[0]. */
int kernels_gemm(const struct setup *setup, struct gemm gemm, uint64_t place, struct work works[2]);

/* So many such products in one kernel, `gemm` each; of weights' gradients, too. A GPU of Hopper or later. */
struct work kernels_grouped(const struct setup *setup, struct gemm gemm, int groups);

/* Kernels that move memory. */
enum kernel {
  KERNEL_LAYER_NORM, /* elements: of the activation */
  KERNEL_LAYER_NORM_BACKWARD_INPUT,
  KERNEL_LAYER_NORM_BACKWARD_WEIGHT,
  KERNEL_BIAS_GELU,
  KERNEL_BIAS_GELU_BACKWARD,
  KERNEL_BIAS_DROPOUT_ADD, /* of the output, and its backward */
  KERNEL_DROPOUT_BACKWARD,
  KERNEL_BIAS_GRADIENT, /* a reduction over rows */
  KERNEL_ROTARY,
  KERNEL_ROTARY_BACKWARD,
  KERNEL_TRANSPOSE, /* copies a tensor into another layout */
  KERNEL_ADD,       /* residual gradients meet */
  KERNEL_EMBEDDING,
  KERNEL_EMBEDDING_BACKWARD,
  KERNEL_EMBEDDING_SORT,
  KERNEL_LOGITS_MAX,
  KERNEL_LOGITS_SUBTRACT_EXP,
  KERNEL_LOGITS_SUM,
  KERNEL_LOSS_GATHER,
  KERNEL_LOSS_LOG,
  KERNEL_LOSS_MEAN,
  KERNEL_SOFTMAX_BACKWARD,
  KERNEL_CAST_TO_FLOAT,
  KERNEL_CAST_TO_BFLOAT,
  KERNEL_SCALE, /* gradients divided by the number of replicas or micro-batches */
  KERNEL_GRADIENT_ACCUMULATE,
  KERNEL_L2_NORM, /* multi-tensor */
  KERNEL_L2_NORM_REDUCE,
  KERNEL_CLIP,
  KERNEL_ADAM,
  KERNEL_SHARE_CAST, /* a share of parameters, cast into its place among all; what was gathered, split */
  KERNEL_SPLIT,
  KERNEL_CHUNKS,    /* gradients, cast and put in order for all shares */
  KERNEL_SHARE_ADD, /* a share of gradients, added to that of the micro-batches before */
  KERNEL_FILL,
  KERNEL_ATTENTION_DOT, /* the flash backward's preparation, its rounding at the end */
  KERNEL_ATTENTION_CONVERT,
  KERNEL_TOP, /* of experts: the best of each token, what they weigh, and which they are */
  KERNEL_SCORES,
  KERNEL_SCORES_BACKWARD,
  KERNEL_SCATTER,
  KERNEL_COUNT,
  KERNEL_GELU, /* without a bias */
  KERNEL_GELU_BACKWARD,
  KERNEL_PERMUTE, /* tokens, once for each expert that they take; in order of experts; and back with their weights */
  KERNEL_SORT_CHUNKS,
  KERNEL_UNPERMUTE,
  KERNEL_UNPERMUTE_BACKWARD,
  KERNELS
};

/* `elements` as the row of the table counts them (README.md and kernels.c: bytes an element). `place` as above. */
struct work kernels_run(const struct setup *setup, enum kernel kernel, int64_t elements, uint64_t place);

/* Flash attention over `heads` heads of this rank, causal: flops are 2 * 2 * batch * heads * queries * keys * head_dim
 * / 2 forward, 2.5 times that backward. Queries may be a part of a sequence that sees half of the keys, as all of it
 * does. */
struct work kernels_attention(const struct setup *setup, int batch, int heads, int queries, int keys, int head_dim,
                              bool backward);

/* A copy or memset of so many bytes. */
struct work kernels_copy(const struct setup *setup, enum work_kind kind, int64_t bytes);

/* A communication kernel: NCCL's name for it (ncclDevKernel_AllReduce_Sum_bf16_RING_LL, ncclDevKernel_SendRecv), its
 * grid (a block a channel) by nccl_plan. NCCL compiles a kernel for the LL protocol of ring and tree only, and runs all
 * others inside these: the name does not tell the protocol, nor NVLS. The message must outlive the work. */
struct work kernels_communication(const struct setup *setup, const struct message *message, int size, int nodes);

#endif
