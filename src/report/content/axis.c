/* Drawing the axis of time, and the job's steps along it. */
#include "report/content/axis.h"

#include "report/draw/ticks.h"
#include "report/text/numbers.h"

enum {
  PLOT = 1030,      /* pixels */
  STEP_LABEL = 480, /* least distance of two steps' labels, and */
  STEP_LINE = 40,   /* of two steps' lines */
  TOP = REPORT_AXIS_TOP,
  /* At one pixel a column this many lanes stay below the budget of 3 MB, whatever they hold. */
  FINE_LANES = 70,
};

int32_t report_axis_pixels(const struct report_timelines *timelines) {
  size_t lanes = timelines->open.count + timelines->folded.count;
  return lanes <= FINE_LANES ? 1 : lanes <= 2 * FINE_LANES ? 2 : 4;
}

void report_axis_raster(const struct report_axis *axis, struct report_raster *raster) {
  report_raster_begin(raster, axis->timelines->from, axis->timelines->until, PLOT / axis->pixels);
}

void report_axis_read(const struct report_timelines *timelines, struct report_axis *axis) {
  struct report_raster raster;
  *axis = (struct report_axis){.timelines = timelines, .pixels = report_axis_pixels(timelines)};
  report_raster_scale(&raster, timelines->from, timelines->until, PLOT / axis->pixels);
  axis->from = raster.from;
  axis->per_column = raster.per_column;
  axis->columns = raster.count;
}

int32_t report_axis_place(const struct report_axis *axis, int64_t time) {
  int64_t last = axis->from + axis->per_column * axis->columns;
  int64_t offset = (time < axis->from ? axis->from : time > last ? last : time) - axis->from;
  int64_t column = offset / axis->per_column;
  int64_t within = offset % axis->per_column;
  int64_t tenths = column * REPORT_PIXEL;
  tenths += axis->per_column >= REPORT_PIXEL ? within / (axis->per_column / REPORT_PIXEL)
                                             : within * REPORT_PIXEL / axis->per_column;
  return REPORT_AXIS_LEFT + (int32_t)tenths * axis->pixels;
}

void report_axis_ticks(const struct report_axis *axis, struct report_scene *scene, int32_t bottom) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int64_t span = axis->per_column * axis->columns;
  int64_t distance = report_tick_distance(span);
  int64_t origin = report_timelines_origin(axis->timelines);
  int64_t first = axis->from - origin;
  int64_t tick = first / distance + (first % distance > 0);
  for (; origin + tick * distance <= axis->from + span; tick++) {
    int32_t x = report_axis_place(axis, origin + tick * distance);
    report_scene_line(scene, PAINT_RULE, x, TOP - 60, 0, bottom - TOP + 60, STROKE_SOLID);
    text.length = 0;
    report_put_tick(&text, tick * distance, distance);
    enum report_anchor anchor = x > REPORT_AXIS_WIDTH - 250 ? ANCHOR_END : ANCHOR_MIDDLE;
    report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, anchor, x, TOP - 100, &text);
    report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, anchor, x, bottom + 140, &text);
  }
  lumos_text_free(&text);
}

/* Past the name of the step and down the plot; the numbers of the axis between them stay free. */
static void draw_border(struct report_scene *scene, int32_t x, int32_t bottom) {
  enum { NAME = 60, NUMBERS = TOP - 200, DOWN = TOP - 60 };
  report_scene_line(scene, PAINT_STEP, x, NAME, 0, NUMBERS - NAME, STROKE_DASHED);
  report_scene_line(scene, PAINT_STEP, x, DOWN, 0, bottom - DOWN, STROKE_DASHED);
}

void report_axis_steps(const struct report_axis *axis, struct report_scene *scene, int32_t bottom) {
  const struct report_boundaries *steps = &axis->timelines->steps;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int32_t last_label = -STEP_LABEL;
  int32_t last_line = -STEP_LINE;
  for (size_t i = 0; i < steps->count; i++) {
    int32_t start = report_axis_place(axis, steps->items[i].start);
    int32_t end = report_axis_place(axis, steps->items[i].end);
    if (i == 0) {
      draw_border(scene, start, bottom);
    }
    if (end - last_line >= STEP_LINE) {
      draw_border(scene, end, bottom);
      last_line = end;
    }
    if (start - last_label >= STEP_LABEL && end - start >= STEP_LABEL) {
      text.length = 0;
      lumos_text_format(&text, "step %d", steps->items[i].step);
      report_scene_text(scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, start + 60, 140, &text);
      last_label = start;
    }
  }
  lumos_text_free(&text);
}
