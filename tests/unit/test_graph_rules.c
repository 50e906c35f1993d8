/* The rules of one rank, on jobs small enough to work out by hand. Times are nanoseconds. */
#include "unit/graph_job.h"

static const int64_t us = 1000;

static void assert_boundary(const struct lumos_job *job, uint32_t task, enum lumos_evidence evidence) {
  const struct lumos_dep *boundary = dep_into(job, task, LUMOS_BOUNDARY);
  assert_non_null(boundary);
  assert_int_equal(boundary->src, LUMOS_NONE);
  assert_int_equal(boundary->at, job->tasks.items[task].start);
  assert_int_equal(boundary->mode, LUMOS_FIXED);
  assert_int_equal(boundary->evidence, evidence);
}

/* --- Launches --- */

/* Five kernels to an empty stream, launch k at 100k us for 4 us, start k us after its call's end. */
static void add_five_launched(struct lumos_job *job, uint32_t thread, uint32_t calls[5]) {
  for (int64_t k = 1; k <= 5; k++) {
    calls[k - 1] = add_launch(job, thread, 100 * us * k, 4 * us);
  }
}

static void add_five_kernels(struct lumos_job *job, uint32_t stream, const uint32_t calls[5], uint32_t kernels[5]) {
  for (int64_t k = 1; k <= 5; k++) {
    kernels[k - 1] = add_kernel(job, stream, (100 * k + 4 + k) * us, 2 * us, calls[k - 1]);
  }
}

static void a_launch_lag_is_typical_and_counts_from_the_calls_end(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[5], kernels[5];
  add_five_launched(job, thread, calls);
  uint32_t reduce_call = add_launch(job, thread, 600 * us, 4 * us);
  add_stream_wait(job, thread, 700 * us, us, LUMOS_NONE, LUMOS_NONE);
  uint32_t held_call = add_launch(job, thread, 702 * us, 4 * us);
  uint32_t queued_call = add_launch(job, thread, 810 * us, 4 * us);
  add_five_kernels(job, stream, calls, kernels);
  /* Communication, 50 us late; after a stream wait, 100 us late; to a busy stream: no samples. */
  uint32_t reduce = add_task(job, stream, LUMOS_COLLECTIVE, "ncclAllReduce", 654 * us, us);
  job->tasks.items[reduce].call = reduce_call;
  uint32_t held = add_kernel(job, stream, 806 * us, 50 * us, held_call);
  uint32_t queued = add_kernel(job, stream, 857 * us, us, queued_call);
  build(job);
  /* (1 + 2 + 3 + 4 + 5) / 5 = 3 us */
  for (int64_t k = 1; k <= 5; k++) {
    assert_int_equal(timing(job, kernels[k - 1])->launch_lag, 3 * us);
    assert_int_equal(timing(job, kernels[k - 1])->launch_from, 0);
    assert_int_equal(timing(job, kernels[k - 1])->residual, (k - 3) * us);
  }
  assert_int_equal(timing(job, reduce)->launch_lag, 3 * us); /* its call's: its kind has no sample */
  assert_int_equal(timing(job, reduce)->residual, 47 * us);  /* 654 - (604 + 3) */
  assert_int_equal(timing(job, held)->residual, 97 * us);    /* 806 - (706 + 3) */
  /* 857 - 856: the only gap of the rank, so the typical one; nothing remains. */
  assert_int_equal(timing(job, queued)->gap, us);
  assert_int_equal(timing(job, queued)->residual, 0);
  assert_int_equal(noted(job, "graph.unknown_stream_waits"), 1);
  lumos_job_free(job);
}

static void what_starts_inside_its_call_leaves_from_the_nearer_end(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[7], kernels[7];
  for (int64_t k = 0; k < 6; k++) {
    calls[k] = add_launch(job, thread, 100 * us * k, 10 * us);
  }
  calls[6] = add_launch(job, thread, 600 * us, 5000 * us);
  /* One 2 us after its call's end, five 3 us after its start, one 4 us before the end of a call of 5 ms. */
  kernels[0] = add_kernel(job, stream, 12 * us, us, calls[0]);
  for (int64_t k = 1; k < 6; k++) {
    kernels[k] = add_kernel(job, stream, (100 * k + 3) * us, us, calls[k]);
  }
  kernels[6] = add_kernel(job, stream, 5596 * us, us, calls[6]);
  build(job);
  assert_int_equal(timing(job, kernels[0])->launch_from, 0);
  assert_int_equal(timing(job, kernels[0])->launch_lag, -us); /* two samples from the end, 2 and -4 us */
  assert_int_equal(timing(job, kernels[6])->launch_from, 0);
  assert_int_equal(timing(job, kernels[6])->residual, -3 * us);
  for (int k = 1; k < 6; k++) {
    assert_int_equal(timing(job, kernels[k])->launch_from, LUMOS_START);
    assert_int_equal(timing(job, kernels[k])->launch_lag, 3 * us);
    assert_int_equal(timing(job, kernels[k])->residual, 0);
  }
  lumos_job_free(job);
}

static void a_launch_that_meets_other_work_is_no_sample(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  uint32_t calls[5], kernels[5], late[5];
  add_five_launched(job, thread, calls);
  uint32_t long_call = add_launch(job, thread, 700 * us, 4 * us);
  for (int64_t k = 0; k < 5; k++) {
    late[k] = add_launch(job, thread, (710 + 10 * k) * us, 4 * us);
  }
  add_five_kernels(job, stream, calls, kernels);
  uint32_t running = add_kernel(job, stream, 707 * us, 500 * us, long_call);
  /* Streams of their own would meet nothing there; the first waited for what runs, for no recorded reason. */
  uint32_t waited = add_kernel(job, side, 1210 * us, us, late[0]);
  for (int k = 1; k < 5; k++) {
    add_kernel(job, side, (1210 + 2 * k) * us, us, late[k]);
  }
  build(job);
  assert_int_equal(timing(job, running)->launch_lag, 3 * us);
  assert_int_equal(timing(job, waited)->launch_lag, 3 * us); /* (1 + 2 + 3 + 4 + 5 + 3) / 6 */
  lumos_job_free(job);
}

