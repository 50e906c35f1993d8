/* Time goes to the right, a night a step; missing nights take as much room, up to a limit. */
#include "history/scenes.h"

#include "history/words.h"
#include "report/draw/look.h"
#include "report/text/names.h"
#include <math.h>
#include <string.h>

enum {
  WIDEST_GAP = 7,
  MOST_POINTS = 120,
  LONGEST_NAME = 40
}; /* nights; nights with a point and a tooltip each; bytes */

/* Tenths of a pixel. */
enum { WIDTH = 3900, HEIGHT = 1300, LEFT = 60, RIGHT = 760, TOP = 110, BOTTOM = 270, POINT = 22, MARK = 40 };
enum { SPARK_WIDTH = 1500, SPARK_HEIGHT = 280, SPARK_EDGE = 50 };

/* Of each night of the job, and of the gaps between them, where they stand. */
struct axis {
  const struct history_job *job;
  int32_t left, width;
  int64_t steps;
  double *places; /* of slots, from 0 to steps */
};

static int64_t steps_of(const struct history_slot *slot) {
  return slot->night != HISTORY_MISSING ? 1 : slot->missing < WIDEST_GAP ? slot->missing : WIDEST_GAP;
}

static struct axis axis_of(const struct history_job *job, int32_t left, int32_t width) {
  struct axis axis = {.job = job, .left = left, .width = width};
  axis.places = lumos_allocate((job->slots.count + 1) * sizeof *axis.places);
  for (size_t i = 0; i < job->slots.count; i++) {
    axis.places[i] = (double)axis.steps;
    axis.steps += steps_of(&job->slots.items[i]);
  }
  axis.places[job->slots.count] = (double)axis.steps;
  return axis;
}

static int32_t along(const struct axis *axis, double place) {
  return axis->left + (int32_t)lround(place / (double)axis->steps * axis->width);
}

static int32_t middle_of(const struct axis *axis, size_t slot) { return along(axis, axis->places[slot] + 0.5); }

static size_t slot_of(const struct history_job *job, size_t night) {
  size_t slot = night; /* gaps put it further on */
  while (job->slots.items[slot].night != night) {
    slot++;
  }
  return slot;
}

static void put_name(struct lumos_text *out, const struct history_night *night) {
  report_put_cut(out, night->name, strlen(night->name), LONGEST_NAME);
}

/* ---- One series ---- */

struct trend {
  struct axis axis;
  const struct history_trend *of;
  enum history_series series;
  struct report_scene *scene;
  int32_t top, height;
};

/* The values' room has a tenth of them above and below; of one value alone it is in the middle. */
static int32_t up(const struct trend *trend, double value) {
  double span = trend->of->most - trend->of->least;
  double share = span > 0 ? (value - trend->of->least) / span : 0.5;
  return trend->top + (int32_t)lround((1 - share) * trend->height);
}

enum line { LINE_VALUES, LINE_LIMITS };

static double value_at(const struct trend *trend, enum line line, size_t slot) {
  size_t night = trend->axis.job->slots.items[slot].night;
  const struct history_night *of = night == HISTORY_MISSING ? NULL : &trend->axis.job->nights[night];
  return of == NULL ? NAN : line == LINE_VALUES ? of->values[trend->series] : of->limits[trend->series];
}

/* Does the last point lie between two of its height? */
static bool is_level(const struct report_point *points, size_t count, int32_t y) {
  return count > 1 && points[count - 1].y == y && points[count - 2].y == y;
}

/* From night to night, and not over those in which nothing is known. */
static void draw_line(const struct trend *trend, enum line line, enum report_paint paint, enum report_stroke stroke) {
  LUMOS_VECTOR(struct report_point) points = {0};
  size_t slots = trend->axis.job->slots.count;
  for (size_t i = 0; i <= slots; i++) {
    double value = i < slots ? value_at(trend, line, i) : NAN;
    if (!isnan(value)) {
      struct report_point point = {middle_of(&trend->axis, i), up(trend, value)};
      points.count -= is_level(points.items, points.count, point.y);
      lumos_vector_push(&points, point);
      continue;
    }
    if (points.count > 1) {
      report_scene_polyline(trend->scene, paint, stroke, line == LINE_VALUES, points.items, points.count);
    } else if (points.count == 1 && line == LINE_VALUES) {
      report_scene_box(trend->scene, paint, points.items[0].x - POINT / 2, points.items[0].y - POINT / 2, POINT, POINT);
    }
    points.count = 0;
  }
  lumos_vector_free(&points);
}

