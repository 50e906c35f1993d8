/* Sums that are checked: a trace in which one was once wrong, and what happens where one does not add up. */
#include "sim/critical.h"
#include "sim/idle.h"
#include "trace_text.h"

#include <lumos/path.h>
#include <lumos/report.h>
#include <lumos/sim.h>

/* Step 1 ends with k_a, at 1270 us. On stream 84 a kernel lies inside a longer one that reaches from step 1 far into
 * step 2; nothing launched them, and one launch has no kernel. */
/* clang-format off */
static const char nested[] = TRACE(
    ANNOTATION("ProfilerStep#1", 0, 600) "," ANNOTATION("ProfilerStep#2", 600, 600) ","
    CALL("cudaLaunchKernel", 1, 100, 10) "," CALL("cudaLaunchKernel", 2, 980, 10) ","
    KERNEL("k_a", 23, 1, 120, 1150) "," KERNEL("k_b", 84, 3, 1040, 12000) "," KERNEL("k_c", 84, 4, 1050, 36));
/* clang-format on */

enum { US = 1000 };

static struct lumos_job *simulated(void) {
  struct lumos_error error = {0};
  struct lumos_job *job = parse_good(nested, NULL);
  if (job == NULL || !lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
    abort(); /* fail_msg does not */
  }
  return job;
}

/* Of a step, simulated; rank LUMOS_ABSENT_INT: of the job's step; lane "": of no stream. LUMOS_ABSENT: there is
 * none. */
static int64_t value_of(const struct lumos_job *job, const char *name, int32_t rank, int32_t step, const char *lane) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const struct lumos_scope *scope = &metric->scope;
    const char *of = scope->lane == LUMOS_NONE ? "" : string_of(job, job->lanes.items[scope->lane].lane);
    if (strcmp(string_of(job, metric->name), name) == 0 && metric->source == LUMOS_METRIC_SIMULATED &&
        scope->rank == rank && scope->step == step && strcmp(of, lane) == 0) {
      return metric->value.units;
    }
  }
  return LUMOS_ABSENT;
}

static void a_kernel_inside_a_longer_one_is_no_idle_time(void **state) {
  (void)state;
  struct lumos_job *job = simulated();
  assert_null(find_note(job, "sim.check_failed"));
  assert_int_equal(value_of(job, "stream_idle", 0, 1, "s23"), 20 * US);
  assert_int_equal(value_of(job, "stream_idle", 0, 1, "s84"), 0);
  assert_int_equal(value_of(job, "stream_not_recorded", 0, 1, "s84"), 940 * US); /* its task is from before */
  assert_int_equal(value_of(job, "stream_idle", 0, 2, "s23"), 11770 * US);
  assert_int_equal(value_of(job, "stream_idle_dependency", 0, 2, "s23"), 11770 * US);
  assert_int_equal(value_of(job, "stream_idle", 0, 2, "s84"), 0);
  lumos_job_free(job);
}

/* What a writer of metrics works on. */
struct bench {
  struct lumos_job *job;
  struct lumos_stretches stretches;
  struct lumos_timeline timeline;
  struct lumos_held bindings;
};

static struct bench bench_open(void) {
  struct lumos_error error = {0};
  struct bench bench = {.job = simulated()};
  struct lumos_slack *slacks = lumos_allocate(bench.job->tasks.count * sizeof *slacks);
  assert_true(lumos_slack_find(bench.job, &bench.bindings, slacks, &error));
  free(slacks);
  lumos_find_stretches(bench.job, &bench.stretches);
  lumos_timeline_make(&bench.timeline, bench.job, bench.job->runs.items, &bench.stretches);
  assert_int_equal(bench.timeline.steps.count, 2);
  bench.job->metrics.count = 0;
  return bench;
}

/* There is one note, which counts; it has a cure, and the page comes and tells it. */
static void bench_close(struct bench *bench, int64_t count, const char *what) {
  static const enum lumos_report_format formats[] = {LUMOS_REPORT_HTML, LUMOS_REPORT_MARKDOWN};
  const struct lumos_note *note = find_note(bench->job, "sim.check_failed");
  if (note == NULL) {
    fail_msg("no note of a failed check");
    return; /* fail_msg does not */
  }
  assert_int_equal(note->count, count);
  assert_int_equal(note->level, LUMOS_WARNING);
  assert_non_null(strstr(string_of(bench->job, note->text), what));
  assert_non_null(strstr(string_of(bench->job, note->cure), "report"));
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    struct lumos_error error = {0};
    struct lumos_text page = LUMOS_TEXT_BUFFER;
    const struct lumos_report_options options = {.format = formats[i], .full = true};
    assert_true(lumos_report(bench->job, &options, &page, &error));
    assert_non_null(memmem(page.bytes, page.length, what, strlen(what)));
    lumos_text_free(&page);
  }
  lumos_held_free(&bench->bindings);
  lumos_timeline_free(&bench->timeline);
  lumos_vector_free(&bench->stretches);
  lumos_job_free(bench->job);
}

static void wrong_causes_of_one_step_are_left_out(void **state) {
  (void)state;
  struct bench bench = bench_open();
  const struct lumos_idle expected[] = {{20 * US, 20 * US, 0, 0}, {1, 1, 0, 0}}; /* step 2 is never idle */
  const struct lumos_unrecorded_intervals all_recorded = {0};
  struct lumos_origins origins;
  lumos_origins_begin(&origins, bench.job);
  lumos_write_idle(bench.job, &bench.bindings, &bench.timeline, expected, &all_recorded, &origins);
  lumos_origins_free(&origins);
  assert_int_equal(value_of(bench.job, "idle_launch", 0, 1, ""), 10 * US);
  assert_int_equal(value_of(bench.job, "idle_launch", LUMOS_ABSENT_INT, 1, ""), 10 * US);
  assert_int_equal(value_of(bench.job, "idle_launch", 0, 2, ""), LUMOS_ABSENT);
  assert_int_equal(value_of(bench.job, "idle_launch", LUMOS_ABSENT_INT, 2, ""), LUMOS_ABSENT);
  assert_int_equal(value_of(bench.job, "stream_idle", 0, 2, "s84"), 0);
  bench_close(&bench, 2, "the causes of idle time");
}

/* All that was written of it goes, what was written before stays. */
static void a_wrong_path_is_left_out(void **state) {
  (void)state;
  struct bench bench = bench_open();
  bench.timeline.job.items[1].end = bench.timeline.job.items[1].start - 1; /* nothing is as long as that */
  struct lumos_origins origins;
  lumos_origins_begin(&origins, bench.job);
  lumos_write_critical_path(bench.job, &bench.bindings, &bench.timeline, &bench.stretches, &origins);
  lumos_origins_free(&origins);
  assert_int_equal(value_of(bench.job, "critical_path", LUMOS_ABSENT_INT, 1, ""), 1170 * US);
  for (size_t i = 0; i < bench.job->metrics.count; i++) {
    assert_int_equal(bench.job->metrics.items[i].scope.step, 1);
  }
  bench_close(&bench, 1, "the critical path");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_kernel_inside_a_longer_one_is_no_idle_time),
                                     cmocka_unit_test(wrong_causes_of_one_step_are_left_out),
                                     cmocka_unit_test(a_wrong_path_is_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
