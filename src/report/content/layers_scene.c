/* Drawing the layers: a column for each, from the embedding on the left to the head on the right. Beyond what columns
 * have room for, a column is the mean of neighbours. */
#include "report/content/layers.h"

#include "report/draw/ticks.h"
#include "report/text/numbers.h"

/* Tenths of a pixel. */
enum {
  WIDTH = 11800,
  LABELS = 800,
  TOP = 200,
  HEIGHT = 2000,
  BOTTOM = 420,
  ENDS = 800,     /* room for the embedding's column and the head's, with their names */
  WIDEST = 800,   /* of a column */
  MOST = 250,     /* columns for layers */
  MARK = 480,     /* room for how far above */
  MARKED = 100000 /* millionths above the median */
};

/* What a column stacks, from the bottom. */
struct segment {
  enum report_work work;
  bool communication;
  enum report_paint paint;
};
static const struct segment segments[] = {
    {WORK_FORWARD, false, PAINT_FORWARD},   {WORK_FORWARD, true, PAINT_COMMUNICATION},
    {WORK_BACKWARD, false, PAINT_BACKWARD}, {WORK_BACKWARD, true, PAINT_COMMUNICATION},
    {WORK_WEIGHT, false, PAINT_WEIGHT},     {WORK_WEIGHT, true, PAINT_COMMUNICATION},
    {WORK_OTHER, false, PAINT_NO_PASS},     {WORK_OTHER, true, PAINT_COMMUNICATION},
};
enum { SEGMENTS = sizeof segments / sizeof segments[0] };

static int64_t sum_of(const struct report_layer *layer, const struct segment *segment) {
  return segment->communication ? layer->communication[segment->work] : layer->compute[segment->work];
}

static bool is_drawn(const struct report_layer *layer) { return layer->place <= PLACE_HEAD && layer->total > 0; }

void report_layers_paints(const struct report_layers *layers, bool shown[PAINT_COUNT]) {
  for (size_t i = 0; i < layers->list.count; i++) {
    for (int k = 0; k < SEGMENTS && is_drawn(&layers->list.items[i]); k++) {
      shown[segments[k].paint] |= sum_of(&layers->list.items[i], &segments[k]) > 0;
    }
  }
}

/* The picture while it is drawn. */
struct canvas {
  const struct report_layers *layers;
  struct report_scene *scene;
  struct lumos_text text;
  int64_t top;       /* the time that the axis ends with */
  size_t per_column; /* layers */
  int32_t longest;   /* the layer */
  int32_t right;     /* where the picture ends */
  int32_t pitch;     /* from one layer's column to the next */
};

/* Neighbouring layers as one. */
static struct report_layer merged(const struct report_layer *first, size_t count) {
  struct report_layer sum = *first;
  for (size_t i = 1; i < count; i++) {
    for (int work = 0; work < WORKS; work++) {
      sum.compute[work] = report_sum(sum.compute[work], first[i].compute[work]);
      sum.communication[work] = report_sum(sum.communication[work], first[i].communication[work]);
    }
    sum.total = report_sum(sum.total, first[i].total);
    sum.rank_steps = report_sum(sum.rank_steps, first[i].rank_steps);
  }
  return sum;
}

static int32_t height_of(const struct canvas *canvas, int64_t time) {
  int64_t share = report_share(time, canvas->top);
  return share <= 0 ? 0 : (int32_t)((share < 1000000 ? share : 1000000) * HEIGHT / 1000000);
}

/* "layers 4 to 7: backward, 1.2 ms, with communication 1.5 ms" */
static void tell_segment(struct canvas *canvas, const struct report_layer *layer, size_t count,
                         const struct segment *segment) {
  static const char *const names[WORKS] = {"forward", "backward", "weight gradient", "other"};
  struct lumos_text *text = &canvas->text;
  text->length = 0;
  if (count > 1) {
    lumos_text_format(text, "layers %d to %d, each", layer->layer, layer[count - 1].layer);
  } else {
    report_put_place(layer, text);
  }
  lumos_text_format(text, ": %s, %s, ", names[segment->work], segment->communication ? "communication" : "compute");
  struct report_layer whole = merged(layer, count);
  report_put_time(text, report_layer_mean(&whole, sum_of(&whole, segment)));
  lumos_text_put(text, " of ");
  report_put_time(text, report_layer_mean(&whole, whole.total));
  report_scene_tooltip(canvas->scene, text);
}

/* How far above the median the longest of a column's layers is. Where columns are narrow only the longest of all is
 * marked. */
static void mark_column(struct canvas *canvas, const struct report_layer *layer, size_t count, int32_t middle,
                        int32_t y) {
  int64_t excess = LUMOS_ABSENT;
  bool longest = false;
  for (size_t i = 0; i < count; i++) {
    int64_t own = report_layer_excess(canvas->layers, &layer[i]);
    excess = own > excess ? own : excess;
    longest |= layer[i].layer == canvas->longest;
  }
  if (excess > MARKED && (longest || canvas->pitch >= MARK)) {
    canvas->text.length = 0;
    lumos_text_char(&canvas->text, '+');
    report_put_share(&canvas->text, excess);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_TEXT, ANCHOR_MIDDLE, middle, y - 40, &canvas->text);
  }
}

