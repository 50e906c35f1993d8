/* Bars of ranks: a stacked bar for every group of ranks that look alike (of a single rank: of steps), the outlying ones
 * first, below one for all of them. */
#ifndef LUMOS_REPORT_BARS_H
#define LUMOS_REPORT_BARS_H

#include "report/content/facts.h"
#include "report/draw/scene.h"

/* A part of a bar: one figure, one paint. */
struct report_part {
  enum report_figure figure;
  enum report_paint paint;
  const char *term;  /* its definition */
  const char *label; /* NULL: the paint's */
};

enum { REPORT_BAR_PARTS = 9 }; /* at most */

/* What is drawn. Parts add up to `whole`; shares are of the job's mean step. */
struct report_bars {
  const struct report_facts *facts;
  const struct report_part *parts;
  size_t part_count;
  enum report_figure whole;
  enum report_timeline timeline;
  bool both;  /* the other timeline, too, a bar under each */
  bool named; /* parts have their labels written on them where there is room */
};

const char *report_part_label(const struct report_part *part);

/* `name`: of the scene, which is begun; `narrow`: for a telephone. False: there is nothing to draw. */
bool report_bars_scene(const struct report_bars *bars, const char *name, bool narrow, struct report_scene *scene);

/* What of the job's mean step a rank has before its own begins and after it ends: outside the recording. */
int64_t report_rest_of_step(const struct report_facts *facts, const struct report_row *row,
                            enum report_timeline timeline);

/* "all ranks", "rank 3", "rank 3, step 5": what a row of facts is of. */
void report_put_row_label(const struct report_facts *facts, const struct report_row *row, struct lumos_text *text);

#endif
