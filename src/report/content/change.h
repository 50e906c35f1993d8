/* What a change does to the mean step: the parts before and after it, whose differences add up to that of the step. */
#ifndef LUMOS_REPORT_CHANGE_H
#define LUMOS_REPORT_CHANGE_H

#include "report/content/facts.h"
#include "report/content/table.h"

/* Rows for the parts of the breakdown that are there before or after. Of a job that was not changed,
 * or never measured, or without GPUs, no rows. */
void report_change_table(const struct report_facts *facts, struct report_table *table);

#endif
