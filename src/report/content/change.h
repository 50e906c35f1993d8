/* What a change does to the mean step: the parts before and after it, whose differences add up to that of the step. */
#ifndef LUMOS_REPORT_CHANGE_H
#define LUMOS_REPORT_CHANGE_H

#include "report/content/facts.h"
#include "report/content/table.h"
#include "report/draw/scene.h"

/* Rows for the parts of the breakdown that are there before or after. Of a job that was not changed,
 * or never measured, or without GPUs, no rows. */
void report_change_table(const struct report_facts *facts, struct report_table *table);

/* The table's rows as bars from the step before to the step after, whose range it may show. False: there are no rows;
 * the scene is not begun. */
bool report_change_scene(const struct report_table *table, struct report_range range, bool narrow,
                         struct report_scene *scene);

/* How it is to be read. */
void report_put_change_reading(const struct report_facts *facts, struct lumos_text *out);

#endif