/* Means from change to change, and where each change may have begun. */
static void draw_changes(const struct trend *trend) {
  const struct history_job *job = trend->axis.job;
  const struct history_changes *changes = &trend->of->changes;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < changes->count; i++) {
    const struct history_change *change = &changes->items[i];
    int32_t from = along(&trend->axis, trend->axis.places[slot_of(job, change->first)]);
    int32_t until = along(&trend->axis, trend->axis.places[slot_of(job, change->last)] + 1);
    report_scene_box(trend->scene, PAINT_TRACK, from, trend->top - TOP / 2, until - from, trend->height + TOP);
    history_put_change(&text, job, trend->series, change);
    report_scene_tooltip(trend->scene, &text);
    text.length = 0;
  }
  for (size_t i = 0; changes->count > 0 && i <= changes->count; i++) {
    size_t first = i == 0 ? 0 : changes->items[i - 1].at;
    int32_t from = along(&trend->axis, trend->axis.places[slot_of(job, first)]);
    int32_t until = i < changes->count ? along(&trend->axis, trend->axis.places[slot_of(job, changes->items[i].at)])
                                       : trend->axis.left + trend->axis.width;
    double mean = i == 0 ? changes->items[0].before : changes->items[i - 1].after;
    report_scene_line(trend->scene, PAINT_MUTED, from, up(trend, mean), until - from, 0, STROKE_SOLID);
  }
  lumos_text_free(&text);
}

static bool is_regressed(const struct history_night *night) {
  return night->has_gate && night->gate == LUMOS_GATE_REGRESSION;
}

/* Each night where there are few enough, and all in which the gate found this series worse. */
static void draw_points(const struct trend *trend) {
  const struct history_job *job = trend->axis.job;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < job->slots.count; i++) {
    double value = value_at(trend, LINE_VALUES, i), limit = value_at(trend, LINE_LIMITS, i);
    bool worse = is_regressed(&job->nights[isnan(value) ? 0 : job->slots.items[i].night]) && !isnan(limit) &&
                 (history_lower_is_worse(trend->series) ? value < limit : value > limit);
    if (isnan(value) || (!job->detailed && !worse)) {
      continue;
    }
    int32_t half = worse && job->detailed ? MARK : POINT, x = middle_of(&trend->axis, i), y = up(trend, value);
    if (worse) {
      report_scene_optional_group(trend->scene, "regressed", 0, 0);
    }
    report_scene_box(trend->scene, PAINT_COMPUTE, x - half, y - half, 2 * half, 2 * half);
    text.length = 0;
    put_name(&text, &job->nights[job->slots.items[i].night]);
    lumos_text_put(&text, ": ");
    history_put_value(&text, trend->series, value);
    lumos_text_put(&text, worse ? ", a regression" : "");
    report_scene_tooltip(trend->scene, &text);
    if (worse) {
      report_scene_group_end(trend->scene);
    }
  }
  lumos_text_free(&text);
}

static void draw_text(const struct trend *trend, enum report_text_style style, enum report_paint paint,
                      enum report_anchor anchor, int32_t x, int32_t y, struct lumos_text *text) {
  report_scene_text(trend->scene, style, paint, anchor, x, y, text);
  text->length = 0;
}

