/* Fuzzer: the stages behind the reader, over any stream that is accepted with --edited: a what-if, the graph, the simulation, the
 * page. Each gives a sound job or says why not, and no name reaches the page as markup.
 *
 * What is done with a job is chosen by its epoch, so that the corpus is streams that the tools read as well.
 */
#include "fuzz.h"

#include <lumos/graph.h>
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

/* Names of the corpus hold "<fuzz" and "x\" onfuzz=": neither may stand in the page as it is. In JSON a backslash comes before the quote. */
static void expect_no_markup(const struct lumos_text *page) {
  static const char attribute[] = "x\" onfuzz=";
  if (memmem(page->bytes, page->length, "<fuzz", 5) != NULL ||
      memmem(page->bytes, page->length, attribute, sizeof attribute - 1) != NULL) {
    fuzz_fail("nothing from a stream is markup in the page", "a name got through");
  }
}

static void report(struct lumos_job *job, struct lumos_error *error) {
  static const struct lumos_report_options forms[] = {
      {.format = LUMOS_REPORT_HTML},
      {.format = LUMOS_REPORT_HTML, .details = true},
      {.format = LUMOS_REPORT_SVG, .view = LUMOS_VIEW_BREAKDOWN},
      {.format = LUMOS_REPORT_SVG, .view = LUMOS_VIEW_GANTT},
      {.format = LUMOS_REPORT_SVG, .view = LUMOS_VIEW_GRAPH, .graph_nodes = 20},
      {.format = LUMOS_REPORT_JSON},
      {.format = LUMOS_REPORT_MARKDOWN},
      {.format = LUMOS_REPORT_CSV},
  };
  const struct lumos_report_options *options = &forms[(uint64_t)job->epoch / CHOICES % (sizeof forms / sizeof *forms)];
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  if (!lumos_report(job, options, &page, error)) {
    fuzz_expect_reason(error);
  } else if (options->format == LUMOS_REPORT_HTML || options->format == LUMOS_REPORT_SVG) {
    expect_no_markup(&page);
  }
  lumos_text_free(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_job *job = size > LARGEST ? NULL : fuzz_read(data, size, true);
  if (job == NULL) {
    return 0;
  }
  struct lumos_error error = {LUMOS_DONE, ""};
  if (change(job, &error) && (job->stage >= LUMOS_STAGE_SIM || lumos_simulate(job, &error))) {
    fuzz_expect_sound(job);
    report(job, &error);
  } else {
    fuzz_expect_reason(&error);
  }
  lumos_job_free(job);
  return 0;
}
