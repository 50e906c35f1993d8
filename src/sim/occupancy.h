/* How full kernels make the device's SMs, as the profiler estimates it of each. */
#ifndef LUMOS_SIM_OCCUPANCY_H
#define LUMOS_SIM_OCCUPANCY_H

#include "sim/steps.h"

/* occupancy_time {step}, and occupancy {step} and {rank, step}, of the steps in which any kernel has an occupancy; by
 * the timeline's durations. O(device tasks). */
void lumos_write_occupancy(struct lumos_job *job, const struct lumos_timeline *timeline,
                           const struct lumos_stretches *stretches);

#endif
