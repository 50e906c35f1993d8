/* Drawing the opportunities: a bar for what half of a kind of work would save, a line on to what all of it would. */
#include "report/content/opportunities.h"

#include "report/draw/look.h"
#include "report/text/numbers.h"

/* Tenths of a pixel. */
enum {
  BAR = 160,
  ROW_GAP = 90,
  TOP = 20,
  TICK = 80, /* height of the line's end */
  MOST_ROWS = 12,
  WIDTH = 11800,
  LABELS = 2900,  /* room before the bars */
  FIGURES = 2300, /* and for what stands behind the longest */
};

struct canvas {
  const struct report_opportunities *opportunities;
  struct report_scene *scene;
  struct lumos_text text;
  int64_t most; /* the gain that fills the width */
};

static int32_t along(const struct canvas *canvas, int64_t gain) {
  int64_t share = report_share(gain, canvas->most);
  int64_t shown = share == LUMOS_ABSENT || share <= 0 ? 0 : share < 1000000 ? share : 1000000;
  return (int32_t)(shown * (WIDTH - LABELS - FIGURES) / 1000000);
}

/* "2.1 ms, 5.4 %" */
static void put_gain(struct canvas *canvas, int64_t time) {
  canvas->text.length = 0;
  report_put_time(&canvas->text, report_opportunity_gain(canvas->opportunities, time));
  lumos_text_put(&canvas->text, ", ");
  report_put_share(&canvas->text, report_opportunity_gain_share(canvas->opportunities, time));
}

static void add_tooltip(struct canvas *canvas, const struct report_opportunity *item) {
  const struct report_opportunities *all = canvas->opportunities;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_opportunity(all, item, &text);
  lumos_text_put(&text, ": with half of it a step would take ");
  report_put_time(&text, item->half);
  put_gain(canvas, item->half);
  lumos_text_format(&text, " (%.*s less), without it ", (int)canvas->text.length, canvas->text.bytes);
  report_put_time(&text, item->free);
  put_gain(canvas, item->free);
  lumos_text_format(&text, " (%.*s less)", (int)canvas->text.length, canvas->text.bytes);
  report_scene_tooltip(canvas->scene, &text);
  lumos_text_free(&text);
}

/* From the least gain to the most, below the bar, whose paint may be as dark as ink. Returns its right end. */
static int32_t draw_range(struct canvas *canvas, const struct report_opportunity *item, int32_t y) {
  struct report_range gain = report_opportunity_gain_range(canvas->opportunities, item);
  if (!report_range_known(gain)) {
    return 0;
  }
  int32_t low = LABELS + along(canvas, gain.low), high = LABELS + along(canvas, gain.high), middle = y + BAR + TICK / 2;
  report_scene_line(canvas->scene, PAINT_TEXT, low, middle, high - low, 0, STROKE_SOLID);
  if (gain.low >= 0) { /* a range that goes on below no gain has no end there */
    report_scene_line(canvas->scene, PAINT_TEXT, low, middle - TICK / 2, 0, TICK, STROKE_SOLID);
  }
  report_scene_line(canvas->scene, PAINT_TEXT, high, middle - TICK / 2, 0, TICK, STROKE_SOLID);
  return high;
}

static void draw_name(struct canvas *canvas, const struct report_opportunity *item, int32_t y) {
  canvas->text.length = 0;
  report_put_opportunity(canvas->opportunities, item, &canvas->text);
  report_scene_text(canvas->scene, STYLE_PLAIN, PAINT_TEXT, ANCHOR_END, LABELS - 80, y + BAR - 38, &canvas->text);
}

static void draw_row(struct canvas *canvas, const struct report_opportunity *item, int32_t y) {
  enum report_paint paint = report_paint_of_opportunity(canvas->opportunities, item);
  int32_t left = LABELS;
  int32_t half = along(canvas, report_opportunity_gain(canvas->opportunities, item->half));
  int32_t all = along(canvas, report_opportunity_gain(canvas->opportunities, item->free));
  draw_name(canvas, item, y);
  report_scene_box(canvas->scene, paint, left, y, half > 10 ? half : 10, BAR);
  add_tooltip(canvas, item);
  if (all > half) {
    report_scene_line(canvas->scene, PAINT_MUTED, left + half, y + BAR / 2, all - half, 0, STROKE_SOLID);
    report_scene_line(canvas->scene, PAINT_MUTED, left + all, y + (BAR - TICK) / 2, 0, TICK, STROKE_SOLID);
  }
  put_gain(canvas, item->half);
  int32_t end = left + (all > half ? all : half), reach = draw_range(canvas, item, y);
  end = (reach > end ? reach : end) + 80;
  report_scene_text(canvas->scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, end, y + BAR - 38, &canvas->text);
  int32_t behind = report_text_width(STYLE_STRONG, canvas->text.bytes, canvas->text.length) + 60;
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, "up to ");
  report_put_share(&canvas->text, report_opportunity_gain_share(canvas->opportunities, item->free));
  report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, end + behind, y + BAR - 38, &canvas->text);
}

bool report_opportunities_scene(const struct report_opportunities *opportunities, struct report_scene *scene) {
  if (report_best_opportunity(opportunities) == NULL) {
    return false;
  }
  struct canvas canvas = {.opportunities = opportunities, .scene = scene, .text = LUMOS_TEXT_BUFFER};
  int32_t y = TOP;
  report_scene_begin(scene, "opportunities", WIDTH);
  for (size_t i = 0; i < opportunities->list.count && i < MOST_ROWS; i++) {
    const struct report_opportunity *item = &opportunities->list.items[i];
    int64_t half = report_opportunity_gain(opportunities, item->half);
    int64_t all = report_opportunity_gain(opportunities, item->free);
    canvas.most = half > canvas.most ? half : canvas.most;
    canvas.most = all > canvas.most ? all : canvas.most;
    int64_t high = report_opportunity_gain_range(opportunities, item).high;
    canvas.most = high > canvas.most ? high : canvas.most;
  }
  for (size_t i = 0; i < opportunities->list.count && i < MOST_ROWS; i++) {
    draw_row(&canvas, &opportunities->list.items[i], y);
    y += BAR + ROW_GAP;
  }
  scene->height = y;
  lumos_text_put(&scene->title, "What would help most");
  lumos_text_put(
      &scene->description,
      "A bar for each kind of work shows how much shorter a step would be with half of it. A line goes on to how much "
      "shorter without it. A line below the bar spans the range. The table below the picture holds the same numbers.");
  lumos_text_free(&canvas.text);
  return true;
}