/* The extremes and the last value on the right, the first and last night below. */
static void draw_labels(const struct trend *trend) {
  enum { LETTERS = 40, APART = 150 };
  const struct history_job *job = trend->axis.job;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int32_t right = trend->axis.left + trend->axis.width + 60, bottom = trend->top + trend->height + 200;
  size_t last = job->count;
  while (isnan(job->nights[last - 1].values[trend->series])) {
    last--;
  }
  double value = job->nights[last - 1].values[trend->series];
  int32_t y = up(trend, value);
  history_put_value(&text, trend->series, value);
  draw_text(trend, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, right, y + LETTERS, &text);
  const double ends[] = {trend->of->most, trend->of->least};
  for (int i = 0; i < 2; i++) {
    int32_t at = up(trend, ends[i]);
    if (at - y >= APART || y - at >= APART) {
      history_put_value(&text, trend->series, ends[i]);
      draw_text(trend, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, right, at + LETTERS, &text);
    }
  }
  report_scene_line(trend->scene, PAINT_RULE, trend->axis.left, bottom - 140, trend->axis.width, 0, STROKE_SOLID);
  put_name(&text, &job->nights[0]);
  draw_text(trend, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, trend->axis.left, bottom, &text);
  if (job->count > 1) {
    put_name(&text, &job->nights[job->count - 1]);
    draw_text(trend, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, trend->axis.left + trend->axis.width, bottom, &text);
  }
  lumos_text_free(&text);
}

bool history_draw_trend(const struct history_job *job, enum history_series series, const char *name,
                        struct report_scene *scene) {
  struct trend trend = {.of = &job->trends[series], .series = series, .scene = scene};
  report_scene_begin(scene, name, WIDTH);
  if (trend.of->known == 0) {
    return false;
  }
  scene->height = HEIGHT;
  trend.axis = axis_of(job, LEFT, WIDTH - LEFT - RIGHT);
  trend.top = TOP;
  trend.height = HEIGHT - TOP - BOTTOM;
  draw_changes(&trend);
  draw_line(&trend, LINE_LIMITS, PAINT_MUTED, STROKE_DASHED);
  draw_line(&trend, LINE_VALUES, PAINT_COMPUTE, STROKE_SOLID);
  draw_points(&trend);
  draw_labels(&trend);
  free(trend.axis.places);
  lumos_text_format(&scene->title, "%s by night", history_series_words(series));
  lumos_text_put(&scene->description, "A line from night to night; the table of nights holds the numbers.");
  return true;
}

bool history_draw_spark(const struct history_job *job, enum history_series series, const char *name,
                        struct report_scene *scene) {
  struct trend trend = {.of = &job->trends[series], .series = series, .scene = scene};
  report_scene_begin(scene, name, SPARK_WIDTH);
  if (trend.of->known == 0) {
    return false;
  }
  scene->height = SPARK_HEIGHT;
  trend.axis = axis_of(job, SPARK_EDGE, SPARK_WIDTH - 2 * SPARK_EDGE);
  trend.top = SPARK_EDGE;
  trend.height = SPARK_HEIGHT - 2 * SPARK_EDGE;
  draw_line(&trend, LINE_LIMITS, PAINT_MUTED, STROKE_DASHED);
  draw_line(&trend, LINE_VALUES, PAINT_COMPUTE, STROKE_SOLID);
  free(trend.axis.places);
  lumos_text_format(&scene->title, "%s by night", history_series_words(series));
  return true;
}

/* ---- Nights ---- */

enum { STRIP_HEIGHT = 1300, STRIP_TOP = 110, ROW = 240, ROW_GAP = 190, FLOOR = 60 };

enum fate { FATE_REPORT, FATE_REGRESSED, FATE_FAILED_AGAIN, FATE_BROKEN, FATE_MISSING };

static enum fate fate_of(const struct history_job *job, size_t slot) {
  size_t night = job->slots.items[slot].night;
  return night == HISTORY_MISSING                   ? FATE_MISSING
         : job->nights[night].state != HISTORY_GOOD ? FATE_BROKEN
         : is_regressed(&job->nights[night])        ? FATE_REGRESSED
         : job->nights[night].failed_again          ? FATE_FAILED_AGAIN
                                                    : FATE_REPORT;
}

