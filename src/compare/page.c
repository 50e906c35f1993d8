/* A comparison as a page: parts are written into the model, and templates/compare.html puts them in their places. */
#include "compare/json.h"
#include "compare/paired.h"
#include "compare/sentences.h"
#include "compare/tables.h"
#include "compare/verdict.h"
#include "compare/waterfall.h"
#include "compare/words.h"
#include "report/content/definitions.h"
#include "report/content/gantt.h"
#include "report/content/waterfall.h"
#include "report/diagnosis/first_screen.h"
#include "report/diagnosis/reason.h"
#include "report/diagnosis/remedy.h"
#include "report/forms/page_parts.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include "report/text/privacy.h"
#include <lumos/sim.h>
#include <stdlib.h>
#include <string.h>

struct page {
  const struct lumos_comparison *comparison;
  const struct lumos_compare_page *options;
  struct report_model *model;
  const struct lumos_job *jobs[2];            /* as they are shown */
  struct report_table tables[COMPARE_TABLES]; /* with all rows */
};

static void add_contents(const struct page *page, const char *id, const char *name) {
  struct report_scope *item = report_section_item(report_model_root(page->model), "contents");
  report_set_text(item, "id", id);
  report_set_text(item, "name", name);
}

static void set_table(const struct page *page, struct report_scope *scope, enum compare_table_number number) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(&page->tables[number], &text);
  report_set_take(scope, "table", &text);
}

static void put_signed(struct lumos_text *out, int64_t time) {
  lumos_text_put(out, time > 0 ? "+" : "");
  report_put_time(out, time);
}

/* ---- First screen ---- */

static struct report_scope *add_tile(struct report_scope *root, const char *label, struct lumos_text *figure,
                                     struct lumos_text *evidence) {
  struct report_scope *item = report_section_item(root, "tiles");
  report_set_text(item, "label", label);
  report_set_take(item, "figure", figure);
  report_set_take(item, "evidence", evidence);
  return item;
}

static void fill_tiles(const struct page *page, struct report_scope *root) {
  static const char *const labels[2] = {"Step of A", "Step of B"};
  const struct lumos_comparison *comparison = page->comparison;
  const struct lumos_compared_job *a = &comparison->jobs[0], *b = &comparison->jobs[1];
  struct lumos_text figure = LUMOS_TEXT_BUFFER, evidence = LUMOS_TEXT_BUFFER;
  for (int side = 0; side < 2; side++) {
    report_put_time_beside(&figure, comparison->jobs[side].step, comparison->jobs[1 - side].step);
    compare_put_job_evidence(comparison, side, &evidence);
    (void)add_tile(root, labels[side], &figure, &evidence);
  }
  put_signed(&figure, b->step - a->step);
  if (a->step > 0 && b->step != a->step) {
    report_put_share(&evidence, report_share(llabs(b->step - a->step), a->step));
    lumos_text_put(&evidence, b->step < a->step ? " less than A. " : " more than A. ");
  }
  if (comparison->noise == LUMOS_ABSENT) {
    lumos_text_put(&evidence, "Noise floor unknown");
  } else {
    lumos_text_put(&evidence, "Noise floor ");
    report_put_time(&evidence, comparison->noise);
  }
  (void)add_tile(root, "Difference, B \xE2\x88\x92 A", &figure, &evidence);
  report_put_share(&figure, compare_matched_share(comparison));
  compare_put_matched_levels(comparison, &evidence);
  (void)add_tile(root, "GPU time that both do", &figure, &evidence);
}

static void fill_first_screen(const struct page *page, struct report_scope *root) {
  enum { LONGEST = 300 };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const char *title = page->options->title;
  lumos_comparison_verdict(page->comparison, &text);
  report_section_if(root, "has_title", title != NULL);
  report_set(root, "verdict", text.bytes, text.length);
  if (title != NULL) {
    text.length = 0;
    report_put_cut(&text, title, strlen(title), LONGEST);
  }
  report_set_take(root, "title", &text);
  compare_put_noise(page->comparison, &text);
  report_set_take(root, "noise", &text);
  report_section(root, "tiles");
  fill_tiles(page, root);
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
      put_signed(out, change);
      largest = llabs(change) > largest ? llabs(change) : largest;
    }
  }
  if (named == 0) {
    lumos_text_put(out, "nothing changes");
  }
}

