/* Fuzzer: the stages behind the reader, over any stream that is accepted with --edited: a what-if, the graph, the
 * simulation with all that can be asked of it, the page. Each gives a sound job or says why not, and no name reaches
 * the page as markup.
 *
 * What is done with a job is chosen by its epoch, so that the corpus is streams that the tools read as well.
 */
#include "fuzz.h"

#include <lumos/compare.h>
#include <lumos/graph.h>
#include <lumos/hta.h>
#include <lumos/path.h>
#include <lumos/report.h>
#include <lumos/sim.h>
#include <lumos/transform.h>

/* Larger ones are slow and show nothing more. */
enum { LARGEST = 64 * 1024, CHOICES = 8 };

static bool change(struct lumos_job *job, struct lumos_error *error) {
  static const char *const scales[CHOICES] = {
      [1] = "host=2", [2] = "device=0.5", [3] = "kind=gemm=0", [4] = "name~.=1.5"};
  const char *scale = scales[(uint64_t)job->epoch % CHOICES];
  return scale == NULL || lumos_transform_scale(job, scale, error);
}

/* Names of the corpus hold "<fuzz" and "x\" onfuzz=": neither may stand in the page as it is. In JSON a backslash comes
 * before the quote. */
static void expect_no_markup(const struct lumos_text *page) {
  static const char attribute[] = "x\" onfuzz=";
  if (memmem(page->bytes, page->length, "<fuzz", 5) != NULL ||
      memmem(page->bytes, page->length, attribute, sizeof attribute - 1) != NULL) {
    fuzz_fail("nothing from a stream is markup in the page", "a name got through");
  }
}

static void expect_sums(const struct lumos_job *job) {
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), "sim.check_failed") == 0) {
      fuzz_fail("sums add up, whatever the input", lumos_string(job->strings, job->notes.items[i].text));
    }
  }
}

/* A job that is simulated already may say anything of itself. */
static bool simulate(struct lumos_job *job, struct lumos_error *error) {
  if (job->stage >= LUMOS_STAGE_SIM) {
    return true;
  }
  bool done = lumos_simulate(job, error);
  if (done) {
    expect_sums(job);
  }
  return done;
}

/* What lumos-sim does besides the simulation. */
static void measure(struct lumos_job *job) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_held bindings = {0};
  struct lumos_slack *slacks = lumos_allocate(job->tasks.count * sizeof *slacks);
  if (!lumos_find_opportunities(job, &error)) {
    fuzz_expect_reason(&error);
  }
  if (!lumos_slack_find(job, &bindings, slacks, &error)) {
    fuzz_expect_reason(&error);
  }
  if (!lumos_hta(job, &error)) {
    fuzz_expect_reason(&error);
  }
  lumos_held_free(&bindings);
  free(slacks);
}

static void report(struct lumos_job *job, struct lumos_error *error) {
  static const struct {
    enum lumos_report_format format;
    enum lumos_report_view view;
  } forms[] = {
      {LUMOS_REPORT_HTML, LUMOS_VIEW_DEFAULT},     {LUMOS_REPORT_HTML, LUMOS_VIEW_DEFAULT},
      {LUMOS_REPORT_SVG, LUMOS_VIEW_BREAKDOWN},    {LUMOS_REPORT_SVG, LUMOS_VIEW_GANTT},
      {LUMOS_REPORT_SVG, LUMOS_VIEW_GRAPH},        {LUMOS_REPORT_JSON, LUMOS_VIEW_DEFAULT},
      {LUMOS_REPORT_MARKDOWN, LUMOS_VIEW_DEFAULT}, {LUMOS_REPORT_CSV, LUMOS_VIEW_DEFAULT},
  };
  size_t form = (uint64_t)job->epoch / CHOICES % (sizeof forms / sizeof *forms);
  const struct lumos_report_options options = {
      .format = forms[form].format, .view = forms[form].view, .details = form % 2 == 1};
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  if (!lumos_report(job, &options, &page, error)) {
    fuzz_expect_reason(error);
  } else if (options.format == LUMOS_REPORT_HTML || options.format == LUMOS_REPORT_SVG) {
    expect_no_markup(&page);
  }
  lumos_text_free(&page);
}

/* A job beside itself: there is nothing to compare, or what is split adds up to the steps. */
static void compare(struct lumos_job *job) {
  static const struct lumos_compare_options everything = {.steps = {NULL, NULL}};
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_comparison *comparison = lumos_compare(job, job, &everything, &error);
  if (comparison == NULL) {
    fuzz_expect_reason(&error);
    if (strstr(error.text, "do not add up") != NULL) {
      fuzz_fail("what is compared adds up, whatever the input", error.text);
    }
  } else {
    if (comparison->step_differs) {
      fuzz_fail("a job does not differ from itself", "its steps do");
    }
    for (int format = LUMOS_COMPARE_TEXT; format <= LUMOS_COMPARE_JSON; format++) {
      lumos_comparison_write(comparison, (enum lumos_compare_format)format, true, &text);
    }
  }
  lumos_text_free(&text);
  lumos_comparison_free(comparison);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_job *job = size > LARGEST ? NULL : fuzz_read(data, size, true);
  if (job == NULL) {
    return 0;
  }
  struct lumos_error error = {LUMOS_DONE, ""};
  if (change(job, &error) && simulate(job, &error)) {
    measure(job);
    fuzz_expect_sound(job);
    report(job, &error);
    compare(job);
  } else {
    fuzz_expect_reason(&error);
  }
  lumos_job_free(job);
  return 0;
}
