/* The dependency graph as a picture: time runs down, the times at the left count from the start of the step. */
#include "report/content/dependencies.h"

#include "report/draw/look.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <inttypes.h>
#include <stdlib.h>

/* Tenths of a pixel. */
enum {
  WIDTH = 11800,
  GUTTER = 760, /* of the times, at least */
  TIME_ASIDE = 100,
  TOP = 600, /* the legend's room, and the beginning's */
  BEGINNING = 240,
  BOTTOM = 40,
  STRIPE = 40,
  INSET = 110, /* of a box's text */
  FIRST_LINE = 150,
  SECOND_LINE = 285,
  NAME_MOST = 48, /* bytes of a name in a box; fewer where the letters are wide */
  NAME_LEAST = 16,
  LABEL_HEIGHT = 125,
  MOST_COLUMNS = 12,
  COLUMN_GAP = 400,
  LEAST_IN_MS = 1000000, /* ns: steps shorter than this have their times in microseconds */
};

struct label {
  int32_t x, y, width; /* from where, on which line */
  int32_t at;          /* of its anchor */
  enum report_anchor anchor;
};

/* The layout in columns side by side, as a newspaper has its text: column c shows what lies from cuts[c] on. */
struct columns {
  size_t count;
  int32_t cuts[MOST_COLUMNS];
  int32_t stride; /* from one column to the next */
};

struct canvas {
  const struct report_dependencies *dependencies;
  struct report_scene *scene;
  int32_t left; /* of the graph */
  struct columns columns;
  LUMOS_VECTOR(struct report_point) moved; /* the points of one edge */
  struct lumos_text text;
  LUMOS_VECTOR(struct label) labels;
};

static int64_t sum_of(const int64_t times[LUMOS_PATH_OUTSIDE + 1]) {
  return times[LUMOS_PATH_RUN] + times[LUMOS_PATH_LAG] + times[LUMOS_PATH_UNEXPLAINED] + times[LUMOS_PATH_OUTSIDE];
}

static enum report_stroke stroke_of(uint8_t evidence) {
  switch (evidence) {
    case LUMOS_ORDERED:
      return STROKE_LONG_DASHES;
    case LUMOS_INFERRED:
      return STROKE_DASHED;
    case LUMOS_UNEXPLAINED:
      return STROKE_DOTTED;
    default:
      return STROKE_SOLID;
  }
}

/* --- Hovering --- */

static void put_times(struct lumos_text *text, const int64_t times[LUMOS_PATH_OUTSIDE + 1]) {
  static const char *const words[] = {[LUMOS_PATH_RUN] = "running ",
                                      [LUMOS_PATH_LAG] = "lag ",
                                      [LUMOS_PATH_UNEXPLAINED] = "unexplained ",
                                      [LUMOS_PATH_OUTSIDE] = "outside the recording "};
  bool first = true;
  for (int what = LUMOS_PATH_RUN; what <= LUMOS_PATH_OUTSIDE; what++) {
    if (times[what] > 0) {
      lumos_text_put(text, first ? "" : ", ");
      lumos_text_put(text, words[what]);
      report_put_time(text, times[what]);
      first = false;
    }
  }
}

static void tell_node(struct canvas *canvas, const struct report_dependency_node *node) {
  struct lumos_text *text = &canvas->text;
  text->length = 0;
  report_put_dependency_name(canvas->dependencies, node, REPORT_LONG, text);
  if (!node->outside) {
    lumos_text_put(text, "\n");
    report_put_dependency_place(canvas->dependencies, node, text);
    lumos_text_put(text, ", ");
    report_put_counted(text, node->tasks, "task");
  }
  lumos_text_put(text, "\n");
  if (node->neighbour) {
    lumos_text_put(text, "not critical: slack ");
    report_put_time(text, node->slack);
  } else {
    lumos_text_put(text, "from ");
    report_put_time_range(text, node->from - canvas->dependencies->chain.from,
                          node->until - canvas->dependencies->chain.from);
    lumos_text_put(text, " of the step: ");
    put_times(text, node->time);
  }
  report_scene_tooltip(canvas->scene, text);
}

