/* Calls into the runtime and the driver by name: metrics call_time, call_count, long_call_count, launched_count,
 * short_kernel_count of every step, and call_median and call_p99 over those that count. */
#ifndef LUMOS_SIM_CALLS_H
#define LUMOS_SIM_CALLS_H

#include "sim/steps.h"

/* Hears of a call: the job's step (index), its task, and how long it takes, its segments together. */
typedef void lumos_call_visitor(void *context, uint32_t step, uint32_t call, int64_t length);

/* Visit every call of the job's steps once, thread by thread, the last ones first. O(tasks). */
void lumos_walk_calls(const struct lumos_job *job, const struct lumos_timeline *timeline,
                      const struct lumos_stretches *stretches, lumos_call_visitor *visit, void *context);

void lumos_write_calls(struct lumos_job *job, const struct lumos_timeline *timeline,
                       const struct lumos_stretches *stretches);

#endif
