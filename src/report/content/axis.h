/* The axis of time, from left to right: pictures that have it can be read one under the other. */
#ifndef LUMOS_REPORT_AXIS_H
#define LUMOS_REPORT_AXIS_H

#include "report/content/timeline.h"
#include "report/draw/raster.h"
#include "report/draw/scene.h"

/* Of a scene, in tenths of a pixel. */
enum {
  REPORT_AXIS_WIDTH = 11800,
  REPORT_AXIS_LEFT = 1500, /* where the plot begins, after the names of what is plotted */
  REPORT_AXIS_TOP = 420,   /* steps and time, above the plot */
  REPORT_AXIS_BOTTOM = 220 /* time, below it */
};

struct report_axis {
  const struct report_timelines *timelines;
  int64_t from, per_column; /* ns */
  int32_t columns, pixels;  /* how many, and of each */
};

void report_axis_read(const struct report_timelines *timelines, struct report_axis *axis);
/* With the axis' columns. */
void report_axis_raster(const struct report_axis *axis, struct report_raster *raster);
/* How many pixels of the picture a column is wide. */
int32_t report_axis_pixels(const struct report_timelines *timelines);
/* Where an instant stands, in tenths of a pixel from the scene's left edge; at the plot's edge when it is outside. */
int32_t report_axis_place(const struct report_axis *axis, int64_t time);
/* The plot goes down to `bottom`. */
void report_axis_ticks(const struct report_axis *axis, struct report_scene *scene, int32_t bottom);
void report_axis_steps(const struct report_axis *axis, struct report_scene *scene, int32_t bottom);

#endif
