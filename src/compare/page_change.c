/* What one comparison says on a page: where the difference comes from, and what changed. */
#include "compare/page.h"
#include "compare/waterfall.h"
#include "compare/words.h"
#include "report/content/waterfall.h"
#include "report/forms/page_parts.h"
#include "report/text/numbers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_table(const struct compare_page *page, size_t number, struct report_scope *scope,
                      enum compare_table_number table) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(&page->tables[number][table], &text);
  report_set_take(scope, "table", &text);
}

/* ---- Where the difference comes from ---- */

/* Of a list: what colours its parts, and what it is called. */
struct split {
  const char *names[2]; /* of its pictures */
  const char *label, *title;
  enum compare_table_number table;
};

static enum report_paint paint_of(enum compare_table_number table, const struct compare_listed_part *part) {
  if (part->others || part->key == LUMOS_ABSENT_INT) {
    return strcmp(part->label, COMPARE_WAITING) == 0         ? PAINT_WAIT
           : strcmp(part->label, compare_kind_words(0)) == 0 ? PAINT_IDLE
                                                             : PAINT_NONE;
  }
  return table == COMPARE_CLASSES                   ? compare_class_paint(part->key)
         : table == COMPARE_KINDS && part->key == 0 ? PAINT_IDLE
         : table == COMPARE_KINDS                   ? report_paint_of_kind((uint8_t)part->key)
                                                    : PAINT_NONE;
}

/* Parts that differ by less than can be seen beside the largest are one. */
static size_t visible_parts(const struct lumos_compared_parts *parts) {
  enum { LEAST = 100 }; /* such a part of the largest difference */
  int64_t most = 0;
  size_t visible = 0;
  for (size_t i = 0; i < parts->count; i++) {
    int64_t change = llabs(parts->items[i].time[1] - parts->items[i].time[0]);
    most = change > most ? change : most;
  }
  for (size_t i = 0; i < parts->count; i++) {
    visible += llabs(parts->items[i].time[1] - parts->items[i].time[0]) > most / LEAST;
  }
  return visible;
}

/* "matrix products +2.91 ms, elementwise kernels +1.41 ms": the two largest, unless one is nothing beside the other. */
static void put_largest(const struct compare_parts_list *list, struct lumos_text *out) {
  enum { NAMED = 2, NOTHING = 20 };
  int64_t largest = 0;
  size_t named = 0;
  for (size_t i = 0; i < list->count && named < NAMED; i++) {
    const struct compare_listed_part *part = &list->items[i];
    int64_t change = part->time[1] - part->time[0];
    if (!part->others && change != 0 && llabs(change) >= largest / NOTHING) {
      lumos_text_put(out, named++ > 0 ? ", " : "");
      lumos_text_format(out, "%s ", part->label);
      compare_put_signed(out, change);
      largest = llabs(change) > largest ? llabs(change) : largest;
    }
  }
  if (named == 0) {
    lumos_text_put(out, "nothing changes");
  }
}

/* "classes", and of several comparisons "classesc", in which C is compared. */
static const char *scene_name(const struct lumos_comparison *comparison, const char *name, const char *suffix) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s%s", name, suffix);
  const char *whole = lumos_string(comparison->strings, lumos_intern(comparison->strings, text.bytes, text.length));
  lumos_text_free(&text);
  return whole;
}