static void a_launch_that_waited_for_unseen_work_is_no_sample(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[5], kernels[5], late_calls[5], late[5];
  add_five_launched(job, thread, calls);
  for (int64_t k = 0; k < 5; k++) {
    late_calls[k] = add_launch(job, thread, (1000 + 3000 * k) * us, 4 * us);
  }
  add_five_kernels(job, stream, calls, kernels);
  for (int64_t k = 0; k < 5; k++) { /* 2 ms after the launch, though nothing of the recording runs meanwhile */
    late[k] = add_kernel(job, stream, (3004 + 3000 * k) * us, us, late_calls[k]);
  }
  build(job);
  for (int k = 0; k < 5; k++) {
    assert_int_equal(timing(job, late[k])->launch_lag, 3 * us); /* (1 + 2 + 3 + 4 + 5) / 5 */
    assert_boundary(job, late[k], LUMOS_INFERRED);
    assert_int_equal(timing(job, kernels[k])->residual, (k - 2) * us);
  }
  lumos_job_free(job);
}

static void a_launch_into_steps_that_were_not_selected_is_no_sample(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[5], kernels[5];
  uint32_t early_call = add_launch(job, thread, 0, 4 * us);
  add_five_launched(job, thread, calls);
  uint32_t early = add_kernel(job, stream, 52 * us, us, early_call);
  add_five_kernels(job, stream, calls, kernels);
  job->ranks.items[rank].base = 50 * us; /* until then the device ran the step before */
  build(job);
  assert_int_equal(timing(job, early)->launch_lag, 3 * us);
  assert_boundary(job, early, LUMOS_INFERRED);
  lumos_job_free(job);
}

static void copies_are_told_by_direction(void **state) {
  (void)state;
  static const char *const names[] = {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)"};
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[10], copies[10];
  for (int64_t k = 0; k < 10; k++) {
    calls[k] = add_task(job, thread, LUMOS_LAUNCH, "cudaMemcpyAsync", 100 * us * k, 4 * us);
  }
  for (int64_t k = 0; k < 10; k++) { /* one way 1 us, the other 9 us after the call */
    copies[k] = add_task(job, stream, LUMOS_COPY, names[k % 2], (100 * k + (k % 2 == 0 ? 5 : 13)) * us, us);
    job->tasks.items[copies[k]].call = calls[k];
  }
  build(job);
  assert_int_equal(timing(job, copies[2])->launch_lag, us);
  assert_int_equal(timing(job, copies[3])->launch_lag, 9 * us);
  lumos_job_free(job);
}

static void a_call_that_nested_events_cut_starts_with_its_first_segment(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t first = add_launch(job, thread, 100 * us, 2 * us);
  add_task(job, thread, LUMOS_OTHER_HOST, "cuModuleLoad", 102 * us, 6 * us);
  uint32_t last = add_launch(job, thread, 108 * us, 2 * us);
  detail(job, last)->first_segment = first;
  uint32_t kernel = add_kernel(job, stream, 103 * us, us, last);
  build(job);
  assert_int_equal(timing(job, kernel)->launch_from, LUMOS_START);
  assert_int_equal(timing(job, kernel)->launch_lag, 3 * us);
  assert_int_equal(job->ranks.items[0].clock.device_offset, 0); /* not before its call */
  lumos_job_free(job);
}

/* --- Stream order --- */

static void a_gap_is_typical_of_tasks_that_only_wait_for_the_previous(void **state) {
  (void)state;
  enum { KERNELS = 10 };
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[KERNELS], kernels[KERNELS];
  for (int64_t k = 0; k < KERNELS - 1; k++) {
    calls[k] = add_launch(job, thread, 5 * us * k, 5 * us);
  }
  /* 100 us each; the gaps behind the first are 1, 2, 3, 4, 5 us, then an overlap of 0.5 us, then 30 us for no reason,
   * 15 us before communication, and 9 us before a kernel that was launched 3 us before the previous one ended. */
  const int64_t gaps[KERNELS] = {6 * us, 1 * us, 2 * us, 3 * us, 4 * us, 5 * us, -500, 30 * us, 15 * us, 9 * us};
  int64_t ends[KERNELS], end = 0;
  for (int k = 0; k < KERNELS; k++) {
    ends[k] = end += gaps[k] + 100 * us;
  }
  calls[KERNELS - 1] = add_launch(job, thread, ends[KERNELS - 2] - 8 * us, 5 * us);
  for (int k = 0; k < KERNELS; k++) {
    kernels[k] = add_kernel(job, stream, ends[k] - 100 * us, 100 * us, calls[k]);
    job->tasks.items[kernels[k]].kind = k == 8 ? LUMOS_COLLECTIVE : LUMOS_ELEMENTWISE;
  }
  build(job);
  assert_int_equal(timing(job, kernels[0])->gap, LUMOS_ABSENT); /* follows nothing */
  for (int k = 1; k <= 5; k++) {
    assert_int_equal(timing(job, kernels[k])->gap, 3 * us);
    assert_int_equal(timing(job, kernels[k])->residual, gaps[k] - 3 * us);
  }
  assert_int_equal(job->tasks.items[kernels[6]].lag, -500);
  assert_int_equal(timing(job, kernels[6])->gap, 0);
  assert_int_equal(timing(job, kernels[6])->residual, 0);
  assert_int_equal(timing(job, kernels[7])->residual, 27 * us);
  assert_int_equal(timing(job, kernels[8])->gap, 3 * us); /* the rank's: its kind has no sample of its own */
  lumos_job_free(job);
}

