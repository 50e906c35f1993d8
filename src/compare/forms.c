/* A comparison as text for a terminal and as Markdown: the same sentences and tables. */
#include "base/utf8.h"
#include "compare/json.h"
#include "compare/verdict.h"
#include "compare/words.h"
#include "report/content/table.h"
#include "report/text/escape.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 12 }; /* of a table, where not all are asked for */

struct form {
  const struct lumos_comparison *comparison;
  bool markdown, full;
  struct lumos_text *out;
};

/* ---- Sentences ---- */

static void put_line(const struct form *form, struct lumos_text *text) {
  if (form->markdown) {
    report_put_markdown(form->out, text->bytes, text->length);
    lumos_text_put(form->out, "\n\n");
  } else {
    lumos_utf8_make_printable(text->bytes, text->length);
    lumos_text_add(form->out, text->bytes, text->length);
    lumos_text_char(form->out, '\n');
  }
  text->length = 0;
}

/* "A: 41.1 ms a step, 41.0 ms to 41.2 ms in 2 steps of 3, 1 rank, NVIDIA H100" */
static void put_job(const struct form *form, int side) {
  const struct lumos_compared_job *job = &form->comparison->jobs[side];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, side == 0 ? "A: " : "B: ");
  report_put_time(&text, job->step);
  lumos_text_put(&text, form->comparison->simulated ? " a step (simulated), " : " a step, ");
  if (job->steps > 1) {
    report_put_time_range(&text, job->shortest, job->longest);
    lumos_text_put(&text, " in ");
  }
  report_put_counted(&text, job->steps, "step");
  if (job->steps < job->steps_recorded) {
    lumos_text_format(&text, " of %u", job->steps_recorded);
  }
  lumos_text_put(&text, ", ");
  report_put_counted(&text, job->ranks, "rank");
  if (job->device != LUMOS_NO_STRING) {
    lumos_text_put(&text, ", ");
    compare_put_name(&text, form->comparison, job->device, 80);
  }
  put_line(form, &text);
  lumos_text_free(&text);
}

/* How rows are matched, in words for a table. */
static const char *match_words(enum lumos_match match) {
  static const char *const words[LUMOS_MATCHES] = {[LUMOS_MATCH_EXACT] = "same",
                                                   [LUMOS_MATCH_MODULE] = "another module",
                                                   [LUMOS_MATCH_KERNEL] = "other kernel",
                                                   [LUMOS_MATCH_SHAPES] = "other shapes",
                                                   [LUMOS_MATCH_OP] = "another op",
                                                   [LUMOS_MATCH_ELSEWHERE] = "another layer",
                                                   [LUMOS_MATCH_NAME] = "another place",
                                                   [LUMOS_MATCH_LAYER] = "same layer and kind",
                                                   [LUMOS_MATCH_PHASE] = "same phase and kind"};
  return match < LUMOS_MATCHES ? words[match] : "nothing";
}

static int64_t matched_time(const struct lumos_comparison *comparison, int level) {
  return report_sum(comparison->jobs[0].matched[level], comparison->jobs[1].matched[level]);
}

static void put_matched(const struct form *form) {
  static const char *const words[LUMOS_MATCHES] = {[LUMOS_MATCH_EXACT] = "by layer, op, shapes and kernel",
                                                   [LUMOS_MATCH_MODULE] = "the same in another module",
                                                   [LUMOS_MATCH_KERNEL] = "with another kernel",
                                                   [LUMOS_MATCH_SHAPES] = "with other shapes",
                                                   [LUMOS_MATCH_OP] = "with another op",
                                                   [LUMOS_MATCH_ELSEWHERE] = "in another layer",
                                                   [LUMOS_MATCH_NAME] = "by phase and kernel",
                                                   [LUMOS_MATCH_LAYER] = "by layer and kind of kernel",
                                                   [LUMOS_MATCH_PHASE] = "by phase and kind of kernel"};
  const struct lumos_comparison *comparison = form->comparison;
  int64_t whole = report_sum(comparison->jobs[0].gpu_time, comparison->jobs[1].gpu_time), matched = 0;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (int level = 0; level < LUMOS_MATCHES; level++) {
    matched = report_sum(matched, matched_time(comparison, level));
  }
  lumos_text_put(&text, "Matched: ");
  report_put_share(&text, report_share(matched, whole));
  lumos_text_put(&text, " of the GPU time of both");
  for (int level = 0, shown = 0; level < LUMOS_MATCHES; level++) {
    if (matched_time(comparison, level) > 0) {
      lumos_text_put(&text, shown++ == 0 ? ": " : ", ");
      report_put_share(&text, report_share(matched_time(comparison, level), whole));
      lumos_text_format(&text, " %s", words[level]);
    }
  }
  put_line(form, &text);
  lumos_text_free(&text);
}

