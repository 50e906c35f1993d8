/* Stacked bars of time on one scale, so that they compare by length: the breakdown, the critical path, what idle
 * time is for. The parts of a bar add up to its whole. */
#ifndef LUMOS_REPORT_STACK_H
#define LUMOS_REPORT_STACK_H

#include "report/draw/scene.h"

struct report_stack_part {
  enum report_paint paint;
  const char *label;
  int64_t time, share; /* of the whole, in millionths; a part without time is not drawn */
};

struct report_stack_bar {
  const char *kind; /* "measured"; "": there is one kind only */
  bool muted;       /* its whole is of less weight than another bar's */
  bool named;       /* its parts have their labels written on them where there is room */
  int64_t whole;
  const struct report_stack_part *parts;
  size_t part_count;
};

/* How a picture is laid out, in tenths of a pixel. */
struct report_stack_shape {
  int32_t width;
  int32_t labels, figures; /* room before the bars, and for the whole behind the longest */
  int32_t head;            /* room above each bar, where names and times stand when there is none beside it */
};
extern const struct report_stack_shape report_stack_wide, report_stack_narrow; /* of a page, and of a telephone */

/* A picture while it is drawn. */
struct report_stack {
  struct report_scene *scene;
  const struct report_stack_shape *shape;
  int64_t longest; /* the time that fills the width */
  int32_t y;
};

struct report_stack report_stack_begin(struct report_scene *scene, const struct report_stack_shape *shape,
                                       int64_t longest);
/* `name` is the row's; it is emptied, so that the next bar of the row has none. */
void report_stack_add(struct report_stack *stack, const struct report_stack_bar *bar, struct lumos_text *name);
/* After a row's last bar. */
void report_stack_end_row(struct report_stack *stack);

#endif
