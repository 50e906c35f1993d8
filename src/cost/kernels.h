/* How long kernels take on another GPU, or in another shape: roofline models of what they do, calibrated on the trace's
 * own kernels (calibration.h).
 *
 * A matrix product takes its waves of tiles at what the best product reaches of the GPU's peak, or its bytes; attention
 * its operations; everything else its bytes; and all of them the time that no kernel is shorter than.
 */
#ifndef LUMOS_COST_KERNELS_H
#define LUMOS_COST_KERNELS_H

#include "cost/calibration.h"
#include "cost/hardware.h"

#include <lumos/job.h>

struct lumos_kernels;
/* Of a job of stage graph or later, which must outlive it, as the hardware. O(tasks + spans + shapes squared). */
struct lumos_kernels *lumos_kernels_fit(const struct lumos_job *job, const struct lumos_hardware *hardware);
void lumos_kernels_free(struct lumos_kernels *kernels); /* NULL is allowed */

/* What a task on a stream that does not communicate takes on another GPU: its time here by the ratio of what the models
 * say of both. Its own GPU must be known (lumos_kernels_device). */
struct lumos_duration lumos_kernel_on(const struct lumos_kernels *kernels, uint32_t task,
                                      const struct lumos_device *to);
/* The same work in another shape. */
struct lumos_resized {
  double flops, bytes;                   /* times as many as were recorded, */
  bool assumed;                          /* which nothing shows */
  int64_t rows, inner, columns, batches; /* of a product or attention (lumos_op_cost); rows 0: not known */
};
/* What a task on a stream that does not communicate takes in another shape on its own GPU: its time by the ratio of
 * what the calibrated models say of both; of a kernel whose shape is not known, its time above the floor by `bytes`, as
 * surely as one shape of a kernel shows another, or, if they are assumed, as constants do. O(shapes). */
struct lumos_duration lumos_kernel_resized(const struct lumos_kernels *kernels, uint32_t task,
                                           const struct lumos_resized *now);

/* The GPU of a rank (index); NULL: it is not in the hardware. */
const struct lumos_device *lumos_kernels_device(const struct lumos_kernels *kernels, uint32_t rank);

/* The measured shapes of a kind of task on streams. */
const struct lumos_calibration *lumos_kernels_calibration(const struct lumos_kernels *kernels,
                                                          enum lumos_task_kind kind);

#endif
