/* The intervals of a stage's passes: see passes.h. */
#ifndef LUMOS_SIM_PIPELINE_PASS_INTERVALS_H
#define LUMOS_SIM_PIPELINE_PASS_INTERVALS_H

#include "program/reach.h"
#include "sim/pipeline/passes.h"

/* Is the task work of a pass on its stream? Communication is not. */
bool lumos_is_pass_work(const struct lumos_task *task);

/* When the task runs within the step; false: not at all. */
bool lumos_time_within(const struct lumos_passes *passes, uint32_t task, int64_t *start, int64_t *end);

/* Appends those of stages.items[number] to the list, and adds them up. */
void lumos_pass_intervals_read(struct lumos_passes *passes, const struct lumos_reaches *reaches, uint32_t number);

#endif
