/* Floating-point operations: of the model and of what ran, against what the GPUs could do. */
#ifndef LUMOS_SIM_FLOPS_H
#define LUMOS_SIM_FLOPS_H

#include "sim/steps.h"
#include <lumos/hardware.h>

/* Metrics of the job's steps, and notes (sim.h says which). O(tasks + spans). */
void lumos_write_flops(struct lumos_job *job, const struct lumos_timeline *timeline,
                       const struct lumos_stretches *stretches, const struct lumos_hardware *hardware);

#endif
