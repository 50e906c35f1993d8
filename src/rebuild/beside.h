/* What kernels lose to communication that runs beside them, where that is new. */
#ifndef LUMOS_REBUILD_BESIDE_H
#define LUMOS_REBUILD_BESIDE_H

#include <lumos/error.h>
#include <lumos/job.h>

/* How much longer a kernel takes beside communication, which holds SMs and memory of its GPU, in percent: matrix products were
 * measured to take 13 to 27 % longer (Echo, 2024). */
enum { REBUILD_LOSS_PERCENT = 20 };

/* By task of a recorded job: how much longer it took because this communication (a byte a task) ran beside it, by the same share.
 * The caller frees it. O(tasks log tasks). */
int64_t *rebuild_find_losses(const struct lumos_job *job, const uint8_t *communication);

/* Run the job, and give kernels on other streams that much more time while this communication (a byte a task) is
 * there. False: the job cannot be run. Runs the engine. O(tasks log tasks). */
bool rebuild_slow_down(struct lumos_job *job, const uint8_t *communication, struct lumos_error *error) LUMOS_MUST_CHECK;

/* A task takes that much longer (ns; below 0: shorter), as is modelled. */
void rebuild_change_length(struct lumos_job *job, uint32_t task, int64_t by);

#endif
