/* See tables.h. */
#include "compare/tables.h"

#include "compare/verdict.h"
#include "compare/words.h"
#include "report/text/numbers.h"
#include <stdlib.h>

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

void compare_list_parts(const struct lumos_comparison *comparison, const struct lumos_compared_parts *parts,
                        size_t most, struct compare_parts_list *list) {
  struct lumos_compared_parts sorted = {lumos_copied(parts->items, parts->count, sizeof *parts->items), parts->count,
                                        parts->count};
  struct compare_listed_part others = {"all others", LUMOS_ABSENT_INT, true, {0, 0}};
  size_t shown = sorted.count <= most ? sorted.count : most - 1;
  *list = (struct compare_parts_list){0};
  lumos_vector_sort(&sorted, by_change);
  for (size_t i = 0; i < sorted.count; i++) {
    const struct lumos_compared_part *part = &sorted.items[i];
    if (i < shown) {
      lumos_vector_push(
          list, ((struct compare_listed_part){
                    lumos_string(comparison->strings, part->label), part->key, false, {part->time[0], part->time[1]}}));
    } else {
      others.time[0] += part->time[0];
      others.time[1] += part->time[1];
    }
  }
  if (shown < sorted.count) {
    lumos_vector_push(list, others);
  }
  lumos_vector_free(&sorted);
}

/* A heading with the name of a job: "count A". */
static const char *headed(const struct lumos_comparison *comparison, const char *of, int side) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s%s%s", of, of[0] == '\0' ? "" : " ", comparison->names[side]);
  const char *heading = lumos_string(comparison->strings, lumos_intern(comparison->strings, text.bytes, text.length));
  lumos_text_free(&text);
  return heading;
}

/* "B - A" */
static const char *difference_heading(const struct lumos_comparison *comparison) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s \xE2\x88\x92 %s", comparison->names[1], comparison->names[0]);
  const char *heading = lumos_string(comparison->strings, lumos_intern(comparison->strings, text.bytes, text.length));
  lumos_text_free(&text);
  return heading;
}

static void add_part(struct report_table *table, const char *label, const int64_t time[2]) {
  report_table_word(table, label);
  report_table_number(table, time[0]);
  report_table_number(table, time[1]);
  report_table_number(table, time[1] - time[0]);
}

/* The last row is the step. */
static void make_parts(const struct lumos_comparison *comparison, size_t most, const char *name, const char *caption,
                       const struct lumos_compared_parts *parts, struct report_table *table) {
  const struct report_column columns[] = {
      {"part", "part", NULL, COLUMN_NAME},
      {"a", headed(comparison, "", 0), NULL, COLUMN_MS},
      {"b", headed(comparison, "", 1), NULL, COLUMN_MS},
      {"difference", difference_heading(comparison), NULL, COLUMN_MS},
  };
  report_table_begin_own(table, name, columns, sizeof columns / sizeof *columns);
  lumos_text_put(&table->caption, caption);
  struct compare_parts_list list;
  compare_list_parts(comparison, parts, most, &list);
  for (size_t i = 0; i < list.count; i++) {
    add_part(table, list.items[i].label, list.items[i].time);
  }
  add_part(table, "step", (const int64_t[2]){comparison->jobs[0].step, comparison->jobs[1].step});
  lumos_vector_free(&list);
}

static void add_names(struct report_table *table, const struct lumos_comparison *comparison,
                      const struct lumos_compared_row *row) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  compare_put_work(&text, comparison, row, 64);
  report_table_copy(table, &text);
  report_table_word(table, compare_kind_words(row->kind));
  compare_put_place(&text, row);
  report_table_copy(table, &text);
  lumos_text_free(&text);
}

/* How the row is matched, or to what its shapes changed. */
static void add_match(struct report_table *table, const struct lumos_comparison *comparison,
                      const struct lumos_compared_row *row) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (!compare_put_sizes(&text, comparison, row)) {
    lumos_text_put(&text, match_words(row->match));
  }
  report_table_copy(table, &text);
  lumos_text_free(&text);
}

/* Where there is no noise floor every row may have changed; those that account for nothing have not. */
static bool is_changed(const struct lumos_comparison *comparison, const struct lumos_compared_row *row) {
  return row->match != LUMOS_MATCH_NONE &&
         (row->time_differs || row->count_differs ||
          (comparison->noise == LUMOS_ABSENT && row->work[0].time != row->work[1].time));
}

