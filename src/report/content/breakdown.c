/* The breakdown's picture and tables. The bars share one scale of time, so that ranks can be compared by length. */
#include "report/content/breakdown.h"

#include "report/draw/look.h"
#include "report/text/numbers.h"

const struct report_part report_parts[REPORT_PARTS] = {
    {FIGURE_EXPOSED_COMPUTE, PAINT_COMPUTE, "exposed_compute"},
    {FIGURE_OVERLAPPED, PAINT_OVERLAPPED, "overlapped"},
    {FIGURE_COMMUNICATION_TRANSFER, PAINT_TRANSFER, "transfer"},
    {FIGURE_COMMUNICATION_WAIT, PAINT_WAIT, "wait"},
    {FIGURE_COMMUNICATION_UNSPLIT, PAINT_UNSPLIT, "unsplit"},
    {FIGURE_EXPOSED_COPY, PAINT_COPY_PART, "exposed_copy"},
    {FIGURE_IDLE, PAINT_IDLE, "idle"},
};

/* Tenths of a pixel. Up to MOST_BARS rows are drawn; the table has all. */
enum {
  BAR = 160,
  BAR_GAP = 20,
  ROW_GAP = 120,
  TOP = 20,
  SHARE_WIDTH = 460, /* a share is written where the part is at least this wide */
  MOST_BARS = 32,
};

/* How a picture is laid out. */
struct shape {
  const char *name;
  int32_t width;
  int32_t labels, figures; /* room before the bars, and for the step time behind the longest */
  int32_t head;            /* room above each bar, where names and times stand when there is none beside it */
};
static const struct shape wide = {"breakdown", 11800, 1700, 900, 0};
static const struct shape narrow = {"narrow", 3500, 0, 0, 180};

/* What the bars stand for: every rank and step where they are few, else every rank's steps added up. */
static const struct report_rows *rows_to_draw(const struct report_facts *facts) {
  return facts->steps.count <= 8 && facts->ranks.count <= 2 ? &facts->steps : &facts->ranks;
}

/* Rows of the picture; where there are several they begin with all. */
static struct report_rows picture_rows(const struct report_facts *facts) {
  struct report_rows rows = {0};
  const struct report_rows *from = rows_to_draw(facts);
  if (from->count > 1) {
    lumos_vector_push(&rows, facts->all);
  }
  for (size_t i = 0; i < from->count && rows.count < MOST_BARS; i++) {
    lumos_vector_push(&rows, from->items[i]);
  }
  return rows;
}

static void put_row_label(const struct report_facts *facts, const struct report_row *row, struct lumos_text *text) {
  text->length = 0;
  if (row->rank == LUMOS_NONE) {
    lumos_text_put(text, facts->ranks.count > 1 ? "all ranks" : "all steps");
    return;
  }
  if (facts->ranks.count > 1 || row->step == LUMOS_ABSENT_INT) {
    lumos_text_format(text, "rank %d", facts->job->ranks.items[row->rank].rank);
  }
  if (row->step != LUMOS_ABSENT_INT) {
    lumos_text_format(text, "%sstep %d", text->length > 0 ? ", " : "", row->step);
  }
}

/* `part` of `whole` along `length`; what a stream claims beyond the whole ends with it. */
static int32_t along(int64_t part, int64_t whole, int32_t length) {
  int64_t share = report_share(part, whole);
  int64_t shown = share == LUMOS_ABSENT || share <= 0 ? 0 : share < 1000000 ? share : 1000000;
  return (int32_t)(shown * length / 1000000);
}

struct bar {
  const struct shape *shape;
  const struct report_row *row;
  enum report_timeline timeline;
  int64_t longest; /* the time that fills the width */
  int32_t y;
};

static void draw_part(struct report_scene *scene, const struct bar *bar, const struct report_part *part, int32_t x,
                      int32_t width, struct lumos_text *text) {
  const struct report_paint_row *paint = report_paint_row(part->paint);
  int64_t share = report_row_share(bar->row, bar->timeline, part->figure);
  report_scene_box(scene, part->paint, x, bar->y, width, BAR);
  text->length = 0;
  lumos_text_format(text, "%s, %s: ", report_timeline_name(bar->timeline), paint->label);
  report_put_time(text, report_row_mean(bar->row, bar->timeline, part->figure));
  lumos_text_put(text, " (");
  report_put_share(text, share);
  lumos_text_char(text, ')');
  report_scene_tell(scene, text);
  if (width >= SHARE_WIDTH && paint->ink.light != NULL) {
    text->length = 0;
    report_put_share(text, share);
    if (paint->fill == FILL_HATCHED) {
      int32_t room = report_text_width(STYLE_ON_PAINT, text->bytes, text->length) + 40;
      report_scene_plate(scene, part->paint, x + 30, bar->y + 15, room < width - 30 ? room : width - 30, BAR - 30);
    }
    report_scene_text(scene, STYLE_ON_PAINT, part->paint, ANCHOR_START, x + 60, bar->y + BAR - 43, text);
  }
}

