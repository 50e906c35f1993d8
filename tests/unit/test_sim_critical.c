/* The critical path of a step and the slack of tasks, on the jobs of sim_jobs.h: what is expected follows from the
 * arithmetic there. */
#include "sim_jobs.h"

#include <lumos/path.h>
#include <lumos/sim.h>
#include <lumos/transform.h>

/* The value of a metric of step 1, by kind, and by name where `name` is not "": LUMOS_ABSENT if there is none. */
static int64_t value_of(const struct lumos_job *job, const char *metric_name, const char *kind, const char *name) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (reads(job, metric->name, metric_name) && metric->scope.step == 1 && reads(job, metric->scope.kind, kind) &&
        reads(job, metric->scope.name, name) && metric->scope.rank == LUMOS_ABSENT_INT && metric->scope.phase == 0) {
      return metric->value.units;
    }
  }
  return LUMOS_ABSENT;
}

static size_t rows_of(const struct lumos_job *job, const char *metric_name) {
  size_t rows = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    rows += reads(job, job->metrics.items[i].name, metric_name);
  }
  return rows;
}

static void a_path_is_as_long_as_the_step_and_so_are_its_kinds(void **state) {
  (void)state;
  /* launch0 0-10, to K0 12, which ends at 112, event to 116, unexplained 1, K1 117-167, gap to 169, K3 169-199. */
  struct lumos_job *job = simulated(streams_job);
  assert_int_equal(value_of(job, "critical_path", "", ""), 199);
  static const struct {
    const char *kind;
    int64_t ns;
  } kinds[] = {{"gemm", 150},         {"copy", 30},      {"launch", 10},    {"event_latency", 4},
               {"launch_latency", 2}, {"stream_gap", 2}, {"unexplained", 1}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    assert_int_equal(value_of(job, "critical_path_kind", kinds[i].kind, ""), kinds[i].ns);
  }
  assert_int_equal(rows_of(job, "critical_path_kind"), sizeof kinds / sizeof *kinds);
  lumos_job_free(job);
}

static void dependencies_are_counted_by_kind_and_evidence(void **state) {
  (void)state;
  struct lumos_job *job = simulated(streams_job);
  assert_int_equal(value_of(job, "critical_path_crossings", "launch", "recorded"), 1);
  assert_int_equal(value_of(job, "critical_path_crossing_time", "launch", "recorded"), 2);
  assert_int_equal(value_of(job, "critical_path_crossings", "event", "recorded"), 1);
  assert_int_equal(value_of(job, "critical_path_crossing_time", "event", "recorded"), 4);
  assert_int_equal(value_of(job, "critical_path_crossings", "event", "unexplained"), 1);
  assert_int_equal(value_of(job, "critical_path_crossing_time", "event", "unexplained"), 1);
  assert_int_equal(value_of(job, "critical_path_crossings", "stream order", "recorded"), 1);
  assert_int_equal(value_of(job, "critical_path_crossing_time", "stream order", "recorded"), 2);
  assert_int_equal(rows_of(job, "critical_path_crossings"), 4);
  lumos_job_free(job);
}

static int64_t of_rank(const struct lumos_job *job, int32_t rank) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (reads(job, metric->name, "critical_path_rank") && metric->scope.rank == rank) {
      return metric->value.units;
    }
  }
  return LUMOS_ABSENT;
}

static void a_path_goes_through_the_rank_that_came_last(void **state) {
  (void)state;
  /* launchB, B, C1's gap on rank 1 until 103; then the transfer, which ends C0 on rank 0 at 143, and 1 unexplained. */
  struct lumos_job *job = simulated(ranks_job);
  assert_int_equal(value_of(job, "critical_path", "", ""), 144);
  assert_int_equal(of_rank(job, 1), 103);
  assert_int_equal(of_rank(job, 0), 41);
  assert_int_equal(value_of(job, "critical_path_kind", "collective", ""), 40);
  assert_int_equal(value_of(job, "critical_path_crossings", "collective", "recorded"), 1);
  assert_int_equal(value_of(job, "critical_path_crossing_time", "collective", "recorded"), 0);
  lumos_job_free(job);
}

static void layers_and_phases_add_up_with_what_has_none(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_error error = {0};
  job->tasks.items[task_named(job, "K0")].layer = 3;
  job->tasks.items[task_named(job, "K0")].phase = LUMOS_FORWARD;
  job->tasks.items[task_named(job, "K1")].layer = 3;
  assert_true(lumos_simulate(job, &error));
  /* K0: 2 of launch latency and 100. K1: 4 of the event, 1 unexplained, and 50. */
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (reads(job, metric->name, "critical_path_layer") && metric->scope.layer != LUMOS_ABSENT_INT) {
      assert_int_equal(metric->scope.layer, 3);
      assert_int_equal(metric->value.units, 157);
    }
    if (reads(job, metric->name, "critical_path_phase") && metric->scope.phase != 0) {
      assert_int_equal(metric->scope.phase, LUMOS_FORWARD);
      assert_int_equal(metric->value.units, 102);
    }
  }
  assert_int_equal(value_of(job, "critical_path_layer", "", "(none)"), 199 - 157);
  assert_int_equal(value_of(job, "critical_path_phase", "", "(none)"), 199 - 102);
  lumos_job_free(job);
}