/* Of 50 gaps, 45 of 1 us and 5 of 11, the smallest and the largest are left out: (44 * 1 + 4 * 11) / 48 us. Gaps add
 * up, so more must not be left out. */
static void one_gap_of_fifty_is_left_out_on_either_side(void **state) {
  (void)state;
  enum { GAPS = 50 };
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[GAPS + 1], last = LUMOS_NONE;
  for (int k = 0; k <= GAPS; k++) {
    calls[k] = add_launch(job, thread, 2 * us * k, 1 * us);
  }
  int64_t start = 200 * us;
  for (int k = 0; k <= GAPS; k++) {
    last = add_kernel(job, stream, start, 20 * us, calls[k]);
    start += 20 * us + (k % 10 == 9 ? 11 * us : 1 * us);
  }
  build(job);
  assert_int_equal(timing(job, last)->gap, 1833);
  lumos_job_free(job);
}

/* Kernels of 20 us, all launched long before. Each starts 1 us behind the one before it, and 3 us behind it beside
 * communication. */
static void a_gap_beside_another_stream_is_typical_of_such(void **state) {
  (void)state;
  enum { KERNELS = 14, ALONE = 7 };
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), other = add_stream(job, rank, "8");
  uint32_t calls[KERNELS + 1], kernels[KERNELS];
  for (int k = 0; k <= KERNELS; k++) {
    calls[k] = add_launch(job, thread, 2 * us * k, 1 * us);
  }
  int64_t start = 100 * us;
  for (int k = 0; k < KERNELS; k++) {
    kernels[k] = add_kernel(job, stream, start, 20 * us, calls[k]);
    start += 20 * us + (k + 1 < ALONE ? 1 * us : 3 * us);
  }
  job->ranks.items[rank].base = 180 * us; /* what the device did before is not known, but it is no work beside these */
  uint32_t beside = add_kernel(job, other, 230 * us, 170 * us, calls[KERNELS]);
  job->tasks.items[beside].kind = LUMOS_COLLECTIVE;
  build(job);
  for (int k = 1; k < KERNELS; k++) {
    assert_int_equal(timing(job, kernels[k])->gap, k < ALONE ? 1 * us : 3 * us);
    assert_int_equal(timing(job, kernels[k])->residual, 0);
  }
  lumos_job_free(job);
}

/* --- Events --- */

static void a_recorded_event_holds_the_next_task_of_the_waiting_stream(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  uint32_t early_call = add_launch(job, thread, 0, us);
  uint32_t before_call = add_launch(job, thread, us, 4 * us);
  uint32_t record = add_record(job, thread, 7 * us, us, stream);
  uint32_t after_call = add_launch(job, thread, 8 * us, 5 * us);
  add_stream_wait(job, thread, 14 * us, us, side, record);
  uint32_t next_call = add_launch(job, thread, 16 * us, 5 * us);
  uint32_t last_call = add_launch(job, thread, 22 * us, 5 * us);
  uint32_t before = add_kernel(job, stream, 6 * us, 200 * us, before_call);
  uint32_t after = add_kernel(job, stream, 206 * us, 300 * us, after_call);
  uint32_t early = add_kernel(job, side, 2 * us, us, early_call); /* launched before the wait */
  uint32_t next = add_kernel(job, side, 210 * us, 10 * us, next_call);
  uint32_t last = add_kernel(job, side, 220 * us, 10 * us, last_call);
  build(job);
  const struct lumos_dep *edge = dep_into(job, next, LUMOS_DEP_EVENT);
  assert_non_null(edge);
  assert_int_equal(edge->src, before); /* not what was launched behind the record */
  assert_int_equal(edge->lag, 4 * us); /* 210 - 206, the only sample */
  assert_int_equal(edge->from, LUMOS_END);
  assert_int_equal(edge->to, LUMOS_START);
  assert_int_equal(edge->evidence, LUMOS_RECORDED);
  assert_int_equal(edge->mode, LUMOS_RUN_TIME);
  assert_null(dep_into(job, last, LUMOS_DEP_EVENT));
  assert_null(dep_into(job, early, LUMOS_DEP_EVENT));
  assert_null(dep_into(job, after, LUMOS_DEP_EVENT));
  assert_int_equal(timing(job, next)->residual, 0);
  assert_int_equal(noted(job, "graph.unknown_stream_waits"), 0);
  lumos_job_free(job);
}

static void a_wait_binds_to_the_latest_record_of_its_event(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  uint32_t first_call = add_launch(job, thread, 0, 5 * us);
  uint32_t first_record = add_record(job, thread, 5 * us, us, stream);
  uint32_t second_call = add_launch(job, thread, 6 * us, 5 * us);
  uint32_t second_record = add_record(job, thread, 11 * us, us, stream);
  uint32_t wait = add_stream_wait(job, thread, 12 * us, us, side, LUMOS_NONE);
  uint32_t next_call = add_launch(job, thread, 13 * us, 5 * us);
  uint32_t later_call = add_launch(job, thread, 18 * us, 2 * us);
  uint32_t later_record = add_record(job, thread, 20 * us, us, stream);
  detail(job, first_record)->event_id = detail(job, second_record)->event_id = detail(job, later_record)->event_id =
      detail(job, wait)->event_id = word(job, "3");
  add_kernel(job, stream, 6 * us, 20 * us, first_call);
  uint32_t second = add_kernel(job, stream, 26 * us, 20 * us, second_call);
  add_kernel(job, stream, 46 * us, 2 * us, later_call);
  uint32_t next = add_kernel(job, side, 50 * us, us, next_call);
  build(job);
  const struct lumos_dep *edge = dep_into(job, next, LUMOS_DEP_EVENT);
  assert_non_null(edge);
  assert_int_equal(edge->src, second);
  lumos_job_free(job);
}

