/* Drawing memory on an axis of time: allocated as an area, reserved as a line over it. */
#include "report/content/allocated.h"
#include "report/content/axis.h"
#include "report/text/numbers.h"

/* Tenths of a pixel. */
enum { TOP = REPORT_AXIS_TOP, HEIGHT = 1600, BOTTOM = TOP + HEIGHT, LABEL = REPORT_AXIS_LEFT - 90 };

void report_allocated_paints(const struct report_allocated *allocated, bool shown[PAINT_COUNT]) {
  shown[PAINT_ALLOCATED] |= allocated->bins.count > 0;
  shown[PAINT_RESERVED] |= allocated->bins.count > 0 && allocated->reserved != LUMOS_ABSENT;
}

/* The picture while it is drawn. */
struct canvas {
  const struct report_allocated *allocated;
  struct report_scene *scene;
  struct report_axis axis;
  struct lumos_text text;
  int64_t quarter; /* bytes from one rule to the next */
};

/* A round number of bytes, so that four of them hold all. */
static int64_t quarter_of(const struct report_allocated *allocated) {
  static const int64_t tenths[] = {10, 15, 20, 25, 30, 40, 50, 75};
  int64_t most = allocated->reserved > allocated->peak ? allocated->reserved : allocated->peak;
  int64_t decade = 1;
  int64_t quarter = 1;
  for (size_t i = 0; quarter < (most + 3) / 4; i++) {
    decade *= i > 0 && i % 8 == 0 ? 10 : 1;
    quarter = decade * tenths[i % 8];
  }
  return quarter;
}

static void draw_rules(struct canvas *canvas) {
  int32_t width = canvas->axis.columns * canvas->axis.pixels * REPORT_PIXEL;
  for (int32_t rule = 0; rule <= 4; rule++) {
    int32_t y = BOTTOM - rule * HEIGHT / 4;
    report_scene_line(canvas->scene, PAINT_RULE, REPORT_AXIS_LEFT, y, width, 0, STROKE_SOLID);
    canvas->text.length = 0;
    if (rule == 0) {
      lumos_text_char(&canvas->text, '0');
    } else {
      report_put_bytes(&canvas->text, rule * canvas->quarter);
    }
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, LABEL, y + 40, &canvas->text);
  }
}

/* "allocated: 10.4 GB at most" */
static void add_tooltip(struct canvas *canvas, enum report_paint paint, int64_t most) {
  canvas->text.length = 0;
  lumos_text_format(&canvas->text, "%s: ", report_paint_row(paint)->label);
  report_put_bytes(&canvas->text, most);
  lumos_text_put(&canvas->text, " at most");
  report_scene_tooltip(canvas->scene, &canvas->text);
}

static int32_t place_of(const struct canvas *canvas, size_t bin) {
  return report_axis_place(&canvas->axis, canvas->allocated->from + (int64_t)bin * canvas->allocated->width);
}

static int32_t height_of(const struct canvas *canvas, int64_t bytes) {
  return bytes <= 0 ? 0 : (int32_t)((__int128)bytes * HEIGHT / (4 * (__int128)canvas->quarter));
}

static void draw_area(struct canvas *canvas) {
  report_scene_group(canvas->scene, REPORT_AXIS_LEFT, BOTTOM);
  report_scene_runs(canvas->scene, PAINT_ALLOCATED, true);
  add_tooltip(canvas, PAINT_ALLOCATED, canvas->allocated->peak);
  for (size_t i = 0; i < canvas->allocated->bins.count; i++) {
    int32_t left = (place_of(canvas, i) - REPORT_AXIS_LEFT) / REPORT_PIXEL;
    int32_t right = (place_of(canvas, i + 1) - REPORT_AXIS_LEFT) / REPORT_PIXEL;
    int32_t height = (height_of(canvas, canvas->allocated->bins.items[i].allocated) + REPORT_PIXEL / 2) / REPORT_PIXEL;
    if (right > left && height > 0) {
      report_scene_run(canvas->scene, (struct report_run){left, right - left, height});
    }
  }
  report_scene_group_end(canvas->scene);
}

/* A stair of the bins; neighbours alike are one. */
static void draw_reserved(struct canvas *canvas) {
  struct report_point points[2 * REPORT_ALLOCATED_BINS];
  size_t count = 0;
  for (size_t i = 0; i < canvas->allocated->bins.count; i++) {
    int64_t reserved = canvas->allocated->bins.items[i].reserved;
    if (reserved == LUMOS_ABSENT) {
      continue;
    }
    struct report_point end = {place_of(canvas, i + 1), BOTTOM - height_of(canvas, reserved)};
    if (count > 0 && points[count - 1].y == end.y) {
      points[count - 1].x = end.x;
    } else {
      points[count++] = (struct report_point){place_of(canvas, i), end.y};
      points[count++] = end;
    }
  }
  if (count > 0) {
    report_scene_polyline(canvas->scene, PAINT_RESERVED, STROKE_SOLID, false, points, count);
    add_tooltip(canvas, PAINT_RESERVED, canvas->allocated->reserved);
  }
}

bool report_allocated_scene(const struct report_allocated *allocated, struct report_scene *scene) {
  if (allocated->bins.count == 0) {
    return false;
  }
  report_scene_begin(scene, "memory", REPORT_AXIS_WIDTH);
  struct canvas canvas = {
      .allocated = allocated, .scene = scene, .text = LUMOS_TEXT_BUFFER, .quarter = quarter_of(allocated)};
  struct report_timelines own = *allocated->timelines; /* as far as an axis looks at it */
  own.from = allocated->from;
  own.until = allocated->until;
  report_axis_read(&own, &canvas.axis);
  draw_rules(&canvas);
  report_axis_ticks(&canvas.axis, scene, BOTTOM);
  draw_area(&canvas);
  draw_reserved(&canvas);
  own.steps = allocated->steps;
  report_axis_steps(&canvas.axis, scene, BOTTOM);
  scene->height = BOTTOM + REPORT_AXIS_BOTTOM;
  lumos_text_put(&scene->title, "How much memory a GPU has allocated over time");
  lumos_text_put(&scene->description,
                 "Bytes over the time of the steps: allocated filled, reserved as a line. The table below the picture "
                 "has the same numbers.");
  lumos_text_free(&canvas.text);
  return true;
}
