/* lumos_simulate: the metrics of the hand-made jobs (sim_jobs.h), as worked out on paper. */
#include "sim_jobs.h"

#include <lumos/sim.h>
#include <lumos/transform.h>

enum { NOWHERE = LUMOS_ABSENT_INT };

static void simulate(struct lumos_job *job) {
  struct lumos_error error = {0};
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
}

static const struct lumos_metric *find(const struct lumos_job *job, enum lumos_source source, const char *name,
                                       int32_t rank, int32_t step) {
  const struct lumos_metric *found = NULL;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->source == source && lumos_scope_is_whole(&metric->scope) && metric->scope.rank == rank &&
        metric->scope.step == step && strcmp(lumos_string(job->strings, metric->name), name) == 0) {
      assert_null(found); /* each once */
      found = metric;
    }
  }
  return found;
}

static void expect(const struct lumos_job *job, enum lumos_source source, const char *name, int32_t rank, int32_t step,
                   int64_t units) {
  const struct lumos_metric *metric = find(job, source, name, rank, step);
  if (metric == NULL || metric->value.units != units) {
    fail_msg("%s of rank %d is %lld, not %lld", name, rank, metric == NULL ? -1 : (long long)metric->value.units,
             (long long)units);
  }
}
#define MEASURED(name, rank, step, units) expect(job, LUMOS_METRIC_MEASURED, name, rank, step, units)
#define SIMULATED(name, rank, step, units) expect(job, LUMOS_METRIC_SIMULATED, name, rank, step, units)

static void a_rank_and_the_job_have_their_breakdown(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  simulate(job);
  assert_int_equal(job->stage, LUMOS_STAGE_SIM);
  assert_int_equal(job->runs.count, job->tasks.count);
  assert_string_equal(lumos_string(job->strings, job->history.items[job->history.count - 1].tool), "lumos-sim");
  for (enum lumos_source source = LUMOS_METRIC_MEASURED; source <= LUMOS_METRIC_SIMULATED; source++) {
    expect(job, source, "step_time", 0, 1, 144);
    expect(job, source, "step_time", 1, 1, 143);
    expect(job, source, "step_time", NOWHERE, 1, 144);
    expect(job, source, "communication_wait", 0, 1, 40);
    expect(job, source, "communication_transfer", 0, 1, 41);
    expect(job, source, "exposed_communication", 0, 1, 81);
    expect(job, source, "gpu_busy", 1, 1, 130);
    /* The job's step is 0-144 on both ranks, so rank 1 is idle for 14: compute (50 + 90) / 2, transfer (41 + 40) / 2,
     * wait 40 / 2, idle (13 + 14) / 2. Half nanoseconds go to the part behind: 70 + 40 + 20 + 14 = 144. */
    expect(job, source, "exposed_compute", NOWHERE, 1, 70);
    expect(job, source, "communication_transfer", NOWHERE, 1, 40);
    expect(job, source, "communication_wait", NOWHERE, 1, 20);
    expect(job, source, "exposed_communication", NOWHERE, 1, 60);
    expect(job, source, "idle", NOWHERE, 1, 14);
    expect(job, source, "gpu_busy", NOWHERE, 1, 130);
  }
  MEASURED("kept_wait", 0, 1, 0);
  MEASURED("pipeline_bubble", 0, 1, 0);
  assert_int_equal(job->notes.count, 0);

  /* Once more: the same, not twice as much. */
  size_t metrics = job->metrics.count;
  simulate(job);
  assert_int_equal(job->metrics.count, metrics);
  lumos_job_free(job);
}

static void communication_that_is_joined_with_nobody_is_kept(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  job->collectives.count = 0;
  simulate(job);
  MEASURED("kept_wait", 0, 1, 81);
  MEASURED("kept_wait", NOWHERE, 1, 61); /* (81 + 40) / 2 = 60.5, up */
  MEASURED("communication_unsplit", 1, 1, 40);
  assert_null(find(job, LUMOS_METRIC_MEASURED, "pipeline_bubble", 1, 1)); /* not 0: there may be one in the 40 */
  assert_int_equal(job->notes.count, 0); /* the stage that could not join them has said it */
  lumos_job_free(job);
}

static void the_replay_error_is_signed_and_its_mean_is_not(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  simulate(job);
  /* Without K1's residual K3 ends at 198, not 199; `after` at 181, not 182. */
  SIMULATED("replay_error", 0, 1, -5025);
  SIMULATED("replay_error", NOWHERE, 1, -5025);
  SIMULATED("replay_error", NOWHERE, NOWHERE, 5025);
  SIMULATED("host_replay_error", 0, 1, -5495);
  SIMULATED("host_replay_error", NOWHERE, NOWHERE, 5495);
  assert_int_equal(find(job, LUMOS_METRIC_SIMULATED, "replay_error", 0, 1)->value.decimals, 6);
  lumos_job_free(job);
  job = streams_job_with_tail(); /* ends at 184, not 185 */
  simulate(job);
  SIMULATED("host_replay_error", 0, 1, -5405);
  lumos_job_free(job);
}

