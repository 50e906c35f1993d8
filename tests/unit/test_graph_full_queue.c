/* A stream that is full, worked out by hand; found, and simulated. Times are nanoseconds.
 *
 * A thread makes 600 calls without a pause, a kernel each, which takes 30 us; the stream runs them without a pause from
 * 20 us on, so kernel i starts at 20 + 30 i us. A call takes 2 us. The stream holds 200 launches that have not started:
 * call i returns no earlier than 1 us after kernel i - 201 has started. Call i returns at 2 + 2 i us while that is
 * later, which is up to i = 214: kernel 14 starts at 440 us, call 215 would return at 432 and does at 441; from then on
 * call i returns at 21 + 30 (i - 201) us, after 30 us each.
 */
#include "unit/graph_job.h"

#include <lumos/sim.h>

enum { CALLS = 600, DEPTH = 200, FIRST_BLOCKED = 215, LATE = 300 };
static const int64_t us = 1000;

struct full {
  struct lumos_job *job;
  uint32_t calls[CALLS], kernels[CALLS];
};

static int64_t kernel_start(int64_t i) { return (20 + 30 * i) * us; }

/* LATE's call returns so much later than it could, so that it finds fewer launches on the stream. */
static struct full full_stream_with(uint32_t count, int64_t later) {
  struct full full = {.job = new_job()};
  uint32_t rank = add_rank(full.job, 0), thread = add_thread(full.job, rank, "1"), s7 = add_stream(full.job, rank, "7");
  int64_t now = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t returns = now + 2 * us, room = i > DEPTH ? kernel_start(i - DEPTH - 1) + us : 0;
    returns = (room > returns ? room : returns) + (i == LATE ? later : 0);
    full.calls[i] = add_launch(full.job, thread, now, returns - now);
    now = returns;
  }
  for (int64_t i = 0; i < count; i++) {
    full.kernels[i] = add_kernel(full.job, s7, kernel_start(i), 30 * us, full.calls[i]);
  }
  return full;
}

static struct full full_stream(uint32_t count) { return full_stream_with(count, 0); }

static void a_call_to_a_full_stream_returns_when_a_task_has_started(void **state) {
  (void)state;
  struct full full = full_stream(CALLS);
  assert_int_equal(full.job->tasks.items[full.calls[FIRST_BLOCKED]].start, 430 * us);
  build(full.job);
  for (uint32_t i = 0; i < CALLS; i++) {
    const struct lumos_dep *queue = dep_into(full.job, full.calls[i], LUMOS_QUEUE);
    assert_int_equal(queue != NULL, i >= FIRST_BLOCKED);
    if (queue != NULL) {
      assert_int_equal(queue->src, full.kernels[i - DEPTH - 1]);
      assert_int_equal(queue->lag, us);
      /* The first blocked one takes 11 us, the others 30; 2 of them are its own. */
      assert_int_equal(queue->covers, (i == FIRST_BLOCKED ? 9 : 28) * us);
      assert_int_equal(queue->evidence, LUMOS_INFERRED);
      assert_int_equal(queue->mode, LUMOS_RUN_TIME);
    }
  }
  lumos_job_free(full.job);
}

/* Two tasks more have started when LATE's call returns: it was blocked all the same. Of three more that is not sure. */
static void a_blocked_call_may_return_late(void **state) {
  (void)state;
  for (int64_t started = 2; started <= 3; started++) {
    struct full full = full_stream_with(CALLS, 30 * us * started);
    build(full.job);
    const struct lumos_dep *queue = dep_into(full.job, full.calls[LATE], LUMOS_QUEUE);
    if (started == 2) {
      assert_non_null(queue);
      assert_int_equal(queue->src, full.kernels[LATE - DEPTH - 1]);
      assert_int_equal(queue->lag, 61 * us);
    } else {
      assert_null(queue);
    }
    lumos_job_free(full.job);
  }
}

/* From LATE on a launch finds one place less: its call waits for the task behind the one that the depth names, which
 * starts before the call does. */
static void some_launches_take_more_places(void **state) {
  (void)state;
  struct full full = full_stream(CALLS);
  for (uint32_t i = LATE; i < CALLS; i++) {
    struct lumos_task *call = &full.job->tasks.items[full.calls[i]];
    int64_t end = kernel_start(i - DEPTH) + us;
    call->start = i == LATE ? call->start : kernel_start(i - DEPTH - 1) + us;
    call->dur = end - call->start;
  }
  build(full.job);
  const struct lumos_dep *queue = dep_into(full.job, full.calls[LATE + 9], LUMOS_QUEUE);
  assert_non_null(queue);
  assert_int_equal(queue->src, full.kernels[LATE + 9 - DEPTH - 1]);
  assert_int_equal(queue->lag, 31 * us);
  assert_int_equal(queue->covers, 28 * us);
  lumos_job_free(full.job);
}

