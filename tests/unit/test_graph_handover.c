/* Hand-overs between threads, on a forward and a backward thread and those that only look like one. Times in
 * nanoseconds, laid out in ms.
 *
 *   forward   0-10            20.2-24          -40 ...
 *   backward        10.1-20            24.3-40
 */
#include "unit/graph_job.h"

static const int64_t us = 1000;
static const int64_t ms = 1000000;

static uint32_t work(struct lumos_job *job, uint32_t thread, int64_t start, int64_t end) {
  return add_task(job, thread, LUMOS_OP, "op", start, end - start);
}

static size_t count_handovers(const struct lumos_job *job) {
  size_t count = 0;
  for (size_t i = 0; i < job->deps.count; i++) {
    count += job->deps.items[i].kind == LUMOS_HANDOVER;
  }
  return count;
}

static void assert_handover(const struct lumos_job *job, uint32_t src, uint32_t dst, int64_t lag, int64_t covers) {
  const struct lumos_dep *dep = dep_into(job, dst, LUMOS_HANDOVER);
  assert_non_null(dep);
  assert_int_equal(dep->src, src);
  assert_int_equal(dep->from, LUMOS_END);
  assert_int_equal(dep->to, LUMOS_START);
  assert_int_equal(dep->lag, lag);
  assert_int_equal(dep->covers, covers);
  assert_int_equal(dep->evidence, LUMOS_INFERRED);
  assert_int_equal(dep->mode, LUMOS_FIXED);
}

static void forward_and_backward_hand_over_to_each_other(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), forward = add_thread(job, rank, "1"), backward = add_thread(job, rank, "2");
  uint32_t first = work(job, forward, 0, 10 * ms);
  uint32_t resumed = work(job, forward, 20200 * us, 24 * ms);
  uint32_t begun = work(job, backward, 10100 * us, 20 * ms);
  uint32_t again = work(job, backward, 24300 * us, 40 * ms);
  build(job);
  assert_int_equal(count_handovers(job), 3);
  assert_handover(job, first, begun, 100 * us, LUMOS_ABSENT); /* the first of its thread has no gap to cover */
  assert_null(dep_into(job, begun, LUMOS_BOUNDARY));
  assert_handover(job, begun, resumed, 200 * us, 10 * ms); /* silent from 10 to 20.2, the other done at 20 */
  assert_handover(job, resumed, again, 300 * us, 4 * ms);  /* silent from 20 to 24.3, the other done at 24 */
  assert_non_null(dep_into(job, first, LUMOS_BOUNDARY));
  lumos_job_free(job);
}

/* A call of 5 us every 60 us, from one instant to another, and what the first and the last are. */
static void calls(struct lumos_job *job, uint32_t thread, int64_t from, int64_t to, uint32_t *first, uint32_t *last) {
  for (int64_t t = from; t < to; t += 60 * us) {
    *last = add_launch(job, thread, t, 5 * us);
    *first = t == from ? *last : *first;
  }
}

/* Without ops the thread works between its calls, too; with them it does not. */
static void without_ops_a_thread_works_from_call_to_call(void **state) {
  (void)state;
  for (int ops = 0; ops < 2; ops++) {
    uint32_t first = 0, called = 0, resumed = 0, begun = 0, done = 0, other = 0;
    struct lumos_job *job = new_job();
    uint32_t rank = add_rank(job, 0), forward = add_thread(job, rank, "1"), backward = add_thread(job, rank, "2");
    if (ops == 1) {
      (void)work(job, forward, 0, 0);
    }
    calls(job, forward, 0, 10 * ms, &first, &called);
    calls(job, forward, 20200 * us, 24 * ms, &resumed, &other);
    calls(job, backward, 10100 * us, 20 * ms, &begun, &done);
    build(job);
    assert_int_equal(count_handovers(job), ops == 1 ? 0 : 2);
    assert_int_equal(dep_into(job, begun, LUMOS_HANDOVER) != NULL, ops == 0);
    if (ops == 0) {
      assert_int_equal(dep_into(job, begun, LUMOS_HANDOVER)->src, called);
      assert_int_equal(dep_into(job, resumed, LUMOS_HANDOVER)->src, done);
    }
    lumos_job_free(job);
  }
}

/* Whichever of them called, what follows the first on its thread may wait for who was called. */
static void of_tasks_that_end_at_one_instant_the_first_hands_over(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), forward = add_thread(job, rank, "1"), backward = add_thread(job, rank, "2");
  uint32_t first = work(job, forward, 0, 10 * ms);
  (void)work(job, forward, 10 * ms, 10 * ms);
  (void)work(job, forward, 10 * ms, 10 * ms);
  uint32_t begun = work(job, backward, 10 * ms, 20 * ms);
  build(job);
  assert_handover(job, first, begun, 0, LUMOS_ABSENT);
  lumos_job_free(job);
}

