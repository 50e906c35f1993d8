/* A picture as a list of marks: what a painter needs and nothing else, so that SVG and cairo can paint the same thing.
 *
 * Lengths are tenths of a CSS pixel, y grows downwards. Runs are what aggregated timelines are made of: many boxes of
 * one paint that stand on, or hang from, a base line, painted as one path. Groups move the origin. The scene owns
 * copies of its texts.
 */
#ifndef LUMOS_REPORT_SCENE_H
#define LUMOS_REPORT_SCENE_H

#include "base/text.h"
#include "report/draw/palette.h"
#include <lumos/memory.h>

enum { REPORT_PIXEL = 10 };

enum report_mark_kind {
  MARK_BOX,
  MARK_RUNS,
  MARK_LINE,
  MARK_CURVE,
  MARK_POLYLINE,
  MARK_POLYGON,
  MARK_TEXT,
  MARK_GROUP,
  MARK_GROUP_END
};
enum report_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };
/* How they look: look.c. */
enum report_text_style {
  STYLE_PLAIN,
  STYLE_STRONG,
  STYLE_SMALL,
  STYLE_HEADING,
  STYLE_TITLE,
  STYLE_ON_PAINT, /* from here on with the ink of what it stands on */
  STYLE_TINY_ON_PAINT
};
enum report_stroke { STROKE_SOLID, STROKE_DASHED, STROKE_DOTTED, STROKE_LONG_DASHES, STROKES };

struct report_point {
  int32_t x, y;
};

/* In whole pixels from the mark's origin; a positive height stands on the base line, a negative one hangs from it. */
struct report_run {
  int32_t x, width, height;
};

struct report_mark {
  enum report_mark_kind kind;
  enum report_paint paint; /* from STYLE_ON_PAINT on: the paint that the text stands on */
  int32_t x, y;
  int32_t scale;         /* groups: millionths; 0: as large as it is */
  int32_t width, height; /* a line runs from (x, y) by (width, height) */
  enum report_anchor anchor;
  enum report_text_style style;
  enum report_stroke stroke; /* lines, curves and polylines */
  bool bold;                 /* the same: twice as wide */
  bool faint;                /* runs */
  const char *css;           /* groups: the class by which a page shows and hides it; or NULL */
  bool plate;                /* boxes: the first colour of a patterned paint alone, for a number to stand on */
  size_t run_first, run_count;
  size_t point_first,
      point_count; /* a curve: its start and three for each cubic Bezier; a polygon, a polyline: its corners */
  size_t text_first, text_length; /* what a text says; a group's view; what hovering over another mark tells */
};

struct report_scene {
  const char *name; /* letters only: makes the picture's ids unique in a page */
  int32_t width, height;
  int32_t shown_width, shown_height;    /* as how many pixels it is painted alone; 0: its own */
  struct lumos_text title, description; /* for readers who do not see the picture */
  struct lumos_text texts;
  LUMOS_VECTOR(struct report_mark) marks;
  LUMOS_VECTOR(struct report_run) runs;
  LUMOS_VECTOR(struct report_point) points;
};

void report_scene_begin(struct report_scene *scene, const char *name, int32_t width);
void report_scene_free(struct report_scene *scene);

void report_scene_box(struct report_scene *scene, enum report_paint paint, int32_t x, int32_t y, int32_t width,
                      int32_t height);
void report_scene_plate(struct report_scene *scene, enum report_paint paint, int32_t x, int32_t y, int32_t width,
                        int32_t height);
void report_scene_line(struct report_scene *scene, enum report_paint paint, int32_t x, int32_t y, int32_t width,
                       int32_t height, enum report_stroke stroke);
/* A curve through `count` points (1 + 3 n, n at least 1), with an arrow's head at its end. */
void report_scene_arrow(struct report_scene *scene, enum report_paint paint, enum report_stroke stroke, bool bold,
                        const struct report_point *points, size_t count);
/* From point to point, at least two. */
void report_scene_polyline(struct report_scene *scene, enum report_paint paint, enum report_stroke stroke, bool bold,
                           const struct report_point *points, size_t count);
void report_scene_text(struct report_scene *scene, enum report_text_style style, enum report_paint paint,
                       enum report_anchor anchor, int32_t x, int32_t y, const struct lumos_text *text);
/* A mark without runs; report_scene_run adds to it, before any other mark is added. */
void report_scene_runs(struct report_scene *scene, enum report_paint paint, bool faint);
void report_scene_run(struct report_scene *scene, struct report_run run);
void report_scene_group(struct report_scene *scene, int32_t x, int32_t y);
/* A group with a class, which a page shows when its reader wants it. */
void report_scene_optional_group(struct report_scene *scene, const char *css, int32_t x, int32_t y);
/* A group with a class that stands for a view of the timeline: an address's part such as "t=65ms-77ms&task=1:6835". */
void report_scene_view_group(struct report_scene *scene, const char *css, const struct lumos_text *view);
void report_scene_group_end(struct report_scene *scene);
/* A copy of another scene's marks, in a group at (x, y); scale: in millionths. */
enum { REPORT_WHOLE_SCALE = 1000000 };
void report_scene_include(struct report_scene *scene, const struct report_scene *other, int32_t x, int32_t y,
                          int32_t scale);

/* What hovering over the last mark tells. */
void report_scene_tooltip(struct report_scene *scene, const struct lumos_text *text);

#endif
