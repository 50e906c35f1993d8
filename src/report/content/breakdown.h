/* Where the step went, simulated beside measured where they differ, and why GPUs idle: bars of ranks, and tables. */
#ifndef LUMOS_REPORT_BREAKDOWN_H
#define LUMOS_REPORT_BREAKDOWN_H

#include "report/content/bars.h"
#include "report/content/table.h"

/* Of a step; they add up to it. */
enum { REPORT_PARTS = REPORT_BAR_PARTS };
extern const struct report_part report_parts[REPORT_PARTS];

/* Of idle time, by its cause. */
enum { REPORT_IDLE_PARTS = 5 };
extern const struct report_part report_idle_parts[REPORT_IDLE_PARTS];

void report_breakdown_scene(const struct report_facts *facts, struct report_scene *scene);
/* What a bar is, and whose time it shows. */
void report_put_breakdown_reading(const struct report_facts *facts, struct lumos_text *out);
/* The same for a telephone: what stands beside a bar stands above it. */
void report_breakdown_narrow_scene(const struct report_facts *facts, struct report_scene *scene);

/* "GPUs idle for 5.8 % of the step: 3.2 % CPU-bound, 2.3 % launch latency"; nothing where there is none, or nothing is
 * known of it. */
void report_put_idle_finding(const struct report_facts *facts, struct lumos_text *out);
/* Bars of idle time. False: there is nothing to show; the scene is not begun. */
bool report_idle_scene(const struct report_facts *facts, bool narrow, struct report_scene *scene);

/* Shares of every rank over its steps, and (rows in ms) of every rank and step. */
void report_breakdown_tables(const struct report_facts *facts, struct report_table *by_rank,
                             struct report_table *by_step);

#endif
