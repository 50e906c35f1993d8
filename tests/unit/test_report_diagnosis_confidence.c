/* How sure a diagnosis is. Expected grades are worked out beside each job. */
#include "unit/diagnosis_job.h"

#include "report/diagnosis/reason.h"

/* A recording of CPUs alone says nothing of the GPUs that it is judged by. */
static void ranks_without_gpu_work_limit_confidence(void **state) {
  (void)state;
  for (uint32_t with = 0; with <= 4; with++) {
    static const struct parts parts[4] = {
        {.compute = MS(90)}, {.compute = MS(90)}, {.compute = MS(90)}, {.compute = MS(90)}};
    struct lumos_job *job = ranks_with(parts, 4);
    add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
    for (uint32_t r = 0; r < with; r++) {
      (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(90));
    }
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_int_equal(diagnosis.confidence, with < 2 ? LUMOS_POOR : with < 4 ? LUMOS_FAIR : LUMOS_GOOD);
    assert_int_equal(diagnosis.limit, with < 4 ? LUMOS_LIMIT_NO_GPU : LUMOS_LIMIT_NONE);
    forget(job, &diagnosis);
  }
}

/* What the profiler takes counts where a CPU is blamed, or the best change saves much of what CPUs launch. */
static void the_profiler_counts_where_advice_rests_on_cpus(void **state) {
  (void)state;
  static const struct {
    const char *change;
    int64_t time, idle_host, profiler;
    enum lumos_confidence confidence;
  } cases[] = {{"cuda_graphs", 90, 0, 11, LUMOS_FAIR},    {"fused_launches", 90, 0, 11, LUMOS_FAIR},
               {"cuda_graphs", 96, 0, 11, LUMOS_GOOD},    {"faster_network", 80, 0, 11, LUMOS_GOOD},
               {"cuda_graphs", 90, 0, 9, LUMOS_GOOD},     {"faster_network", 99, 40, 11, LUMOS_FAIR},
               {"faster_network", 99, 40, 9, LUMOS_GOOD}, {"cuda_graphs", 90, 0, 51, LUMOS_POOR}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct parts parts[] = {{.compute = MS(60), .idle = MS(40)}};
    struct lumos_job *job = ranks_with(parts, 1);
    add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
    add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(cases[i].idle_host), 0);
    add_metric(job, "profiler_time", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_MEASURED, MS(cases[i].profiler), 0);
    add_kind(job, "opportunity_change", LUMOS_ABSENT_INT, cases[i].change, MS(cases[i].time));
    (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_string_equal(lumos_confidence_name(diagnosis.confidence), lumos_confidence_name(cases[i].confidence));
    forget(job, &diagnosis);
  }
}

/* All that keeps it from being better is named, the worst first, and what is the same time once. */
static void every_reason_of_a_grade_is_named(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(80), .unsplit = MS(20)}};
  struct lumos_job *job = ranks_with(parts, 1);
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
  add_parts(job, 0, 0, LUMOS_METRIC_SIMULATED, parts[0]);
  add_metric(job, "kept_wait", 0, 0, LUMOS_METRIC_SIMULATED, MS(30), 0);
  add_metric(job, "host_unknown", 0, 0, LUMOS_METRIC_SIMULATED, MS(37), 0);
  add_metric(job, "unexplained_lag", 0, 0, LUMOS_METRIC_SIMULATED, MS(3), 0);
  add_metric(job, "step_spread", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED, 90000, 6);
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_text(job, &diagnosis, diagnosis_put_confidence,
              "Communication with ranks that were not recorded takes 20.0\xC2\xA0% of the step. Also: "
              "unexplained CPU time 37.0\xC2\xA0%, unexplained delay 3.0\xC2\xA0%.");
  forget(job, &diagnosis);
}

