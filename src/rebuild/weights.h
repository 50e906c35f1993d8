/* Which part of a backward pass is for the gradients of weights: autograd's node of a linear layer multiplies twice,
 * first for the gradient of its input, then for that of its weight.
 */
#ifndef LUMOS_REBUILD_WEIGHTS_H
#define LUMOS_REBUILD_WEIGHTS_H

#include <lumos/job.h>

/* How blocks are cut for the sake of them. */
enum rebuild_weights {
  REBUILD_WEIGHTS_STAY, /* where they were recorded */
  REBUILD_WEIGHTS_PART, /* they can be put off */
  REBUILD_WEIGHTS_JOIN, /* those that were put off can be taken back, product by product */
  REBUILD_WEIGHTS_KINDS
};

/* By task of a thread, a byte: it is for the gradient of a weight, and what accumulates that. With REBUILD_WEIGHTS_JOIN
 * nothing is, but `cuts` (a byte a task, and one more) marks where the product of an input's gradient, or of a weight's
 * that was put off, has been dealt with. The caller frees it. O(tasks x depth of spans). */
uint8_t *rebuild_find_weights(const struct lumos_job *job, enum rebuild_weights how, uint8_t *cuts);

/* Does a task on a stream multiply by a weight? */
bool rebuild_is_product(const struct lumos_job *job, uint32_t task);

/* Span: the innermost node of autograd around a task; LUMOS_NONE: there is none. */
uint32_t rebuild_node_around(const struct lumos_job *job, uint32_t task);

#endif