static void tell_edge(struct canvas *canvas, const struct report_dependency_edge *edge) {
  struct lumos_text *text = &canvas->text;
  text->length = 0;
  lumos_text_format(text, "%s, %s: ", lumos_constraint_kind_name((enum lumos_constraint_kind)edge->kind),
                    report_evidence_word(edge->evidence));
  const struct report_dependency_node *to = &canvas->dependencies->nodes.items[edge->to];
  if (edge->binding) {
    lumos_text_put(text, "critical");
    if (sum_of(to->lead) > 0) {
      lumos_text_put(text, "; ");
      put_times(text, to->lead);
    }
  } else {
    report_put_counted(text, edge->count, "constraint");
    lumos_text_put(text, " not critical, least slack ");
    report_put_time(text, edge->slack);
  }
  report_scene_tooltip(canvas->scene, text);
}

/* --- Columns --- */

static size_t column_of(const struct columns *columns, int32_t y) {
  size_t column = columns->count - 1;
  while (column > 0 && y < columns->cuts[column]) {
    column--;
  }
  return column;
}

static struct report_point moved_to(const struct columns *columns, size_t column, struct report_point point) {
  int32_t cut = column == 0 ? 0 : columns->cuts[column] - BEGINNING;
  return (struct report_point){point.x + (int32_t)column * columns->stride, point.y - cut};
}

/* Of the upper left corner of a box. */
static struct report_point place_of(const struct canvas *canvas, size_t node) {
  struct report_point place = canvas->dependencies->layout.places[node];
  return moved_to(&canvas->columns, column_of(&canvas->columns, place.y), place);
}

static int32_t height_of_box(const struct report_dependencies *dependencies, size_t node) {
  int32_t height = report_dependency_height(dependencies, &dependencies->nodes.items[node]);
  return height < REPORT_DEPENDENCY_HEIGHT ? REPORT_DEPENDENCY_HEIGHT : height;
}

/* Where no box is cut, below `after` and as near to a height as can be; INT32_MAX: nowhere. */
static int32_t cut_near(const struct report_dependencies *dependencies, int32_t wanted, int32_t after) {
  const struct report_layout *layout = &dependencies->layout;
  int32_t best = INT32_MAX;
  for (size_t i = 0; i < dependencies->nodes.count; i++) {
    int32_t y = layout->places[i].y;
    bool nearer = best == INT32_MAX || abs(y - wanted) < abs(best - wanted);
    for (size_t k = 0; k < dependencies->nodes.count && nearer; k++) {
      nearer = layout->places[k].y >= y || layout->places[k].y + height_of_box(dependencies, k) <= y;
    }
    best = y > after && nearer ? y : best;
  }
  return best;
}

static struct columns cut_columns(const struct report_dependencies *dependencies, size_t count, int32_t stride) {
  struct columns columns = {.count = 1, .stride = stride};
  int64_t height = dependencies->layout.height;
  count = count > MOST_COLUMNS ? MOST_COLUMNS : count;
  for (size_t i = 1; i < count; i++) {
    int32_t cut =
        cut_near(dependencies, (int32_t)(height * (int64_t)i / (int64_t)count), columns.cuts[columns.count - 1]);
    if (cut != INT32_MAX) {
      columns.cuts[columns.count++] = cut;
    }
  }
  return columns;
}

static int32_t height_of_columns(const struct report_dependencies *dependencies, const struct columns *columns) {
  int32_t most = 0;
  for (size_t i = 0; i < columns->count; i++) {
    int32_t end = i + 1 < columns->count ? columns->cuts[i + 1] : dependencies->layout.height;
    int32_t height = end - columns->cuts[i] + (i > 0 ? BEGINNING : 0);
    most = height > most ? height : most;
  }
  return most;
}

/* --- Arrows --- */

