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
    assert_int_equal(room->covers, start - 204 * us); /* from when its launch returned */
  }
  lumos_job_free(two.job);
}

static void a_late_start_in_the_tail_of_a_kernel_waited_for_its_sms(void **state) {
  (void)state;
  assert_waits(1000 * us, 1085 * us, true);  /* 25 us before its end */
  assert_waits(1000 * us, 1060 * us, true);  /* 50 us, its last twentieth */
  assert_waits(1000 * us, 1059 * us, false); /* 51 us: once alone it is not believed */
  assert_waits(1000 * us, 1110 * us, true);  /* at its end: an event would take longer */
  assert_waits(1000 * us, 1115 * us, true);  /* 5 us after it, and no event again and again */
  assert_waits(1000 * us, 1116 * us, false); /* 6 us */
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

static void a_memset_waits_for_sms(void **state) {
  (void)state;
  struct two_streams two = two_streams(LUMOS_GEMM, LUMOS_MEMSET, 1000 * us, 1100 * us);
  build(two.job);
  assert_non_null(dep_into(two.job, two.small, LUMOS_RESOURCE));
  lumos_job_free(two.job);
}

/* Kernels of these lengths on s7, 2 us apart, all launched long before but where `late` says the place of one that is
 * launched when the one before it runs no more; the first from `first` on, behind a
 * copy. `small` on s9 could run from 204 us on, for a launch takes no time. */
static struct two_streams queue_of(const int64_t *lengths, size_t count, int64_t first, size_t late, int64_t start) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  uint32_t s7 = add_stream(job, rank, "7"), s9 = add_stream(job, rank, "9"), calls[9], big = LUMOS_NONE;
  uint32_t launch_copy = add_launch(job, thread, 10 * us, 5 * us);
  for (size_t i = 0; i < count; i++) {
    calls[i] = i == late ? LUMOS_NONE : add_launch(job, thread, (int64_t)(20 + 10 * i) * us, 5 * us);
  }
  uint32_t launch_small = add_launch(job, thread, 200 * us, 4 * us);
  int64_t at = first;
  for (size_t i = 0; i < late && late < count; i++) {
    at += lengths[i] + 2 * us;
  }
  if (late < count) {
    calls[late] = add_launch(job, other, at - 5 * us, 4 * us); /* until 1 us behind the end */
  }
  at = first;
  uint32_t copy = add_task(job, s7, LUMOS_COPY, "copy", 15 * us, first - 17 * us);
  job->tasks.items[copy].call = launch_copy;
  for (size_t i = 0; i < count; i++) {
    big = add_task(job, s7, LUMOS_GEMM, i == 0 ? "first" : "big", at, lengths[i]);
    job->tasks.items[big].call = calls[i];
    at += lengths[i] + 2 * us;
  }
  uint32_t small = add_task(job, s9, LUMOS_ELEMENTWISE, "small", start, 50 * us);
  job->tasks.items[small].call = launch_small;
  build(job);
  return (struct two_streams){job, big, small};
}

/* 110-610, 612-1112; ready at 204, in the first, it starts 12 us before the second ends. */
static void it_waits_behind_a_queue(void **state) {
  (void)state;
  static const int64_t lengths[] = {500000, 500000};
  struct two_streams two = queue_of(lengths, 2, 110 * us, 8, 1100 * us);
  const struct lumos_dep *room = dep_into(two.job, two.small, LUMOS_RESOURCE);
  assert_non_null(room);
  assert_int_equal(room->src, two.big);
  assert_int_equal(room->lag, -12 * us);
  lumos_job_free(two.job);
  two = queue_of(lengths, 2, 110 * us, 1, 1100 * us); /* the second was not there when the first ended */
  assert_null(dep_into(two.job, two.small, LUMOS_RESOURCE));
  lumos_job_free(two.job);
}

/* Ready at 204; the first begins later, launched long before: within a reaction, 19.5 us, nothing tells who came
 * first. */