/* Each figure at its thresholds, alone: above the first it is fair, above the second poor. */
static void confidence_is_that_of_the_worst_figure(void **state) {
  (void)state;
  static const struct {
    const char *metric;
    enum lumos_source source;
    int decimals;
    int64_t good, fair, poor;
    enum lumos_limit limit;
  } rows[] = {
      {"replay_error", LUMOS_METRIC_SIMULATED, 6, -10000, 10001, -50001, LUMOS_LIMIT_REPLAY},
      {"rebuild_error", LUMOS_METRIC_SIMULATED, 6, 10000, -10001, 50001, LUMOS_LIMIT_REBUILD},
      {"transplant_error", LUMOS_METRIC_SIMULATED, 6, 30000, -30001, 100001, LUMOS_LIMIT_CROSS_STEP},
      {"step_spread", LUMOS_METRIC_MEASURED, 6, 100000, 100001, 500001, LUMOS_LIMIT_VARIATION},
      {"host_unknown", LUMOS_METRIC_SIMULATED, 0, MS(10), MS(10.1), MS(100.1), LUMOS_LIMIT_CPU_UNKNOWN},
      {"not_recorded", LUMOS_METRIC_MEASURED, 0, MS(5), MS(5.1), MS(25.1), LUMOS_LIMIT_NOT_RECORDED},
      {"boundary", LUMOS_METRIC_SIMULATED, 0, MS(5), MS(5.1), MS(25.1), LUMOS_LIMIT_BOUNDARY},
      {"unexplained_lag", LUMOS_METRIC_SIMULATED, 0, MS(2), MS(2.1), MS(10.1), LUMOS_LIMIT_UNEXPLAINED},
      {"kept_wait", LUMOS_METRIC_SIMULATED, 0, MS(5), MS(5.1), MS(100.1), LUMOS_LIMIT_UNJOINED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int64_t values[] = {rows[i].poor, rows[i].fair, rows[i].good};
    for (int grade = LUMOS_POOR; grade <= LUMOS_GOOD; grade++) {
      struct lumos_job *job = lumos_job_new();
      (void)add_rank(job, 0);
      const struct parts parts = {.compute = MS(100)};
      add_parts(job, 0, 0, LUMOS_METRIC_MEASURED, parts);
      add_parts(job, 0, 0, LUMOS_METRIC_SIMULATED, parts);
      bool whole = rows[i].decimals == 6;
      if (i > 0) {
        add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
      }
      add_metric(job, rows[i].metric, whole ? LUMOS_ABSENT_INT : 0, whole ? LUMOS_ABSENT_INT : 0, rows[i].source,
                 values[grade - LUMOS_POOR], rows[i].decimals);
      (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
      struct lumos_diagnosis diagnosis = diagnose(job);
      assert_string_equal(lumos_confidence_name(diagnosis.confidence),
                          lumos_confidence_name((enum lumos_confidence)grade));
      assert_int_equal(diagnosis.limit, grade == LUMOS_GOOD ? LUMOS_LIMIT_NONE : rows[i].limit);
      forget(job, &diagnosis);
    }
  }
}

/* Its replay error is that of the unchanged job, which is not there any more. */
static void a_changed_job_is_fair_at_best(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  (void)add_rank(job, 0);
  const struct parts parts = {.compute = MS(100)};
  add_parts(job, 0, 0, LUMOS_METRIC_MEASURED, parts);
  add_parts(job, 0, 0, LUMOS_METRIC_SIMULATED, parts);
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
  lumos_job_history(job, "lumos-transform", "--scale kind=gemm=0.5", NULL, 0);
  job->edited = 1;
  struct lumos_diagnosis diagnosis = diagnose(job);
  assert_int_equal(diagnosis.confidence, LUMOS_FAIR);
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_CHANGED);
  lumos_diagnosis_free(&diagnosis);
  lumos_job_note(job, "transform.untied_communication", LUMOS_WARNING, 8, NULL, "not joined", NULL);
  lumos_diagnose(job, &diagnosis);
  assert_int_equal(diagnosis.confidence, LUMOS_POOR);
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_UNTIED);
  forget(job, &diagnosis);
}

static void without_a_measured_step_confidence_is_unknown(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(100)}};
  struct lumos_job *job = ranks_with(parts, 1);
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
  struct lumos_diagnosis diagnosis = diagnose(job);
  assert_int_equal(diagnosis.confidence, LUMOS_CONFIDENCE_UNKNOWN);
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_NOTHING_MEASURED);
  forget(job, &diagnosis);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_without_gpu_work_limit_confidence),
      cmocka_unit_test(the_profiler_counts_where_advice_rests_on_cpus),
      cmocka_unit_test(every_reason_of_a_grade_is_named),
      cmocka_unit_test(confidence_is_that_of_the_worst_figure),
      cmocka_unit_test(a_changed_job_is_fair_at_best),
      cmocka_unit_test(without_a_measured_step_confidence_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