/* From the right of a box to the upper left of one in the next column, through the gap between them. */
static void cross_gap(struct canvas *canvas, const struct report_dependency_edge *edge) {
  struct report_point from = place_of(canvas, edge->from), to = place_of(canvas, edge->to);
  size_t column = column_of(&canvas->columns, canvas->dependencies->layout.places[edge->to].y);
  int32_t gap = (int32_t)column * canvas->columns.stride - canvas->left - COLUMN_GAP / 2;
  from.x += REPORT_DEPENDENCY_WIDTH;
  from.y += height_of_box(canvas->dependencies, edge->from) / 2;
  to.y += INSET / 2; /* above the box's time, which stands left of it */
  const struct report_point points[] = {from, {gap, from.y}, {gap, to.y}, to};
  for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
    lumos_vector_push(&canvas->moved, points[i]);
  }
}

/* The curve of an edge, moved to its column. What is critical and leads to the next column crosses the gap; what leads
 * farther comes into its column from above. Other edges between columns are not drawn. */
static const struct report_point *points_of(struct canvas *canvas, size_t edge, size_t *count) {
  const struct report_layout *layout = &canvas->dependencies->layout;
  const struct report_dependency_edge *record = &canvas->dependencies->edges.items[edge];
  size_t from = column_of(&canvas->columns, layout->places[record->from].y);
  size_t to = column_of(&canvas->columns, layout->places[record->to].y);
  canvas->moved.count = 0;
  for (size_t i = layout->edge_first[edge]; i < layout->edge_first[edge + 1] && from == to; i++) {
    lumos_vector_push(&canvas->moved, moved_to(&canvas->columns, to, layout->points.items[i]));
  }
  if (from + 1 == to && record->binding) {
    cross_gap(canvas, record);
  } else if (from != to && record->binding) {
    struct report_point place = place_of(canvas, record->to);
    const int32_t above[] = {BEGINNING, BEGINNING / 2, BEGINNING / 3, 0};
    for (size_t i = 0; i < sizeof above / sizeof above[0]; i++) {
      lumos_vector_push(&canvas->moved,
                        ((struct report_point){place.x + REPORT_DEPENDENCY_WIDTH / 2, place.y - above[i]}));
    }
  }
  *count = canvas->moved.count;
  return canvas->moved.items;
}

static void draw_arrow(struct canvas *canvas, size_t number) {
  const struct report_dependency_edge *edge = &canvas->dependencies->edges.items[number];
  size_t count = 0;
  const struct report_point *points = points_of(canvas, number, &count);
  if (count == 0) {
    return;
  }
  report_scene_arrow(canvas->scene, edge->binding ? PAINT_TEXT : PAINT_MUTED, stroke_of(edge->evidence), edge->binding,
                     points, count);
  tell_edge(canvas, edge);
}

/* Order is what is to be expected: it is worth a word where it comes with a lag that shows in the step. */
static bool is_plain(const struct canvas *canvas, const struct report_dependency_edge *edge) {
  enum { VISIBLE_PART = 1000 };
  const struct report_chain *chain = &canvas->dependencies->chain;
  bool order = edge->kind == LUMOS_HELD_BY_THREAD || edge->kind == LUMOS_HELD_BY_STREAM;
  int64_t lead = sum_of(canvas->dependencies->nodes.items[edge->to].lead);
  return edge->binding && order && lead < (chain->until - chain->from) / VISIBLE_PART;
}

