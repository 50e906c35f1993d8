/* What the critical path is made of, as a stacked bar. A new kind of what passes on it is a row in composition.c. */
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
/* Do CPUs decide when the step ends? */
bool report_path_is_mostly_cpu(const struct report_path *path);
void report_put_path_reading(const struct report_path *path, struct lumos_text *out);
/* False: there is nothing to show; the scene is not begun. `narrow`: for a telephone. */
bool report_path_scene(const struct report_path *path, bool narrow, struct report_scene *scene);

#endif
