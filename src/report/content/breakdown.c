/* The breakdown's pictures and tables. */
#include "report/content/breakdown.h"

#include "report/text/numbers.h"

const struct report_part report_parts[REPORT_PARTS] = {
    {FIGURE_EXPOSED_COMPUTE, PAINT_COMPUTE, "exposed_compute", NULL},
    {FIGURE_OVERLAPPED, PAINT_OVERLAPPED, "overlapped", NULL},
    {FIGURE_COMMUNICATION_TRANSFER, PAINT_TRANSFER, "communication_transfer", NULL},
    {FIGURE_COMMUNICATION_WAIT, PAINT_WAIT, "communication_wait", NULL},
    {FIGURE_PIPELINE_BUBBLE, PAINT_BUBBLE, "pipeline_bubble", NULL},
    {FIGURE_COMMUNICATION_UNSPLIT, PAINT_UNSPLIT, "communication_unsplit", NULL},
    {FIGURE_EXPOSED_COPY, PAINT_COPY_PART, "exposed_copy", NULL},
    {FIGURE_NOT_RECORDED, PAINT_NOT_RECORDED, "not_recorded", NULL},
    {FIGURE_IDLE, PAINT_IDLE, "idle", NULL},
};

/* ---- The picture ---- */

static void draw_breakdown(const struct report_facts *facts, const char *name, bool narrow,
                           struct report_scene *scene) {
  const struct report_bars bars = {.facts = facts,
                                   .parts = report_parts,
                                   .part_count = REPORT_PARTS,
                                   .whole = FIGURE_STEP_TIME,
                                   .timeline = report_facts_spoken(facts),
                                   .both = report_facts_differ(facts)};
  if (!report_bars_scene(&bars, name, narrow, scene)) {
    report_scene_begin(scene, name, 0);
  }
  lumos_text_put(&scene->title, "Where the step went, by rank");
  lumos_text_put(&scene->description,
                 "Stacked bars of time: compute, overlapped, communication, copies, outside the recording, "
                 "idle. The table of the same name holds the numbers of every rank.");
}

/* Is a rank's own step shorter than the job's, so that it can be seen? */
static bool has_shorter_rank(const struct report_facts *facts) {
  enum { VISIBLE = 100 }; /* one part in so many of the step */
  enum report_timeline timeline = report_facts_spoken(facts);
  int64_t step = report_facts_step_time(facts, timeline);
  bool shorter = false;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    shorter |= report_rest_of_step(facts, &facts->ranks.items[i], timeline) > step / VISIBLE;
  }
  return shorter;
}

/* " The longest is step 1013, 81.2 ms." of steps that are drawn together. */
static void put_longest_step(const struct report_facts *facts, struct lumos_text *out) {
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct report_row *longest = NULL;
  for (size_t i = 0; i < facts->steps.count; i++) {
    const struct report_row *row = &facts->steps.items[i];
    bool longer = longest == NULL || report_row_mean(row, timeline, FIGURE_STEP_TIME) >
                                         report_row_mean(longest, timeline, FIGURE_STEP_TIME);
    longest = !row->left_out && longer ? row : longest;
  }
  if (facts->ranks.count == 1 && facts->steps.count > 1 && longest != NULL) {
    lumos_text_format(out, " The longest is step %d, ", longest->step);
    report_put_time(out, report_row_mean(longest, timeline, FIGURE_STEP_TIME));
    lumos_text_char(out, '.');
  }
}

void report_put_breakdown_reading(const struct report_facts *facts, struct lumos_text *out) {
  bool measured = facts->all.figures[MEASURED].of[FIGURE_STEP_TIME] != LUMOS_ABSENT;
  bool simulated = facts->all.figures[SIMULATED].of[FIGURE_STEP_TIME] != LUMOS_ABSENT;
  lumos_text_format(
      out, "A bar is the mean step of %s that look alike; shares are of the job\xE2\x80\x99s mean step, each rounded. ",
      facts->ranks.count > 1 ? "ranks" : "steps");
  if (report_facts_differ(facts)) {
    lumos_text_put(out, facts->edited ? "Before: measured, without the change. After: simulated with it." : "");
  } else if (measured) {
    lumos_text_put(out, simulated ? "As measured; the simulated bars look the same." : "As measured.");
  } else {
    lumos_text_put(out, "As simulated.");
  }
  put_longest_step(facts, out);
  if (has_shorter_rank(facts)) {
    lumos_text_put(
        out,
        " The job\xE2\x80\x99s step lasts from the earliest start to the latest end. Before and after its own part of "
        "it a rank counts as outside the recording.");
  }
}

void report_breakdown_scene(const struct report_facts *facts, struct report_scene *scene) {
  draw_breakdown(facts, "breakdown", false, scene);
}