/* "launch, 4.2 us": what held, and the lag that it came with, or the slack that was left. */
static void put_label(const struct canvas *canvas, const struct report_dependency_edge *edge, struct lumos_text *text) {
  const struct report_dependency_node *to = &canvas->dependencies->nodes.items[edge->to];
  lumos_text_put(text, lumos_constraint_kind_name((enum lumos_constraint_kind)edge->kind));
  if (!edge->binding) {
    if (!canvas->dependencies->nodes.items[edge->from].neighbour) {
      lumos_text_put(text, ", slack ");
      report_put_time(text, edge->slack);
    }
    return;
  }
  int64_t lag = to->lead[LUMOS_PATH_LAG];
  int64_t unexplained = to->lead[LUMOS_PATH_UNEXPLAINED];
  if (lag > 0) {
    lumos_text_put(text, ", ");
    report_put_time(text, lag);
  }
  if (unexplained > lag / 2) {
    lumos_text_put(text, lag > 0 ? " + " : ", ");
    report_put_time(text, unexplained);
    lumos_text_put(text, " unexplained");
  }
}

/* Where the curve's last piece passes a height; its end where it does not. */
static int32_t place_at(const struct report_point *points, size_t count, int32_t y) {
  const struct report_point *p = points + count - 4;
  enum { PIECES = 32 };
  for (int64_t i = PIECES; i >= 0; i--) {
    int64_t t = i, s = PIECES - i;
    int64_t a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
    int64_t whole = (int64_t)PIECES * PIECES * PIECES;
    if ((a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y) / whole <= y) {
      return (int32_t)((a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x) / whole);
    }
  }
  return p[3].x;
}

static bool is_free(const struct canvas *canvas, struct label label) {
  for (size_t i = 0; i < canvas->labels.count; i++) {
    const struct label *other = &canvas->labels.items[i];
    bool across = label.x < other->x + other->width && other->x < label.x + label.width;
    if (across && label.y < other->y + LABEL_HEIGHT && other->y < label.y + LABEL_HEIGHT) {
      return false;
    }
  }
  return true;
}

/* Just above the box that the arrow leads to, where no other box stands: beside the arrow, on the side that it does not
 * come from; on it where it is so flat that it would run through the words. */
static struct label place_label(struct canvas *canvas, size_t number, int32_t width) {
  enum { ABOVE = 90, ASIDE = 70, MIDDLE = 35 };
  size_t count = 0;
  const struct report_point *points = points_of(canvas, number, &count);
  uint32_t to = canvas->dependencies->edges.items[number].to;
  struct label label = {.y = place_of(canvas, to).y - ABOVE, .width = width};
  int32_t x = place_at(points, count, label.y);
  int32_t from = place_at(points, count, label.y - LABEL_HEIGHT);
  if (from - x > width / 2 || x - from > width / 2) {
    label.anchor = ANCHOR_MIDDLE;
    label.at = place_at(points, count, label.y - MIDDLE);
    label.x = label.at - width / 2;
  } else if (from > x + ASIDE) {
    label.anchor = ANCHOR_END;
    label.at = x - ASIDE;
    label.x = label.at - width;
  } else {
    label.anchor = ANCHOR_START;
    label.at = label.x = x + ASIDE;
  }
  return label;
}

/* On a piece of paper, for an arrow may pass there. */
static void draw_label(struct canvas *canvas, size_t number) {
  enum { MARGIN = 30, RISE = 95 };
  const struct report_dependency_edge *edge = &canvas->dependencies->edges.items[number];
  size_t count = 0;
  (void)points_of(canvas, number, &count);
  if (count == 0 || is_plain(canvas, edge)) {
    return;
  }
  canvas->text.length = 0;
  put_label(canvas, edge, &canvas->text);
  int32_t width = report_text_width(STYLE_SMALL, canvas->text.bytes, canvas->text.length);
  struct label label = place_label(canvas, number, width);
  if (is_free(canvas, label)) {
    lumos_vector_push(&canvas->labels, label);
    report_scene_box(canvas->scene, PAINT_PAPER, label.x - MARGIN, label.y - RISE, width + 2 * MARGIN, LABEL_HEIGHT);
    report_scene_text(canvas->scene, STYLE_SMALL, edge->binding ? PAINT_TEXT : PAINT_MUTED, label.anchor, label.at,
                      label.y, &canvas->text);
  }
}

/* What the chain's first box waited for since the step began: work of the step before, so the arrow comes from
 * nowhere. */