/* --- Host waits --- */

static void a_wait_keeps_what_the_awaited_end_does_not_explain(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  uint32_t call = add_launch(job, thread, 0, 5 * us);
  uint32_t side_call = add_launch(job, thread, 5 * us, 5 * us);
  uint32_t record = add_record(job, thread, 10 * us, us, stream);
  uint32_t on_stream = add_wait(job, thread, 11 * us, 98 * us, LUMOS_WAIT_STREAM, stream, LUMOS_NONE);
  uint32_t on_event = add_wait(job, thread, 109 * us, 3 * us, LUMOS_WAIT_EVENT, LUMOS_NONE, record);
  uint32_t on_device = add_wait(job, thread, 112 * us, 99 * us, LUMOS_WAIT_DEVICE, LUMOS_NONE, LUMOS_NONE);
  uint32_t on_nothing = add_wait(job, thread, 211 * us, 3 * us, LUMOS_WAIT_EVENT, LUMOS_NONE, LUMOS_NONE);
  uint32_t copy_call = add_wait(job, thread, 220 * us, 50 * us, LUMOS_WAIT_SELF, LUMOS_NONE, LUMOS_NONE);
  add_kernel(job, stream, 6 * us, 94 * us, call);
  uint32_t copy = add_task(job, stream, LUMOS_COPY, "Memcpy DtoH (Device -> Pageable)", 230 * us, 30 * us);
  job->tasks.items[copy].call = copy_call;
  add_kernel(job, side, 11 * us, 189 * us, side_call);
  build(job);
  assert_int_equal(job->ranks.items[0].clock.device_offset, 0);
  assert_int_equal(wait_residual(job, on_stream), 9 * us);  /* 109 - 100 */
  assert_int_equal(wait_residual(job, on_event), 3 * us);   /* 112 - 109, its start: what it waits for was over */
  assert_int_equal(wait_residual(job, on_device), 11 * us); /* 211 - 200 */
  assert_int_equal(wait_residual(job, copy_call), 10 * us); /* 270 - 260 */
  assert_int_equal(timing(job, copy)->launch_from, LUMOS_START);
  assert_int_equal(timing(job, copy)->launch_lag, 10 * us);
  assert_int_equal(wait_residual(job, on_nothing), LUMOS_ABSENT);
  assert_int_equal(noted(job, "graph.unknown_waits"), 1);
  lumos_job_free(job);
}

static void a_wait_ignores_what_another_thread_enqueues_meanwhile(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  uint32_t stream = add_stream(job, rank, "7");
  uint32_t call = add_launch(job, thread, 0, 5 * us);
  uint32_t wait = add_wait(job, thread, 10 * us, 45 * us, LUMOS_WAIT_STREAM, stream, LUMOS_NONE);
  uint32_t meanwhile = add_launch(job, other, 8 * us, 4 * us); /* ends after the wait has begun */
  add_kernel(job, stream, 6 * us, 44 * us, call);
  add_kernel(job, stream, 50 * us, 50 * us, meanwhile);
  build(job);
  assert_int_equal(wait_residual(job, wait), 5 * us); /* 55 - 50 */
  lumos_job_free(job);
}

/* What every launch to `stream` of this job says about the device's clock keeps it where it is: they start with their
 * call. */
static void what_takes_effect_when_a_wait_begins_is_awaited(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  uint32_t stream = add_stream(job, rank, "7");
  uint32_t call = add_launch(job, thread, 0, 5 * us);
  uint32_t wait = add_wait(job, thread, 5 * us, 95 * us, LUMOS_WAIT_STREAM, stream, LUMOS_NONE);
  uint32_t after = add_wait(job, thread, 120 * us, 85 * us, LUMOS_WAIT_STREAM, stream, LUMOS_NONE);
  /* A blocking copy takes effect when it starts. */
  uint32_t copy_call = add_wait(job, other, 110 * us, 90 * us, LUMOS_WAIT_SELF, LUMOS_NONE, LUMOS_NONE);
  add_kernel(job, stream, 6 * us, 90 * us, call);
  uint32_t copy = add_task(job, stream, LUMOS_COPY, "Memcpy DtoH", 115 * us, 80 * us);
  job->tasks.items[copy].call = copy_call;
  build(job);
  assert_int_equal(wait_residual(job, wait), 4 * us);   /* 100 - 96 */
  assert_int_equal(wait_residual(job, after), 10 * us); /* 205 - 195 */
  lumos_job_free(job);
}

static void threads_that_race_for_a_stream_enqueue_in_its_order(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), other = add_thread(job, rank, "2");
  uint32_t stream = add_stream(job, rank, "7");
  uint32_t behind_call = add_launch(job, thread, 0, 10 * us);
  uint32_t wait = add_wait(job, thread, 15 * us, 45 * us, LUMOS_WAIT_STREAM, stream, LUMOS_NONE);
  uint32_t ahead_call = add_launch(job, other, 0, 20 * us); /* returned later, but came to the stream first */
  add_kernel(job, stream, 12 * us, 20 * us, ahead_call);
  add_kernel(job, stream, 32 * us, 20 * us, behind_call);
  build(job);
  assert_int_equal(wait_residual(job, wait), LUMOS_ABSENT); /* at 15 us nothing is surely enqueued */
  lumos_job_free(job);
}

static void a_wait_that_contradicts_the_rule_keeps_its_length(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t call = add_launch(job, thread, 0, 5 * us);
  uint32_t wait = add_wait(job, thread, 10 * us, 40 * us, LUMOS_WAIT_STREAM, stream, LUMOS_NONE);
  add_kernel(job, stream, 6 * us, 100 * us, call);
  build(job);
  assert_int_equal(wait_residual(job, wait), LUMOS_ABSENT); /* returned at 50, the work ended at 106 */
  assert_int_equal(job->tasks.items[wait].dur, 40 * us);
  assert_int_equal(job->ranks.items[0].clock.device_offset, 0); /* no shift that launches allow would help */
  assert_int_equal(noted(job, "graph.contradicted_waits"), 1);
  lumos_job_free(job);
}

