/* What a page says of all compared jobs: a step of each on one axis, and the diagnosis of each. */
#include "compare/aligned.h"
#include "compare/page.h"
#include "compare/sentences.h"
#include "report/content/detail.h"
#include "report/content/gantt.h"
#include "report/forms/page_parts.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* ---- Diagnoses ---- */

static void set_words(const struct lumos_comparison *comparison, struct report_scope *item, const char *value,
                      lumos_string_id id) {
  bool known = id != LUMOS_NO_STRING;
  report_set(item, value, known ? lumos_string(comparison->strings, id) : "",
             known ? lumos_string_length(comparison->strings, id) : 0);
}

static void fill_job(const struct compare_page *page, size_t number, struct report_scope *item) {
  const struct lumos_comparison *comparison = compare_page_comparison(page, number);
  const struct lumos_compared_diagnosis *diagnosis = &comparison->diagnoses[compare_page_side(number)];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_set_text(item, "job", lumos_compared_name(number));
  compare_put_job(comparison, compare_page_side(number), &text);
  report_set_take(item, "subject", &text);
  set_words(comparison, item, "sentence",
            diagnosis->problem != LUMOS_NO_STRING ? diagnosis->problem : diagnosis->sentence);
  report_section_if(item, "has_remedy", diagnosis->remedy != LUMOS_NO_STRING);
  set_words(comparison, item, "remedy", diagnosis->remedy);
  report_section_if(item, "has_grade", diagnosis->grade != LUMOS_NO_STRING);
  set_words(comparison, item, "grade", diagnosis->grade);
  set_words(comparison, item, "reason", diagnosis->reason);
}

void compare_fill_jobs(const struct compare_page *page, struct report_scope *root) {
  compare_add_contents(page, "jobs", compare_page_of_several(page) ? "All jobs" : "Both jobs");
  for (size_t job = 0; job <= page->compared->count; job++) {
    fill_job(page, job, report_section_item(root, "jobs"));
  }
}

/* ---- Timelines ---- */

static void put_reading(const struct compare_page *page, const struct compare_aligned *aligned,
                        struct lumos_text *out) {
  lumos_text_put(out,
                 "One step of each job, the compared one nearest to the mean, from its start. A lane ends where its "
                 "step does. A column is ");
  report_put_time(out, report_gantt_column(&aligned->timelines[0]));
  lumos_text_put(out, "; its color is the kind that ran longest, its height how busy it was. ");
  lumos_text_put(out, page->compared->comparisons[0]->simulated ? "Times are simulated." : "Times are measured.");
  if (aligned->shown < aligned->shared) {
    lumos_text_format(out, " Drawn are %zu of the %zu ranks that %s have.", aligned->shown, aligned->shared,
                      compare_page_of_several(page) ? "all" : "both");
  }
}

/* "Step 3 of A takes 8.81 ms, step 5 of B 9.20 ms" */
static void put_finding(const struct compare_page *page, struct lumos_text *out) {
  for (size_t i = 0; i <= page->compared->count; i++) {
    const struct lumos_compared_job *job = compare_page_job(page, i), *beside = compare_page_job(page, i == 0 ? 1 : 0);
    lumos_text_format(out, "%s %d of %s ", i == 0 ? "Step" : ", step", (int)job->typical, lumos_compared_name(i));
    lumos_text_put(out, i == 0 ? "takes " : "");
    report_put_time_beside(out, job->typical_end - job->typical_start, beside->typical_end - beside->typical_start);
  }
}

static void fill_legend(const struct compare_aligned *aligned, struct report_scope *item) {
  bool shown[PAINT_COUNT] = {false}, kinds[LUMOS_TASK_KINDS] = {false};
  for (size_t job = 0; job < aligned->jobs; job++) {
    report_gantt_kinds(&aligned->timelines[job].open, kinds);
  }
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    shown[report_paint_of_kind((uint8_t)kind)] |= kinds[kind];
  }
  report_fill_legend(item, shown);
}

static void set_picture(const struct compare_aligned *aligned, enum report_timeline shown, struct report_scope *item) {
  struct report_gantt_job of[LUMOS_COMPARE_JOBS];
  struct report_scene scene;
  for (size_t job = 0; job < aligned->jobs; job++) {
    of[job] = (struct report_gantt_job){&aligned->timelines[job], lumos_compared_name(job)};
  }
  report_gantt_jobs_scene(of, aligned->jobs, shown, "timelines", &scene);
  report_set_scene(item, &scene, "picture");
}

/* What the script draws when a reader zooms in. */
static void set_tasks(const struct compare_aligned *aligned, enum report_timeline shown, struct report_scope *item) {
  static const struct lumos_report_options no_options = {.format = LUMOS_REPORT_HTML};
  struct report_detail details[LUMOS_COMPARE_JOBS];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t job = 0; job < aligned->jobs; job++) {
    const struct report_detail_source from = {.timelines = &aligned->timelines[job],
                                              .options = &no_options,
                                              .jobs = aligned->jobs,
                                              .name = lumos_compared_name(job),
                                              .shown = shown};
    report_detail_read(&from, &details[job]);
  }
  report_details_json(details, aligned->jobs, &text);
  for (size_t job = 0; job < aligned->jobs; job++) {
    report_detail_free(&details[job]);
  }
  report_set_take(item, "tasks", &text);
}

void compare_fill_timelines(const struct compare_page *page, struct report_scope *root) {
  enum report_timeline shown = page->compared->comparisons[0]->simulated ? SIMULATED : MEASURED;
  struct compare_aligned aligned;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(root, "timelines");
  compare_aligned_read(&aligned, page->compared->comparisons, page->jobs, page->compared->count);
  if (aligned.shown > 0) {
    struct report_scope *item = report_section_item(root, "timelines");
    compare_add_contents(page, "timelines", "Timelines");
    put_finding(page, &text);
    report_set_take(item, "finding", &text);
    put_reading(page, &aligned, &text);
    report_set_take(item, "reading", &text);
    fill_legend(&aligned, item);
    set_picture(&aligned, shown, item);
    set_tasks(&aligned, shown, item);
  }
  compare_aligned_free(&aligned);
}
