/* Drawing a waterfall. */
#include "report/content/waterfall.h"

#include "report/draw/look.h"
#include "report/draw/ticks.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* Tenths of a pixel. */
enum {
  BAR = 180,
  GAP = 80,    /* between rows */
  HEAD = 190,  /* above a bar, where names stand on a telephone */
  AXIS = 220,  /* above the rows */
  TICK = 80,   /* height of a whisker's ends */
  BREAK = 40,  /* the gap in a bar that begins before the axis does */
  BESIDE = 70, /* from a bar to its figure */
};

struct shape {
  int32_t width, labels, figures; /* room before the bars, and for a figure behind the longest */
  bool stacked;                   /* names stand above the bars */
};
static const struct shape shapes[] = {{11800, 2100, 1300, false}, {3500, 0, 850, true}};

struct canvas {
  const struct report_waterfall *fall;
  const struct shape *shape;
  struct report_scene *scene;
  struct lumos_text text;
  int64_t from, until; /* of the axis */
  int32_t y;
};

static int64_t difference_of(const struct report_waterfall_row *row) { return row->after - row->before; }

static int32_t place_of(const struct canvas *canvas, int64_t time) {
  int32_t room = canvas->shape->width - canvas->shape->labels - canvas->shape->figures;
  int64_t share = report_share(time - canvas->from, canvas->until - canvas->from);
  int64_t shown = share < 0 ? 0 : share < 1000000 ? share : 1000000;
  return canvas->shape->labels + (int32_t)(shown * room / 1000000);
}

/* The axis holds every end of a bar, and begins at zero unless the change is small beside the step. */
static void find_axis(struct canvas *canvas) {
  int64_t level = canvas->fall->whole, low = level, high = level;
  struct report_range range = canvas->fall->range;
  for (size_t i = 0; i < canvas->fall->rows.count; i++) {
    level = report_sum(level, difference_of(&canvas->fall->rows.items[i]));
    low = level < low ? level : low;
    high = level > high ? level : high;
  }
  if (report_range_known(range)) {
    low = range.low < low ? range.low : low;
    high = range.high > high ? range.high : high;
  }
  int64_t moved = high - low;
  bool small = moved > 0 && low / 4 > moved; /* bars would be shorter than a fifth of the axis */
  int64_t tick = small ? report_tick_distance(3 * moved) : 1;
  canvas->from = small ? (low - moved) / tick * tick : 0;
  canvas->until = high > canvas->from ? high : canvas->from + 1;
}

static void draw_ticks(struct canvas *canvas, int32_t bottom) {
  int64_t span = canvas->until - canvas->from;
  int64_t distance = report_tick_distance(canvas->shape->stacked ? 3 * span : span);
  for (int64_t tick = canvas->from; tick <= canvas->until; tick += distance) {
    int32_t x = place_of(canvas, tick);
    report_scene_line(canvas->scene, PAINT_RULE, x, AXIS - 60, 0, bottom - AXIS + 60, STROKE_SOLID);
    canvas->text.length = 0;
    report_put_tick(&canvas->text, tick, distance);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED,
                      tick == canvas->from && canvas->shape->stacked ? ANCHOR_START : ANCHOR_MIDDLE, x, AXIS - 100,
                      &canvas->text);
  }
}

static void draw_name(struct canvas *canvas, enum report_text_style style, const char *name) {
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, name);
  if (canvas->shape->stacked) {
    report_scene_text(canvas->scene, style, PAINT_TEXT, ANCHOR_START, 0, canvas->y - 50, &canvas->text);
  } else {
    report_scene_text(canvas->scene, style, PAINT_TEXT, ANCHOR_END, canvas->shape->labels - 90, canvas->y + BAR - 48,
                      &canvas->text);
  }
}

/* What stands in `text`, behind the bar. */
static void draw_figure(struct canvas *canvas, enum report_text_style style, int32_t x) {
  report_scene_text(canvas->scene, style, PAINT_TEXT, ANCHOR_START, x + BESIDE, canvas->y + BAR - 48, &canvas->text);
}

static void next_row(struct canvas *canvas) { canvas->y += BAR + GAP + (canvas->shape->stacked ? HEAD : 0); }

/* A dashed line down to the next bar. */
static void draw_step(struct canvas *canvas, int64_t level) {
  int32_t length = GAP + (canvas->shape->stacked ? HEAD : 0);
  report_scene_line(canvas->scene, PAINT_MUTED, place_of(canvas, level), canvas->y + BAR, 0, length, STROKE_DOTTED);
}

