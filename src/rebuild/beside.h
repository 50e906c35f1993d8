/* What kernels lose to communication that runs beside them, where that is new. */
#ifndef LUMOS_REBUILD_BESIDE_H
#define LUMOS_REBUILD_BESIDE_H

#include <lumos/error.h>
#include <lumos/job.h>

/* How much longer a kernel takes beside communication, which holds SMs and memory of its GPU, in percent: matrix products were
 * measured to take 13 to 27 % longer (Echo, 2024). */
enum { REBUILD_LOSS_PERCENT = 20 };

/* Run the job, and give kernels on other streams that much more time while communication on these streams (a byte a lane) is
 * there. False: the job cannot be run. Runs the engine. O(tasks log tasks). */
bool rebuild_slow_down(struct lumos_job *job, const uint8_t *streams, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