static void fill_split(const struct compare_page *page, size_t number, struct report_scope *section,
                       const struct split *split, const struct lumos_compared_parts *parts) {
  const struct lumos_comparison *comparison = page->compared->comparisons[number];
  const char *suffix = compare_page_suffix(page, number);
  struct report_scope *item = report_section_item(section, "splits");
  struct compare_parts_list list;
  size_t visible = visible_parts(parts) + 1; /* with all others */
  compare_list_parts(comparison, parts, visible < COMPARE_FIRST_ROWS ? visible : COMPARE_FIRST_ROWS, &list);
  char words[2][sizeof "in A"];
  for (int side = 0; side < 2; side++) {
    (void)snprintf(words[side], sizeof words[side], "in %s", comparison->names[side]);
  }
  struct report_waterfall fall = {
      .names = {scene_name(comparison, split->names[0], suffix), scene_name(comparison, split->names[1], suffix)},
      .title = split->title,
      .before = comparison->names[0],
      .after = comparison->names[1],
      .before_words = words[0],
      .after_words = words[1],
      .whole = comparison->jobs[0].step,
      .range = {LUMOS_ABSENT, LUMOS_ABSENT}};
  for (size_t i = 0; i < list.count; i++) {
    const struct compare_listed_part *part = &list.items[i];
    lumos_vector_push(&fall.rows, ((struct report_waterfall_row){part->label, paint_of(split->table, part),
                                                                 part->time[0], part->time[1]}));
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  lumos_text_format(&text, "%s: ", split->label);
  put_largest(&list, &text);
  report_set_take(item, "finding", &text);
  report_set_text(item, "picture_name", split->title);
  report_waterfall_scene(&fall, false, &scene);
  report_set_scene(item, &scene, "picture");
  report_waterfall_scene(&fall, true, &scene);
  report_set_scene(item, &scene, "narrow_picture");
  set_table(page, number, item, split->table);
  lumos_vector_free(&fall.rows);
  lumos_vector_free(&list);
}

void compare_fill_splits(const struct compare_page *page, size_t number, struct report_scope *scope) {
  static const struct split splits[] = {
      {{"classes", "classesnarrow"},
       "By what the GPU does",
       "the step\xE2\x80\x99s difference by what the GPU does",
       COMPARE_CLASSES},
      {{"kinds", "kindsnarrow"}, "By kind of work", "the step\xE2\x80\x99s difference by kind of work", COMPARE_KINDS},
      {{"ranks", "ranksnarrow"}, "By rank", "the step\xE2\x80\x99s difference by rank", COMPARE_RANKS},
      {{"layers", "layersnarrow"}, "By layer", "the step\xE2\x80\x99s difference by layer", COMPARE_LAYERS},
  };
  const struct lumos_comparison *comparison = page->compared->comparisons[number];
  const struct lumos_compared_parts *const parts[] = {&comparison->classes, &comparison->kinds, &comparison->ranks,
                                                      &comparison->layers};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct compare_parts_list list;
  compare_list_parts(comparison, &comparison->classes, COMPARE_FIRST_ROWS, &list);
  lumos_text_format(&text, "From %s to %s: ", comparison->names[0], comparison->names[1]);
  put_largest(&list, &text);
  lumos_vector_free(&list);
  report_set_take(scope, "splits_finding", &text);
  report_section(scope, "splits");
  for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
    if (compare_table_says(comparison, splits[i].table)) {
      fill_split(page, number, scope, &splits[i], parts[i]);
    }
  }
}

/* ---- What changed ---- */

/* "3 rows of work changed, 2 are only in A, 19 only in B" */
static void put_changes_finding(const struct compare_page *page, size_t number, struct lumos_text *out) {
  const struct lumos_comparison *comparison = page->compared->comparisons[number];
  const struct {
    enum compare_table_number table;
    const char *words, *job;
  } parts[] = {{COMPARE_CHANGED, comparison->noise == LUMOS_ABSENT ? "take another time" : "changed", ""},
               {COMPARE_ONLY_A, "only in ", comparison->names[0]},
               {COMPARE_ONLY_B, "only in ", comparison->names[1]}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t rows = report_table_rows(&page->tables[number][parts[i].table]);
    if (rows > 0 && out->length == 0) {
      report_put_counted(out, (int64_t)rows, "row");
      lumos_text_format(out, " of work %s%s", parts[i].words, parts[i].job);
    } else if (rows > 0) {
      lumos_text_format(out, ", %zu %s%s", rows, parts[i].words, parts[i].job);
    }
  }
  if (out->length == 0) {
    lumos_text_put(out, "No work changed beyond noise");
  }
}

void compare_fill_changes(const struct compare_page *page, size_t number, struct report_scope *scope) {
  static const enum compare_table_number shown[] = {COMPARE_CHANGED, COMPARE_ONLY_A, COMPARE_ONLY_B, COMPARE_CALLS};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_changes_finding(page, number, &text);
  report_set_take(scope, "changes_finding", &text);
  report_section(scope, "changes");
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    if (report_table_rows(&page->tables[number][shown[i]]) > 0) {
      set_table(page, number, report_section_item(scope, "changes"), shown[i]);
    }
  }
}
