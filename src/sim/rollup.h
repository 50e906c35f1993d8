/* Device time, rolled up: of kernels, to ops, modules, layers and phases, each level adding up to the same sum. */
#ifndef LUMOS_SIM_ROLLUP_H
#define LUMOS_SIM_ROLLUP_H

#include "sim/steps.h"

/* Metrics of the job's steps (sim.h says which). O(device tasks). */
void lumos_write_rollups(struct lumos_job *job, const struct lumos_timeline *timeline,
                         const struct lumos_stretches *stretches);

/* For each step kind_time, and device_time behind it, alone. */
void lumos_write_kinds(struct lumos_job *job, const struct lumos_timeline *timeline,
                       const struct lumos_stretches *stretches);

#endif