static void a_kernel_that_comes_at_the_same_time_was_first(void **state) {
  (void)state;
  static const int64_t lengths[] = {500000};
  struct two_streams two = queue_of(lengths, 1, 223 * us, 8, 700 * us);
  assert_non_null(dep_into(two.job, two.small, LUMOS_RESOURCE));
  lumos_job_free(two.job);
  two = queue_of(lengths, 1, 224 * us, 8, 700 * us);
  assert_null(dep_into(two.job, two.small, LUMOS_RESOURCE));
  lumos_job_free(two.job);
}

/* Starts on s9 with so many hundredths of `big` left, 1000 us each, every time by another kernel; how many wait? */
static size_t waits_at(const int64_t *left, size_t count) {
  static const char *const names[] = {"a", "b", "c", "d", "e"};
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t s7 = add_stream(job, rank, "7"), s9 = add_stream(job, rank, "9"), calls[10], small[5];
  const int64_t period = 2000 * us;
  for (size_t i = 0; i < count; i++) {
    calls[2 * i] = add_launch(job, thread, (int64_t)i * period + 100 * us, 10 * us);
    calls[2 * i + 1] = add_launch(job, thread, (int64_t)i * period + 200 * us, 4 * us);
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t big = add_task(job, s7, LUMOS_GEMM, "big", (int64_t)i * period + 110 * us, 1000 * us);
    job->tasks.items[big].call = calls[2 * i];
  }
  for (size_t i = 0; i < count; i++) {
    int64_t start = (int64_t)i * period + 1110 * us - left[i] * 10 * us;
    small[i] = add_task(job, s9, LUMOS_ELEMENTWISE, names[i], start, 50 * us);
    job->tasks.items[small[i]].call = calls[2 * i + 1];
  }
  build(job);
  size_t waits = 0;
  for (size_t i = 0; i < count; i++) {
    waits += dep_into(job, small[i], LUMOS_RESOURCE) != NULL;
  }
  lumos_job_free(job);
  return waits;
}

static void what_its_name_held_up_before_is_believed(void **state) {
  (void)state;
  assert_int_equal(waits_at((const int64_t[]){20, 10}, 2), 2);
  assert_int_equal(waits_at((const int64_t[]){20}, 1), 0);
  assert_int_equal(waits_at((const int64_t[]){20, 21}, 2), 0); /* the second lies before the last fifth */
}

static void a_last_wave_begins_at_the_same_share_again_and_again(void **state) {
  (void)state;
  assert_int_equal(waits_at((const int64_t[]){60, 55, 62, 66}, 4), 4);
  assert_int_equal(waits_at((const int64_t[]){60, 55, 62}, 3), 0);
  assert_int_equal(waits_at((const int64_t[]){60, 55, 62, 66, 30}, 5), 4);
  assert_int_equal(waits_at((const int64_t[]){60, 49, 62, 75}, 4), 0); /* too far apart for three of four */
}

/* As in it_waits_behind_a_queue, with a third one behind, 1114-1614; the lengths of the first two and of the call that
 * launches `small`, 200 to 204 us, are others in the run. */
static int64_t start_behind_queue(int64_t first, int64_t second, int64_t call) {
  static const int64_t lengths[] = {500000, 500000, 500000};
  struct two_streams two = queue_of(lengths, 3, 110 * us, 8, 1100 * us);
  struct lumos_job *job = two.job;
  job->tasks.items[two.big - 2].dur = first;
  job->tasks.items[two.big - 1].dur = second;
  job->tasks.items[job->tasks.items[two.small].call].dur = call;
  job->stage = LUMOS_STAGE_TRANSFORM;
  struct lumos_error error = {0};
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  int64_t start = job->runs.items[two.small].start;
  lumos_job_free(job);
  return start;
}