static void fill_split(const struct page *page, struct report_scope *section, const struct split *split,
                       const struct lumos_compared_parts *parts) {
  const struct lumos_comparison *comparison = page->comparison;
  struct report_scope *item = report_section_item(section, "splits");
  struct compare_parts_list list;
  size_t visible = visible_parts(parts) + 1; /* with all others */
  compare_list_parts(comparison, parts, visible < COMPARE_FIRST_ROWS ? visible : COMPARE_FIRST_ROWS, &list);
  struct report_waterfall fall = {.names = {split->names[0], split->names[1]},
                                  .title = split->title,
                                  .before = "A",
                                  .after = "B",
                                  .before_words = "in A",
                                  .after_words = "in B",
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
  set_table(page, item, split->table);
  lumos_vector_free(&fall.rows);
  lumos_vector_free(&list);
}

static void fill_splits(const struct page *page, struct report_scope *root) {
  static const struct split splits[] = {
      {{"classes", "classesnarrow"},
       "By what the GPU does",
       "the step\xE2\x80\x99s difference by what the GPU does",
       COMPARE_CLASSES},
      {{"kinds", "kindsnarrow"}, "By kind of work", "the step\xE2\x80\x99s difference by kind of work", COMPARE_KINDS},
      {{"ranks", "ranksnarrow"}, "By rank", "the step\xE2\x80\x99s difference by rank", COMPARE_RANKS},
      {{"layers", "layersnarrow"}, "By layer", "the step\xE2\x80\x99s difference by layer", COMPARE_LAYERS},
  };
  const struct lumos_comparison *comparison = page->comparison;
  const struct lumos_compared_parts *const parts[] = {&comparison->classes, &comparison->kinds, &comparison->ranks,
                                                      &comparison->layers};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct compare_parts_list list;
  compare_list_parts(comparison, &comparison->classes, COMPARE_FIRST_ROWS, &list);
  lumos_text_put(&text, "From A to B: ");
  put_largest(&list, &text);
  lumos_vector_free(&list);
  report_set_take(root, "splits_finding", &text);
  add_contents(page, "splits", "Difference");
  report_section(root, "splits");
  for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
    if (compare_table_says(comparison, splits[i].table)) {
      fill_split(page, root, &splits[i], parts[i]);
    }
  }
}

/* ---- What changed ---- */

/* "3 rows of work changed, 2 are only in A, 19 only in B" */
static void put_changes_finding(const struct page *page, struct lumos_text *out) {
  const struct {
    enum compare_table_number table;
    const char *words;
  } parts[] = {{COMPARE_CHANGED, page->comparison->noise == LUMOS_ABSENT ? "take another time" : "changed"},
               {COMPARE_ONLY_A, "only in A"},
               {COMPARE_ONLY_B, "only in B"}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t rows = report_table_rows(&page->tables[parts[i].table]);
    if (rows > 0 && out->length == 0) {
      report_put_counted(out, (int64_t)rows, "row");
      lumos_text_format(out, " of work %s", parts[i].words);
    } else if (rows > 0) {
      lumos_text_format(out, ", %zu %s", rows, parts[i].words);
    }
  }
  if (out->length == 0) {
    lumos_text_put(out, "No work changed beyond noise");
  }
}

static void fill_changes(const struct page *page, struct report_scope *root) {
  static const enum compare_table_number shown[] = {COMPARE_CHANGED, COMPARE_ONLY_A, COMPARE_ONLY_B, COMPARE_CALLS};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_changes_finding(page, &text);
  report_set_take(root, "changes_finding", &text);
  add_contents(page, "changes", "What changed");
  report_section(root, "changes");
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    if (report_table_rows(&page->tables[shown[i]]) > 0) {
      set_table(page, report_section_item(root, "changes"), shown[i]);
    }
  }
}

/* ---- Both jobs ---- */

static void fill_job(const struct page *page, int side, struct report_scope *item) {
  const struct lumos_job *job = page->jobs[side];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_facts facts;
  struct report_opportunities opportunities;
  struct lumos_diagnosis diagnosis;
  report_facts_read(job, &facts);
  report_opportunities_read(&facts, &opportunities);
  lumos_diagnose(job, &diagnosis);
  const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
  report_set_text(item, "job", side == 0 ? "A" : "B");
  compare_put_job(page->comparison, side, &text);
  report_set_take(item, "subject", &text);
  diagnosis_put_sentence(&story, &text);
  report_set_take(item, "sentence", &text);
  diagnosis_put_remedy(&story, &text);
  report_section_if(item, "has_remedy", text.length > 0);
  report_set_take(item, "remedy", &text);
  report_set_text(item, "grade", lumos_confidence_name(diagnosis.confidence));
  diagnosis_put_confidence(&story, &text);
  report_set_take(item, "reason", &text);
  lumos_diagnosis_free(&diagnosis);
  report_opportunities_free(&opportunities);
  report_facts_free(&facts);
}

static void fill_jobs(const struct page *page, struct report_scope *root) {
  add_contents(page, "jobs", "Both jobs");
  for (int side = 0; side < 2; side++) {
    fill_job(page, side, report_section_item(root, "jobs"));
  }
}

/* ---- Timelines ---- */

static void put_timelines_reading(const struct page *page, const struct compare_paired *paired,
                                  struct lumos_text *out) {
  lumos_text_put(out,
                 "One step of each job, the compared one nearest to the mean, from its start. A lane ends where its "
                 "step does. A column is ");
  report_put_time(out, report_gantt_column(&paired->timelines[0]));
  lumos_text_put(out, "; its color is the kind that ran longest, its height how busy it was. ");
  lumos_text_put(out, page->comparison->simulated ? "Times are simulated." : "Times are measured.");
  if (paired->shown < paired->shared) {
    lumos_text_format(out, " Drawn are %zu of the %zu ranks that both have.", paired->shown, paired->shared);
  }
}

