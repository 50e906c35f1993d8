/* Steps: where they begin and end, measured and simulated, on a rank and in the job. */
#include "sim_jobs.h"

#include "sim/steps.h"
#include <lumos/sim.h>

static void expect_step(const struct lumos_step *step, uint32_t rank, int32_t number, int64_t start, int64_t end) {
  assert_int_equal(step->rank, rank);
  assert_int_equal(step->step, number);
  assert_int_equal(step->start, start);
  assert_int_equal(step->end, end);
}

static void steps_end_with_their_device_work(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_steps_list steps;
  /* K0 and K1 are of step 1, K2 and K3 of step 2; the host's `work` of step 5 has no device work, `after` no step. */
  job->tasks.items[task_named(job, "K2")].step = 2;
  job->tasks.items[task_named(job, "K3")].step = 2;
  job->tasks.items[task_named(job, "launch3")].step = 5;
  job->tasks.items[task_named(job, "after")].step = LUMOS_ABSENT_INT;
  job->ranks.items[0].base = -20;
  lumos_find_steps(job, NULL, &steps);
  assert_int_equal(steps.count, 3);
  expect_step(&steps.items[0], 0, 1, -20, 167); /* K1's end, though host tasks of step 1 run until 170 */
  expect_step(&steps.items[1], 0, 2, 167, 199); /* K3's */
  expect_step(&steps.items[2], 0, 5, 199, 199); /* launch3 ended at 50: never before the step before */
  lumos_vector_free(&steps);

  /* The same function reads a simulated timeline. */
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    runs[t] = (struct lumos_run){1000 + t, 10};
  }
  lumos_find_steps(job, runs, &steps);
  expect_step(&steps.items[0], 0, 1, -20, 1000 + task_named(job, "K1") + 10);
  expect_step(&steps.items[1], 0, 2, 1000 + task_named(job, "K1") + 10, 1000 + task_named(job, "K3") + 10);
  lumos_vector_free(&steps);

  /* As measured means before any change. */
  lumos_task_detail(job, &job->tasks.items[task_named(job, "K3")])->was = 30;
  job->tasks.items[task_named(job, "K3")].dur = 5000;
  lumos_find_steps(job, NULL, &steps);
  expect_step(&steps.items[1], 0, 2, 167, 199);
  lumos_vector_free(&steps);
  free(runs);
  lumos_job_free(job);
}

static void a_rank_without_streams_starts_on_the_hosts_clock(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_steps_list steps;
  lumos_find_steps(job, NULL, &steps);
  expect_step(&steps.items[1], 1, 1, 0, 143); /* base 995 of the device's clock */
  lumos_vector_free(&steps);
  job->ranks.items[1].lane_count = 1; /* the thread alone */
  job->ranks.items[1].task_count = 4;
  lumos_find_steps(job, NULL, &steps);
  expect_step(&steps.items[1], 1, 1, -5, 157); /* base 995 of the host's clock; after1's end */
  lumos_vector_free(&steps);
  lumos_job_free(job);
}

static void the_jobs_step_is_that_of_its_last_rank(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  /* On rank 0 A is step 1 (11-61) and C0 step 2 (63-144); on rank 1 only step 2 exists. */
  job->tasks.items[task_named(job, "A")].step = 1;
  job->tasks.items[task_named(job, "C0")].step = 2;
  for (uint32_t t = job->ranks.items[1].task_first; t < job->tasks.count; t++) {
    job->tasks.items[t].step = 2;
  }
  struct lumos_stretches stretches;
  lumos_find_stretches(job, &stretches);
  struct lumos_timeline timeline;
  lumos_timeline_make(&timeline, job, NULL, &stretches);
  assert_int_equal(timeline.job.count, 2);
  expect_step(&timeline.job.items[0], LUMOS_NONE, 1, 0, 61);
  expect_step(&timeline.job.items[1], LUMOS_NONE, 2, 61, 144);
  assert_int_equal(timeline.sharers_first[0], 0);
  assert_int_equal(timeline.sharers_first[1], 1);
  assert_int_equal(timeline.sharers_first[2], 3);
  assert_int_equal(timeline.sharers[1], 1); /* rank 0's step 2 */
  assert_int_equal(timeline.sharers[2], 2); /* rank 1's */

  uint32_t guess = 0;
  assert_int_equal(lumos_step_index(&timeline.steps, 0, 2, &guess), 1);
  assert_int_equal(lumos_step_index(&timeline.steps, 1, 2, &guess), 2);
  assert_int_equal(lumos_step_index(&timeline.steps, 1, 1, &guess), LUMOS_NONE);
  assert_int_equal(lumos_step_after(&timeline.steps, 0, 60), 0);
  assert_int_equal(lumos_step_after(&timeline.steps, 0, 61), 1); /* step 1 has ended at 61 */
  assert_int_equal(lumos_step_after(&timeline.steps, 0, 144), LUMOS_NONE);
  assert_int_equal(lumos_step_after(&timeline.steps, 1, -9), 2);

  struct lumos_steps_list host;
  lumos_find_host_steps(job, NULL, &stretches, &timeline.steps, &host);
  expect_step(&host.items[0], 0, 1, 0, 153); /* rank 0's threads are all of step 1 */
  expect_step(&host.items[1], 0, 2, LUMOS_ABSENT, LUMOS_ABSENT);
  expect_step(&host.items[2], 1, 2, 0, 157);
  lumos_vector_free(&host);
  lumos_vector_free(&stretches);
  lumos_timeline_free(&timeline);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_end_with_their_device_work),
      cmocka_unit_test(a_rank_without_streams_starts_on_the_hosts_clock),
      cmocka_unit_test(the_jobs_step_is_that_of_its_last_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