/* The device's clock is 12 us ahead: the copy seems to end at 106, 6 us after the wait for it is over. Which stream the
 * wait is for is not said; but the call before it copies, and so it is the copy that must be over. */
static void a_wait_behind_a_copy_moves_the_clock(void **state) {
  (void)state;
  for (int copies = 0; copies < 2; copies++) {
    struct lumos_job *job = new_job();
    uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
    uint32_t first = add_launch(job, thread, 0, 5 * us);
    uint32_t call = add_launch(job, thread, 10 * us, 5 * us);
    uint32_t wait = add_wait(job, thread, 16 * us, 84 * us, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE);
    add_kernel(job, stream, 20 * us, 80 * us, first);
    uint32_t copy = add_task(job, stream, copies ? LUMOS_COPY : LUMOS_GEMM, "Memcpy DtoH", 102 * us, 4 * us);
    job->tasks.items[copy].call = call;
    build(job);
    assert_int_equal(job->ranks.items[0].clock.device_offset, copies ? -6 * us : 0);
    assert_int_equal(wait_residual(job, wait), copies ? 0 : LUMOS_ABSENT);
    lumos_job_free(job);
  }
}

/* Streams 7 and 20 are idle from 100 and from 200 us on. */
static struct lumos_job *two_streams(uint32_t *thread, uint32_t streams[2], uint32_t calls[2]) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0);
  *thread = add_thread(job, rank, "1");
  streams[0] = add_stream(job, rank, "7");
  streams[1] = add_stream(job, rank, "20");
  calls[1] = add_launch(job, *thread, 0, 5 * us);
  calls[0] = add_launch(job, *thread, 5 * us, 5 * us);
  return job;
}

static void add_two_kernels(struct lumos_job *job, const uint32_t streams[2], const uint32_t calls[2]) {
  add_kernel(job, streams[0], 10 * us, 90 * us, calls[0]);
  add_kernel(job, streams[1], 6 * us, 194 * us, calls[1]);
}

static void the_stream_of_a_wait_is_inferred_from_what_it_returns_after(void **state) {
  (void)state;
  uint32_t thread, streams[2], calls[2];
  struct lumos_job *job = two_streams(&thread, streams, calls);
  uint32_t first = add_wait(job, thread, 20 * us, 90 * us, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE);   /* to 110 */
  uint32_t second = add_wait(job, thread, 110 * us, 95 * us, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE); /* to 205 */
  uint32_t third = add_wait(job, thread, 400 * us, 2 * us, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE);
  add_two_kernels(job, streams, calls);
  build(job);
  assert_int_equal(detail(job, first)->wait.lane, streams[0]);
  assert_int_equal(wait_residual(job, first), 10 * us);
  assert_int_equal(detail(job, second)->wait.lane, streams[1]);
  assert_int_equal(wait_residual(job, second), 5 * us);
  /* Nothing ended shortly before: the stream of the last launch, though the other one was busy for longer. */
  assert_int_equal(detail(job, third)->wait.lane, streams[0]);
  assert_int_equal(wait_residual(job, third), 2 * us);
  const struct lumos_dep *edge = dep_into(job, second, LUMOS_HOST_WAIT);
  assert_non_null(edge);
  assert_int_equal(edge->src, job->lanes.items[streams[1]].task_first);
  assert_int_equal(edge->evidence, LUMOS_INFERRED);
  assert_int_equal(edge->mode, LUMOS_RUN_TIME);
  assert_int_equal(noted(job, "graph.inferred_waits"), 3);
  lumos_job_free(job);
}

/* Both streams are idle shortly before the call returns, stream 7 first. */
static void a_call_waits_for_what_its_thread_copied(void **state) {
  (void)state;
  for (int copies = 0; copies < 2; copies++) {
    uint32_t thread, streams[2], calls[2];
    struct lumos_job *job = two_streams(&thread, streams, calls);
    uint32_t wait = add_wait(job, thread, 20 * us, 90 * us, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE); /* to 110 */
    uint32_t copy = add_task(job, streams[0], copies ? LUMOS_COPY : LUMOS_GEMM, "Memcpy DtoH", 96 * us, 8 * us);
    job->tasks.items[copy].call = calls[0];
    add_kernel(job, streams[1], 6 * us, 100 * us, calls[1]); /* to 106 */
    build(job);
    assert_int_equal(detail(job, wait)->wait.lane, streams[copies ? 0 : 1]);
    assert_int_equal(wait_residual(job, wait), copies ? 6 * us : 4 * us);
    lumos_job_free(job);
  }
}

static void a_wait_that_fits_no_stream_stays_unknown(void **state) {
  (void)state;
  uint32_t thread, streams[2], calls[2];
  struct lumos_job *job = two_streams(&thread, streams, calls);
  uint32_t wait = add_wait(job, thread, 20 * us, 10 * us, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE);
  add_two_kernels(job, streams, calls);
  build(job);
  assert_int_equal(detail(job, wait)->wait.lane, LUMOS_NONE);
  assert_int_equal(wait_residual(job, wait), LUMOS_ABSENT);
  assert_int_equal(noted(job, "graph.unknown_waits"), 1);
  lumos_job_free(job);
}

/* Ten named waits return 5 us after their work, but two of them 30 us: within twice 30 us, the 90th percentile, a
 * return tells what was waited for. So a wait that returns 50 us after the end of stream 20 waited for that, and one
 * that returns 70 us after it for stream 7, which the thread launched on last. */