static void make_changed(const struct lumos_comparison *comparison, size_t most, struct report_table *table) {
  const struct report_column columns[] = {
      {"work", "work", NULL, COLUMN_NAME},
      {"kind", "kind", NULL, COLUMN_TEXT},
      {"place", "where", NULL, COLUMN_TEXT},
      {"match", "match", NULL, COLUMN_TEXT},
      {"count_a", headed(comparison, "count", 0), NULL, COLUMN_MEAN},
      {"count_b", headed(comparison, "count", 1), NULL, COLUMN_MEAN},
      {"a", headed(comparison, "", 0), NULL, COLUMN_MS},
      {"b", headed(comparison, "", 1), NULL, COLUMN_MS},
      {"difference", difference_heading(comparison), NULL, COLUMN_MS},
      {"noise", "noise", NULL, COLUMN_MS},
      {"step", "of the step", NULL, COLUMN_MS},
  };
  report_table_begin_own(table, "changed", columns, sizeof columns / sizeof *columns);
  size_t changed = 0;
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    if (is_changed(comparison, row) && changed++ < most) {
      add_names(table, comparison, row);
      add_match(table, comparison, row);
      report_table_number(table, row->work[0].count);
      report_table_number(table, row->work[1].count);
      report_table_number(table, row->work[0].time);
      report_table_number(table, row->work[1].time);
      report_table_number(table, row->work[1].time - row->work[0].time);
      report_table_number(table, row->noise);
      report_table_number(table, row->work[1].step - row->work[0].step);
    }
  }
  lumos_text_put(&table->caption, comparison->noise == LUMOS_ABSENT
                                      ? "Work of both whose GPU time is not the same, per step"
                                      : "Work of both that changed by more than its noise, per step");
  put_rest(table, changed <= most ? 0 : changed - most);
}

static void make_only(const struct lumos_comparison *comparison, size_t most, int side, struct report_table *table) {
  static const struct report_column columns[] = {
      {"work", "work", NULL, COLUMN_NAME},     {"kind", "kind", NULL, COLUMN_TEXT},
      {"place", "where", NULL, COLUMN_TEXT},   {"count", "count", NULL, COLUMN_MEAN},
      {"time", "GPU time", NULL, COLUMN_MS},   {"step", "of the step", NULL, COLUMN_MS},
      {"shapes", "shapes", NULL, COLUMN_TEXT},
  };
  report_table_begin(table, side == 0 ? "only_a" : "only_b", columns, sizeof columns / sizeof *columns);
  size_t found = 0;
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    const struct lumos_compared_work *work = &row->work[side];
    if (row->match == LUMOS_MATCH_NONE && work->count > 0 && found++ < most) {
      add_names(table, comparison, row);
      report_table_number(table, work->count);
      report_table_number(table, work->time);
      report_table_number(table, work->step);
      report_table_string(table, comparison->strings, work->shapes);
    }
  }
  lumos_text_format(&table->caption, "Work that only %s does, per step", comparison->names[side]);
  put_rest(table, found <= most ? 0 : found - most);
}

static void make_calls(const struct lumos_comparison *comparison, size_t most, struct report_table *table) {
  const struct report_column columns[] = {
      {"call", "call", NULL, COLUMN_NAME},
      {"count_a", headed(comparison, "count", 0), NULL, COLUMN_MEAN},
      {"count_b", headed(comparison, "count", 1), NULL, COLUMN_MEAN},
      {"a", headed(comparison, "CPU time", 0), NULL, COLUMN_MS},
      {"b", headed(comparison, "CPU time", 1), NULL, COLUMN_MS},
      {"noise", "noise", NULL, COLUMN_MS},
      {"op", "mostly in", NULL, COLUMN_TEXT},
  };
  report_table_begin_own(table, "calls", columns, sizeof columns / sizeof *columns);
  size_t changed = 0;
  for (size_t i = 0; i < comparison->calls.count; i++) {
    const struct lumos_compared_row *row = &comparison->calls.items[i];
    if ((row->count_differs || row->time_differs) && changed++ < most) {
      const struct lumos_compared_work *work = row->work[0].count > 0 ? &row->work[0] : &row->work[1];
      report_table_string(table, comparison->strings, work->name);
      report_table_number(table, row->work[0].count);
      report_table_number(table, row->work[1].count);
      report_table_number(table, row->work[0].time);
      report_table_number(table, row->work[1].time);
      report_table_number(table, row->noise);
      report_table_string(table, comparison->strings, row->count_differs ? work->op : LUMOS_NO_STRING);
    }
  }
  lumos_text_put(&table->caption, "Calls into the CUDA or HIP runtime that changed, per step");
  put_rest(table, changed <= most ? 0 : changed - most);
}

bool compare_table_says(const struct lumos_comparison *comparison, enum compare_table_number number) {
  return number == COMPARE_LAYERS  ? comparison->layers.count > 2
         : number == COMPARE_RANKS ? comparison->ranks.count > 1
                                   : true;
}

void compare_make_table(const struct lumos_comparison *comparison, enum compare_table_number number, size_t most,
                        struct report_table *table) {
  switch (number) {
    case COMPARE_CLASSES:
      make_parts(comparison, most, "classes", "The step by what the GPU does", &comparison->classes, table);
      break;
    case COMPARE_KINDS:
      make_parts(comparison, most, "kinds", "The step by kind of work", &comparison->kinds, table);
      break;
    case COMPARE_LAYERS:
      make_parts(comparison, most, "layers", "The step by layer", &comparison->layers, table);
      break;
    case COMPARE_RANKS:
      make_parts(comparison, most, "ranks", "The step by rank: what each adds to a mean over ranks", &comparison->ranks,
                 table);
      break;
    case COMPARE_CHANGED:
      make_changed(comparison, most, table);
      break;
    case COMPARE_ONLY_A:
    case COMPARE_ONLY_B:
      make_only(comparison, most, number == COMPARE_ONLY_A ? 0 : 1, table);
      break;
    default:
      make_calls(comparison, most, table);
      break;
  }
}
