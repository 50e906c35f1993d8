/* Who watches a job is told of every stage that a report runs, in order, with amounts that fit the job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include <lumos/report.h>
#include <lumos/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct watched {
  const struct lumos_job *job;
  char works[256]; /* "graph simulation ...": a word whenever the work becomes another */
  char last[32];
  uint64_t done;
};

static void look(void *context, const char *work, enum lumos_watch_unit unit, uint64_t done, uint64_t total) {
  struct watched *watched = context;
  if (strcmp(work, watched->last) != 0) {
    (void)snprintf(watched->last, sizeof watched->last, "%s", work);
    strncat(watched->works, work, sizeof watched->works - strlen(watched->works) - 1);
    strncat(watched->works, " ", sizeof watched->works - strlen(watched->works) - 1);
    watched->done = 0;
  }
  if (unit == LUMOS_WATCH_NOTHING) {
    assert_int_equal(done, 0);
    assert_int_equal(total, 0);
    return;
  }
  assert_int_equal(unit, LUMOS_WATCH_TASKS);
  assert_int_equal(total, watched->job->tasks.count);
  assert_true(done <= total);
  assert_true(done >= watched->done || done == 0); /* the simulator runs more than once */
  watched->done = done;
}

static void stages_are_told(void **state) {
  (void)state;
  const char *source = getenv("LUMOS_SOURCE");
  if (source == NULL) {
    skip();
  }
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/examples/traces", source);
  const char *const paths[] = {path};
  const struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_error error;
  struct lumos_job *job = lumos_trace_parse(paths, 1, &options, &error);
  assert_non_null(job);

  struct watched watched = {.job = job};
  job->watcher = (struct lumos_watcher){look, &watched};
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  const struct lumos_report_options all_default = {.format = LUMOS_REPORT_HTML};
  assert_true(lumos_report(job, &all_default, &page, &error));
  lumos_text_free(&page);
  lumos_job_free(job);
  assert_int_equal(strncmp(watched.works, "graph simulation report ", strlen("graph simulation report ")), 0);
  assert_string_equal(watched.last, "report");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(stages_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