/* A bar that begins before the axis is broken there. */
static void draw_whole(struct canvas *canvas, const char *name, int64_t time, const struct report_range *range) {
  int32_t left = canvas->shape->labels, right = place_of(canvas, time), reach = right;
  draw_name(canvas, STYLE_STRONG, name);
  report_scene_box(canvas->scene, PAINT_MUTED, left, canvas->y, right - left > 10 ? right - left : 10, BAR);
  canvas->text.length = 0;
  lumos_text_format(&canvas->text, "%s: ", name);
  report_put_time(&canvas->text, time);
  report_scene_tooltip(canvas->scene, &canvas->text);
  if (canvas->from > 0) {
    report_scene_box(canvas->scene, PAINT_PAPER, left + 3 * BREAK, canvas->y, BREAK, BAR);
  }
  if (range != NULL && report_range_known(*range)) {
    int32_t low = place_of(canvas, range->low), high = place_of(canvas, range->high), y = canvas->y + BAR + TICK / 2;
    report_scene_line(canvas->scene, PAINT_TEXT, low, y, high - low, 0, STROKE_SOLID);
    report_scene_line(canvas->scene, PAINT_TEXT, low, y - TICK / 2, 0, TICK, STROKE_SOLID);
    report_scene_line(canvas->scene, PAINT_TEXT, high, y - TICK / 2, 0, TICK, STROKE_SOLID);
    reach = high > reach ? high : reach;
  }
  canvas->text.length = 0;
  report_put_time(&canvas->text, time);
  draw_figure(canvas, STYLE_STRONG, reach);
}

static void tell_part(struct canvas *canvas, const struct report_waterfall_row *row) {
  canvas->text.length = 0;
  lumos_text_format(&canvas->text, "%s: ", row->label);
  report_put_time(&canvas->text, row->before);
  lumos_text_format(&canvas->text, " %s, ", canvas->fall->before_words);
  report_put_time(&canvas->text, row->after);
  lumos_text_format(&canvas->text, " %s", canvas->fall->after_words);
  report_scene_tooltip(canvas->scene, &canvas->text);
}

static void draw_part(struct canvas *canvas, const struct report_waterfall_row *row, int64_t level) {
  enum { LEAST = 10 };
  int64_t difference = difference_of(row);
  int32_t from = place_of(canvas, level), until = place_of(canvas, report_sum(level, difference));
  int32_t left = from < until ? from : until, width = abs(until - from);
  draw_name(canvas, STYLE_PLAIN, row->label);
  report_scene_box(canvas->scene, row->paint, left, canvas->y, width > LEAST ? width : LEAST, BAR);
  tell_part(canvas, row);
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, difference > 0 ? "+" : "");
  report_put_time(&canvas->text, difference);
  draw_figure(canvas, STYLE_PLAIN, left + width);
}

static void draw_rows(struct canvas *canvas) {
  const struct report_waterfall *fall = canvas->fall;
  int64_t level = fall->whole;
  draw_whole(canvas, fall->before, level, NULL);
  draw_step(canvas, level);
  next_row(canvas);
  for (size_t i = 0; i < fall->rows.count; i++) {
    const struct report_waterfall_row *row = &fall->rows.items[i];
    if (difference_of(row) != 0) {
      draw_part(canvas, row, level);
      level = report_sum(level, difference_of(row));
      draw_step(canvas, level);
      next_row(canvas);
    }
  }
  draw_whole(canvas, fall->after, level, &fall->range);
}

void report_waterfall_scene(const struct report_waterfall *fall, bool narrow, struct report_scene *scene) {
  struct canvas canvas = {.fall = fall, .shape = &shapes[narrow], .scene = scene, .text = LUMOS_TEXT_BUFFER};
  int32_t rows = 2;
  for (size_t i = 0; i < fall->rows.count; i++) {
    rows += difference_of(&fall->rows.items[i]) != 0;
  }
  find_axis(&canvas);
  report_scene_begin(scene, fall->names[narrow], canvas.shape->width);
  int32_t head = canvas.shape->stacked ? HEAD : 0;
  scene->height = AXIS + rows * (BAR + GAP + head);
  draw_ticks(&canvas, scene->height - GAP / 2);
  canvas.y = AXIS + head;
  draw_rows(&canvas);
  lumos_text_put(&scene->title, fall->title);
  lumos_text_format(&scene->description,
                    "Bars from top to bottom: the step %s, how much longer or shorter each part of it becomes, and the "
                    "step %s. The table below the picture holds the same numbers.",
                    fall->before_words, fall->after_words);
  if (canvas.from > 0) {
    lumos_text_put(&scene->description, " The axis begins at ");
    report_put_time(&scene->description, canvas.from);
    lumos_text_char(&scene->description, '.');
  }
  lumos_text_free(&canvas.text);
}