static void put_noise(const struct form *form) {
  const struct lumos_comparison *comparison = form->comparison;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (comparison->noise == LUMOS_ABSENT) {
    lumos_text_put(&text, "Noise floor: unknown, for each job has one step here. Record several steps.");
  } else {
    lumos_text_put(&text, "Noise floor: ");
    report_put_time(&text, comparison->noise);
    lumos_text_put(&text, " a step, from how steps vary within each recording; two recordings of one job may differ by "
                          "more.");
    int64_t longer = comparison->jobs[1].step - comparison->jobs[0].step;
    if (comparison->step_differs && llabs(longer) <= comparison->noise) {
      lumos_text_put(&text, " The step differs by less, but the work below changed beyond noise.");
    }
  }
  put_line(form, &text);
  lumos_text_free(&text);
}

/* ---- Tables ---- */

static void put_table(const struct form *form, struct report_table *table) {
  lumos_text_char(form->out, '\n');
  if (form->markdown) {
    report_table_markdown(table, form->out);
  } else {
    report_table_plain(table, form->out);
  }
  report_table_free(table);
}

static void put_rest(struct report_table *table, size_t left_out) {
  if (left_out > 0) {
    lumos_text_put(&table->rest, "and ");
    report_put_counted(&table->rest, (int64_t)left_out, "more row");
    lumos_text_put(&table->rest, ": --full shows them");
  }
}

static int by_change(const void *left, const void *right) {
  const struct lumos_compared_part *a = left, *b = right;
  int64_t change_a = llabs(a->time[1] - a->time[0]), change_b = llabs(b->time[1] - b->time[0]);
  return change_a != change_b ? (change_a > change_b ? -1 : 1) : LUMOS_ORDER(a->label, b->label);
}

static void add_part(struct report_table *table, const struct lumos_comparison *comparison,
                     const struct lumos_compared_part *part) {
  report_table_string(table, comparison->strings, part->label);
  report_table_number(table, part->time[0]);
  report_table_number(table, part->time[1]);
  report_table_number(table, part->time[1] - part->time[0]);
}

/* All of a long list that is not shown is one row, so that the rows still add up, and the last row is the step. */
static void put_parts(const struct form *form, const char *name, const char *caption,
                      const struct lumos_compared_parts *parts) {
  static const struct report_column columns[] = {
      {"part", "part", NULL, COLUMN_NAME},
      {"a", "A", NULL, COLUMN_MS},
      {"b", "B", NULL, COLUMN_MS},
      {"difference", "B \xE2\x88\x92 A", NULL, COLUMN_MS},
  };
  const struct lumos_comparison *comparison = form->comparison;
  struct report_table table;
  report_table_begin(&table, name, columns, sizeof columns / sizeof *columns);
  lumos_text_put(&table.caption, caption);
  struct lumos_compared_parts sorted = {lumos_copied(parts->items, parts->count, sizeof *parts->items), parts->count,
                                        parts->count};
  lumos_vector_sort(&sorted, by_change);
  size_t shown = form->full || sorted.count <= FIRST_ROWS ? sorted.count : FIRST_ROWS - 1;
  struct lumos_compared_part others = {0};
  for (size_t i = 0; i < sorted.count; i++) {
    if (i < shown) {
      add_part(&table, comparison, &sorted.items[i]);
    } else {
      others.time[0] += sorted.items[i].time[0];
      others.time[1] += sorted.items[i].time[1];
    }
  }
  const struct lumos_compared_part step = {0, {comparison->jobs[0].step, comparison->jobs[1].step}};
  const struct lumos_compared_part *const last[] = {&others, &step};
  static const char *const labels[] = {"all others", "step"};
  for (size_t i = shown == sorted.count; i < 2; i++) {
    report_table_word(&table, labels[i]);
    report_table_number(&table, last[i]->time[0]);
    report_table_number(&table, last[i]->time[1]);
    report_table_number(&table, last[i]->time[1] - last[i]->time[0]);
  }
  put_table(form, &table);
  lumos_vector_free(&sorted);
}