static void draw_beginning(struct canvas *canvas) {
  const struct report_dependency_node *first = &canvas->dependencies->nodes.items[0];
  if (first->outside || sum_of(first->lead) == 0) {
    return;
  }
  int32_t x = canvas->dependencies->layout.places[0].x + REPORT_DEPENDENCY_WIDTH / 2;
  const struct report_point points[] = {{x, -BEGINNING}, {x, -BEGINNING / 2}, {x, -BEGINNING / 3}, {x, 0}};
  const struct report_dependency_edge edge = {
      .to = 0, .kind = first->held.kind, .evidence = first->held.evidence, .binding = true};
  report_scene_arrow(canvas->scene, PAINT_TEXT, stroke_of(edge.evidence), true, points, 4);
  tell_edge(canvas, &edge);
  canvas->text.length = 0;
  put_label(canvas, &edge, &canvas->text);
  lumos_text_put(&canvas->text, " into the step");
  report_scene_text(canvas->scene, STYLE_SMALL, PAINT_TEXT, ANCHOR_START, x + 70, -90, &canvas->text);
}

/* --- Boxes --- */

static void put_time_and_place(struct canvas *canvas, const struct report_dependency_node *node, bool counted) {
  struct lumos_text *text = &canvas->text;
  text->length = 0;
  if (node->neighbour) {
    lumos_text_put(text, "slack ");
    report_put_time(text, node->slack);
  } else {
    if (counted && !node->outside && node->tasks > 1) {
      report_put_counted(text, node->tasks, "task");
      lumos_text_put(text, " \xC2\xB7 ");
    }
    /* The chain passes the start alone of a collective's last member: its transfer counts where the others end. */
    if (report_dependency_time(node) == 0 && lumos_is_communication(node->kind)) {
      lumos_text_put(text, "arrives last");
    } else {
      report_put_time(text, report_dependency_time(node));
    }
  }
  if (!node->outside) {
    lumos_text_put(text, " \xC2\xB7 ");
    report_put_dependency_place(canvas->dependencies, node, text);
  }
}

/* Without the number of tasks where the line is longer than the box. */
static void put_second_line(struct canvas *canvas, const struct report_dependency_node *node) {
  put_time_and_place(canvas, node, true);
  if (report_text_width(STYLE_SMALL, canvas->text.bytes, canvas->text.length) > REPORT_DEPENDENCY_WIDTH - INSET) {
    put_time_and_place(canvas, node, false);
  }
}

/* As much of the name as fits, whatever the letters are. */
static void put_first_line(struct canvas *canvas, const struct report_dependency_node *node) {
  const int32_t room = REPORT_DEPENDENCY_WIDTH - INSET;
  for (size_t limit = NAME_MOST; limit >= NAME_LEAST; limit--) {
    canvas->text.length = 0;
    report_put_dependency_name(canvas->dependencies, node, limit, &canvas->text);
    if (report_text_width(STYLE_PLAIN, canvas->text.bytes, canvas->text.length) <= room) {
      return;
    }
  }
}