struct expected_slack {
  const char *task;
  int64_t start, end;
};

static void check_slacks(const struct lumos_job *job, const struct expected_slack *expected, size_t count) {
  struct lumos_held bindings = {0};
  struct lumos_slack *slacks = lumos_allocate(job->tasks.count * sizeof *slacks);
  struct lumos_error error = {0};
  assert_true(lumos_slack_find(job, &bindings, slacks, &error));
  for (size_t i = 0; i < count; i++) {
    const struct lumos_slack *slack = &slacks[task_named(job, expected[i].task)];
    if (slack->start != expected[i].start || slack->end != expected[i].end) {
      fail_msg("%s has %lld and %lld", expected[i].task, (long long)slack->start, (long long)slack->end);
    }
  }
  lumos_held_free(&bindings);
  free(slacks);
}

static void a_task_can_end_later_by_what_is_left_on_all_its_ways(void **state) {
  (void)state;
  struct lumos_job *job = simulated(streams_job);
  const struct expected_slack expected[] = {
      {"launch0", 0, 0},
      {"record", 90, 90}, /* by way of launch1 */
      {"wait", 90, 90},
      {"launch1", 90, 90},                  /* K1 could start at 24 + 2 + 1, and starts at 117 */
      {"launch2", 143, 143},                /* K2 could start at 36, starts at 113, and could end 66 later */
      {"sync", LUMOS_ABSENT, LUMOS_ABSENT}, /* nothing of the device follows from it */
      {"after", LUMOS_ABSENT, LUMOS_ABSENT},
      {"work", 117, 117},
      {"launch3", 117, 117}, /* K3 could start at 52, and starts at 169 */
      {"K0", 0, 0},
      {"K2", 66, 66}, /* ends at 133, the step at 199 */
      {"K1", 0, 0},
      {"K3", 0, 0},
  };
  check_slacks(job, expected, sizeof expected / sizeof *expected);
  lumos_job_free(job);
}

static void a_member_can_come_later_than_it_can_end(void **state) {
  (void)state;
  struct lumos_job *job = simulated(ranks_job);
  const struct expected_slack expected[] = {
      {"launchA", 40, 40},
      {"launchC0", 82, 82}, /* C0 could start at 21, starts at 63, and could start 40 later */
      {"A", 40, 40},
      {"C0", 40, 0}, /* C1 comes at 103; the step ends with C0 */
      {"launchB", 0, 0},
      {"launchC1", 82, 82},
      {"B", 0, 0},
      {"C1", 0, 1}, /* C0 ends 1 later than it */
      {"after0", LUMOS_ABSENT, LUMOS_ABSENT},
      {"after1", LUMOS_ABSENT, LUMOS_ABSENT},
  };
  check_slacks(job, expected, sizeof expected / sizeof *expected);
  lumos_job_free(job);
}

static void a_task_that_may_not_overtake_is_held_by_what_it_may_not_overtake(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(copies_job);
  struct lumos_error error = {0};
  lumos_task_timing(job, &job->tasks.items[task_named(job, "overlapping")])->residual = -6;
  assert_true(lumos_simulate(job, &error));
  struct lumos_held bindings = {0};
  assert_true(lumos_bindings_find(job, &bindings, NULL, NULL, &error));
  /* `lost` ends at 43: with a lag of -3 at 40, and 6 earlier at 34, but that is too far into `lost`. */
  uint32_t t = task_named(job, "overlapping");
  assert_int_equal(job->runs.items[t].start, 40);
  assert_int_equal(lumos_held_of(&bindings, t).start.kind, LUMOS_HELD_BY_STREAM);
  assert_int_equal(lumos_held_of(&bindings, t).start.src, task_named(job, "lost"));
  /* With `lost` over at 36 that is 33, before the call that launches it starts. */
  job->tasks.items[task_named(job, "lost")].dur = 3;
  lumos_job_rewind(job, LUMOS_STAGE_GRAPH);
  assert_true(lumos_simulate(job, &error));
  assert_true(lumos_bindings_find(job, &bindings, NULL, NULL, &error));
  assert_int_equal(job->runs.items[t].start, 37);
  assert_int_equal(lumos_held_of(&bindings, t).start.kind, LUMOS_HELD_BY_LAUNCH);
  assert_int_equal(lumos_held_of(&bindings, t).start.from, LUMOS_START);
  lumos_held_free(&bindings);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_path_is_as_long_as_the_step_and_so_are_its_kinds),
      cmocka_unit_test(dependencies_are_counted_by_kind_and_evidence),
      cmocka_unit_test(a_path_goes_through_the_rank_that_came_last),
      cmocka_unit_test(layers_and_phases_add_up_with_what_has_none),
      cmocka_unit_test(a_task_can_end_later_by_what_is_left_on_all_its_ways),
      cmocka_unit_test(a_member_can_come_later_than_it_can_end),
      cmocka_unit_test(a_task_that_may_not_overtake_is_held_by_what_it_may_not_overtake),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