static void add_names(struct report_table *table, const struct lumos_comparison *comparison,
                      const struct lumos_compared_row *row) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  compare_put_work(&text, comparison, row, 64);
  report_table_copy(table, &text);
  report_table_word(table, compare_kind_words(row->kind));
  compare_put_place(&text, row);
  report_table_copy(table, &text);
}

/* Where there is no noise floor every row may have changed; those that account for nothing have not. */
static bool is_changed(const struct lumos_comparison *comparison, const struct lumos_compared_row *row) {
  return row->match != LUMOS_MATCH_NONE &&
         (row->time_differs || row->count_differs ||
          (comparison->noise == LUMOS_ABSENT && row->work[0].time != row->work[1].time));
}

static void put_changed(const struct form *form) {
  static const struct report_column columns[] = {
      {"work", "work", NULL, COLUMN_NAME},
      {"kind", "kind", NULL, COLUMN_TEXT},
      {"place", "where", NULL, COLUMN_TEXT},
      {"match", "match", NULL, COLUMN_TEXT},
      {"count_a", "count A", NULL, COLUMN_MEAN},
      {"count_b", "count B", NULL, COLUMN_MEAN},
      {"a", "A", NULL, COLUMN_MS},
      {"b", "B", NULL, COLUMN_MS},
      {"difference", "B \xE2\x88\x92 A", NULL, COLUMN_MS},
      {"noise", "noise", NULL, COLUMN_MS},
      {"step", "of the step", NULL, COLUMN_MS},
  };
  const struct lumos_comparison *comparison = form->comparison;
  struct report_table table;
  report_table_begin(&table, "changed", columns, sizeof columns / sizeof *columns);
  size_t changed = 0;
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    if (is_changed(comparison, row) && (changed++ < FIRST_ROWS || form->full)) {
      add_names(&table, comparison, row);
      report_table_word(&table, match_words(row->match));
      report_table_number(&table, row->work[0].count);
      report_table_number(&table, row->work[1].count);
      report_table_number(&table, row->work[0].time);
      report_table_number(&table, row->work[1].time);
      report_table_number(&table, row->work[1].time - row->work[0].time);
      report_table_number(&table, row->noise);
      report_table_number(&table, row->work[1].step - row->work[0].step);
    }
  }
  if (changed == 0) {
    report_table_free(&table);
    return;
  }
  lumos_text_put(&table.caption, comparison->noise == LUMOS_ABSENT
                                     ? "Work of both whose GPU time is not the same, per step"
                                     : "Work of both that changed by more than its noise, per step");
  put_rest(&table, form->full || changed <= FIRST_ROWS ? 0 : changed - FIRST_ROWS);
  put_table(form, &table);
}

