/* A comparison as a page: parts are written into the model, and templates/compare.html puts them in their places. */
#include "compare/page.h"
#include "compare/json.h"
#include "compare/sentences.h"
#include "report/content/definitions.h"
#include "report/forms/page_parts.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include "report/text/privacy.h"
#include <lumos/sim.h>
#include <stdlib.h>
#include <string.h>

/* ---- Two jobs ---- */

static void fill_tiles(const struct lumos_comparison *comparison, struct report_scope *root) {
  static const char *const labels[2] = {"Step of A", "Step of B"};
  struct lumos_text figure = LUMOS_TEXT_BUFFER, evidence = LUMOS_TEXT_BUFFER;
  for (int side = 0; side < 2; side++) {
    report_put_time_beside(&figure, comparison->jobs[side].step, comparison->jobs[1 - side].step);
    compare_put_job_evidence(comparison, side, &evidence);
    (void)compare_add_tile(root, labels[side], &figure, &evidence);
  }
  compare_put_signed(&figure, comparison->jobs[1].step - comparison->jobs[0].step);
  compare_put_difference_evidence(comparison, &evidence);
  (void)compare_add_tile(root, "Difference, B \xE2\x88\x92 A", &figure, &evidence);
  compare_put_matched_share(comparison, &figure);
  compare_put_matched_levels(comparison, &evidence);
  (void)compare_add_tile(root, "GPU time that both do", &figure, &evidence);
}

static void fill_two(const struct compare_page *page, struct report_scope *root) {
  const struct lumos_comparison *comparison = page->compared->comparisons[0];
  struct report_scope *two = report_section_item(root, "two");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_comparison_verdict(comparison, &text);
  compare_set_verdict(page, root, &text);
  report_set_text(root, "subject", "Comparison of two jobs, A and B");
  report_set_text(root, "all_jobs", "Both jobs");
  compare_put_noise(comparison, &text);
  report_set_take(two, "noise", &text);
  report_section(root, "tiles");
  fill_tiles(comparison, root);
  compare_add_contents(page, "splits", "Difference");
  compare_fill_splits(page, 0, two);
  compare_fill_timelines(page, root);
  compare_add_contents(page, "changes", "What changed");
  compare_fill_changes(page, 0, two);
  compare_fill_jobs(page, root);
}

/* ---- The page ---- */

static void put_tables(const struct compare_page *page, struct lumos_text *out) {
  const char *between = "";
  lumos_text_put(out, "\"tables\":{");
  for (size_t i = 0; i < page->compared->count; i++) {
    for (int number = 0; number < COMPARE_TABLES; number++) {
      lumos_text_format(out, "%s\"%s\":", between, page->tables[i][number].name);
      report_table_json(&page->tables[i][number], out);
      between = ",\n";
    }
  }
  lumos_text_add(out, page->out_tables->bytes, page->out_tables->length);
  lumos_text_put(out, "}}\n");
}

/* What the page's tables sort by, and everything else in numbers: of two jobs the JSON document with the tables, of
 * several the documents in a list beside them. */
static void put_summary(const struct compare_page *page, struct lumos_text *out) {
  if (!compare_page_of_several(page)) {
    compare_begin_json(page->compared->comparisons[0], out);
    lumos_text_put(out, ",\n");
  } else {
    lumos_text_put(out, "{\"comparisons\":[\n");
    for (size_t i = 0; i < page->compared->count; i++) {
      lumos_text_put(out, i == 0 ? "" : ",\n");
      compare_put_json(page->compared->comparisons[i], out);
    }
    lumos_text_put(out, "],\n");
  }
  put_tables(page, out);
}