/* How high the confidence stands: 0 where there is none. */
static int confidence_of(const struct history_job *job, size_t slot) {
  size_t night = job->slots.items[slot].night;
  return night == HISTORY_MISSING || job->nights[night].state != HISTORY_GOOD ? 0 : (int)job->nights[night].confidence;
}

static void draw_fate(const struct axis *axis, size_t first, size_t end, struct report_scene *scene) {
  static const enum report_paint paints[] = {PAINT_BACKWARD, PAINT_COMPUTE, PAINT_NOT_RECORDED, PAINT_NOT_RECORDED,
                                             PAINT_BUBBLE};
  static const char *const words[] = {"report", "regression", "report, but a later run failed", "no report", "missing"};
  enum fate fate = fate_of(axis->job, first);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int32_t from = along(axis, axis->places[first]), until = along(axis, axis->places[end]);
  int32_t gap = axis->job->detailed ? 10 : 0;
  if (fate == FATE_REGRESSED) {
    report_scene_optional_group(scene, "regressed", 0, 0);
  }
  report_scene_box(scene, paints[fate], from, STRIP_TOP + FLOOR, until - from - gap, ROW);
  size_t night = axis->job->slots.items[first].night;
  if (night != HISTORY_MISSING) {
    put_name(&text, &axis->job->nights[night]);
    lumos_text_put(&text, ": ");
  }
  lumos_text_put(&text, words[fate]);
  report_scene_tooltip(scene, &text);
  if (fate == FATE_REGRESSED) {
    report_scene_group_end(scene);
  }
  lumos_text_free(&text);
}

static void draw_confidence(const struct axis *axis, size_t first, size_t end, struct report_scene *scene) {
  int grade = confidence_of(axis->job, first);
  int32_t from = along(axis, axis->places[first]), until = along(axis, axis->places[end]);
  int32_t bottom = STRIP_TOP + FLOOR + 2 * ROW + ROW_GAP, height = grade * ROW / (int)LUMOS_GOOD;
  int32_t gap = axis->job->detailed ? 10 : 0;
  if (height > 0) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    report_scene_box(scene, PAINT_COMPUTE, from, bottom - height, until - from - gap, height);
    lumos_text_put(&text, lumos_confidence_name((enum lumos_confidence)grade));
    report_scene_tooltip(scene, &text);
    lumos_text_free(&text);
  }
}

typedef void draw_run(const struct axis *axis, size_t first, size_t end, struct report_scene *scene);

/* Of few nights each, of many those that are alike together. */
static void draw_row(const struct axis *axis, bool fates, draw_run *draw, struct report_scene *scene) {
  const struct history_job *job = axis->job;
  for (size_t first = 0, end = 0; first < job->slots.count; first = end) {
    end = first + 1;
    while (!job->detailed && end < job->slots.count &&
           (fates ? fate_of(job, end) == fate_of(job, first) : confidence_of(job, end) == confidence_of(job, first))) {
      end++;
    }
    draw(axis, first, end, scene);
  }
}

void history_draw_nights(const struct history_job *job, const char *name, struct report_scene *scene) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_scene_begin(scene, name, WIDTH);
  scene->height = STRIP_HEIGHT;
  struct axis axis = axis_of(job, LEFT, WIDTH - LEFT - RIGHT);
  draw_row(&axis, true, draw_fate, scene);
  draw_row(&axis, false, draw_confidence, scene);
  lumos_text_put(&text, "reports");
  report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, WIDTH - RIGHT + 60, STRIP_TOP + FLOOR + ROW / 2 + 40,
                    &text);
  text.length = 0;
  lumos_text_put(&text, "confidence");
  report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, WIDTH - RIGHT + 60,
                    STRIP_TOP + FLOOR + ROW + ROW_GAP + ROW / 2 + 40, &text);
  lumos_text_free(&text);
  free(axis.places);
  lumos_text_put(&scene->title, "Nights with and without a report");
  lumos_text_put(&scene->description,
                 "Above, a box for each night; below, how high the confidence of its report is: poor, fair or good. "
                 "The table of nights says the same.");
}