void report_breakdown_narrow_scene(const struct report_facts *facts, struct report_scene *scene) {
  draw_breakdown(facts, "narrow", true, scene);
}

/* ---- Why GPUs idle ---- */

const struct report_part report_idle_parts[REPORT_IDLE_PARTS] = {
    {FIGURE_IDLE_HOST, (enum report_paint)LUMOS_OP, "idle_host", "CPU-bound"},
    {FIGURE_IDLE_SYNC, (enum report_paint)LUMOS_SYNC, "idle_sync", "CPU blocked in synchronization"},
    {FIGURE_IDLE_LAUNCH, PAINT_LATENCY, "idle_launch", "launch latency"},
    {FIGURE_IDLE_DEPENDENCY, PAINT_BETWEEN, "idle_dependency", "waiting for other work"},
    {FIGURE_IDLE_UNEXPLAINED, PAINT_UNEXPLAINED, "idle_unexplained", "unexplained"},
};

/* Causes are known of the simulated timeline alone. */
static const struct report_row *idle_row(const struct report_facts *facts) {
  return report_facts_whole(facts, SIMULATED);
}

static bool knows_idle_causes(const struct report_facts *facts) {
  return idle_row(facts)->figures[SIMULATED].of[FIGURE_IDLE_HOST] != LUMOS_ABSENT;
}

void report_put_idle_finding(const struct report_facts *facts, struct lumos_text *out) {
  const struct report_row *row = idle_row(facts);
  if (!knows_idle_causes(facts) || row->figures[SIMULATED].of[FIGURE_IDLE] <= 0) {
    return;
  }
  lumos_text_put(out, lumos_job_weight(facts->job) > 1 ? "GPUs idle for " : "The GPU idles for ");
  report_put_share(out, report_row_share(facts, row, SIMULATED, FIGURE_IDLE));
  lumos_text_put(out, " of the step");
  bool first = true;
  for (size_t i = 0; i < REPORT_IDLE_PARTS; i++) {
    const struct report_part *part = &report_idle_parts[i];
    if (row->figures[SIMULATED].of[part->figure] > 0) {
      lumos_text_put(out, first ? ": " : ", ");
      report_put_share(out, report_row_share(facts, row, SIMULATED, part->figure));
      lumos_text_format(out, " %s", part->label);
      first = false;
    }
  }
}

bool report_idle_scene(const struct report_facts *facts, bool narrow, struct report_scene *scene) {
  const struct report_bars bars = {.facts = facts,
                                   .parts = report_idle_parts,
                                   .part_count = REPORT_IDLE_PARTS,
                                   .whole = FIGURE_IDLE,
                                   .timeline = SIMULATED,
                                   .named = true};
  if (!knows_idle_causes(facts) || !report_bars_scene(&bars, narrow ? "idlenarrow" : "idle", narrow, scene)) {
    return false;
  }
  lumos_text_put(&scene->title, "Why GPUs idle, by rank");
  lumos_text_put(&scene->description,
                 "Stacked bars of idle time by its cause. The table of idle time by rank holds the "
                 "numbers.");
  return true;
}

/* ---- The tables ---- */

/* The tables' columns after the first three; the same for shares and for times. */
#define PART_COLUMNS(kind)                                                                                   \
  {"exposed_compute", "compute", "exposed_compute", kind}, {"overlapped", "overlapped", "overlapped", kind}, \
      {"exposed_communication", "exposed communication", "exposed_communication", kind},                     \
      {"communication_transfer", "transfer", "communication_transfer", kind},                                \
      {"communication_wait", "waiting", "communication_wait", kind},                                         \
      {"pipeline_bubble", "bubble", "pipeline_bubble", kind},                                                \
      {"communication_unsplit", "transfer or waiting", "communication_unsplit", kind},                       \
      {"exposed_copy", "copies", "exposed_copy", kind},                                                      \
      {"not_recorded", "outside the recording", "not_recorded", kind}, {"idle", "idle", "idle", kind}, {     \
    "gpu_busy", "GPU busy", "gpu_busy", kind                                                                 \
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
  report_put_row_label(facts, row, &text);
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
        report_table_number(table, report_row_share(facts, row, timeline, part_figures[figure]));
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
                 "Shares of the job\xE2\x80\x99s mean step, whatever the row is of; all ranks: the mean over them");
  lumos_text_put(&by_step->caption, "Every rank and step, in time");
  if (facts->ranks.count > 1) {
    put_shares(facts, report_facts_whole(facts, report_facts_spoken(facts)), by_rank);
  }
  for (size_t i = 0; i < facts->ranks.count; i++) {
    put_shares(facts, &facts->ranks.items[i], by_rank);
  }
  for (size_t i = 0; i < facts->steps.count; i++) {
    put_times(facts, &facts->steps.items[i], by_step);
  }
}