static void how_late_waits_return_is_learned_from_those_that_name_their_work(void **state) {
  (void)state;
  enum { NAMED = 10, UNNAMED = 2 };
  static const int64_t late[UNNAMED] = {50 * us, 70 * us};
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t seven = add_stream(job, rank, "7"), twenty = add_stream(job, rank, "20");
  uint32_t calls[NAMED + UNNAMED], last_calls[UNNAMED], waits[UNNAMED];
  for (int64_t i = 0; i < NAMED; i++) {
    calls[i] = add_launch(job, thread, 200 * i * us, 5 * us);
    int64_t latency = i < 8 ? 5 * us : 30 * us;
    add_wait(job, thread, (200 * i + 20) * us, 40 * us + latency, LUMOS_WAIT_DEVICE, LUMOS_NONE, LUMOS_NONE);
  }
  for (int64_t i = 0; i < UNNAMED; i++) {
    int64_t at = (2000 + 1000 * i) * us;
    calls[NAMED + i] = add_launch(job, thread, at, 4 * us);
    last_calls[i] = add_launch(job, thread, at + 5 * us, 4 * us);
    waits[i] = add_wait(job, thread, at + 20 * us, 80 * us + late[i], LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE);
  }
  for (int64_t i = 0; i < UNNAMED; i++) {
    add_kernel(job, seven, (2011 + 1000 * i) * us, 9 * us, last_calls[i]);
  }
  for (int64_t i = 0; i < NAMED; i++) {
    add_kernel(job, twenty, (200 * i + 10) * us, 50 * us, calls[i]);
  }
  for (int64_t i = 0; i < UNNAMED; i++) {
    add_kernel(job, twenty, (2010 + 1000 * i) * us, 90 * us, calls[NAMED + i]);
  }
  build(job);
  assert_int_equal(detail(job, waits[0])->wait.lane, twenty);
  assert_int_equal(wait_residual(job, waits[0]), 50 * us);
  assert_int_equal(detail(job, waits[1])->wait.lane, seven);
  assert_int_equal(wait_residual(job, waits[1]), 150 * us); /* from its own start: stream 7 was over by then */
  lumos_job_free(job);
}

/* --- Boundaries --- */

static void work_from_before_the_recording_is_held_once_per_stream(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t host = add_launch(job, thread, 3 * us, us);
  uint32_t first = add_kernel(job, stream, 10 * us, 10 * us, LUMOS_NONE);
  uint32_t second = add_kernel(job, stream, 27 * us, 10 * us, LUMOS_NONE);
  build(job);
  assert_boundary(job, host, LUMOS_RECORDED);
  assert_boundary(job, first, LUMOS_RECORDED);
  assert_int_equal(timing(job, first)->residual, LUMOS_ABSENT);
  assert_null(dep_into(job, second, LUMOS_BOUNDARY));
  assert_int_equal(timing(job, second)->residual, 7 * us);
  lumos_job_free(job);
}

/* Communication, so that the launch is no sample of the typical lag. */
static uint32_t add_late(struct lumos_job *job, uint32_t stream, int64_t start, int64_t dur, uint32_t call) {
  uint32_t task = add_task(job, stream, LUMOS_COLLECTIVE, "ncclAllReduce", start, dur);
  job->tasks.items[task].call = call;
  return task;
}

static void a_late_start_with_an_idle_device_is_a_boundary(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  uint32_t calls[5], kernels[5];
  add_five_launched(job, thread, calls);
  uint32_t side_call = add_launch(job, thread, 600 * us, 4 * us);
  uint32_t soon_call = add_launch(job, thread, 700 * us, 4 * us);
  uint32_t idle_call = add_launch(job, thread, 1200 * us, 4 * us);
  uint32_t busy_call = add_launch(job, thread, 3500 * us, 4 * us);
  uint32_t later_call = add_launch(job, thread, 3600 * us, 4 * us);
  add_five_kernels(job, stream, calls, kernels);
  uint32_t soon = add_late(job, stream, 1000 * us, 10 * us, soon_call); /* launched 0.3 ms ago */
  uint32_t idle = add_late(job, stream, 3000 * us, 10 * us, idle_call); /* 1.8 ms ago, nothing ran since 2000 us */
  uint32_t busy =
      add_late(job, stream, 5000 * us, 10 * us, busy_call); /* 1.5 ms ago, the side stream ran until 4990 us */
  uint32_t first = add_late(job, side, 640 * us, 1360 * us, side_call); /* the first of its stream, 33 us late */
  uint32_t later = add_late(job, side, 3607 * us, 1383 * us, later_call);
  build(job);
  assert_null(dep_into(job, first, LUMOS_BOUNDARY));       /* all that was launched before the recording is long over */
  assert_int_equal(timing(job, first)->residual, 33 * us); /* 640 - (604 + 3) */
  assert_null(dep_into(job, soon, LUMOS_BOUNDARY));
  assert_int_equal(timing(job, soon)->residual, 293 * us); /* 1000 - (704 + 3) */
  assert_boundary(job, idle, LUMOS_INFERRED);
  assert_int_equal(timing(job, idle)->residual, 0);
  assert_null(dep_into(job, busy, LUMOS_BOUNDARY));
  assert_int_equal(timing(job, busy)->residual, 1493 * us); /* 5000 - (3504 + 3) */
  assert_null(dep_into(job, later, LUMOS_BOUNDARY));
  assert_null(dep_into(job, kernels[0], LUMOS_BOUNDARY)); /* first of its stream, where its launch puts it */
  lumos_job_free(job);
}