/* Kernels of 60 us, of which one, HELD, starts 5 ms late; a call every 20 us, of which 2 are its own, that returns 1 us
 * behind the start of kernel i - 201. It would at 20 (i + 1) us, which is too early from i = 302 on: kernel 101 starts
 * at 6,080 us, when that call has lasted for 22. By the device's clock all is 15 us later, so that a kernel seems to
 * start 14 us behind the return of the call for which it makes room. It is that kernel all the same. */
static void a_device_may_be_late(void **state) {
  (void)state;
  enum { BLOCKED = 302, HELD = 149, WAITS = HELD + DEPTH + 1 };
  struct full full = {.job = new_job()};
  uint32_t rank = add_rank(full.job, 0), thread = add_thread(full.job, rank, "1"), s7 = add_stream(full.job, rank, "7");
  int64_t starts[CALLS], now = 0;
  for (int64_t i = 0; i < CALLS; i++) {
    starts[i] = (20 + 60 * i + (i >= HELD ? 5000 : 0)) * us;
    int64_t start = now + 18 * us, room = i > DEPTH ? starts[i - DEPTH - 1] + us : 0;
    now = room > start + 2 * us ? room : start + 2 * us;
    full.calls[i] = add_launch(full.job, thread, start, now - start);
  }
  for (int64_t i = 0; i < CALLS; i++) {
    full.kernels[i] = add_kernel(full.job, s7, starts[i] + 15 * us, 60 * us, full.calls[i]);
  }
  build(full.job);
  for (uint32_t i = 0; i < CALLS; i++) {
    const struct lumos_dep *queue = dep_into(full.job, full.calls[i], LUMOS_QUEUE);
    assert_int_equal(queue != NULL, i >= BLOCKED);
    if (queue != NULL) {
      assert_int_equal(queue->src, full.kernels[i - DEPTH - 1]);
      assert_int_equal(queue->lag, 0); /* none starts before what it waits for */
      assert_int_equal(queue->covers, (i == BLOCKED ? 21 : i == WAITS ? 5040 : 40) * us);
    }
  }
  lumos_job_free(full.job);
}

/* Six calls block when the stream is full, but eight take as long when it is not: nothing says what they wait for. */
static void long_calls_elsewhere_are_no_full_queue(void **state) {
  (void)state;
  struct full full = full_stream(FIRST_BLOCKED + 6);
  for (uint32_t k = 0; k < 8; k++) { /* seven calls' time for one, none for six */
    struct lumos_task *calls = &full.job->tasks.items[full.calls[7 * k]];
    for (uint32_t i = 1; i < 7; i++) {
      calls[0].dur += calls[i].dur;
      calls[i].start += (6 - i) * 2 * us;
      calls[i].dur = 0;
    }
  }
  build(full.job);
  for (uint32_t i = 0; i < FIRST_BLOCKED + 6; i++) {
    assert_null(dep_into(full.job, full.calls[i], LUMOS_QUEUE));
  }
  lumos_job_free(full.job);
}

/* When does call i return if every kernel takes `dur`, and every call's own time `own`? */
static int64_t simulated_return(int64_t dur, int64_t own, uint32_t i) {
  struct full full = full_stream(CALLS);
  build(full.job);
  for (uint32_t k = 0; k < CALLS; k++) {
    detail(full.job, full.kernels[k])->was = 30 * us;
    full.job->tasks.items[full.kernels[k]].dur = dur;
    full.job->tasks.items[full.calls[k]].dur += own - 2 * us;
  }
  full.job->stage = LUMOS_STAGE_TRANSFORM;
  struct lumos_error error = {0};
  if (!lumos_simulate(full.job, &error)) {
    fail_msg("%s", error.text);
  }
  const struct lumos_run *run = &full.job->runs.items[full.calls[i]];
  int64_t end = run->start + run->dur;
  lumos_job_free(full.job);
  return end;
}

static void in_a_simulation_calls_wait_only_while_the_stream_is_full(void **state) {
  (void)state;
  assert_int_equal(simulated_return(30 * us, 2 * us, 599), 20 * us + 30 * us * 398 + us); /* as measured */
  assert_int_equal(simulated_return(60 * us, 2 * us, 599), 20 * us + 60 * us * 398 + us); /* slower kernels */
  assert_int_equal(simulated_return(us, 2 * us, 599), 600 * 2 * us);                      /* never full: 2 us a call */
  /* A faster host: the first kernel starts with its launch, 1 us earlier; the calls wait longer. */
  assert_int_equal(simulated_return(30 * us, us, 599), 19 * us + 30 * us * 398 + us);
  /* Call 210 did not block; with kernels of 100 us it does, for kernel 9, which starts at 920 us, by no lag that is
   * known. */
  assert_int_equal(simulated_return(100 * us, 2 * us, 210), 920 * us);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_to_a_full_stream_returns_when_a_task_has_started),
      cmocka_unit_test(a_blocked_call_may_return_late),
      cmocka_unit_test(some_launches_take_more_places),
      cmocka_unit_test(a_device_may_be_late),
      cmocka_unit_test(long_calls_elsewhere_are_no_full_queue),
      cmocka_unit_test(in_a_simulation_calls_wait_only_while_the_stream_is_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
