/* Device time, rolled up: of kernels, to ops, modules, layers and phases, each level adding up to the same sum. */
#ifndef LUMOS_SIM_ROLLUP_H
#define LUMOS_SIM_ROLLUP_H

#include "sim/steps.h"

/* Metrics of the job's steps (sim.h says which). False where a level's rows do not add up: a bug, never input. O(device
 * tasks). */
bool lumos_write_rollups(struct lumos_job *job, const struct lumos_timeline *timeline,
                         const struct lumos_stretches *stretches, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