static void a_reaction_that_takes_long_is_no_boundary(void **state) {
  (void)state;
  /* Launched 2 ms ago, and the device was idle before it; but until 40 us before, its event had not come. */
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  uint32_t calls[5], kernels[5];
  add_five_launched(job, thread, calls);
  uint32_t long_call = add_launch(job, thread, 600 * us, 4 * us), side_call = add_launch(job, thread, 610 * us, 4 * us);
  uint32_t record = add_record(job, thread, 620 * us, us, stream);
  add_stream_wait(job, thread, 625 * us, us, side, record);
  uint32_t reacting_call = add_launch(job, thread, 630 * us, 4 * us);
  add_five_kernels(job, stream, calls, kernels);
  add_late(job, stream, 607 * us, 1993 * us, long_call);
  add_late(job, side, 617 * us, 10 * us, side_call);
  uint32_t reacting = add_late(job, side, 2640 * us, 10 * us, reacting_call);
  build(job);
  assert_null(dep_into(job, reacting, LUMOS_BOUNDARY));
  assert_int_equal(timing(job, reacting)->residual, 40 * us);
  lumos_job_free(job);
}

/* Launches to an idle device, 10 ms apart: the last ones start 2.3 ms behind their calls, for another process has the
 * device, the fourth behind 0.6 ms of such a slice, the others at once, after 3 us. */
enum { MOST_SLICES = 12 };
static struct lumos_job *in_slices(int late, int all, uint32_t kernels[MOST_SLICES]) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[MOST_SLICES];
  for (int k = 0; k < all; k++) {
    calls[k] = add_launch(job, thread, k * 10000 * us, 4 * us);
  }
  for (int k = 0; k < all; k++) {
    int64_t behind = k >= all - late ? 2300 * us : k == 3 ? 600 * us : 3 * us;
    kernels[k] = add_kernel(job, stream, (k * 10000 + 4) * us + behind, 20 * us, calls[k]);
  }
  build(job);
  return job;
}

static void a_device_in_slices_of_time_is_told_by_its_late_launches(void **state) {
  (void)state;
  uint32_t kernels[MOST_SLICES];
  struct lumos_job *job = in_slices(5, 9, kernels);
  assert_int_equal(noted_of_rank(job, LUMOS_ABSENT_INT, "graph.shared_gpu"), 5);
  for (int k = 0; k < 9; k++) {
    assert_int_equal(timing(job, kernels[k])->launch_lag, 3 * us);
    assert_int_equal(timing(job, kernels[k])->residual, 0);
    assert_int_equal(dep_into(job, kernels[k], LUMOS_BOUNDARY) != NULL, k >= 3);
  }
  lumos_job_free(job);
  static const struct {
    int late, all;
  } not_most[] = {{4, 9}, {5, 10}, {4, 6}}; /* half of ten are not most, and four are too few to say */
  for (size_t i = 0; i < sizeof not_most / sizeof *not_most; i++) {
    job = in_slices(not_most[i].late, not_most[i].all, kernels);
    assert_int_equal(noted_of_rank(job, LUMOS_ABSENT_INT, "graph.shared_gpu"), 0);
    lumos_job_free(job);
  }
  job = in_slices(4, 9, kernels);
  assert_null(dep_into(job, kernels[3], LUMOS_BOUNDARY));
  lumos_job_free(job);
}

/* A kernel that starts so much later than its launch explains, beside another stream's one or behind it; and with
 * `alone` one that does so beside nothing. */
static int64_t told_beside(int64_t side_dur, int64_t behind, int64_t alone) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20"), calls[5], kernels[5];
  add_five_launched(job, thread, calls);
  uint32_t side_call = add_launch(job, thread, 600 * us, 4 * us), late_call = add_launch(job, thread, 610 * us, 4 * us);
  uint32_t alone_call = add_launch(job, thread, 1700 * us, 4 * us);
  add_five_kernels(job, stream, calls, kernels);
  (void)add_late(job, stream, 617 * us + behind, 10 * us, late_call);
  (void)add_late(job, stream, 1707 * us + alone, 10 * us, alone_call);
  (void)add_late(job, side, 607 * us, side_dur, side_call);
  build(job);
  int64_t told = noted_of_rank(job, LUMOS_ABSENT_INT, "graph.unexplained_beside");
  lumos_job_free(job);
  return told;
}

static void why_starts_stay_unexplained_is_told(void **state) {
  (void)state;
  assert_int_equal(told_beside(1000 * us, 100 * us, 0), 1);
  assert_int_equal(told_beside(1000 * us, 18 * us, 0), 1); /* 18 us of 1710, */
  assert_int_equal(told_beside(1000 * us, 16 * us, 0), 0); /* and 16, which are less than 1 % */
  assert_int_equal(told_beside(40 * us, 100 * us, 0), 0);  /* nothing ran any more */
  assert_int_equal(told_beside(1000 * us, 100 * us, 90 * us), 1);
  assert_int_equal(told_beside(1000 * us, 100 * us, 100 * us), 0); /* half is not most of it */
}

/* A recording of the device alone: nothing tells when a kernel was launched, so what starts late was launched then, be
 * another stream about to get free or not; kernels of a queue follow each other by what short gaps are on average. */
static void what_lacks_its_launch_was_launched_when_it_started(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  uint32_t first = add_task(job, stream, LUMOS_GEMM, "gemm", 100 * us, 100 * us);
  uint32_t next = add_task(job, stream, LUMOS_GEMM, "gemm", 201 * us, 100 * us);
  uint32_t queued = add_task(job, stream, LUMOS_GEMM, "gemm", 304 * us, 100 * us);
  uint32_t late = add_task(job, stream, LUMOS_GEMM, "gemm", 470 * us, 100 * us); /* 66 us behind */
  uint32_t other = add_task(job, side, LUMOS_OPTIMIZER, "adam", 320 * us, 160 * us);
  build(job);
  assert_boundary(job, first, LUMOS_RECORDED);
  assert_boundary(job, other, LUMOS_RECORDED);
  assert_int_equal(timing(job, next)->gap, 2 * us); /* of 1 and 3; 66 is no gap of a queue */
  assert_int_equal(timing(job, next)->residual, -us);
  assert_null(dep_into(job, queued, LUMOS_BOUNDARY));
  assert_boundary(job, late, LUMOS_INFERRED);
  assert_int_equal(timing(job, late)->residual, 0);
  assert_null(dep_into(job, late, LUMOS_RESOURCE)); /* 10 us before adam ends */
  lumos_job_free(job);
}