/* The step's time, and which timeline it is: beside the bar, or above it. `name`: of the row. */
static void draw_bar_labels(struct report_scene *scene, const struct bar *bar, int32_t end, struct lumos_text *name) {
  const struct shape *shape = bar->shape;
  enum report_paint paint = bar->timeline == MEASURED ? PAINT_TEXT : PAINT_MUTED;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_time(&text, report_row_mean(bar->row, bar->timeline, FIGURE_STEP_TIME));
  if (shape->head == 0) {
    report_scene_text(scene, STYLE_PLAIN, paint, ANCHOR_START, end + 80, bar->y + BAR - 38, &text);
  } else {
    report_scene_text(scene, STYLE_PLAIN, paint, ANCHOR_END, shape->width, bar->y - 40, &text);
    report_scene_text(scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, bar->y - 40, name);
  }
  text.length = 0;
  lumos_text_put(&text, report_timeline_name(bar->timeline));
  if (shape->head == 0) {
    report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, shape->labels - 80, bar->y + BAR - 43, &text);
  } else {
    int32_t x = name->length == 0 ? 0 : report_text_width(STYLE_STRONG, name->bytes, name->length) + 80;
    report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, x, bar->y - 40, &text);
  }
  lumos_text_free(&text);
}

static void draw_bar(struct report_scene *scene, const struct bar *bar, struct lumos_text *name) {
  const struct shape *shape = bar->shape;
  const int32_t room = shape->width - shape->labels - shape->figures;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int64_t before = 0;
  for (int i = 0; i < REPORT_PARTS; i++) {
    int64_t part = report_row_mean(bar->row, bar->timeline, report_parts[i].figure);
    if (part == LUMOS_ABSENT || part <= 0) {
      continue;
    }
    int32_t from = along(before, bar->longest, room);
    before = report_sum(before, part);
    int32_t width = along(before, bar->longest, room) - from;
    if (width > 0) {
      draw_part(scene, bar, &report_parts[i], shape->labels + from, width, &text);
    }
  }
  int64_t step_time = report_row_mean(bar->row, bar->timeline, FIGURE_STEP_TIME);
  draw_bar_labels(scene, bar, shape->labels + along(step_time, bar->longest, room), name);
  lumos_text_free(&text);
}

static int64_t longest_of(const struct report_rows *rows) {
  int64_t longest = 0;
  for (size_t i = 0; i < rows->count; i++) {
    for (int timeline = 0; timeline < TIMELINES; timeline++) {
      int64_t mean = report_row_mean(&rows->items[i], (enum report_timeline)timeline, FIGURE_STEP_TIME);
      longest = mean > longest ? mean : longest;
    }
  }
  return longest;
}

/* One row: its label and a bar for every timeline that it has. Returns where the next row begins. */
static int32_t draw_row(const struct report_facts *facts, struct report_scene *scene, struct bar bar,
                        struct lumos_text *name) {
  put_row_label(facts, bar.row, name);
  if (bar.shape->head == 0) {
    report_scene_text(scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, bar.y + BAR - 38, name);
  }
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    if (bar.row->figures[timeline].of[FIGURE_STEP_TIME] != LUMOS_ABSENT) {
      bar.timeline = (enum report_timeline)timeline;
      bar.y += bar.shape->head;
      draw_bar(scene, &bar, name);
      bar.y += BAR + BAR_GAP;
      name->length = 0; /* once is enough */
    }
  }
  return bar.y + ROW_GAP;
}

static void draw_breakdown(const struct report_facts *facts, const struct shape *shape, struct report_scene *scene) {
  report_scene_begin(scene, shape->name, shape->width);
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  struct report_rows rows = picture_rows(facts);
  struct bar bar = {.shape = shape, .longest = longest_of(&rows), .y = TOP};
  for (size_t i = 0; i < rows.count; i++) {
    bar.row = &rows.items[i];
    bar.y = draw_row(facts, scene, bar, &name);
  }
  scene->height = bar.y;
  lumos_text_put(&scene->title, "Where the step went, by rank, measured and simulated");
  lumos_text_put(&scene->description,
                 "Stacked bars of time: compute, overlapped, communication, copies, idle. The table below the "
                 "picture holds the same numbers.");
  lumos_text_free(&name);
  lumos_vector_free(&rows);
}

void report_put_breakdown_left_out(const struct report_facts *facts, struct lumos_text *out) {
  size_t ranks = rows_to_draw(facts)->count;
  if (ranks >= MOST_BARS) { /* one bar is for all of them */
    lumos_text_put(out, "Not drawn here: ");
    report_put_counted(out, (int64_t)(ranks - (MOST_BARS - 1)), "more rank");
    lumos_text_char(out, '.');
  }
}