static void put_only(const struct form *form, int side) {
  static const struct report_column columns[] = {
      {"work", "work", NULL, COLUMN_NAME},     {"kind", "kind", NULL, COLUMN_TEXT},
      {"place", "where", NULL, COLUMN_TEXT},   {"count", "count", NULL, COLUMN_MEAN},
      {"time", "GPU time", NULL, COLUMN_MS},   {"step", "of the step", NULL, COLUMN_MS},
      {"shapes", "shapes", NULL, COLUMN_TEXT},
  };
  const struct lumos_comparison *comparison = form->comparison;
  struct report_table table;
  report_table_begin(&table, side == 0 ? "only_a" : "only_b", columns, sizeof columns / sizeof *columns);
  size_t found = 0;
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    const struct lumos_compared_work *work = &row->work[side];
    if (row->match == LUMOS_MATCH_NONE && work->count > 0 && (found++ < FIRST_ROWS || form->full)) {
      add_names(&table, comparison, row);
      report_table_number(&table, work->count);
      report_table_number(&table, work->time);
      report_table_number(&table, work->step);
      report_table_string(&table, comparison->strings, work->shapes);
    }
  }
  if (found == 0) {
    report_table_free(&table);
    return;
  }
  lumos_text_format(&table.caption, "Work that only %s does, per step", side == 0 ? "A" : "B");
  put_rest(&table, form->full || found <= FIRST_ROWS ? 0 : found - FIRST_ROWS);
  put_table(form, &table);
}

static void put_calls(const struct form *form) {
  static const struct report_column columns[] = {
      {"call", "call", NULL, COLUMN_NAME},       {"count_a", "count A", NULL, COLUMN_MEAN},
      {"count_b", "count B", NULL, COLUMN_MEAN}, {"a", "CPU time A", NULL, COLUMN_MS},
      {"b", "CPU time B", NULL, COLUMN_MS},      {"noise", "noise", NULL, COLUMN_MS},
      {"op", "mostly in", NULL, COLUMN_TEXT},
  };
  const struct lumos_comparison *comparison = form->comparison;
  struct report_table table;
  report_table_begin(&table, "calls", columns, sizeof columns / sizeof *columns);
  size_t changed = 0;
  for (size_t i = 0; i < comparison->calls.count; i++) {
    const struct lumos_compared_row *row = &comparison->calls.items[i];
    if ((row->count_differs || row->time_differs) && (changed++ < FIRST_ROWS || form->full)) {
      const struct lumos_compared_work *work = row->work[0].count > 0 ? &row->work[0] : &row->work[1];
      report_table_string(&table, comparison->strings, work->name);
      report_table_number(&table, row->work[0].count);
      report_table_number(&table, row->work[1].count);
      report_table_number(&table, row->work[0].time);
      report_table_number(&table, row->work[1].time);
      report_table_number(&table, row->noise);
      report_table_string(&table, comparison->strings, row->count_differs ? work->op : LUMOS_NO_STRING);
    }
  }
  if (changed == 0) {
    report_table_free(&table);
    return;
  }
  lumos_text_put(&table.caption, "Calls into the CUDA or HIP runtime that changed, per step");
  put_rest(&table, form->full || changed <= FIRST_ROWS ? 0 : changed - FIRST_ROWS);
  put_table(form, &table);
}

/* ---- All together ---- */

static void put_readable(const struct form *form) {
  const struct lumos_comparison *comparison = form->comparison;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_comparison_verdict(comparison, &text);
  put_line(form, &text);
  lumos_text_free(&text);
  lumos_text_put(form->out, form->markdown ? "" : "\n");
  put_job(form, 0);
  put_job(form, 1);
  put_matched(form);
  put_noise(form);
  put_parts(form, "classes", "The step by what the GPU does", &comparison->classes);
  put_parts(form, "kinds", "The step by kind of work", &comparison->kinds);
  if (comparison->layers.count > 2) { /* one part and idle time say nothing */
    put_parts(form, "layers", "The step by layer", &comparison->layers);
  }
  if (comparison->ranks.count > 1) {
    put_parts(form, "ranks", "The step by rank: what each adds to a mean over ranks", &comparison->ranks);
  }
  put_changed(form);
  put_only(form, 0);
  put_only(form, 1);
  put_calls(form);
}

void lumos_comparison_write(const struct lumos_comparison *comparison, enum lumos_compare_format format, bool full,
                            struct lumos_text *out) {
  if (format == LUMOS_COMPARE_JSON) {
    compare_put_json(comparison, out);
  } else {
    const struct form form = {comparison, format == LUMOS_COMPARE_MARKDOWN, full, out};
    put_readable(&form);
  }
}
