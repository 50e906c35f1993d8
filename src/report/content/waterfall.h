/* A waterfall: one step, a bar for each part of it that grows or shrinks from where the one above it ended, and the
 * other step, to which they add up. */
#ifndef LUMOS_REPORT_WATERFALL_H
#define LUMOS_REPORT_WATERFALL_H

#include "report/content/facts.h"
#include "report/draw/scene.h"

struct report_waterfall_row {
  const char *label;
  enum report_paint paint;
  int64_t before, after;
};

/* All texts are the caller's. */
struct report_waterfall {
  const char *names[2]; /* of the scene and of the narrow one: letters only */
  const char *title;
  const char *before, *after;                     /* the names of both bars: "before", "A" */
  const char *before_words, *after_words;         /* behind a time, or "the step": "before", "in A" */
  int64_t whole;                                  /* the step before */
  LUMOS_VECTOR(struct report_waterfall_row) rows; /* those without a difference are not drawn */
  struct report_range range;                      /* of the step after */
};

/* `narrow`: for a telephone. */
void report_waterfall_scene(const struct report_waterfall *fall, bool narrow, struct report_scene *scene);

#endif
