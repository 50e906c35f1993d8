/* What a pipeline loses, by stage, and what its schedule would have it lose. */
#ifndef LUMOS_SIM_PIPELINE_BUBBLE_H
#define LUMOS_SIM_PIPELINE_BUBBLE_H

#include "sim/steps.h"

/* Metrics bubble, pass_gap and bubble_theory; nothing without a pipeline. own[i]: the partition of
 * timeline->steps.items[i]. */
void lumos_write_bubbles(struct lumos_job *job, const struct lumos_timeline *timeline,
                         const struct lumos_partition *own);

#endif
