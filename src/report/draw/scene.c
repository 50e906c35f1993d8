/* Building a scene: marks are appended in painting order. */
#include "report/draw/scene.h"

#include <math.h>

void report_scene_begin(struct report_scene *scene, const char *name, int32_t width) {
  *scene = (struct report_scene){.name = name, .width = width};
  scene->title = LUMOS_TEXT_BUFFER;
  scene->description = LUMOS_TEXT_BUFFER;
  scene->texts = LUMOS_TEXT_BUFFER;
}

void report_scene_free(struct report_scene *scene) {
  lumos_text_free(&scene->title);
  lumos_text_free(&scene->description);
  lumos_text_free(&scene->texts);
  lumos_vector_free(&scene->marks);
  lumos_vector_free(&scene->runs);
  lumos_vector_free(&scene->points);
}

static struct report_mark *last_mark(struct report_scene *scene) { return &scene->marks.items[scene->marks.count - 1]; }

void report_scene_box(struct report_scene *scene, enum report_paint paint, int32_t x, int32_t y, int32_t width,
                      int32_t height) {
  struct report_mark mark = {.kind = MARK_BOX, .paint = paint, .x = x, .y = y, .width = width, .height = height};
  lumos_vector_push(&scene->marks, mark);
}

void report_scene_plate(struct report_scene *scene, enum report_paint paint, int32_t x, int32_t y, int32_t width,
                        int32_t height) {
  report_scene_box(scene, paint, x, y, width, height);
  last_mark(scene)->plate = true;
}

void report_scene_line(struct report_scene *scene, enum report_paint paint, int32_t x, int32_t y, int32_t width,
                       int32_t height, enum report_stroke stroke) {
  report_scene_box(scene, paint, x, y, width, height);
  last_mark(scene)->kind = MARK_LINE;
  last_mark(scene)->stroke = stroke;
}

static void add_points(struct report_scene *scene, enum report_mark_kind kind, enum report_paint paint,
                       const struct report_point *points, size_t count) {
  struct report_mark mark = {.kind = kind, .paint = paint, .point_first = scene->points.count, .point_count = count};
  for (size_t i = 0; i < count; i++) {
    lumos_vector_push(&scene->points, points[i]);
  }
  lumos_vector_push(&scene->marks, mark);
}

/* The head points the way the curve arrives: from its last control point, or the one before where they fall
 * together. */
static void add_head(struct report_scene *scene, enum report_paint paint, const struct report_point *points,
                     size_t count) {
  enum { LENGTH = 70, HALF_WIDTH = 28 };
  struct report_point tip = points[count - 1];
  double dx = 0, dy = 0, distance = 0;
  for (size_t i = count - 1; i > 0 && distance < 1; i--) {
    dx = tip.x - points[i - 1].x;
    dy = tip.y - points[i - 1].y;
    distance = sqrt(dx * dx + dy * dy);
  }
  if (distance < 1) {
    return;
  }
  dx /= distance;
  dy /= distance;
  struct report_point corners[] = {
      tip,
      {tip.x - (int32_t)lround(LENGTH * dx + HALF_WIDTH * dy), tip.y - (int32_t)lround(LENGTH * dy - HALF_WIDTH * dx)},
      {tip.x - (int32_t)lround(LENGTH * dx - HALF_WIDTH * dy), tip.y - (int32_t)lround(LENGTH * dy + HALF_WIDTH * dx)}};
  add_points(scene, MARK_POLYGON, paint, corners, sizeof corners / sizeof corners[0]);
}

void report_scene_arrow(struct report_scene *scene, enum report_paint paint, enum report_stroke stroke, bool bold,
                        const struct report_point *points, size_t count) {
  add_points(scene, MARK_CURVE, paint, points, count);
  last_mark(scene)->stroke = stroke;
  last_mark(scene)->bold = bold;
  add_head(scene, paint, points, count);
}

void report_scene_polyline(struct report_scene *scene, enum report_paint paint, enum report_stroke stroke, bool bold,
                           const struct report_point *points, size_t count) {
  add_points(scene, MARK_POLYLINE, paint, points, count);
  last_mark(scene)->stroke = stroke;
  last_mark(scene)->bold = bold;
}

void report_scene_text(struct report_scene *scene, enum report_text_style style, enum report_paint paint,
                       enum report_anchor anchor, int32_t x, int32_t y, const struct lumos_text *text) {
  report_scene_box(scene, paint, x, y, 0, 0);
  struct report_mark *mark = last_mark(scene);
  mark->kind = MARK_TEXT;
  mark->style = style;
  mark->anchor = anchor;
  report_scene_tooltip(scene, text);
}

void report_scene_runs(struct report_scene *scene, enum report_paint paint, bool faint) {
  struct report_mark mark = {.kind = MARK_RUNS, .paint = paint, .faint = faint, .run_first = scene->runs.count};
  lumos_vector_push(&scene->marks, mark);
}

void report_scene_run(struct report_scene *scene, struct report_run run) {
  lumos_vector_push(&scene->runs, run);
  last_mark(scene)->run_count++;
}

void report_scene_group(struct report_scene *scene, int32_t x, int32_t y) {
  struct report_mark mark = {.kind = MARK_GROUP, .x = x, .y = y};
  lumos_vector_push(&scene->marks, mark);
}

void report_scene_optional_group(struct report_scene *scene, const char *css, int32_t x, int32_t y) {
  report_scene_group(scene, x, y);
  last_mark(scene)->css = css;
}

void report_scene_view_group(struct report_scene *scene, const char *css, const struct lumos_text *view) {
  report_scene_optional_group(scene, css, 0, 0);
  report_scene_tooltip(scene, view);
}

void report_scene_group_end(struct report_scene *scene) {
  struct report_mark mark = {.kind = MARK_GROUP_END};
  lumos_vector_push(&scene->marks, mark);
}

void report_scene_include(struct report_scene *scene, const struct report_scene *other, int32_t x, int32_t y,
                          int32_t scale) {
  size_t runs = scene->runs.count;
  size_t points = scene->points.count;
  size_t texts = scene->texts.length;
  report_scene_group(scene, x, y);
  last_mark(scene)->scale = scale == REPORT_WHOLE_SCALE ? 0 : scale;
  for (size_t i = 0; i < other->marks.count; i++) {
    struct report_mark mark = other->marks.items[i];
    mark.run_first += runs;
    mark.point_first += points;
    mark.text_first += texts;
    lumos_vector_push(&scene->marks, mark);
  }
  for (size_t i = 0; i < other->runs.count; i++) {
    lumos_vector_push(&scene->runs, other->runs.items[i]);
  }
  for (size_t i = 0; i < other->points.count; i++) {
    lumos_vector_push(&scene->points, other->points.items[i]);
  }
  lumos_text_add(&scene->texts, other->texts.bytes, other->texts.length);
  report_scene_group_end(scene);
}

void report_scene_tooltip(struct report_scene *scene, const struct lumos_text *text) {
  struct report_mark *mark = last_mark(scene);
  mark->text_first = scene->texts.length;
  mark->text_length = text->length;
  lumos_text_add(&scene->texts, text->bytes, text->length);
}
