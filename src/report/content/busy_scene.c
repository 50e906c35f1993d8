/* Drawing how busy GPUs are, on the axis of the timeline: measured as an area, simulated as a line over it. */
#include "report/content/axis.h"
#include "report/content/busy.h"
#include "report/text/numbers.h"

/* Tenths of a pixel. */
enum { TOP = REPORT_AXIS_TOP, HEIGHT = 1600, BOTTOM = TOP + HEIGHT, LABEL = REPORT_AXIS_LEFT - 90 };

#define MILLION 1000000

static const enum report_paint paints[TIMELINES][BUSY_MEASURES] = {{PAINT_BUSY_MEASURED, PAINT_OCCUPIED_MEASURED},
                                                                   {PAINT_BUSY_SIMULATED, PAINT_OCCUPIED_SIMULATED}};

static bool is_drawn(const struct report_busy *busy, enum report_timeline timeline) {
  return busy->both || timeline == busy->spoken;
}

void report_busy_paints(const struct report_busy *busy, bool shown[PAINT_COUNT]) {
  for (int timeline = 0; timeline < TIMELINES && busy->bins.count > 0; timeline++) {
    for (int measure = 0; measure < BUSY_MEASURES; measure++) {
      shown[paints[timeline][measure]] |=
          is_drawn(busy, (enum report_timeline)timeline) && busy->mean.of[timeline][measure] != LUMOS_ABSENT;
    }
  }
}

/* The picture while it is drawn. */
struct canvas {
  const struct report_busy *busy;
  struct report_scene *scene;
  struct report_axis axis;
  struct lumos_text text;
};

/* Lines at quarters, with their shares. */
static void draw_quarters(struct canvas *canvas) {
  int32_t width = canvas->axis.columns * canvas->axis.pixels * REPORT_PIXEL;
  for (int32_t quarter = 0; quarter <= 4; quarter++) {
    int32_t y = BOTTOM - quarter * HEIGHT / 4;
    report_scene_line(canvas->scene, PAINT_RULE, REPORT_AXIS_LEFT, y, width, 0, STROKE_SOLID);
    canvas->text.length = 0;
    lumos_text_format(&canvas->text, "%d\xC2\xA0%%", quarter * 25);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, LABEL, y + 40, &canvas->text);
  }
}

/* "busy, simulated: 83.6 % on average" */
static void add_tooltip(struct canvas *canvas, enum report_timeline timeline, enum report_busy_measure measure) {
  canvas->text.length = 0;
  lumos_text_format(&canvas->text, "%s: ", report_paint_row(paints[timeline][measure])->label);
  report_put_share(&canvas->text, canvas->busy->mean.of[timeline][measure]);
  lumos_text_put(&canvas->text, " on average");
  report_scene_tooltip(canvas->scene, &canvas->text);
}

/* Where a bin begins, or the timeline ends. */
static int32_t place_of(const struct canvas *canvas, enum report_timeline timeline, size_t bin) {
  const struct report_busy *busy = canvas->busy;
  int64_t time = busy->from + (int64_t)bin * busy->width;
  return report_axis_place(&canvas->axis, time < busy->until[timeline] ? time : busy->until[timeline]);
}

static int32_t height_of(int64_t share) { return (int32_t)(share * HEIGHT / MILLION); }

static void draw_area(struct canvas *canvas) {
  if (canvas->busy->until[MEASURED] == LUMOS_ABSENT || !is_drawn(canvas->busy, MEASURED)) {
    return;
  }
  report_scene_group(canvas->scene, REPORT_AXIS_LEFT, BOTTOM);
  report_scene_runs(canvas->scene, paints[MEASURED][BUSY_TIME], true);
  add_tooltip(canvas, MEASURED, BUSY_TIME);
  for (size_t i = 0; i < canvas->busy->bins.count; i++) {
    int64_t share = canvas->busy->bins.items[i].of[MEASURED][BUSY_TIME];
    int32_t left = (place_of(canvas, MEASURED, i) - REPORT_AXIS_LEFT) / REPORT_PIXEL;
    int32_t right = (place_of(canvas, MEASURED, i + 1) - REPORT_AXIS_LEFT) / REPORT_PIXEL;
    int32_t height = (height_of(share == LUMOS_ABSENT ? 0 : share) + REPORT_PIXEL / 2) / REPORT_PIXEL;
    if (right > left && height > 0) {
      report_scene_run(canvas->scene, (struct report_run){left, right - left, height});
    }
  }
  report_scene_group_end(canvas->scene);
}

/* A stair of the bins; neighbours alike are one. What is measured is wide, so that it is seen beneath a simulated line
 * that agrees. */
static void draw_line(struct canvas *canvas, enum report_timeline timeline, enum report_busy_measure measure) {
  struct report_point points[2 * REPORT_BUSY_BINS];
  size_t count = 0;
  for (size_t i = 0; i < canvas->busy->bins.count && is_drawn(canvas->busy, timeline); i++) {
    int64_t share = canvas->busy->bins.items[i].of[timeline][measure];
    if (share == LUMOS_ABSENT) {
      break;
    }
    struct report_point end = {place_of(canvas, timeline, i + 1), BOTTOM - height_of(share)};
    if (count > 0 && points[count - 1].y == end.y) {
      points[count - 1].x = end.x;
    } else {
      points[count++] = (struct report_point){place_of(canvas, timeline, i), end.y};
      points[count++] = end;
    }
  }
  if (count > 0) {
    report_scene_polyline(canvas->scene, paints[timeline][measure], STROKE_SOLID, timeline == MEASURED, points, count);
    add_tooltip(canvas, timeline, measure);
  }
}

bool report_busy_scene(const struct report_busy *busy, struct report_scene *scene) {
  if (busy->bins.count == 0) {
    return false;
  }
  report_scene_begin(scene, "busy", REPORT_AXIS_WIDTH);
  struct canvas canvas = {.busy = busy, .scene = scene, .text = LUMOS_TEXT_BUFFER};
  report_axis_read(busy->timelines, &canvas.axis);
  draw_quarters(&canvas);
  report_axis_ticks(&canvas.axis, scene, BOTTOM);
  draw_area(&canvas);
  draw_line(&canvas, MEASURED, BUSY_OCCUPANCY);
  draw_line(&canvas, SIMULATED, BUSY_OCCUPANCY);
  draw_line(&canvas, SIMULATED, BUSY_TIME);
  report_axis_steps(&canvas.axis, scene, BOTTOM);
  scene->height = BOTTOM + REPORT_AXIS_BOTTOM;
  lumos_text_put(&scene->title, "How busy GPUs are over time");
  lumos_text_put(&scene->description,
                 "From 0 to 100 % over the time of the steps: filled as measured, a line as simulated. The table below "
                 "the picture has the same numbers.");
  lumos_text_free(&canvas.text);
  return true;
}