static void in_a_simulation_it_waits_while_the_stream_is_occupied(void **state) {
  (void)state;
  assert_int_equal(start_behind_queue(500 * us, 500 * us, 4 * us), 1100 * us);
  assert_int_equal(start_behind_queue(300 * us, 500 * us, 4 * us), 900 * us);     /* 412-912 */
  assert_int_equal(start_behind_queue(80 * us, 500 * us, 4 * us), 680 * us);      /* 192-692, ready in it */
  assert_int_equal(start_behind_queue(500 * us, 500 * us, 804 * us), 1100 * us);  /* ready at 1004 */
  assert_int_equal(start_behind_queue(500 * us, 500 * us, 905 * us), 1105 * us);  /* in the second's last wave */
  assert_int_equal(start_behind_queue(500 * us, 500 * us, 913 * us), 1602 * us);  /* 1113: the third is about to come */
  assert_int_equal(start_behind_queue(500 * us, 500 * us, 1000 * us), 1602 * us); /* ready in the third */
  assert_int_equal(start_behind_queue(500 * us, 500 * us, 1500 * us), 1700 * us); /* nothing runs there any more */
}

/* Eight kernels of 100 us on s7, the first from 110 us on. `small`, ready at 204, starts 12 us before the last one's
 * end, for which it waited for so long; when does it if kernels take so many times as long? */
static int64_t start_before_queue(int64_t waited, int64_t times) {
  static const int64_t lengths[] = {100000, 100000, 100000, 100000, 100000, 100000, 100000, 100000};
  struct two_streams two = queue_of(lengths, 8, 110 * us, 9, 912 * us);
  struct lumos_job *job = two.job;
  for (size_t d = 0; d < job->deps.count; d++) {
    job->deps.items[d].covers = job->deps.items[d].kind == LUMOS_RESOURCE ? waited : job->deps.items[d].covers;
  }
  for (uint32_t k = 0; k < 8 && times != 1; k++) {
    job->tasks.items[two.big - k].dur *= times;
    detail(job, two.big - k)->was = 100 * us;
  }
  job->stage = LUMOS_STAGE_TRANSFORM;
  struct lumos_error error = {0};
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  int64_t start = job->runs.items[two.small].start;
  lumos_job_free(job);
  return start;
}

/* Behind the first one, in which it is ready, it is 7 x 100 - 12 us to the last one's last wave. Where that is more
 * than five times what it waited, the first one makes room; its last 12 us have begun. With kernels twice as long it is
 * as far, but the last wave is 24 us long, that of the last one from 1,700 us on and of the first from 286. */
static void what_is_far_makes_no_room(void **state) {
  (void)state;
  assert_int_equal(start_before_queue(LUMOS_ABSENT, 1), 912 * us);
  assert_int_equal(start_before_queue(138 * us, 1), 912 * us);
  assert_int_equal(start_before_queue(137 * us, 1), 204 * us);
  assert_int_equal(start_before_queue(138 * us, 2), 1700 * us);
  assert_int_equal(start_before_queue(137 * us, 2), 286 * us);
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
  assert_int_equal(simulated_start(2000 * us), 2070 * us); /* the last fiftieth, 40 us before the end at 2110 */
  assert_int_equal(simulated_start(80 * us), 204 * us);    /* over at 190, before the launch at 204 */
  assert_int_equal(simulated_start(100 * us), 208 * us);   /* its last fiftieth begins at 208 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_late_start_in_the_tail_of_a_kernel_waited_for_its_sms),
      cmocka_unit_test(what_needs_no_sms_neither_waits_nor_is_waited_for),
      cmocka_unit_test(a_longer_tail_is_believed_when_it_comes_again),
      cmocka_unit_test(a_memset_waits_for_sms),
      cmocka_unit_test(it_waits_behind_a_queue),
      cmocka_unit_test(a_kernel_that_comes_at_the_same_time_was_first),
      cmocka_unit_test(what_its_name_held_up_before_is_believed),
      cmocka_unit_test(a_last_wave_begins_at_the_same_share_again_and_again),
      cmocka_unit_test(in_a_simulation_it_waits_while_the_stream_is_occupied),
      cmocka_unit_test(what_is_far_makes_no_room),
      cmocka_unit_test(in_a_simulation_it_waits_only_where_the_other_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