/* Each case: what one thread did while the other was silent from 10 to 20 ms, and what that one did then. */
static size_t handovers_after(int64_t begin, int64_t end, int64_t stirs, int64_t resumed_until, bool same_process) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), silent = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  job->lanes.items[silent].process = word(job, "p1");
  job->lanes.items[other].process = word(job, same_process ? "p1" : "p2");
  (void)work(job, silent, 0, 10 * ms);
  uint32_t resumed = work(job, silent, 20 * ms, resumed_until);
  (void)work(job, other, 0, 1 * ms); /* begins with the recording: nobody hands over to it */
  (void)work(job, other, begin, end);
  (void)work(job, other, stirs, stirs + us);
  build(job);
  size_t count = dep_into(job, resumed, LUMOS_HANDOVER) != NULL;
  lumos_job_free(job);
  return count;
}

static void what_only_looks_like_a_handover_is_none(void **state) {
  (void)state;
  assert_int_equal(handovers_after(14 * ms, 19500 * us, 30 * ms, 26 * ms, true), 1);
  assert_int_equal(handovers_after(14 * ms, 19500 * us, 30 * ms, 26 * ms, false), 0); /* another process */
  assert_int_equal(handovers_after(15 * ms, 19500 * us, 30 * ms, 26 * ms, true), 0);  /* worked for less than half */
  assert_int_equal(handovers_after(11 * ms, 18900 * us, 30 * ms, 26 * ms, true), 0);  /* done long before */
  assert_int_equal(handovers_after(14 * ms, 20001 * us, 30 * ms, 26 * ms, true), 0);  /* still at work */
  assert_int_equal(handovers_after(14 * ms, 19500 * us, 30 * ms, 24 * ms, true), 0);  /* resumed for a moment only */
  assert_int_equal(handovers_after(2 * ms, 9999 * us, 30 * ms, 26 * ms, true), 0);    /* done before the silence */
}

static void the_thread_that_finished_last_handed_over(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), silent = add_thread(job, rank, "1");
  uint32_t early = add_thread(job, rank, "2"), late = add_thread(job, rank, "3");
  (void)work(job, silent, 0, 10 * ms);
  uint32_t resumed = work(job, silent, 20 * ms, 30 * ms);
  (void)work(job, early, 0, 19400 * us);
  uint32_t last = work(job, late, 0, 19600 * us);
  build(job);
  assert_handover(job, last, resumed, 400 * us, 9600 * us);
  lumos_job_free(job);
}

/* The caller goes on at 15 because the other is done at 14.9; so it called the other at 10, which began at 10.2 after a
 * silence of only 0.3 ms. */
static void a_return_implies_a_call(void **state) {
  (void)state;
  const int64_t silences[] = {300 * us, 101 * us, 100 * us}; /* the shortest needs no explanation */
  for (size_t i = 0; i < 3; i++) {
    struct lumos_job *job = new_job();
    uint32_t rank = add_rank(job, 0), caller = add_thread(job, rank, "1"), called = add_thread(job, rank, "2");
    uint32_t call = work(job, caller, 0, 10150 * us);
    uint32_t resumed = work(job, caller, 15 * ms, 19 * ms);
    (void)work(job, called, 0, 10200 * us - silences[i]);
    uint32_t begun = work(job, called, 10200 * us, 14900 * us);
    build(job);
    assert_handover(job, begun, resumed, 100 * us, 14900 * us - 10150 * us);
    if (i < 2) {
      assert_handover(job, call, begun, 50 * us, silences[i] - 50 * us);
    } else {
      assert_null(dep_into(job, begun, LUMOS_HANDOVER));
    }
    lumos_job_free(job);
  }
}

/* The span of work on `called` whose op ran on `caller`. */
static uint32_t add_gradient(struct lumos_job *job, uint32_t caller, uint32_t called) {
  struct lumos_span op = lumos_span_empty, gradient = lumos_span_empty;
  op.rank = gradient.rank = 0;
  op.kind = gradient.kind = LUMOS_SPAN_OP;
  op.name = gradient.name = word(job, "op");
  op.lane = caller;
  gradient.lane = called;
  gradient.forward = (uint32_t)job->spans.count;
  op.id = gradient.forward;
  gradient.id = op.id + 1;
  lumos_vector_push(&job->spans, op);
  lumos_vector_push(&job->spans, gradient);
  return gradient.forward + 1;
}

/* Who goes on at 15, 0.4 ms after the other was done, works for a moment and calls the other again, which begins 0.3 ms
 * later: a watchdog could look like that, but not one that launches work. Who was done over 0.5 ms before did not hand
 * over, unless the recording shows that it was called. */
