/* Kernels that wait for free SMs, on jobs small enough to work out by hand; found, and simulated. Times are
 * nanoseconds.
 *
 * On s7 a kernel `big` runs from 110 us, for 1000 us if nothing else is said. On s9 `small` is launched at 200 us, ends
 * its call at 204, and would start then, for no launch of the job takes any time; it starts at `start` instead.
 */
#include "unit/graph_job.h"

#include <lumos/sim.h>

static const int64_t us = 1000;

struct two_streams {
  struct lumos_job *job;
  uint32_t big, small;
};

static struct two_streams two_streams(enum lumos_task_kind big_kind, enum lumos_task_kind small_kind, int64_t dur,
                                      int64_t start) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t s7 = add_stream(job, rank, "7"), s9 = add_stream(job, rank, "9");
  uint32_t launch_big = add_launch(job, thread, 100 * us, 10 * us),
           launch_small = add_launch(job, thread, 200 * us, 4 * us);
  uint32_t big = add_task(job, s7, big_kind, "big", 110 * us, dur);
  job->tasks.items[big].call = launch_big;
  uint32_t small = add_task(job, s9, small_kind, "small", start, 50 * us);
  job->tasks.items[small].call = launch_small;
  return (struct two_streams){job, big, small};
}

static void assert_waits(int64_t dur, int64_t start, bool waits) {
  struct two_streams two = two_streams(LUMOS_GEMM, LUMOS_ELEMENTWISE, dur, start);
  build(two.job);
  const struct lumos_dep *room = dep_into(two.job, two.small, LUMOS_RESOURCE);
  assert_int_equal(room != NULL, waits);
  if (room != NULL) {
    assert_int_equal(room->src, two.big);
    assert_int_equal(room->lag, start - 110 * us - dur);
    assert_int_equal(room->evidence, LUMOS_INFERRED);
    assert_int_equal(room->mode, LUMOS_RUN_TIME);
    assert_int_equal(timing(two.job, two.small)->residual, 0);
  }
  lumos_job_free(two.job);
}

static void a_late_start_in_the_tail_of_a_kernel_waited_for_its_sms(void **state) {
  (void)state;
  assert_waits(1000 * us, 1085 * us, true);  /* 25 us before its end */
  assert_waits(1000 * us, 1060 * us, true);  /* 50 us, its last twentieth */
  assert_waits(1000 * us, 1059 * us, false); /* 51 us: once alone it is not believed */
  assert_waits(1000 * us, 1110 * us, true);  /* at its end: an event would take longer */
  assert_waits(1000 * us, 1111 * us, false); /* 1 us after it: that is an event's */
  assert_waits(200 * us, 285 * us, true);    /* 25 us, more than a twentieth of 200 */
  assert_waits(200 * us, 284 * us, false);
  assert_waits(1000 * us, 220 * us, false); /* hardly late, and nowhere near the end */
}

static void assert_none(enum lumos_task_kind big_kind, enum lumos_task_kind small_kind) {
  struct two_streams two = two_streams(big_kind, small_kind, 1000 * us, 1100 * us);
  build(two.job);
  assert_null(dep_into(two.job, two.small, LUMOS_RESOURCE));
  lumos_job_free(two.job);
}

static void what_needs_no_sms_neither_waits_nor_is_waited_for(void **state) {
  (void)state;
  assert_none(LUMOS_COPY, LUMOS_ELEMENTWISE);
  assert_none(LUMOS_GEMM, LUMOS_COPY);
  assert_none(LUMOS_COLLECTIVE, LUMOS_ELEMENTWISE); /* its end is not its own */
}

/* Two meetings of the same names, each 100 us before the end: the last tenth. */
static void a_longer_tail_is_believed_when_it_comes_again(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t s7 = add_stream(job, rank, "7"), s9 = add_stream(job, rank, "9"), calls[4], small[2];
  for (int64_t k = 0; k < 2; k++) {
    calls[2 * k] = add_launch(job, thread, (100 + 2000 * k) * us, 10 * us);
    calls[2 * k + 1] = add_launch(job, thread, (200 + 2000 * k) * us, 4 * us);
  }
  for (int64_t k = 0; k < 2; k++) {
    uint32_t big = add_task(job, s7, LUMOS_GEMM, "big", (110 + 2000 * k) * us, 1000 * us);
    job->tasks.items[big].call = calls[2 * k];
  }
  for (int64_t k = 0; k < 2; k++) {
    small[k] = add_task(job, s9, LUMOS_ELEMENTWISE, "small", (1010 + 2000 * k) * us, 50 * us);
    job->tasks.items[small[k]].call = calls[2 * k + 1];
  }
  build(job);
  for (int k = 0; k < 2; k++) {
    assert_non_null(dep_into(job, small[k], LUMOS_RESOURCE));
  }
  lumos_job_free(job);
}

/* `big` takes `dur` in the simulation; when does `small` start? */
static int64_t simulated_start(int64_t big_dur) {
  struct two_streams two = two_streams(LUMOS_GEMM, LUMOS_ELEMENTWISE, 1000 * us, 1090 * us);
  build(two.job);
  two.job->tasks.items[two.big].dur = big_dur;
  detail(two.job, two.big)->was = 1000 * us;
  two.job->stage = LUMOS_STAGE_TRANSFORM;
  struct lumos_error error = {0};
  if (!lumos_simulate(two.job, &error)) {
    fail_msg("%s", error.text);
  }
  int64_t start = two.job->runs.items[two.small].start;
  lumos_job_free(two.job);
  return start;
}

static void in_a_simulation_it_waits_only_where_the_other_runs(void **state) {
  (void)state;
  assert_int_equal(simulated_start(1000 * us), 1090 * us); /* as measured: 20 us before the end at 1110 */
  assert_int_equal(simulated_start(2000 * us), 2090 * us); /* 20 us before the end at 2110 */
  assert_int_equal(simulated_start(80 * us), 204 * us);    /* over at 190, before the launch at 204 */
  assert_int_equal(simulated_start(100 * us), 204 * us);   /* its tail begins at 190 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_late_start_in_the_tail_of_a_kernel_waited_for_its_sms),
      cmocka_unit_test(what_needs_no_sms_neither_waits_nor_is_waited_for),
      cmocka_unit_test(a_longer_tail_is_believed_when_it_comes_again),
      cmocka_unit_test(in_a_simulation_it_waits_only_where_the_other_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
