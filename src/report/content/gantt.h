/* The timeline as a picture: a lane for every thread and stream, with the critical path above the lanes. Where measured
 * and simulated work differ visibly the simulated stands on a lane's base line and the measured hangs below it. */
#ifndef LUMOS_REPORT_GANTT_H
#define LUMOS_REPORT_GANTT_H

#include "report/content/table.h"
#include "report/content/timeline.h"
#include "report/draw/scene.h"

/* Paint the lanes; `name` tells the pictures of a page apart. */
void report_gantt_scene(const struct report_timelines *timelines, const struct report_lanes *lanes, const char *name,
                        struct report_scene *scene);
/* Several jobs, at least two, on one axis: rank by rank the open lanes of one above those of the next. All have as many
 * ranks there, span as much time from `from` to `until`, count from their first step's start, and are drawn up to their
 * `end`. */
struct report_gantt_job {
  const struct report_timelines *timelines;
  const char *name; /* "A" */
};
void report_gantt_jobs_scene(const struct report_gantt_job *of, size_t count, enum report_timeline shown,
                             const char *name, struct report_scene *scene);
/* How much time one column of the picture stands for. */
int64_t report_gantt_column(const struct report_timelines *timelines);
/* A row for every lane that is drawn, open ones first. */
void report_gantt_table(const struct report_timelines *timelines, struct report_table *table);
/* Which kinds these lanes have: shown[kind]. */
void report_gantt_kinds(const struct report_lanes *lanes, bool shown[LUMOS_TASK_KINDS]);

/* How the picture is to be read, in a few sentences; and a further one about lanes that are not open, where there are
 * any. */
void report_put_gantt_reading(const struct report_timelines *timelines, struct lumos_text *out);
/* How the critical path is drawn; where legs of it are joined, that too. */
void report_put_gantt_routes(const struct report_timelines *timelines, struct lumos_text *out);
void report_put_gantt_folded(const struct report_timelines *timelines, struct lumos_text *out);

#endif
