/* How a built job adds up the gradients of its micro-batches, where the recording has one. */
#ifndef LUMOS_REBUILD_ACCUMULATE_H
#define LUMOS_REBUILD_ACCUMULATE_H

#include <lumos/error.h>
#include <lumos/job.h>

/* PyTorch's AccumulateGrad keeps the first gradient of a parameter as it is, without a kernel, and adds each later one
 * to it. Where `from` shows the first alone, weave those additions into the job that is built of it: a kernel behind
 * the one that made the gradient, for every gradient of all micro-batches but the first. A note says so, or what is
 * missing where the bandwidth of the GPU's memory is not known, or replicas are fully sharded. O(tasks log tasks +
 * tasks x groups). */
bool rebuild_accumulate(struct lumos_job *built, const struct lumos_job *from,
                        struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
