/* The stretches of a stage: see passes.h. */
#ifndef LUMOS_REPORT_STRETCHES_H
#define LUMOS_REPORT_STRETCHES_H

#include "report/content/passes.h"
#include "report/content/reach.h"

/* Is the task work of a pass on its stream? Communication is not. */
bool report_is_pass_work(const struct lumos_task *task);

/* When the task runs within the step, simulated; false: not at all. */
bool report_time_within(const struct report_passes *passes, uint32_t task, int64_t *start, int64_t *end);

/* Appends those of stages.items[number] to the list, and adds them up. */
void report_stretches_read(struct report_passes *passes, const struct report_reaches *reaches, uint32_t number);

#endif
