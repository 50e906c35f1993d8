/* How busy GPUs are over time: the timeline in bins, each with the share of it in which at least one task runs on a
 * stream of a rank, the mean over the ranks that have streams; and the same with kernels' time weighted by the
 * occupancy that the profiler estimated. */
#ifndef LUMOS_REPORT_BUSY_H
#define LUMOS_REPORT_BUSY_H

#include "report/content/table.h"
#include "report/content/timeline.h"
#include "report/draw/scene.h"

/* Kernels that run side by side add up to at most all of the GPU; what has no occupancy counts as nothing. */
enum report_busy_measure { BUSY_TIME, BUSY_OCCUPANCY, BUSY_MEASURES };

/* In millionths; LUMOS_ABSENT: the timeline ends before it, or no kernel has an occupancy. */
struct report_busy_bin {
  int64_t of[TIMELINES][BUSY_MEASURES];
};

enum { REPORT_BUSY_BINS = 1000 }; /* at most; then they are wider than 1 ms */

struct report_busy {
  const struct report_timelines *timelines;
  enum report_timeline spoken;
  bool both;                                 /* the other one differs, and is drawn, too */
  LUMOS_VECTOR(struct report_busy_bin) bins; /* none: no stream has work in a step */
  int64_t width;                             /* of a bin, ns */
  int64_t from;                              /* of the first one: the origin of the axis */
  int64_t until[TIMELINES];                  /* the last step's end; LUMOS_ABSENT: there is no such timeline */
  struct report_busy_bin mean;               /* over all the time */
  int64_t ranks;                             /* that have streams */
  bool occupancy;                            /* some kernel has one */
};

void report_busy_read(const struct report_facts *facts, const struct report_timelines *timelines,
                      struct report_busy *busy);
void report_busy_free(struct report_busy *busy);

/* "GPUs are busy, kernels that wait included, for 84.1 % of the time on average (simulated: 83.6 %), for less than half
 * in 12 of 52 bins of 1 ms" */
void report_put_busy_finding(const struct report_busy *busy, struct lumos_text *out);
void report_put_busy_reading(const struct report_busy *busy, struct lumos_text *out);
void report_busy_table(const struct report_busy *busy, struct report_table *table);

/* False: there is nothing to show; the scene is not begun. */
bool report_busy_scene(const struct report_busy *busy, struct report_scene *scene);
void report_busy_paints(const struct report_busy *busy, bool shown[PAINT_COUNT]);

#endif
