/* The breakdown's picture and tables. */
#include "report/content/breakdown.h"

#include "report/content/stack.h"
#include "report/text/numbers.h"

const struct report_part report_parts[REPORT_PARTS] = {
    {FIGURE_EXPOSED_COMPUTE, PAINT_COMPUTE, "exposed_compute"},
    {FIGURE_OVERLAPPED, PAINT_OVERLAPPED, "overlapped"},
    {FIGURE_COMMUNICATION_TRANSFER, PAINT_TRANSFER, "communication_transfer"},
    {FIGURE_COMMUNICATION_WAIT, PAINT_WAIT, "communication_wait"},
    {FIGURE_PIPELINE_BUBBLE, PAINT_BUBBLE, "pipeline_bubble"},
    {FIGURE_COMMUNICATION_UNSPLIT, PAINT_UNSPLIT, "communication_unsplit"},
    {FIGURE_EXPOSED_COPY, PAINT_COPY_PART, "exposed_copy"},
    {FIGURE_NOT_RECORDED, PAINT_NOT_RECORDED, "not_recorded"},
    {FIGURE_IDLE, PAINT_IDLE, "idle"},
};

enum { MOST_BARS = 32 }; /* that are drawn; the table has all */

/* What the bars stand for: every rank and step where they are few, else every rank's steps added up. */
static const struct report_rows *rows_to_draw(const struct report_facts *facts) {
  return facts->steps.count <= 8 && facts->ranks.count <= 2 ? &facts->steps : &facts->ranks;
}

/* The row of all ranks, whose step is the one that the verdict tells. */
static const struct report_row *whole_row(const struct report_facts *facts) {
  return report_facts_whole(facts, report_facts_spoken(facts));
}

/* Rows of the picture; where there are several they begin with all. */
static struct report_rows picture_rows(const struct report_facts *facts) {
  struct report_rows rows = {0};
  const struct report_rows *from = rows_to_draw(facts);
  if (from->count > 1) {
    lumos_vector_push(&rows, *whole_row(facts));
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

static void draw_bar(const struct report_row *row, enum report_timeline timeline, struct report_stack *stack,
                     struct lumos_text *name) {
  struct report_stack_part parts[REPORT_PARTS];
  for (int i = 0; i < REPORT_PARTS; i++) {
    const struct report_part *part = &report_parts[i];
    parts[i] = (struct report_stack_part){part->paint, report_paint_row(part->paint)->label,
                                          report_row_mean(row, timeline, part->figure),
                                          report_row_share(row, timeline, part->figure)};
  }
  const struct report_stack_bar bar = {.kind = report_timeline_name(timeline),
                                       .muted = timeline != MEASURED,
                                       .whole = report_row_mean(row, timeline, FIGURE_STEP_TIME),
                                       .parts = parts,
                                       .part_count = REPORT_PARTS};
  report_stack_add(stack, &bar, name);
}

/* A row is its label and a bar for every timeline that it has. */
static void draw_breakdown(const struct report_facts *facts, const char *scene_name,
                           const struct report_stack_shape *shape, struct report_scene *scene) {
  report_scene_begin(scene, scene_name, shape->width);
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  struct report_rows rows = picture_rows(facts);
  struct report_stack stack = report_stack_begin(scene, shape, longest_of(&rows));
  for (size_t i = 0; i < rows.count; i++) {
    put_row_label(facts, &rows.items[i], &name);
    for (int timeline = 0; timeline < TIMELINES; timeline++) {
      if (rows.items[i].figures[timeline].of[FIGURE_STEP_TIME] != LUMOS_ABSENT) {
        draw_bar(&rows.items[i], (enum report_timeline)timeline, &stack, &name);
      }
    }
    report_stack_end_row(&stack);
  }
  lumos_text_put(&scene->title, "Where the step went, by rank, measured and simulated");
  lumos_text_put(
      &scene->description,
      "Stacked bars of time: compute, overlapped, communication, copies, not recorded, idle. The table below the "
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
  draw_breakdown(facts, "breakdown", &report_stack_wide, scene);
}

void report_breakdown_narrow_scene(const struct report_facts *facts, struct report_scene *scene) {
  draw_breakdown(facts, "narrow", &report_stack_narrow, scene);
}

/* The tables' columns after the first three; the same for shares and for times. */
#define PART_COLUMNS(kind)                                                                                      \
  {"exposed_compute", "compute", "exposed_compute", kind}, {"overlapped", "overlapped", "overlapped", kind},    \
      {"exposed_communication", "exposed communication", "exposed_communication", kind},                        \
      {"communication_transfer", "transfer", "communication_transfer", kind},                                   \
      {"communication_wait", "waiting", "communication_wait", kind},                                            \
      {"pipeline_bubble", "bubble", "pipeline_bubble", kind},                                                   \
      {"communication_unsplit", "not split", "communication_unsplit", kind},                                    \
      {"exposed_copy", "copies", "exposed_copy", kind}, {"not_recorded", "not recorded", "not_recorded", kind}, \
      {"idle", "idle", "idle", kind}, {                                                                         \
    "gpu_busy", "GPU busy", "gpu_busy", kind                                                                    \
  }

static const enum report_figure part_figures[] = {FIGURE_EXPOSED_COMPUTE,
                                                  FIGURE_OVERLAPPED,
                                                  FIGURE_EXPOSED_COMMUNICATION,
                                                  FIGURE_COMMUNICATION_TRANSFER,
                                                  FIGURE_COMMUNICATION_WAIT,
                                                  FIGURE_PIPELINE_BUBBLE,
                                                  FIGURE_COMMUNICATION_UNSPLIT,
                                                  FIGURE_EXPOSED_COPY,
                                                  FIGURE_NOT_RECORDED,
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
  lumos_text_put(&by_rank->caption,
                 "Shares of the step time of the row; of all ranks that is the job's step, and the mean over them");
  lumos_text_put(&by_step->caption, "Every rank and step, in time");
  if (facts->ranks.count > 1) {
    put_shares(facts, whole_row(facts), by_rank);
  }
  for (size_t i = 0; i < facts->ranks.count; i++) {
    put_shares(facts, &facts->ranks.items[i], by_rank);
  }
  for (size_t i = 0; i < facts->steps.count; i++) {
    put_times(facts, &facts->steps.items[i], by_step);
  }
}
