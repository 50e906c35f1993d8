/* Compositions: parts add up to their whole, and nothing of it goes unsaid. */
#include "unit/report_job.h"

#include "report/content/breakdown.h"
#include "report/content/composition.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)
#define NONE LUMOS_ABSENT_INT

static void add_kind(struct lumos_job *job, int32_t step, const char *kind, int64_t time) {
  add_metric(job, "critical_path_kind", NONE, step, LUMOS_METRIC_SIMULATED, time, 0);
  job->metrics.items[job->metrics.count - 1].scope.kind = lumos_intern_text(job->strings, kind);
}

static void add_idle_of(struct lumos_job *job, int32_t rank, int32_t step, const int64_t causes[REPORT_IDLE_PARTS]) {
  for (int i = 0; i < REPORT_IDLE_PARTS; i++) {
    add_metric(job, report_idle_parts[i].term, rank, step, LUMOS_METRIC_SIMULATED, causes[i], 0);
  }
}

/* Two ranks and two steps of 1000 ms, idle 100 ms in the simulation and 90 ms as measured. */
static struct lumos_job *two_ranks(void) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t number = 0; number < 2; number++) {
    uint32_t stream = add_lane(job, add_rank(job, number), "s7", LUMOS_STREAM);
    add_task(job, stream, LUMOS_GEMM, "gemm", 0, MS(10));
  }
  for (int32_t step = 0; step < 2; step++) {
    for (int source = LUMOS_METRIC_MEASURED; source <= LUMOS_METRIC_SIMULATED; source++) {
      int64_t idle = source == LUMOS_METRIC_MEASURED ? MS(90) : MS(100);
      for (int32_t rank = 0; rank < 2; rank++) {
        add_parts(job, rank, step, (enum lumos_source)source, (struct parts){.compute = MS(1000), .idle = idle});
      }
      add_metric(job, "step_time", NONE, step, (enum lumos_source)source, MS(1000), 0);
    }
    for (int32_t rank = 0; rank < 2; rank++) {
      add_idle_of(job, rank, step, (int64_t[]){MS(60), MS(20 - 10 * rank), MS(10), MS(10 * rank), MS(10)});
    }
    add_kind(job, step, "gemm", MS(500 + 200 * step));
    add_kind(job, step, "host_gap", MS(300 - 200 * step));
    add_kind(job, step, "stream_gap", MS(100));
    add_kind(job, step, "handover", MS(90));
    add_kind(job, step, "copy", MS(4));
    add_kind(job, step, "memset", MS(3));
    add_kind(job, step, "what no one knows", MS(3));
  }
  finish_job(job);
  return job;
}

static void expect_part(const struct report_path *path, size_t index, enum report_paint paint, int64_t time,
                        int64_t share) {
  assert_int_equal(path->parts[index].paint, paint);
  assert_int_equal(path->parts[index].time, time);
  assert_int_equal(path->parts[index].share, share);
}

/* The mean of both steps, the largest first; gaps of one paint together; less than 0.5 % and what has no name in the
 * last one. */
static void the_path_adds_up(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  struct report_facts facts;
  struct report_path path;
  report_facts_read(job, &facts);
  report_path_read(&facts, &path);
  assert_int_equal(path.whole, MS(1000));
  assert_int_equal(path.count, 4);
  expect_part(&path, 0, (enum report_paint)LUMOS_GEMM, MS(600), 600000);
  expect_part(&path, 1, PAINT_HOST_GAP, MS(200), 200000);
  expect_part(&path, 2, PAINT_BETWEEN, MS(190), 190000);
  expect_part(&path, 3, PAINT_NONE, MS(10), 10000);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_path_reading(&path, &text);
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes, "1.00\xC2\xA0s"));
  assert_non_null(strstr(text.bytes, "less than 0.5\xC2\xA0% are one part"));
  lumos_text_free(&text);
  report_facts_free(&facts);
  lumos_job_free(job);
}

/* What the boxes of a scene tell, beside how wide all of one row are together. */
static void expect_told(const struct report_scene *scene, enum report_paint paint, const char *told) {
  for (size_t i = 0; i < scene->marks.count; i++) {
    const struct report_mark *mark = &scene->marks.items[i];
    if (mark->kind == MARK_BOX && mark->paint == paint && mark->text_length == strlen(told) &&
        memcmp(scene->texts.bytes + mark->text_first, told, mark->text_length) == 0) {
      return;
    }
  }
  fail_msg("no box tells \"%s\"", told);
}

static void bars_fill_their_width(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  struct report_facts facts;
  struct report_path path;
  report_facts_read(job, &facts);
  report_path_read(&facts, &path);
  for (int narrow = 0; narrow < 2; narrow++) {
    const struct report_stack_shape *shape = narrow ? &report_stack_narrow : &report_stack_wide;
    struct report_scene scene;
    assert_true(report_path_scene(&path, narrow, &scene));
    int32_t filled = 0;
    for (size_t i = 0; i < scene.marks.count; i++) {
      filled += scene.marks.items[i].kind == MARK_BOX && !scene.marks.items[i].plate ? scene.marks.items[i].width : 0;
    }
    assert_int_equal(filled, shape->width - shape->labels - shape->figures);
    expect_told(&scene, PAINT_HOST_GAP, "CPU gap: 200\xC2\xA0ms (20.0\xC2\xA0%)");
    report_scene_free(&scene);
  }
  report_facts_free(&facts);
  lumos_job_free(job);
}

/* Causes are known of the simulated timeline alone: so is their whole, or they would not add up to it. Shares are of
 * the job's step. */
static void idle_causes_add_up(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  struct report_facts facts;
  struct report_scene scene;
  report_facts_read(job, &facts);
  int64_t sum = 0;
  for (size_t i = 0; i < REPORT_IDLE_PARTS; i++) {
    sum += report_row_mean(&facts.all, SIMULATED, report_idle_parts[i].figure);
  }
  assert_int_equal(sum, MS(100));
  assert_int_equal(report_row_mean(&facts.all, SIMULATED, FIGURE_IDLE), MS(100));
  struct lumos_text finding = LUMOS_TEXT_BUFFER;
  report_put_idle_finding(&facts, &finding);
  lumos_text_add(&finding, "", 1);
  assert_string_equal(finding.bytes, "GPUs idle for 10.0\xC2\xA0% of the step: 6.0\xC2\xA0% CPU-bound, "
                                     "1.5\xC2\xA0% CPU blocked in synchronization, 1.0\xC2\xA0% launch latency, "
                                     "0.5\xC2\xA0% waiting for other work, 1.0\xC2\xA0% unexplained");
  lumos_text_free(&finding);
  assert_true(report_idle_scene(&facts, false, &scene));
  expect_told(&scene, (enum report_paint)LUMOS_SYNC,
              "2 alike, CPU blocked in synchronization: 15.0\xC2\xA0ms (1.5\xC2\xA0%)");
  report_scene_free(&scene);
  report_facts_free(&facts);
  lumos_job_free(job);
}

static void without_metrics_nothing_is_drawn(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  finish_job(job);
  struct report_facts facts;
  struct report_path path;
  struct report_scene scene;
  report_facts_read(job, &facts);
  report_path_read(&facts, &path);
  assert_false(report_path_scene(&path, false, &scene));
  assert_false(report_idle_scene(&facts, false, &scene));
  report_facts_free(&facts);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_path_adds_up),
      cmocka_unit_test(bars_fill_their_width),
      cmocka_unit_test(idle_causes_add_up),
      cmocka_unit_test(without_metrics_nothing_is_drawn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
