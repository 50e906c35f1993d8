/* What the critical path and idle time are made of, as stacked bars. A new kind of what passes on the path is a row
 * in composition.c. */
#ifndef LUMOS_REPORT_COMPOSITION_H
#define LUMOS_REPORT_COMPOSITION_H

#include "report/content/facts.h"
#include "report/content/stack.h"
#include "report/content/table.h"

/* Of the critical path, the largest first; what is less than 0.5 % of it each is one part, the last. They add up to
 * it. */
enum { REPORT_PATH_PARTS = PAINT_COUNT };
struct report_path {
  int64_t whole; /* the mean over the job's steps; 0: it is not known */
  struct report_stack_part parts[REPORT_PATH_PARTS];
  size_t count;
  size_t pooled; /* kinds in the last part; 0: there is none */
};
void report_path_read(const struct report_facts *facts, struct report_path *path);
void report_put_path_reading(const struct report_path *path, struct lumos_text *out);
/* False: there is nothing to show; the scene is not begun. `narrow`: for a telephone. */
bool report_path_scene(const struct report_path *path, bool narrow, struct report_scene *scene);

/* What idle time is for, by rank: a bar for each row of the table of METRICS_IDLE. */
enum { REPORT_IDLE_CAUSES = 5 };
struct report_idle_cause {
  enum report_paint paint;
  const char *label, *term;
  size_t column; /* of the table */
};
extern const struct report_idle_cause report_idle_causes[REPORT_IDLE_CAUSES];
int64_t report_idle_time(const struct report_table *idle, size_t row, const struct report_idle_cause *cause);
/* Of all rows of that table. */
struct report_idle_sums {
  int64_t whole, of[REPORT_IDLE_CAUSES];
};
void report_sum_idle(const struct report_table *idle, struct report_idle_sums *sums);
/* "Of the idle time 63.0 % is for the host, 21.0 % for launches"; nothing where there is none. */
void report_put_idle_finding(const struct report_table *idle, struct lumos_text *out);
void report_put_idle_reading(const struct report_table *idle, struct lumos_text *out);
bool report_idle_scene(const struct report_table *idle, bool narrow, struct report_scene *scene);

#endif