/* The view of the timeline that a box stands for. */
static void put_view(const struct report_dependencies *dependencies, const struct report_dependency_node *node,
                     struct lumos_text *text) {
  const struct lumos_job *job = dependencies->job;
  const struct lumos_task *task = &job->tasks.items[node->task];
  const struct lumos_run *run = &job->runs.items[node->task];
  int64_t from = (node->neighbour ? run->start : node->from) - dependencies->origin;
  int64_t until = (node->neighbour ? run->start + run->dur : node->until) - dependencies->origin;
  lumos_text_format(text, "t=%" PRId64 "ns-%" PRId64 "ns&task=%" PRId32 ":%" PRIu32, from, until,
                    job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
}

/* What of a box is its time, to one scale: as high as that makes it, else of its full height as much of its width. */
static void draw_area(struct canvas *canvas, const struct report_dependency_node *node, struct report_point place) {
  int32_t height = report_dependency_height(canvas->dependencies, node);
  int32_t width = REPORT_DEPENDENCY_WIDTH;
  if (height < REPORT_DEPENDENCY_HEIGHT) {
    width = width * height / REPORT_DEPENDENCY_HEIGHT;
    height = REPORT_DEPENDENCY_HEIGHT;
  }
  if (width > 0) {
    report_scene_box(canvas->scene, PAINT_RULE, place.x, place.y, width, height);
  }
}

static void draw_box(struct canvas *canvas, size_t number) {
  const struct report_dependency_node *node = &canvas->dependencies->nodes.items[number];
  const struct report_point place = place_of(canvas, number);
  struct report_scene *scene = canvas->scene;
  enum report_paint paint = node->outside ? PAINT_IDLE : report_paint_of_kind(node->kind);
  enum report_paint ink = node->neighbour ? PAINT_MUTED : PAINT_TEXT;
  int32_t height = height_of_box(canvas->dependencies, number);
  canvas->text.length = 0;
  put_view(canvas->dependencies, node, &canvas->text);
  report_scene_view_group(scene, "box", &canvas->text);
  report_scene_box(scene, node->outside ? PAINT_IDLE : PAINT_TRACK, place.x, place.y, REPORT_DEPENDENCY_WIDTH, height);
  tell_node(canvas, node);
  if (!node->outside) {
    draw_area(canvas, node, place);
  }
  report_scene_box(scene, paint, place.x, place.y, STRIPE, height);
  put_first_line(canvas, node);
  report_scene_text(scene, STYLE_PLAIN, ink, ANCHOR_START, place.x + INSET, place.y + FIRST_LINE, &canvas->text);
  put_second_line(canvas, node);
  report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, place.x + INSET, place.y + SECOND_LINE,
                    &canvas->text);
  report_scene_group_end(scene);
}

/* When the box begins, counted from the start of the step; all in one unit, so that they can be compared. */
static void put_beginning(const struct report_dependencies *dependencies, const struct report_dependency_node *node,
                          struct lumos_text *text) {
  const struct report_chain *chain = &dependencies->chain;
  int64_t lead = node->outside ? 0 : sum_of(node->lead);
  bool in_us = chain->until - chain->from < LEAST_IN_MS;
  report_put_fixed(text, node->from + lead - chain->from, in_us ? 3 : 6, 2);
  lumos_text_put(text, in_us ? " \xC2\xB5s" : " ms");
}

static void draw_time(struct canvas *canvas, size_t number) {
  const struct report_dependencies *dependencies = canvas->dependencies;
  canvas->text.length = 0;
  put_beginning(dependencies, &dependencies->nodes.items[number], &canvas->text);
  struct report_point place = place_of(canvas, number);
  int32_t column = (int32_t)column_of(&canvas->columns, dependencies->layout.places[number].y);
  report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, column * canvas->columns.stride - TIME_ASIDE,
                    place.y + (FIRST_LINE + SECOND_LINE) / 2, &canvas->text);
}

/* The room that the times take. */
static int32_t gutter_of(const struct report_dependencies *dependencies) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int32_t gutter = GUTTER;
  for (size_t i = 0; i < dependencies->chain_nodes; i++) {
    text.length = 0;
    put_beginning(dependencies, &dependencies->nodes.items[i], &text);
    int32_t needed = report_text_width(STYLE_SMALL, text.bytes, text.length) + TIME_ASIDE;
    gutter = needed > gutter ? needed : gutter;
  }
  lumos_text_free(&text);
  return gutter;
}

/* --- The legend --- */

static int32_t explain(struct canvas *canvas, int32_t x, bool binding, enum report_stroke stroke, const char *words) {
  enum { SAMPLE = 300 };
  const struct report_point line[] = {{x, 180}, {x + 100, 180}, {x + 200, 180}, {x + SAMPLE, 180}};
  report_scene_arrow(canvas->scene, binding ? PAINT_TEXT : PAINT_MUTED, stroke, binding, line, 4);
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, words);
  report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, x + SAMPLE + 60, 220, &canvas->text);
  return x + SAMPLE + 60 + report_text_width(STYLE_SMALL, canvas->text.bytes, canvas->text.length) + 200;
}