static void fill_timelines(const struct page *page, struct report_scope *root) {
  const struct lumos_comparison *comparison = page->comparison;
  struct compare_paired paired;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(root, "timelines");
  compare_paired_read(&paired, comparison, page->jobs);
  if (paired.shown > 0) {
    struct report_scope *item = report_section_item(root, "timelines");
    const struct report_timelines *const timelines[2] = {&paired.timelines[0], &paired.timelines[1]};
    const struct lumos_compared_job *a = &comparison->jobs[0], *b = &comparison->jobs[1];
    bool shown[PAINT_COUNT] = {false}, kinds[LUMOS_TASK_KINDS] = {false};
    struct report_scene scene;
    add_contents(page, "timelines", "Timelines");
    lumos_text_format(&text, "Step %d of A takes ", (int)a->typical);
    report_put_time_beside(&text, a->typical_end - a->typical_start, b->typical_end - b->typical_start);
    lumos_text_format(&text, ", step %d of B ", (int)b->typical);
    report_put_time_beside(&text, b->typical_end - b->typical_start, a->typical_end - a->typical_start);
    report_set_take(item, "finding", &text);
    put_timelines_reading(page, &paired, &text);
    report_set_take(item, "reading", &text);
    for (int side = 0; side < 2; side++) {
      report_gantt_kinds(&timelines[side]->open, kinds);
    }
    for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
      shown[report_paint_of_kind((uint8_t)kind)] |= kinds[kind];
    }
    report_fill_legend(item, shown);
    report_gantt_pair_scene(timelines, comparison->simulated ? SIMULATED : MEASURED, "timelines", &scene);
    report_set_scene(item, &scene, "picture");
  }
  compare_paired_free(&paired);
}

/* ---- The page ---- */

/* What the page's tables sort by, and everything else in numbers. */
static void put_summary(const struct page *page, struct lumos_text *out) {
  compare_begin_json(page->comparison, out);
  lumos_text_put(out, ",\n\"tables\":{");
  for (int number = 0; number < COMPARE_TABLES; number++) {
    lumos_text_format(out, "%s\"%s\":", number == 0 ? "" : ",\n", page->tables[number].name);
    report_table_json(&page->tables[number], out);
  }
  lumos_text_put(out, "}}\n");
}

/* The classes of the breakdown, and what a step is. */
static bool wants_term(const void *context, const char *key) {
  const struct lumos_comparison *comparison = context;
  struct report_definition definition;
  bool wanted = strcmp(key, "step_time") == 0;
  for (size_t i = 0; !wanted && i < comparison->classes.count; i++) {
    const char *label = lumos_string(comparison->strings, comparison->classes.items[i].label);
    wanted = report_definition(key, &definition) && strcmp(definition.name, label) == 0;
  }
  return wanted;
}

static void fill_model(const struct page *page, const struct report_page_files *files) {
  struct report_scope *root = report_model_root(page->model);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_page_files_fill(files, root);
  report_section(root, "contents");
  fill_first_screen(page, root);
  fill_splits(page, root);
  fill_timelines(page, root);
  fill_changes(page, root);
  fill_jobs(page, root);
  add_contents(page, "definitions", "Definitions");
  report_fill_definitions(root, wants_term, page->comparison);
  put_summary(page, &text);
  report_set_take(root, "summary", &text);
}

static bool write_page(struct page *page, struct lumos_text *out, struct lumos_error *error) {
  struct report_page_files files;
  bool done = report_page_files_load(page->options->template_folder, "compare.html", &files, error);
  if (done) {
    page->model = report_model_new();
    for (int number = 0; number < COMPARE_TABLES; number++) {
      compare_make_table(page->comparison, (enum compare_table_number)number, SIZE_MAX, &page->tables[number]);
    }
    fill_model(page, &files);
    done = report_page_files_render(&files, page->model, out, error);
    for (int number = 0; number < COMPARE_TABLES; number++) {
      report_table_free(&page->tables[number]);
    }
    report_model_free(page->model);
  }
  report_page_files_release(&files);
  return done;
}

bool lumos_comparison_page(const struct lumos_comparison *comparison, struct lumos_job *a, struct lumos_job *b,
                           const struct lumos_compare_page *options, struct lumos_text *out,
                           struct lumos_error *error) {
  struct lumos_job *const jobs[2] = {a, b};
  struct lumos_job shown[2];
  struct lumos_strings *fit[2] = {NULL, NULL};
  bool good = true;
  for (int side = 0; good && side < 2; side++) {
    good = jobs[side]->stage >= LUMOS_STAGE_SIM || lumos_simulate(jobs[side], error);
  }
  for (int side = 0; good && side < 2; side++) {
    fit[side] = report_privacy_strings(jobs[side]);
    shown[side] = *jobs[side];
    shown[side].strings = fit[side];
  }
  if (good) {
    struct page page = {.comparison = comparison, .options = options, .jobs = {&shown[0], &shown[1]}};
    good = write_page(&page, out, error);
  }
  lumos_strings_free(fit[0]);
  lumos_strings_free(fit[1]);
  return good;
}
