/* Floating-point operations and bytes of a job's kernels, from the shapes that were recorded with the ops that launched
 * them. */
#ifndef LUMOS_COST_KERNEL_COST_H
#define LUMOS_COST_KERNEL_COST_H

#include "cost/dtype.h"

#include <lumos/job.h>

struct lumos_kernel_cost {
  uint32_t task;       /* index */
  uint8_t dtype;       /* enum lumos_dtype: of what is multiplied */
  bool again;          /* forward work that the backward pass does once more */
  bool helper;         /* does none of its op's operations */
  bool assumed;        /* attention that was taken for causal: half of what it would be otherwise */
  int64_t flops;       /* as it ran */
  int64_t model_flops; /* of the model: without what is computed again */
  int64_t bytes;       /* inputs and outputs, once each; LUMOS_ABSENT: unknown */
  uint32_t span;       /* the op whose work it is */
  int64_t rows, inner, columns,
      batches; /* as of lumos_op_cost; 0: unknown, or it is one of several kernels of its op */
};
struct lumos_kernel_costs {
  LUMOS_VECTOR(struct lumos_kernel_cost) list;
  bool packed; /* attention is over packed sequences whose lengths are not recorded */
};

/* Every device task whose operations are known, ascending. What an op launched shares its operations by duration, its
 * matrix products and attention alone where it has such. O(tasks + spans). The caller frees the list. */
void lumos_kernel_costs_find(const struct lumos_job *job, struct lumos_kernel_costs *costs);

/* Matrix products, convolutions and attention: the kernels whose operations count. */
static inline bool lumos_is_product(uint8_t kind) { return kind == LUMOS_GEMM || kind == LUMOS_ATTENTION; }

#endif