/* --- The job --- */

static void a_second_build_finds_the_same(void **state) {
  (void)state;
  uint32_t thread, streams[2], calls[2];
  struct lumos_job *job = two_streams(&thread, streams, calls);
  uint32_t wait = add_wait(job, thread, 20 * us, 90 * us, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE);
  add_two_kernels(job, streams, calls);
  build(job);
  size_t deps = job->deps.count, notes = job->notes.count, history = job->history.count;
  build(job);
  assert_int_equal(job->stage, LUMOS_STAGE_GRAPH);
  assert_int_equal(job->deps.count, deps);
  assert_int_equal(job->notes.count, notes);
  assert_int_equal(job->history.count, history);
  assert_int_equal(noted(job, "graph.inferred_waits"), 1); /* the lane was taken back and found again */
  assert_int_equal(detail(job, wait)->wait.lane, streams[0]);
  lumos_job_free(job);
}

static void a_task_that_was_never_measured_is_refused(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 3), thread = add_thread(job, rank, "1");
  add_launch(job, thread, 0, us);
  uint32_t task = add_launch(job, thread, us, us);
  struct lumos_error error = {0};
  assert_true(lumos_job_arrange(job, &error));
  job->tasks.items[task].start = LUMOS_ABSENT;
  assert_false(lumos_graph_build(job, &error));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  assert_non_null(strstr(error.text, "3:1"));
  lumos_job_free(job);
}

static void an_edited_job_is_refused_with_the_cure(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t task = add_launch(job, thread, 0, us);
  build(job);
  job->stage = LUMOS_STAGE_TRANSFORM;
  detail(job, task)->was = us;
  job->tasks.items[task].dur = 2 * us;
  job->tasks.items[task].dur_source = LUMOS_SCALED;
  lumos_job_history(job, "lumos-transform", "--scale host=2", NULL, 0);
  job->edited = 1;
  struct lumos_error error = {0};
  assert_false(lumos_graph_build(job, &error));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  assert_non_null(strstr(error.text, "run lumos-graph before lumos-transform"));
  assert_int_equal(job->stage, LUMOS_STAGE_TRANSFORM); /* untouched */
  lumos_job_free(job);
}

static void a_rank_without_a_device_has_threads_only(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t task = add_task(job, thread, LUMOS_OP, "aten::add", 5 * us, us);
  build(job);
  assert_boundary(job, task, LUMOS_RECORDED);
  assert_int_equal(job->deps.count, 1);
  assert_true(job->ranks.items[0].clock.known);
  assert_int_equal(job->ranks.items[0].coverage.collectives, 0);
  assert_int_equal(job->ranks.items[0].coverage.joined, 0);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_launch_lag_is_typical_and_counts_from_the_calls_end),
      cmocka_unit_test(what_starts_inside_its_call_leaves_from_the_nearer_end),
      cmocka_unit_test(a_launch_that_meets_other_work_is_no_sample),
      cmocka_unit_test(a_launch_that_waited_for_unseen_work_is_no_sample),
      cmocka_unit_test(a_launch_into_steps_that_were_not_selected_is_no_sample),
      cmocka_unit_test(copies_are_told_by_direction),
      cmocka_unit_test(a_call_that_nested_events_cut_starts_with_its_first_segment),
      cmocka_unit_test(a_gap_is_typical_of_tasks_that_only_wait_for_the_previous),
      cmocka_unit_test(one_gap_of_fifty_is_left_out_on_either_side),
      cmocka_unit_test(a_gap_beside_another_stream_is_typical_of_such),
      cmocka_unit_test(a_recorded_event_holds_the_next_task_of_the_waiting_stream),
      cmocka_unit_test(a_wait_binds_to_the_latest_record_of_its_event),
      cmocka_unit_test(a_wait_keeps_what_the_awaited_end_does_not_explain),
      cmocka_unit_test(a_wait_ignores_what_another_thread_enqueues_meanwhile),
      cmocka_unit_test(what_takes_effect_when_a_wait_begins_is_awaited),
      cmocka_unit_test(threads_that_race_for_a_stream_enqueue_in_its_order),
      cmocka_unit_test(a_wait_that_contradicts_the_rule_keeps_its_length),
      cmocka_unit_test(a_wait_behind_a_copy_moves_the_clock),
      cmocka_unit_test(the_stream_of_a_wait_is_inferred_from_what_it_returns_after),
      cmocka_unit_test(a_call_waits_for_what_its_thread_copied),
      cmocka_unit_test(a_wait_that_fits_no_stream_stays_unknown),
      cmocka_unit_test(how_late_waits_return_is_learned_from_those_that_name_their_work),
      cmocka_unit_test(work_from_before_the_recording_is_held_once_per_stream),
      cmocka_unit_test(a_late_start_with_an_idle_device_is_a_boundary),
      cmocka_unit_test(a_reaction_that_takes_long_is_no_boundary),
      cmocka_unit_test(a_device_in_slices_of_time_is_told_by_its_late_launches),
      cmocka_unit_test(why_starts_stay_unexplained_is_told),
      cmocka_unit_test(what_lacks_its_launch_was_launched_when_it_started),
      cmocka_unit_test(a_second_build_finds_the_same),
      cmocka_unit_test(a_task_that_was_never_measured_is_refused),
      cmocka_unit_test(an_edited_job_is_refused_with_the_cure),
      cmocka_unit_test(a_rank_without_a_device_has_threads_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