static void what_recording_has_cost_is_told_where_it_was_timed(void **state) {
  (void)state;
  static const struct {
    int64_t steps, dur;
    bool told;
    int64_t time, cost;
  } cases[] = {
      {2, 260, true, 130, 107692}, /* rank 0's step takes 144: 14 / 130; rank 1 was not timed */
      {1, 160, true, 160, -100000},
      {1, 1, true, 1, 143000000},
      {1000, 1, false, 0, 0}, /* less than a nanosecond is no time */
      {LUMOS_ABSENT, LUMOS_ABSENT, false, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct lumos_job *job = job_from_text(ranks_job);
    job->ranks.items[0].unprofiled_steps = cases[i].steps;
    job->ranks.items[0].unprofiled_dur = cases[i].dur;
    simulate(job);
    if (cases[i].told) {
      MEASURED("unprofiled_step_time", NOWHERE, NOWHERE, cases[i].time);
      MEASURED("profiling_cost", NOWHERE, NOWHERE, cases[i].cost);
    } else {
      assert_null(find(job, LUMOS_METRIC_MEASURED, "unprofiled_step_time", NOWHERE, NOWHERE));
      assert_null(find(job, LUMOS_METRIC_MEASURED, "profiling_cost", NOWHERE, NOWHERE));
    }
    lumos_job_free(job);
  }
}

static void the_mean_error_hides_no_rank(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  simulate(job);
  /* Rank 0: 143 for 144; rank 1: 143 for 143; the job's step 143 for 144. The mean of 0.0069444 and 0. */
  SIMULATED("replay_error", 0, 1, -6944);
  SIMULATED("replay_error", 1, 1, 0);
  SIMULATED("replay_error", NOWHERE, 1, -6944);
  SIMULATED("replay_error", NOWHERE, NOWHERE, 3472);
  lumos_job_free(job);
}

static void a_changed_job_is_compared_with_what_was(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_error error = {0};
  assert_true(lumos_transform_scale(job, "name~^K=0.1", &error));
  simulate(job);
  MEASURED("step_time", 0, 1, 199);
  MEASURED("exposed_compute", 0, 1,
           154); /* K0 12-112, K2 113-133 and K1 117-167 together 113-167; then K3, a copy, 169-199 */
  MEASURED("exposed_copy", 0, 1, 30);
  MEASURED("idle", 0, 1, 15);
  /* K0 12-22; K1 26 + 1 = 27-32; K2 36-38; K3: launch 52, 52-55. */
  SIMULATED("step_time", 0, 1, 55);
  SIMULATED("exposed_compute", 0, 1, 17);
  SIMULATED("exposed_copy", 0, 1, 3);
  assert_null(find(job, LUMOS_METRIC_SIMULATED, "replay_error", 0, 1)); /* of what would it be the error? */
  lumos_job_free(job);
}

static void what_is_carried_is_counted(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  lumos_task_timing(job, &job->tasks.items[task_named(job, "K1")])->residual = 2001;
  lumos_task_timing(job, &job->tasks.items[task_named(job, "K2")])->residual = 2000;
  lumos_task_timing(job, &job->tasks.items[task_named(job, "K3")])->residual = -2500;
  simulate(job);
  MEASURED("unexplained_lag", 0, 1, 4501);
  MEASURED("host_gap", 0, 1, 5);
  MEASURED("host_unknown", 0, 1, 0);
  assert_null(find(job, LUMOS_METRIC_MEASURED, "profiler_time", 0, 1));
  SIMULATED("boundary", 0, 1, 0);
  lumos_job_free(job);
}

static void long_gaps_and_long_calls_are_unknown(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  lumos_string_id launch = lumos_intern_text(job->strings, "cudaLaunchKernel");
  struct lumos_task *after = &job->tasks.items[task_named(job, "after")];
  struct lumos_task *fourth = &job->tasks.items[task_named(job, "launch3")];
  uint32_t dst = task_named(job, "after");
  job->tasks.items[task_named(job, "launch0")].name = launch;
  job->tasks.items[task_named(job, "launch1")].name = launch;
  job->tasks.items[task_named(job, "launch2")].name = launch;
  fourth->name = launch;
  fourth->dur = 51; /* over five times the median of 10, 10, 10, 51: 41 more than it */
  after->start += 1000001 - 5;
  after->lag = 1000001;
  simulate(job);
  MEASURED("host_gap", 0, 1, 1000001);
  MEASURED("host_unknown", 0, 1, 1000001 + 41);
  fourth = &job->tasks.items[task_named(job, "work") + 1];
  fourth->dur = 50;
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = task_named(job, "K1");
  dep.dst = dst;
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.covers = 1000000;
  dep.mode = LUMOS_FIXED;
  lumos_vector_push(&job->deps, dep);
  lumos_task_detail(job, &job->tasks.items[dst])->own_lag = 1;
  simulate(job);
  MEASURED("host_gap", 0, 1, 1);
  MEASURED("host_unknown", 0, 1, 0);
  lumos_job_free(job);
}

static void boundaries_count_from_the_step_on(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  /* B, launched before the recording, is held at 1006 of its device's clock: job time 11, of a step that starts at 0.
   * C0 is held at 70, and behind A from 63. */
  struct lumos_dep dep = lumos_dep_empty;
  dep.kind = LUMOS_BOUNDARY;
  dep.from = dep.to = LUMOS_START;
  dep.mode = LUMOS_FIXED;
  dep.at = 1006;
  dep.dst = task_named(job, "B");
  job->tasks.items[dep.dst].call = LUMOS_NONE;
  lumos_vector_push(&job->deps, dep);
  dep.at = 70;
  dep.dst = task_named(job, "C0");
  lumos_vector_push(&job->deps, dep);
  simulate(job);
  SIMULATED("boundary", 0, 1, 7);
  SIMULATED("boundary", 1, 1, 11);
  SIMULATED("boundary", NOWHERE, 1, 9);
  lumos_job_free(job);
}

static void marks_and_launches_are_read_off_the_recording(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_span span = lumos_span_empty;
  span.kind = LUMOS_SPAN_STEP;
  span.rank = 0;
  const struct {
    const char *name;
    int64_t dur;
  } marks[] = {{"ProfilerStep#1", 120},
               {"ProfilerStep#1", 100},
               {"ProfilerStep#2", 900},
               {"ProfilerStep", 900},
               {"Step#99999999999", 900}};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    span.name = lumos_intern_text(job->strings, marks[i].name);
    span.dur = marks[i].dur;
    lumos_vector_push(&job->spans, span);
  }
  job->ranks.items[0].coverage.device_tasks = 3;
  job->ranks.items[0].coverage.launched = 2;
  job->ranks.items[1].clock.error = 30;
  simulate(job);
  MEASURED("host_step_time", 0, 1, 120);
  MEASURED("host_step_time", NOWHERE, 1, 120); /* of the one rank that has a mark */
  assert_null(find(job, LUMOS_METRIC_MEASURED, "host_step_time", 1, 1));
  MEASURED("coverage", 0, NOWHERE, 666667);
  MEASURED("clock_offset", 1, NOWHERE, -1000);
  MEASURED("clock_error", 1, NOWHERE, 30);
  assert_null(find(job, LUMOS_METRIC_MEASURED, "clock_error", 0, NOWHERE));
  assert_null(find(job, LUMOS_METRIC_MEASURED, "coverage", 1, NOWHERE));
  lumos_job_free(job);
}