static void draw_legend(struct canvas *canvas) {
  int32_t x = explain(canvas, 0, true, STROKE_SOLID, "critical");
  x = explain(canvas, x, false, STROKE_SOLID, "not critical");
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, "Evidence:");
  report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, x + 200, 220, &canvas->text);
  x = explain(canvas, x + 860, true, STROKE_SOLID, "recorded");
  x = explain(canvas, x, true, STROKE_LONG_DASHES, "implied by program order");
  x = explain(canvas, x, true, STROKE_DASHED, "inferred");
  (void)explain(canvas, x, true, STROKE_DOTTED, "unexplained");
}

static void draw(struct canvas *canvas) {
  const struct report_dependencies *dependencies = canvas->dependencies;
  draw_legend(canvas);
  report_scene_group(canvas->scene, canvas->left, TOP);
  for (size_t i = dependencies->edges.count; i > 0; i--) { /* what binds is painted last */
    draw_arrow(canvas, i - 1);
  }
  draw_beginning(canvas);
  for (size_t i = 0; i < dependencies->nodes.count; i++) {
    draw_box(canvas, i);
  }
  for (size_t i = 0; i < dependencies->chain_nodes; i++) {
    draw_time(canvas, i);
  }
  for (size_t i = 0; i < dependencies->edges.count; i++) {
    draw_label(canvas, i);
  }
  report_scene_group_end(canvas->scene);
}

void report_dependencies_paints(const struct report_dependencies *dependencies, bool shown[PAINT_COUNT]) {
  for (size_t i = 0; i < dependencies->nodes.count; i++) {
    const struct report_dependency_node *node = &dependencies->nodes.items[i];
    shown[report_paint_of_kind(node->kind)] |= !node->outside; /* that box says what it is */
  }
}

size_t report_dependencies_columns(const struct report_dependencies *dependencies, int64_t width, int64_t height) {
  int64_t own = dependencies->layout.width + (int64_t)gutter_of(dependencies) + COLUMN_GAP;
  size_t columns = 1;
  while (columns < MOST_COLUMNS && own * height * (int64_t)(columns * columns) < width * dependencies->layout.height) {
    columns++;
  }
  return columns;
}

bool report_dependencies_scene(const struct report_dependencies *dependencies, size_t columns,
                               struct report_scene *scene) {
  const struct report_layout *layout = &dependencies->layout;
  if (!dependencies->known || dependencies->outcome != LAYOUT_DONE) {
    return false;
  }
  int32_t gutter = gutter_of(dependencies);
  struct canvas canvas = {.dependencies = dependencies,
                          .scene = scene,
                          .left = gutter, /* so that a narrow window shows boxes */
                          .columns = cut_columns(dependencies, columns, gutter + layout->width + COLUMN_GAP),
                          .text = LUMOS_TEXT_BUFFER};
  int32_t needed = gutter + layout->width + (int32_t)(canvas.columns.count - 1) * canvas.columns.stride;
  report_scene_begin(scene, "dependencies", needed < WIDTH ? WIDTH : needed);
  scene->height = TOP + height_of_columns(dependencies, &canvas.columns) + BOTTOM;
  draw(&canvas);
  lumos_text_put(&scene->title, "What the step waits for");
  lumos_text_put(
      &scene->description,
      "Boxes are tasks on the critical path, from the start of the step down to its end, with areas by time. "
      "Arrows show what held them. The table below the picture has the times of every box.");
  if (canvas.columns.count > 1) {
    lumos_text_put(&scene->description, " It goes on at the top of the next column.");
  }
  lumos_vector_free(&canvas.labels);
  lumos_vector_free(&canvas.moved);
  lumos_text_free(&canvas.text);
  return true;
}
