/* Calls into the runtime and the driver by name: metrics call_time, call_count, long_call_count, launched_count,
 * short_kernel_count of every step, and call_median and call_p99 over all steps. */
#ifndef LUMOS_SIM_CALLS_H
#define LUMOS_SIM_CALLS_H

#include "sim/steps.h"

void lumos_write_calls(struct lumos_job *job, const struct lumos_timeline *timeline,
                       const struct lumos_stretches *stretches);

#endif