static void a_rank_without_a_device_has_steps_and_no_breakdown(void **state) {
  (void)state;
  struct lumos_job *job =
      job_from_text(JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
                                    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                    "{'type':'task','id':'0:0','rank':0,'lane':'t1','seq':0,'kind':'op','name':'a','"
                                    "start':5,'dur':10,'lag':0,'step':0}\n"
                                    "{'type':'task','id':'0:1','rank':0,'lane':'t1','seq':1,'kind':'op','name':'b','"
                                    "start':18,'dur':10,'lag':3,'step':0}\n");
  simulate(job);
  MEASURED("step_time", 0, 0, 28);
  SIMULATED("step_time", 0, 0, 28); /* nothing holds `a`: it keeps its measured start */
  MEASURED("host_gap", 0, 0, 3);
  assert_null(find(job, LUMOS_METRIC_MEASURED, "idle", 0, 0));
  assert_null(find(job, LUMOS_METRIC_MEASURED, "gpu_busy", NOWHERE, 0));
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rank_and_the_job_have_their_breakdown),
      cmocka_unit_test(communication_that_is_joined_with_nobody_is_kept),
      cmocka_unit_test(the_replay_error_is_signed_and_its_mean_is_not),
      cmocka_unit_test(what_recording_has_cost_is_told_where_it_was_timed),
      cmocka_unit_test(the_mean_error_hides_no_rank),
      cmocka_unit_test(a_changed_job_is_compared_with_what_was),
      cmocka_unit_test(what_is_carried_is_counted),
      cmocka_unit_test(long_gaps_and_long_calls_are_unknown),
      cmocka_unit_test(boundaries_count_from_the_step_on),
      cmocka_unit_test(marks_and_launches_are_read_off_the_recording),
      cmocka_unit_test(a_rank_without_a_device_has_steps_and_no_breakdown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