void report_breakdown_scene(const struct report_facts *facts, struct report_scene *scene) {
  draw_breakdown(facts, &wide, scene);
}

void report_breakdown_narrow_scene(const struct report_facts *facts, struct report_scene *scene) {
  draw_breakdown(facts, &narrow, scene);
}

/* The tables' columns after the first three; the same for shares and for times. */
#define PART_COLUMNS(kind)                                                                                       \
  {"exposed_compute", "compute", "exposed_compute", kind}, {"overlapped", "overlapped", "overlapped", kind},     \
      {"exposed_communication", "exposed communication", "exposed_communication", kind},                         \
      {"communication_transfer", "transfer", "transfer", kind}, {"communication_wait", "waiting", "wait", kind}, \
      {"communication_unsplit", "not split", "unsplit", kind}, {"exposed_copy", "copies", "exposed_copy", kind}, \
      {"idle", "idle", "idle", kind}, {                                                                          \
    "gpu_busy", "GPU busy", "gpu_busy", kind                                                                     \
  }

static const enum report_figure part_figures[] = {FIGURE_EXPOSED_COMPUTE,
                                                  FIGURE_OVERLAPPED,
                                                  FIGURE_EXPOSED_COMMUNICATION,
                                                  FIGURE_COMMUNICATION_TRANSFER,
                                                  FIGURE_COMMUNICATION_WAIT,
                                                  FIGURE_COMMUNICATION_UNSPLIT,
                                                  FIGURE_EXPOSED_COPY,
                                                  FIGURE_IDLE,
                                                  FIGURE_GPU_BUSY};
enum { PART_FIGURES = sizeof part_figures / sizeof part_figures[0] };

/* The first three cells of a row: where, in which timeline, and how long a step takes. */
static void put_place(const struct report_facts *facts, const struct report_row *row, enum report_timeline timeline,
                      struct report_table *table) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_row_label(facts, row, &text);
  report_table_copy(table, &text);
  lumos_text_free(&text);
  report_table_word(table, report_timeline_name(timeline));
  report_table_number(table, report_row_mean(row, timeline, FIGURE_STEP_TIME));
}

static void put_shares(const struct report_facts *facts, const struct report_row *row, struct report_table *table) {
  for (int i = 0; i < TIMELINES; i++) {
    enum report_timeline timeline = (enum report_timeline)i;
    if (row->figures[timeline].of[FIGURE_STEP_TIME] != LUMOS_ABSENT) {
      put_place(facts, row, timeline, table);
      for (int figure = 0; figure < PART_FIGURES; figure++) {
        report_table_number(table, report_row_share(row, timeline, part_figures[figure]));
      }
    }
  }
}

static void put_times(const struct report_facts *facts, const struct report_row *row, struct report_table *table) {
  for (int i = 0; i < TIMELINES; i++) {
    enum report_timeline timeline = (enum report_timeline)i;
    if (row->figures[timeline].of[FIGURE_STEP_TIME] != LUMOS_ABSENT) {
      put_place(facts, row, timeline, table);
      for (int figure = 0; figure < PART_FIGURES; figure++) {
        report_table_number(table, row->figures[timeline].of[part_figures[figure]]);
      }
    }
  }
}

void report_breakdown_tables(const struct report_facts *facts, struct report_table *by_rank,
                             struct report_table *by_step) {
  static const struct report_column share_columns[] = {{"where", "where", NULL, COLUMN_NAME},
                                                       {"timeline", "timeline", "simulated", COLUMN_TEXT},
                                                       {"step_time", "step time", "step_time", COLUMN_MS},
                                                       PART_COLUMNS(COLUMN_SHARE)};
  static const struct report_column time_columns[] = {{"where", "where", NULL, COLUMN_NAME},
                                                      {"timeline", "timeline", "simulated", COLUMN_TEXT},
                                                      {"step_time", "step time", "step_time", COLUMN_MS},
                                                      PART_COLUMNS(COLUMN_MS)};
  report_table_begin(by_rank, "breakdown", share_columns, sizeof share_columns / sizeof share_columns[0]);
  report_table_begin(by_step, "steps", time_columns, sizeof time_columns / sizeof time_columns[0]);
  by_rank->grouped = by_step->grouped = true;
  lumos_text_put(&by_rank->caption, "Shares of the step time of the row; the mean over the rank's steps");
  lumos_text_put(&by_step->caption, "Every rank and step, in time");
  if (facts->ranks.count > 1) {
    put_shares(facts, &facts->all, by_rank);
  }
  for (size_t i = 0; i < facts->ranks.count; i++) {
    put_shares(facts, &facts->ranks.items[i], by_rank);
  }
  for (size_t i = 0; i < facts->steps.count; i++) {
    put_times(facts, &facts->steps.items[i], by_step);
  }
}