static void threads_that_launch_may_call_at_once(void **state) {
  (void)state;
  const struct {
    bool launches, recorded, hands_over;
    int64_t done;
  } cases[] = {{true, false, true, 14600 * us},  {false, false, false, 14600 * us}, {true, false, true, 14500 * us},
               {true, false, false, 14499 * us}, {true, true, true, 14499 * us},    {false, true, false, 14499 * us}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = new_job();
    uint32_t rank = add_rank(job, 0), caller = add_thread(job, rank, "1"), called = add_thread(job, rank, "2");
    uint32_t stream = add_stream(job, rank, "7");
    uint32_t first = add_launch(job, caller, 0, 10 * ms);
    uint32_t resumed = work(job, caller, 15 * ms, 15050 * us);
    (void)work(job, called, 0, 1 * ms);
    uint32_t begun = add_launch(job, called, 10200 * us, cases[i].done - 10200 * us);
    (void)work(job, called, 15350 * us, 20 * ms);
    add_kernel(job, stream, 11 * ms, 1 * ms, first);
    if (cases[i].launches) {
      add_kernel(job, stream, 16 * ms, 1 * ms, begun);
    }
    if (cases[i].recorded) {
      job->tasks.items[begun].span = add_gradient(job, caller, called);
    }
    build(job);
    assert_int_equal(dep_into(job, resumed, LUMOS_HANDOVER) != NULL, cases[i].hands_over);
    lumos_job_free(job);
  }
}

/* One task of the other is over when the silence ends, but the next has begun. */
static void a_thread_at_work_has_not_handed_over(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), silent = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  (void)work(job, silent, 0, 10 * ms);
  (void)work(job, silent, 20 * ms, 30 * ms);
  (void)work(job, other, 0, 19500 * us);
  (void)work(job, other, 19600 * us, 22 * ms);
  build(job);
  assert_int_equal(count_handovers(job), 0);
  lumos_job_free(job);
}

/* Work that reaches into a time from outside counts with the part inside. */
static void only_work_within_the_silence_counts(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), silent = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  (void)work(job, silent, 0, 10 * ms);
  (void)work(job, silent, 20 * ms, 30 * ms);
  (void)work(job, other, 0, 11 * ms);
  (void)work(job, other, 16500 * us, 19500 * us); /* 1 and 3 of 10 ms */
  build(job);
  assert_int_equal(count_handovers(job), 0);
  lumos_job_free(job);

  job = new_job();
  rank = add_rank(job, 0), silent = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  (void)work(job, silent, 0, 10 * ms);
  uint32_t resumed = work(job, silent, 20 * ms, 21 * ms);
  (void)work(job, silent, 28 * ms, 40 * ms); /* 1 and 2 of the 10 ms until the other stirs */
  (void)work(job, other, 0, 19500 * us);
  (void)work(job, other, 30 * ms, 31 * ms);
  build(job);
  assert_null(dep_into(job, resumed, LUMOS_HANDOVER));
  lumos_job_free(job);
}

static void a_short_silence_needs_no_handover(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), silent = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  (void)work(job, silent, 0, 10 * ms);
  (void)work(job, silent, 11 * ms, 20 * ms); /* silent for 1 ms, no more */
  (void)work(job, other, 0, 10990 * us);
  build(job);
  assert_int_equal(count_handovers(job), 0);
  lumos_job_free(job);
}

/* Tasks that overlap, as only a stream made by hand has them: their lengths add up to more than a number holds. */
static void more_work_than_time_is_no_harm(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), one = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  for (int n = 0; n < 2000; n++) {
    (void)work(job, one, n, (INT64_C(1) << 53) - 1);
  }
  (void)work(job, other, 0, ms);
  (void)work(job, other, 10 * ms, 11 * ms);
  build(job);
  assert_int_equal(count_handovers(job), 0);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forward_and_backward_hand_over_to_each_other),
      cmocka_unit_test(without_ops_a_thread_works_from_call_to_call),
      cmocka_unit_test(of_tasks_that_end_at_one_instant_the_first_hands_over),
      cmocka_unit_test(what_only_looks_like_a_handover_is_none),
      cmocka_unit_test(the_thread_that_finished_last_handed_over),
      cmocka_unit_test(a_return_implies_a_call),
      cmocka_unit_test(threads_that_launch_may_call_at_once),
      cmocka_unit_test(a_thread_at_work_has_not_handed_over),
      cmocka_unit_test(only_work_within_the_silence_counts),
      cmocka_unit_test(a_short_silence_needs_no_handover),
      cmocka_unit_test(more_work_than_time_is_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
