/* Where the step went: a stacked bar for every rank (or for every rank and step where they are few), measured beside
 * simulated, and its tables. */
#ifndef LUMOS_REPORT_BREAKDOWN_H
#define LUMOS_REPORT_BREAKDOWN_H

#include "report/content/facts.h"
#include "report/content/table.h"
#include "report/draw/scene.h"

/* A part of the step: one figure, one paint. They add up to the step time. */
struct report_part {
  enum report_figure figure;
  enum report_paint paint;
  const char *term; /* its definition */
};
enum { REPORT_PARTS = 9 };
extern const struct report_part report_parts[REPORT_PARTS];

void report_breakdown_scene(const struct report_facts *facts, struct report_scene *scene);
/* "Not drawn here: 969 more ranks."; nothing where all are drawn. */
void report_put_breakdown_left_out(const struct report_facts *facts, struct lumos_text *out);
/* The same for a telephone: what stands beside a bar stands above it. */
void report_breakdown_narrow_scene(const struct report_facts *facts, struct report_scene *scene);

/* Shares of every rank over its steps, and (rows in ms) of every rank and step. */
void report_breakdown_tables(const struct report_facts *facts, struct report_table *by_rank,
                             struct report_table *by_step);

#endif