/* The classes of the breakdown, and what a step is. */
static bool wants_term(const void *context, const char *key) {
  const struct lumos_compared *compared = context;
  struct report_definition definition;
  bool wanted = strcmp(key, "step_time") == 0;
  for (size_t c = 0; c < compared->count; c++) {
    const struct lumos_comparison *comparison = compared->comparisons[c];
    for (size_t i = 0; !wanted && i < comparison->classes.count; i++) {
      const char *label = lumos_string(comparison->strings, comparison->classes.items[i].label);
      wanted = report_definition(key, &definition) && strcmp(definition.name, label) == 0;
    }
  }
  return wanted;
}

static void fill_model(const struct compare_page *page, const struct report_page_files *files) {
  struct report_scope *root = report_model_root(page->model);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_page_files_fill(files, root);
  report_section(root, "contents");
  report_section(root, "two");
  report_section(root, "several");
  report_section(root, "others");
  if (compare_page_of_several(page)) {
    compare_fill_several(page, root);
  } else {
    fill_two(page, root);
  }
  compare_add_contents(page, "definitions", "Definitions");
  report_fill_definitions(root, wants_term, page->compared);
  put_summary(page, &text);
  report_set_take(root, "summary", &text);
}

/* "changed", and of several comparisons "changed_c", with a caption that says so. */
static void make_table(const struct compare_page *page, size_t comparison, enum compare_table_number number) {
  const struct lumos_comparison *of = page->compared->comparisons[comparison];
  struct report_table *table = &page->tables[comparison][number];
  compare_make_table(of, number, SIZE_MAX, table);
  if (compare_page_of_several(page)) {
    struct lumos_text name = LUMOS_TEXT_BUFFER;
    lumos_text_format(&table->caption, ", %s against %s", of->names[1], of->names[0]);
    lumos_text_format(&name, "%s_%s", table->name, compare_page_suffix(page, comparison));
    table->name = lumos_string(of->strings, lumos_intern(of->strings, name.bytes, name.length));
    lumos_text_free(&name);
  }
}

static bool write_page(struct compare_page *page, struct lumos_text *out, struct lumos_error *error) {
  struct report_page_files files;
  struct lumos_text tables = LUMOS_TEXT_BUFFER;
  bool done = report_page_files_load(page->options->template_folder, "compare.html", &files, error);
  if (done) {
    page->model = report_model_new();
    page->out_tables = &tables;
    page->tables = lumos_allocate(page->compared->count * sizeof *page->tables);
    for (size_t i = 0; i < page->compared->count; i++) {
      for (int number = 0; number < COMPARE_TABLES; number++) {
        make_table(page, i, (enum compare_table_number)number);
      }
    }
    fill_model(page, &files);
    done = report_page_files_render(&files, page->model, out, error);
    for (size_t i = 0; i < page->compared->count; i++) {
      for (int number = 0; number < COMPARE_TABLES; number++) {
        report_table_free(&page->tables[i][number]);
      }
    }
    free(page->tables);
    report_model_free(page->model);
  }
  page->out_tables = NULL;
  lumos_text_free(&tables);
  report_page_files_release(&files);
  return done;
}

bool lumos_comparison_page(const struct lumos_compared *compared, const struct lumos_compare_page *options,
                           struct lumos_text *out, struct lumos_error *error) {
  struct compare_page page = {.compared = compared, .options = options};
  struct lumos_job *shown = lumos_allocate((compared->count + 1) * sizeof *shown);
  struct lumos_strings *fit[LUMOS_COMPARE_JOBS] = {NULL};
  bool good = true;
  for (size_t i = 0; good && i <= compared->count; i++) {
    good = compared->jobs[i]->stage >= LUMOS_STAGE_SIM || lumos_simulate(compared->jobs[i], error);
  }
  for (size_t i = 0; good && i <= compared->count; i++) {
    fit[i] = report_privacy_strings(compared->jobs[i]);
    shown[i] = *compared->jobs[i];
    shown[i].strings = fit[i];
    page.jobs[i] = &shown[i];
  }
  good = good && write_page(&page, out, error);
  for (size_t i = 0; i <= compared->count; i++) {
    lumos_strings_free(fit[i]);
  }
  free(shown);
  return good;
}