static void draw_column(struct canvas *canvas, const struct report_layer *layer, size_t count, int32_t x,
                        int32_t width) {
  struct report_layer whole = merged(layer, count);
  int64_t sum = 0;
  int32_t below = 0;
  for (int i = 0; i < SEGMENTS; i++) {
    sum = report_sum(sum, sum_of(&whole, &segments[i]));
    int32_t height = height_of(canvas, report_layer_mean(&whole, sum)) - below;
    if (height > 0) {
      report_scene_box(canvas->scene, segments[i].paint, x, TOP + HEIGHT - below - height, width, height);
      tell_segment(canvas, layer, count, &segments[i]);
      below += height;
    }
  }
  mark_column(canvas, layer, count, x + width / 2, TOP + HEIGHT - below);
}

static void draw_axis(struct canvas *canvas, int64_t longest) {
  int64_t distance = report_tick_distance(longest * 2); /* at most six */
  canvas->top = (longest / distance + (longest % distance > 0)) * distance;
  for (int64_t tick = 0; tick <= canvas->top; tick += distance) {
    int32_t y = TOP + HEIGHT - height_of(canvas, tick);
    report_scene_line(canvas->scene, PAINT_RULE, LABELS, y, canvas->right - LABELS, 0, STROKE_SOLID);
    canvas->text.length = 0;
    report_put_tick(&canvas->text, tick, distance);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, LABELS - 90, y + 40, &canvas->text);
  }
}

/* Under every n-th column its layer, so that numbers do not touch. */
static void draw_number(struct canvas *canvas, size_t column, int32_t x, int32_t width) {
  enum { ROOM = 340 };
  size_t every = (size_t)((ROOM + canvas->pitch - 1) / canvas->pitch);
  const struct report_layer *layer = &canvas->layers->list.items[PLACE_LAYER + column * canvas->per_column];
  if (column % every == 0) {
    canvas->text.length = 0;
    lumos_text_integer(&canvas->text, layer->layer);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_MIDDLE, x + width / 2, TOP + HEIGHT + 150,
                      &canvas->text);
  }
}

/* The embedding or the head, with its name. */
static void draw_end(struct canvas *canvas, const struct report_layer *layer, int32_t middle, int32_t width) {
  if (is_drawn(layer)) {
    draw_column(canvas, layer, 1, middle - width / 2, width);
    canvas->text.length = 0;
    report_put_place(layer, &canvas->text);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_MIDDLE, middle, TOP + HEIGHT + 150,
                      &canvas->text);
  }
}

static void draw_columns(struct canvas *canvas) {
  const struct report_layers *layers = canvas->layers;
  size_t columns = (layers->layers + canvas->per_column - 1) / canvas->per_column;
  int32_t gap = canvas->pitch > 80 ? canvas->pitch / 5 : 10;
  int32_t first = LABELS + ENDS;
  for (size_t i = 0; i < columns; i++) {
    size_t from = i * canvas->per_column;
    size_t count = layers->layers - from < canvas->per_column ? layers->layers - from : canvas->per_column;
    int32_t x = first + (int32_t)i * canvas->pitch + gap / 2;
    draw_column(canvas, &layers->list.items[PLACE_LAYER + from], count, x, canvas->pitch - gap);
    draw_number(canvas, i, x, canvas->pitch - gap);
  }
  int32_t last = first + (int32_t)columns * canvas->pitch;
  int32_t width = canvas->pitch - gap > 150 ? canvas->pitch - gap : 150;
  draw_end(canvas, &layers->list.items[0], LABELS + ENDS / 2, width);
  draw_end(canvas, &layers->list.items[PLACE_LAYER + layers->layers], last + ENDS / 2, width);
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, "layer");
  report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_MIDDLE, (first + last) / 2, TOP + HEIGHT + 320,
                    &canvas->text);
  report_scene_line(canvas->scene, PAINT_TEXT, first, TOP + HEIGHT - height_of(canvas, layers->median), last - first, 0,
                    STROKE_DASHED);
}

/* Beyond this is no time of a recording. */
#define LONGEST (INT64_MAX / 64)

static int64_t longest_of(const struct report_layers *layers) {
  int64_t longest = 1;
  for (size_t i = 0; i < layers->list.count; i++) {
    const struct report_layer *layer = &layers->list.items[i];
    int64_t mean = is_drawn(layer) ? report_layer_mean(layer, layer->total) : 0;
    longest = mean > longest ? mean : longest;
  }
  return longest < LONGEST ? longest : LONGEST;
}

bool report_layers_scene(const struct report_layers *layers, struct report_scene *scene) {
  if (layers->layers == 0) {
    return false;
  }
  report_scene_begin(scene, "layers", WIDTH);
  struct canvas canvas = {.layers = layers, .scene = scene, .text = LUMOS_TEXT_BUFFER};
  canvas.per_column = (layers->layers + MOST - 1) / MOST;
  int32_t columns = (int32_t)((layers->layers + canvas.per_column - 1) / canvas.per_column);
  int32_t pitch = (WIDTH - LABELS - 2 * ENDS) / columns;
  canvas.pitch = pitch < WIDEST ? pitch : WIDEST;
  canvas.right = LABELS + 2 * ENDS + columns * canvas.pitch;
  canvas.longest = report_longest_layer(layers)->layer;
  draw_axis(&canvas, longest_of(layers));
  draw_columns(&canvas);
  scene->height = TOP + HEIGHT + BOTTOM;
  lumos_text_put(&scene->title, "GPU time of every layer in a step");
  lumos_text_put(
      &scene->description,
      "A column for each layer, with its forward and backward work, compute and communication. The table below "
      "the picture has the same numbers.");
  lumos_text_free(&canvas.text);
  return true;
}
