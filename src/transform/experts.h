/* Experts of a model, from the shapes of their products: several weights in one tensor, whose rows another input
 * groups, as PyTorch's aten::_grouped_mm has them.
 */
#ifndef LUMOS_TRANSFORM_EXPERTS_H
#define LUMOS_TRANSFORM_EXPERTS_H

#include "cost/roofline.h"

#include <lumos/job.h>

struct lumos_experts {
  int64_t count;  /* on a rank; 0: there are none */
  int64_t chosen; /* by each token; 0: not known */
  int64_t ffn;    /* width within one, on a rank */
  bool gate;      /* its products up are one, twice as wide */
};

/* Of a model with so many features, and so many tokens in a micro-batch (0: not known). O(spans). */
struct lumos_experts lumos_experts_find(const struct lumos_job *job, int64_t hidden, int64_t tokens);

/* Has a rank whole experts, though tensor-parallel ranks divide what is left, as with --expert-tensor-parallel-size 1
 * of Megatron-LM? Their groups show it; of one such rank that there are experts. O(groups + spans). */
bool lumos_experts_are_whole(const struct lumos_job *job);

/* By span: does it lie where experts work, between two products of threads that are not grouped and have one that is
 * between them? The caller frees it. O(tasks x depth). */
uint8_t *lumos_experts_around(const struct lumos_job *job);

/* The job's first model with experts as one feed-forward block, as wide as all that a rank has together, times `ranks`:
 * what counts parameters needs no more. As it is where it has none, or is known to have another block. O(spans). */
struct lumos_model_description lumos_experts_as_one(const struct lumos_job *job, int32_t ranks);

/* What the op of these shapes multiplies where another input says how its rows are grouped: so many products as there
 * are groups, as if these were alike. Its operations are the same wherever they end. False: it is no such op. */
bool lumos_grouped_shape(const char *op, const char *shapes, const char *dtypes,
                         struct lumos_product_shape *shape) LUMOS_MUST_CHECK;

#endif
