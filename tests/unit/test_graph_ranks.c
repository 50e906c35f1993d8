/* Clocks and collectives, on jobs small enough to work out by hand. Times are nanoseconds. */
#include "unit/graph_job.h"

static const int64_t us = 1000, ms = 1000000;

/* --- The device's clock against its host's --- */

/* `count` launches 100 us apart, 5 us long; the kernels start `delay` after their call's start, but the first one
 * `first_delay`. */
static struct lumos_job *launches(int count, int64_t delay, int64_t first_delay, int64_t sync_dur) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls = (uint32_t)job->tasks.count;
  for (int64_t k = 1; k <= count; k++) {
    add_launch(job, thread, 100 * us * k, 5 * us);
  }
  if (sync_dur > 0) {
    add_wait(job, thread, 100 * us * count + 6 * us, sync_dur, LUMOS_WAIT_STREAM, stream, LUMOS_NONE);
  }
  for (int k = 1; k <= count; k++) {
    add_kernel(job, stream, 100 * us * k + (k == 1 ? first_delay : delay), 10 * us, calls + (uint32_t)k - 1);
  }
  build(job);
  return job;
}

static int64_t offset_of(struct lumos_job *job) {
  int64_t offset = job->ranks.items[0].clock.device_offset;
  assert_true(job->ranks.items[0].clock.known);
  assert_int_equal(job->ranks.items[0].clock.offset, 0);
  assert_int_equal(job->ranks.items[0].clock.drift_ppb, 0);
  assert_int_equal(job->ranks.items[0].clock.error, LUMOS_ABSENT);
  assert_false(job->ranks.items[0].clock.from_collectives);
  lumos_job_free(job);
  return offset;
}

static void a_clock_that_fits_is_not_moved(void **state) {
  (void)state;
  assert_int_equal(offset_of(launches(10, 7 * us, 7 * us, 20 * us)), 0);
}

static void kernels_before_their_launch_move_the_device_later(void **state) {
  (void)state;
  /* They start 30 us before their call does: by so much, and no more. */
  assert_int_equal(offset_of(launches(10, -30 * us, -30 * us, 0)), 30 * us);
}

static void one_kernel_in_a_hundred_may_be_wrong(void **state) {
  (void)state;
  assert_int_equal(offset_of(launches(100, 7 * us, -40 * us, 0)), 0);
  assert_int_equal(offset_of(launches(99, 7 * us, -40 * us, 0)), 40 * us);
  assert_int_equal(offset_of(launches(100, -30 * us, -70 * us, 0)), 30 * us);
}

static void waits_that_return_early_move_the_device_earlier(void **state) {
  (void)state;
  /* The last kernel runs from 7 to 17 us after its call's start; the wait stands from 6 to 6 + 8 = 14: it returns 3
   * us too early. */
  struct lumos_job *job = launches(10, 7 * us, 7 * us, 8 * us);
  assert_int_equal(job->details.items[0].wait.residual, 0); /* with the clock put right it returns at once */
  assert_int_equal(offset_of(job), -3 * us);
}

static void where_evidence_contradicts_launches_decide(void **state) {
  (void)state;
  /* The wait wants 30 us earlier at least, launches allow 7 at most: nothing is gained by moving. */
  struct lumos_job *job = launches(10, 7 * us, 7 * us, 8 * us);
  uint32_t wait = 10;
  job->tasks.items[wait].dur = 1;
  job->tasks.items[wait].start -= 26 * us;
  job->tasks.items[wait - 1].start -= 27 * us; /* its launch, so that it still comes before */
  job->tasks.items[wait].lag = 0;
  struct lumos_error error = {0};
  assert_true(lumos_graph_build(job, &error));
  assert_int_equal(noted(job, "graph.contradicted_waits"), 1);
  assert_int_equal(offset_of(job), 0);
}

/* --- Collectives over ranks --- */

enum { RANKS = 4 };

/* A job of `ranks` ranks with a thread and a stream each, and groups. Lanes: 2 * rank, 2 * rank + 1. */
static struct lumos_job *new_ranks(int32_t ranks) {
  struct lumos_job *job = new_job();
  for (int32_t r = 0; r < ranks; r++) {
    uint32_t rank = add_rank(job, r);
    add_thread(job, rank, "1");
    add_stream(job, rank, "7");
  }
  return job;
}

static void add_group(struct lumos_job *job, const char *id, int32_t size) {
  struct lumos_group group = lumos_group_empty;
  group.rank = 0;
  group.id = word(job, id);
  group.size = size;
  lumos_vector_push(&job->groups, group);
}

/* A launch for a rank whose lanes are still empty. */
static uint32_t add_launch_for(struct lumos_job *job, uint32_t rank) { return add_launch(job, 2 * rank, 0, us); }

/* A communication kernel from start to end on the clock of its rank, with its seq and group. */
static uint32_t add_comm(struct lumos_job *job, uint32_t rank, const char *op, const char *group, int64_t seq,
                         int64_t start, int64_t end) {
  uint32_t task = add_task(job, 2 * rank + 1, LUMOS_COLLECTIVE, "ncclDevKernel", start, end - start);
  struct lumos_comm *comm = &detail(job, task)->comm;
  comm->op = word(job, op);
  comm->group = word(job, group);
  comm->seq = seq;
  comm->bytes = 1024;
  return task;
}

static void add_peer(struct lumos_job *job, uint32_t task, int32_t rank, int64_t send, int64_t receive) {
  struct lumos_comm *comm = &detail(job, task)->comm;
  comm->peer_first = (uint32_t)job->peers.count;
  comm->peer_count = 1;
  struct lumos_peer peer = {rank, send, receive};
  lumos_vector_push(&job->peers, peer);
}

/* Ends of collectives in a row, irregular so that only one shift fits; ms. */
static const int64_t irregular[] = {3, 10, 12, 21, 27, 40, 44, 59};
enum { IRREGULAR = sizeof irregular / sizeof *irregular };

static int64_t end_residual(const struct lumos_job *job, uint32_t task) {
  return job->timings.items[task].end_residual;
}

static void a_symmetric_collective_ends_after_its_last_member_has_started(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  uint32_t early = add_comm(job, 0, "all_reduce", "0", 7, 100 * us, 200 * us);
  uint32_t late = add_comm(job, 1, "all_reduce", "0", 7, 170 * us, 201 * us);
  build(job);
  /* One difference of ends: rank 1 is 1 us ahead and goes back by it, so the late one runs from 169 to 200. */
  assert_int_equal(job->ranks.items[1].clock.offset, -us);
  assert_int_equal(job->collectives.count, 1);
  const struct lumos_collective *collective = &job->collectives.items[0];
  assert_int_equal(collective->rule, LUMOS_SYMMETRIC);
  assert_int_equal(collective->matched, LUMOS_BY_SEQ);
  assert_int_equal(collective->size, 2);
  assert_int_equal(collective->bytes, 1024);
  assert_int_equal(collective->transfer, 31 * us); /* the shorter one, which nobody made wait */
  assert_int_equal(collective->member_count, 2);
  assert_int_equal(job->members.items[collective->member_first], early);
  assert_int_equal(job->members.items[collective->member_first + 1], late);
  assert_int_equal(end_residual(job, early), 0); /* 200 - (169 + 31) */
  assert_int_equal(end_residual(job, late), 0);
  for (int r = 0; r < 2; r++) {
    assert_int_equal(job->ranks.items[r].coverage.collectives, 1);
    assert_int_equal(job->ranks.items[r].coverage.joined, 1);
  }
  assert_int_equal(noted(job, "graph.unjoined_collectives"), 0);
  lumos_job_free(job);
}

static void clocks_of_ranks_are_medians_without_outliers(void **state) {
  (void)state;
  /* Rank 1's clock is 2 ms ahead, its ends 0..8 us after rank 0's; one collective, the tenth, ends 1 ms later for
   * other reasons. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (int64_t k = 0; k < 10; k++) {
    add_comm(job, 0, "all_reduce", "0", k, 10 * ms * k, 10 * ms * k + 5 * ms);
  }
  uint32_t ends[10];
  for (int64_t k = 0; k < 10; k++) {
    int64_t noise = k == 9 ? ms : k * us;
    ends[k] = add_comm(job, 1, "all_reduce", "0", k, 10 * ms * k + 2 * ms, 10 * ms * k + 7 * ms + noise);
  }
  build(job);
  const struct lumos_clock *clock = &job->ranks.items[1].clock;
  /* What to add: -(2 ms + 0..8 us); the median of the nine is -(2 ms + 4 us), the largest distance from it 4 us. But
   * ends may lie 50 us apart, so nine tell no better than to 50 / 3. */
  assert_int_equal(clock->offset, -2 * ms - 4 * us);
  assert_int_equal(clock->error, 16667);
  assert_true(clock->from_collectives);
  assert_true(job->ranks.items[0].clock.from_collectives);
  assert_int_equal(job->ranks.items[0].clock.offset, 0);
  assert_int_equal(job->ranks.items[0].clock.error, 0);
  /* Collective 2, in job time: rank 0 from 20 to 25 ms; rank 1 from 20 ms - 4 us, for 5 ms + 2 us. So it is over at
   * 25 ms. */
  assert_int_equal(job->collectives.items[2].transfer, 5 * ms);
  assert_int_equal(end_residual(job, ends[2]), -2 * us);
  /* Collective 6: rank 1 from 60 ms - 4 us, for 5 ms + 6 us: 2 us longer than the shorter member explains. */
  assert_int_equal(job->collectives.items[6].transfer, 5 * ms);
  assert_int_equal(end_residual(job, ends[6]), 2 * us);
  lumos_job_free(job);
}

static void clocks_reach_ranks_through_others(void **state) {
  (void)state;
  /* 0 with 1, 1 with 2, each twice, the second time 1 us apart; 3 with nobody. Rank r's clock is r ms ahead. */
  struct lumos_job *job = new_ranks(RANKS);
  add_group(job, "a", 2);
  add_group(job, "b", 2);
  add_comm(job, 0, "all_gather", "a", 1, 0, 5 * ms);
  add_comm(job, 0, "all_gather", "a", 2, 20 * ms, 25 * ms);
  add_comm(job, 1, "all_gather", "a", 1, ms, 6 * ms);
  add_comm(job, 1, "barrier", "b", 1, 11 * ms, 16 * ms);
  add_comm(job, 1, "all_gather", "a", 2, 21 * ms, 26 * ms - us);
  add_comm(job, 1, "barrier", "b", 2, 31 * ms, 36 * ms);
  add_comm(job, 2, "barrier", "b", 1, 12 * ms, 17 * ms);
  add_comm(job, 2, "barrier", "b", 2, 32 * ms, 37 * ms - us);
  uint32_t alone = add_comm(job, 3, "barrier", "b", 5, 12 * ms, 17 * ms);
  build(job);
  assert_int_equal(job->ranks.items[1].clock.offset, -ms);
  assert_int_equal(job->ranks.items[1].clock.error, 35355); /* of two: 50 us / sqrt(2) */
  assert_int_equal(job->ranks.items[2].clock.offset, -2 * ms);
  assert_int_equal(job->ranks.items[2].clock.error, 70710); /* its own and that of rank 1 */
  assert_int_equal(job->ranks.items[3].clock.offset, 0);
  assert_false(job->ranks.items[3].clock.from_collectives);
  assert_int_equal(job->ranks.items[3].clock.error, LUMOS_ABSENT);
  assert_int_equal(job->collectives.count, 4);
  assert_int_equal(noted(job, "graph.unjoined_collectives"), 1);
  assert_int_equal(end_residual(job, alone), LUMOS_ABSENT);
  lumos_job_free(job);
}

static void what_does_not_end_together_is_not_coupled(void **state) {
  (void)state;
  /* Three collectives of another kernel set the clocks; of DeepEP's three, 100 us long, two end 60 us apart. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  uint32_t apart = 0;
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t k = 0; k < 6; k++) {
      int64_t skew = rank == 1 && k >= 4 ? 60 * us : 0;
      uint32_t task = add_comm(job, rank, "all_to_all", "0", k, k * ms, k * ms + 100 * us + skew);
      job->tasks.items[task].name = word(job, k < 3 ? "ncclDevKernel" : "deep_ep::dispatch");
      apart = task;
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 3);
  assert_int_equal(end_residual(job, apart), LUMOS_ABSENT);
  assert_int_equal(noted_of_rank(job, 0, "graph.uncoupled_collectives"), 3);
  assert_int_equal(noted_of_rank(job, 1, "graph.uncoupled_collectives"), 3);
  assert_int_equal(job->ranks.items[0].coverage.joined, 3);
  assert_int_equal(job->ranks.items[0].coverage.collectives, 6);
  lumos_job_free(job);
}

static void long_collectives_may_end_further_apart(void **state) {
  (void)state;
  /* 60 us in 400, but not in 200. */
  for (int64_t length = 200; length <= 400; length += 200) {
    struct lumos_job *job = new_ranks(2);
    add_group(job, "0", 2);
    for (uint32_t rank = 0; rank < 2; rank++) {
      for (int64_t k = 0; k < 3; k++) {
        add_comm(job, rank, "all_reduce", "0", k, k * ms, k * ms + length * us + (k - 1) * 60 * us * rank);
      }
    }
    build(job);
    assert_int_equal(job->collectives.count, length == 400 ? 3 : 0);
    lumos_job_free(job);
  }
}

/* Rank 1 against rank 0: `count` collectives of 20 us `apart` from each other, its ends later by `later(i)`. */
static struct lumos_job *two_clocks(int64_t count, int64_t apart, int64_t (*later)(int64_t)) {
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t i = 0; i < count; i++) {
      int64_t end = apart * i + 100 * us + (rank == 1 ? later(i) : 0);
      add_comm(job, rank, "all_reduce", "0", i, end - 20 * us, end);
    }
  }
  build(job);
  return job;
}

static int64_t two_more_each(int64_t i) { return 5 * us + 2 * us * i + (i % 3 - 1) * 300; }
static int64_t noise_alone(int64_t i) { return (i % 3 - 1) * 20 * us + 150 * i; }
static int64_t a_step(int64_t i) { return i < 15 ? 0 : 50 * us; }
static int64_t too_fast(int64_t i) { return 600 * us * i; }

static void clocks_that_drift_are_followed(void **state) {
  (void)state;
  /* 2 us a second, with 0.3 us of noise, over 29 seconds. The middles of the first and of the last ten are 20 seconds
   * and 40 us apart: 2000 ns a second of the first clock, a little less of the one that runs fast. */
  struct lumos_job *job = two_clocks(30, 1000 * ms, two_more_each);
  const struct lumos_clock *clock = &job->ranks.items[1].clock;
  assert_in_range(-clock->drift_ppb, 1980, 2020); /* the middles scatter by 0.3 us over 20 s */
  assert_in_range(-clock->offset, 4500, 5500);
  assert_in_range(clock->error, 1, 800);
  assert_int_equal(job->collectives.count, 30);
  for (uint32_t i = 0; i < 30; i++) {
    assert_in_range(end_residual(job, job->members.items[2 * i + 1]) + us, 0, 2 * us);
  }
  lumos_job_free(job);
}

static void no_drift_is_seen_where_there_need_be_none(void **state) {
  (void)state;
  /* A rise of 3 us in 40 us of noise; a clock that was set; one that runs 600 us a second fast, which is something else; too few. */
  struct lumos_job *jobs[] = {two_clocks(30, 1000 * ms, noise_alone), two_clocks(30, 1000 * ms, a_step),
                              two_clocks(30, 1000 * ms, too_fast), two_clocks(19, 1000 * ms, two_more_each)};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(jobs[i]->ranks.items[1].clock.drift_ppb, 0);
    lumos_job_free(jobs[i]);
  }
}

static void the_surest_way_settles_a_clock(void **state) {
  (void)state;
  /* Rank 2 shares one long collective with 0, in which it ends 40 us late, and many short ones with 1, which shares
   * many with 0. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "a", 2);
  add_group(job, "b", 2);
  add_group(job, "c", 2);
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (int64_t i = 0; i < 20; i++) {
      if (rank < 2) {
        add_comm(job, rank, "all_reduce", "a", i, 2 * ms * i, 2 * ms * i + 20 * us);
      }
      if (rank > 0) {
        add_comm(job, rank, "all_reduce", "b", i, 2 * ms * i + 100 * us, 2 * ms * i + 120 * us);
      }
    }
    if (rank != 1) {
      add_comm(job, rank, "all_reduce", "c", 1, 50 * ms, 60 * ms + (rank == 2 ? 40 * us : 0));
    }
  }
  build(job);
  assert_int_equal(job->ranks.items[2].clock.offset, 0);
  assert_int_equal(job->ranks.items[2].clock.error, 0);
  lumos_job_free(job);
}

static void short_collectives_weigh_more(void **state) {
  (void)state;
  /* Of five, three of 10 ms end 30 us late, two of 20 us in time: weights of 200 and of 67000. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t i = 0; i < 5; i++) {
      int64_t length = i < 3 ? 10 * ms : 20 * us;
      add_comm(job, rank, "all_reduce", "0", i, 20 * ms * i, 20 * ms * i + length + (i < 3 ? 30 * us * rank : 0));
    }
  }
  build(job);
  assert_int_equal(job->ranks.items[1].clock.offset, 0);
  lumos_job_free(job);
}

static void an_incomplete_or_inconsistent_set_is_left_alone(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(RANKS);
  add_group(job, "four", 4);
  add_group(job, "two", 2);
  /* three of four; twice on one rank; another operation; one that nobody knows; no number */
  add_comm(job, 0, "all_reduce", "four", 1, 0, 10);
  add_comm(job, 0, "all_reduce", "two", 2, 20, 30);
  add_comm(job, 0, "all_reduce", "two", 2, 40, 50);
  add_comm(job, 0, "all_reduce", "two", 3, 60, 70);
  add_comm(job, 0, "other", "two", 4, 80, 90);
  add_comm(job, 0, "all_reduce", "two", LUMOS_ABSENT, 100, 110);
  add_comm(job, 1, "all_reduce", "four", 1, 0, 10);
  add_comm(job, 1, "all_gather", "two", 3, 60, 70);
  add_comm(job, 1, "other", "two", 4, 80, 90);
  add_comm(job, 1, "all_reduce", "two", LUMOS_ABSENT, 100, 110);
  add_comm(job, 2, "all_reduce", "four", 1, 0, 10);
  /* Launched before the recording, so that no rank's trace could say what it was: nothing is missing. */
  uint32_t before = add_kernel(job, 7, 0, 10, LUMOS_NONE);
  job->tasks.items[before].kind = LUMOS_COLLECTIVE;
  build(job);
  assert_int_equal(job->collectives.count, 0);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), 6);
  assert_int_equal(noted_of_rank(job, 1, "graph.unjoined_collectives"), 4);
  assert_int_equal(noted_of_rank(job, 2, "graph.unjoined_collectives"), 1);
  assert_int_equal(noted_of_rank(job, 3, "graph.unjoined_collectives"), 0);
  /* Alone in its world, a rank has nobody to be joined with: there is nothing to say of it. */
  job->notes.count = 0;
  job->ranks.items[0].world = 1;
  build(job);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), 0);
  assert_int_equal(job->ranks.items[0].coverage.collectives, 6);
  assert_int_equal(job->ranks.items[0].coverage.joined, 0);
  assert_int_equal(job->ranks.items[3].coverage.collectives, 1);
  lumos_job_free(job);
}

static void a_communicator_id_joins_before_a_number(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  const char *ids[] = {"18446744073709551615", "1", "2"};
  const char *ops[] = {"reduce_scatter", "reduce_scatter", "all_gather"};
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int k = 0; k < 3; k++) { /* with a number too; without; with another operation */
      uint32_t task = add_comm(job, rank, rank == 0 ? "reduce_scatter" : ops[k], "0", k == 0 ? 5 : LUMOS_ABSENT, k * ms,
                               k * ms + 10);
      detail(job, task)->comm.id = word(job, ids[k]);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 2);
  assert_int_equal(job->collectives.items[0].matched, LUMOS_BY_COMMS_ID);
  assert_int_equal(job->collectives.items[1].matched, LUMOS_BY_COMMS_ID);
  lumos_job_free(job);
}

static void a_send_and_its_receive_end_together(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  add_group(job, "p", 2);
  add_comm(job, 0, "all_reduce", "0", 1, 0, 10 * us); /* for the clocks */
  uint32_t send = add_comm(job, 0, "send", "p", 3, 100 * us, 200 * us);
  add_comm(job, 1, "all_reduce", "0", 1, 0, 10 * us);
  uint32_t receive = add_comm(job, 1, "recv", "p", 3, 150 * us, 204 * us);
  add_peer(job, send, 1, 1024, 0);
  add_peer(job, receive, 0, 0, 1024);
  build(job);
  assert_int_equal(job->collectives.count, 2);
  const struct lumos_collective *pair = &job->collectives.items[1];
  assert_int_equal(pair->rule, LUMOS_PAIR);
  assert_int_equal(pair->transfer, 54 * us); /* 204 - 150 */
  assert_int_equal(end_residual(job, send), -4 * us);
  assert_int_equal(end_residual(job, receive), 0);
  lumos_job_free(job);
}

static void a_pair_that_ends_apart_is_not_coupled(void **state) {
  (void)state;
  /* Three pairs; the second ends 60 us apart, which the median does not show. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t k = 0; k < 3; k++) {
      int64_t skew = rank == 1 && k == 1 ? 60 * us : 0;
      uint32_t task = add_comm(job, rank, rank == 0 ? "send" : "recv", "p", k, ms * k, ms * k + 200 * us + skew);
      add_peer(job, task, rank == 0 ? 1 : 0, rank == 0 ? 8 : 0, rank == 0 ? 0 : 8);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 2);
  assert_int_equal(noted(job, "graph.uncoupled_collectives"), 1);
  lumos_job_free(job);
}

static void nobody_ends_before_another_starts(void **state) {
  (void)state;
  /* Of nine collectives the second cannot be one: rank 0 is through 25 us before rank 1 comes, and clocks are known to 11:
   * eight others of 50 us, whose ends may lie 5 + 25 apart, by sqrt(8). */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t k = 0; k < 9; k++) {
      bool early = rank == 0 && k == 1;
      add_comm(job, rank, "all_reduce", "0", k, ms * k + (rank == 1 && k == 1 ? 145 * us : 100 * us),
               ms * k + (early ? 120 * us : 150 * us));
    }
  }
  build(job);
  assert_int_equal(job->ranks.items[1].clock.offset, 0);
  assert_int_equal(job->ranks.items[1].clock.error, 10607);
  assert_int_equal(job->collectives.count, 8);
  assert_int_equal(noted(job, "graph.uncoupled_collectives"), 1);
  lumos_job_free(job);
}

/* --- Transfers --- */

/* A kernel of sends and receives: `peers` rows of {rank, bytes sent, bytes received}. */
static uint32_t add_batch(struct lumos_job *job, uint32_t rank, int64_t start, int64_t end, const int64_t (*peers)[3],
                          uint32_t count) {
  uint32_t task = add_comm(job, rank, "send_recv", "p", LUMOS_ABSENT, start, end);
  struct lumos_comm *comm = &detail(job, task)->comm;
  comm->peer_first = (uint32_t)job->peers.count;
  comm->peer_count = count;
  for (uint32_t i = 0; i < count; i++) {
    struct lumos_peer peer = {(int32_t)peers[i][0], peers[i][1], peers[i][2]};
    lumos_vector_push(&job->peers, peer);
  }
  return task;
}

static uint32_t add_transfer(struct lumos_job *job, uint32_t rank, bool sends, int32_t peer, int64_t start,
                             int64_t end) {
  uint32_t task = add_comm(job, rank, sends ? "send" : "recv", "p", LUMOS_ABSENT, start, end);
  add_peer(job, task, peer, sends ? 1024 : 0, sends ? 0 : 1024);
  return task;
}

static const struct lumos_collective *collective_at(const struct lumos_job *job, size_t index) {
  assert_true(index < job->collectives.count);
  return &job->collectives.items[index];
}

static void assert_members(const struct lumos_job *job, size_t index, uint32_t first, uint32_t second) {
  const struct lumos_collective *collective = collective_at(job, index);
  assert_int_equal(collective->member_count, 2);
  assert_int_equal(job->members.items[collective->member_first], first);
  assert_int_equal(job->members.items[collective->member_first + 1], second);
}

static void transfers_of_larger_groups_are_joined_in_their_order(void **state) {
  (void)state;
  /* Rank 0 sends thrice to rank 1, which begins to record with the second. Each counts its own transfers, so the same
   * number is not the same transfer. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  uint32_t sends[3], receives[2];
  for (int64_t i = 0; i < 3; i++) {
    sends[i] = add_comm(job, 0, "send", "p", i, ms * i, ms * i + 100 * us);
    add_peer(job, sends[i], 1, 1024, 0);
  }
  for (int64_t i = 0; i < 2; i++) {
    receives[i] = add_comm(job, 1, "recv", "p", i, ms * (i + 1) + 40 * us, ms * (i + 1) + 101 * us);
    add_peer(job, receives[i], 0, 0, 1024);
  }
  build(job);
  assert_int_equal(job->collectives.count, 2);
  assert_members(job, 0, sends[1], receives[0]);
  assert_members(job, 1, sends[2], receives[1]);
  assert_int_equal(collective_at(job, 0)->rule, LUMOS_PAIR);
  assert_int_equal(collective_at(job, 0)->matched, LUMOS_BY_PAIR_ORDER);
  assert_int_equal(collective_at(job, 0)->bytes, 1024);
  assert_int_equal(collective_at(job, 0)->transfer, 61 * us); /* 101 - 40 */
  assert_int_equal(end_residual(job, sends[1]), -us);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), 1);
  lumos_job_free(job);
}

static void ends_that_do_not_meet_or_match_are_no_transfers(void **state) {
  (void)state;
  /* What rank 1 receives from rank 0 was over a millisecond before it was sent; what it receives from rank 2 has
   * another size. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  (void)add_transfer(job, 0, true, 1, 2 * ms, 2 * ms + 10 * us);
  (void)add_transfer(job, 1, false, 0, 0, ms);
  uint32_t large = add_transfer(job, 1, false, 2, 3 * ms, 4 * ms);
  job->peers.items[detail(job, large)->comm.peer_first].recv = 2048;
  (void)add_transfer(job, 2, true, 1, 3 * ms, 4 * ms);
  build(job);
  assert_int_equal(job->collectives.count, 0);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), 1);
  assert_int_equal(noted_of_rank(job, 1, "graph.unjoined_collectives"), 2);
  lumos_job_free(job);
}

static void a_batched_kernel_ends_with_the_last_of_its_transfers(void **state) {
  (void)state;
  /* Rank 1 receives from 0 and sends to 2, of which one is there from the start on, and one comes 100 us later. */
  for (int late = 0; late <= 2; late += 2) {
    struct lumos_job *job = new_ranks(3);
    add_group(job, "p", 3);
    int64_t at[3] = {0};
    at[late] = 100 * us;
    uint32_t first = add_transfer(job, 0, true, 1, at[0], at[0] + 20 * us);
    uint32_t both = add_batch(job, 1, 0, 125 * us, (const int64_t[][3]){{0, 0, 1024}, {2, 1024, 0}}, 2);
    uint32_t last = add_transfer(job, 2, false, 1, at[2], at[2] + 20 * us);
    build(job);
    assert_int_equal(job->collectives.count, 2);
    assert_members(job, 0, first, both);
    assert_members(job, 1, both, last);
    for (size_t i = 0; i < 2; i++) {
      assert_int_equal(collective_at(job, i)->rule, LUMOS_BATCHED);
      assert_string_equal(lumos_string(job->strings, collective_at(job, i)->op), "send_recv");
      assert_int_equal(collective_at(job, i)->transfer, 20 * us); /* 20 - 0; 120 - 100 */
    }
    assert_int_equal(end_residual(job, first), 0);
    assert_int_equal(end_residual(job, both), 5 * us); /* 125 - max(0 + 20, 100 + 20) */
    assert_int_equal(end_residual(job, last), 0);
    assert_int_equal(job->ranks.items[1].coverage.joined, 1);
    lumos_job_free(job);
  }
}

static void a_transfer_that_decided_no_end_took_no_longer_than_others(void **state) {
  (void)state;
  /* 0 and 1 both end at 130, for both wait for 2, which comes at 100: nothing shows how long the transfer between them
   * took, but those with 2 took 30 and 28. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  (void)add_batch(job, 0, 0, 130 * us, (const int64_t[][3]){{1, 1024, 0}, {2, 0, 1024}}, 2);
  (void)add_batch(job, 1, 0, 128 * us, (const int64_t[][3]){{0, 0, 1024}, {2, 1024, 0}}, 2);
  (void)add_batch(job, 2, 100 * us, 130 * us, (const int64_t[][3]){{0, 1024, 0}, {1, 0, 1024}}, 2);
  build(job);
  assert_int_equal(job->collectives.count, 3);
  assert_int_equal(collective_at(job, 0)->transfer, 29 * us); /* the mean of the others, not 128 */
  assert_int_equal(collective_at(job, 1)->transfer, 30 * us);
  assert_int_equal(collective_at(job, 2)->transfer, 28 * us);
  lumos_job_free(job);
}

static void two_ranks_that_exchange_are_one_pair(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 2);
  uint32_t one = add_batch(job, 0, 0, 70 * us, (const int64_t[][3]){{1, 1024, 4096}}, 1);
  uint32_t other = add_batch(job, 1, 40 * us, 72 * us, (const int64_t[][3]){{0, 4096, 1024}}, 1);
  build(job);
  assert_int_equal(job->collectives.count, 1);
  assert_members(job, 0, one, other);
  assert_int_equal(collective_at(job, 0)->rule, LUMOS_BATCHED);
  assert_int_equal(collective_at(job, 0)->bytes, 5120);
  assert_int_equal(collective_at(job, 0)->transfer, 30 * us); /* to the earlier end */
  lumos_job_free(job);
}

static void where_transfers_share_kernels_numbers_mean_nothing(void **state) {
  (void)state;
  /* In a group of two: rank 0 sends, then sends and receives at once; rank 1 receives twice and sends on its own, so
   * that from then on its kernels have the numbers of others. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 2);
  uint32_t kernels[9];
  kernels[0] = add_transfer(job, 0, true, 1, 0, 20 * us);
  kernels[1] = add_batch(job, 0, ms, ms + 120 * us, (const int64_t[][3]){{1, 1024, 1024}}, 1);
  kernels[2] = add_transfer(job, 0, true, 1, 2 * ms, 2 * ms + 20 * us);
  kernels[7] = add_transfer(job, 0, true, 1, 3 * ms, 3 * ms + 20 * us);
  kernels[3] = add_transfer(job, 1, false, 0, 0, 20 * us);
  kernels[4] = add_transfer(job, 1, false, 0, ms, ms + 20 * us);
  kernels[5] = add_transfer(job, 1, true, 0, ms + 100 * us, ms + 120 * us);
  kernels[6] = add_transfer(job, 1, false, 0, 2 * ms, 2 * ms + 20 * us);
  kernels[8] = add_transfer(job, 1, false, 0, 3 * ms, 3 * ms + 20 * us);
  static const char *const ids[] = {"", "one", "two", "three", "four", "five"};
  static const int numbers[] = {1, 2, 3, 1, 2, 3, 4, 4, 5};
  for (int i = 0; i < 9; i++) {
    detail(job, kernels[i])->comm.seq = numbers[i];
    detail(job, kernels[i])->comm.id = word(job, ids[numbers[i]]);
  }
  build(job);
  assert_int_equal(job->collectives.count, 5);
  assert_members(job, 0, kernels[0], kernels[3]);
  assert_members(job, 1, kernels[1], kernels[4]);
  assert_members(job, 2, kernels[1], kernels[5]);
  assert_members(job, 3, kernels[2], kernels[6]);
  assert_members(job, 4, kernels[7], kernels[8]);
  lumos_job_free(job);
}

static void a_batch_with_an_unknown_peer_is_not_split(void **state) {
  (void)state;
  /* Rank 1 also sends to rank 7, of which there is no trace: it may be what rank 1 waits for. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 8);
  uint32_t one = add_transfer(job, 0, true, 1, 0, 20 * us);
  (void)add_batch(job, 1, 0, 125 * us, (const int64_t[][3]){{0, 0, 1024}, {7, 1024, 0}}, 2);
  build(job);
  assert_int_equal(job->collectives.count, 1);
  assert_int_equal(collective_at(job, 0)->transfer, LUMOS_ABSENT);
  assert_int_equal(end_residual(job, one), LUMOS_ABSENT);
  assert_int_equal(noted_of_rank(job, 0, "graph.absent_members"), 1);
  assert_int_equal(noted_of_rank(job, 1, "graph.absent_members"), 1);
  assert_int_equal(job->ranks.items[0].coverage.joined, 0);
  lumos_job_free(job);
}

static void small_messages_leave_at_once(void **state) {
  (void)state;
  /* 1 KiB: the first is gone 80 us before its receiver comes, so the second, where both meet, does not wait either. 2
   * MiB are in no buffer. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 3);
  uint32_t send = add_transfer(job, 0, true, 1, 0, 20 * us);
  (void)add_transfer(job, 0, true, 1, ms, ms + 20 * us);
  uint32_t large = add_transfer(job, 0, true, 1, 2 * ms, 2 * ms + 20 * us);
  uint32_t receive = add_transfer(job, 1, false, 0, 100 * us, 103 * us);
  (void)add_transfer(job, 1, false, 0, ms - 50 * us, ms + 20 * us);
  uint32_t received = add_transfer(job, 1, false, 0, 2 * ms, 2 * ms + 20 * us);
  job->peers.items[detail(job, large)->comm.peer_first].send = 2 << 20;
  job->peers.items[detail(job, received)->comm.peer_first].recv = 2 << 20;
  build(job);
  assert_int_equal(job->collectives.count, 3);
  const struct lumos_collective *first = collective_at(job, 0), *second = collective_at(job, 1);
  assert_int_equal(first->rule, LUMOS_ROOTED);
  assert_int_equal(first->root, 0);
  assert_int_equal(first->transfer, 3 * us); /* what the receiver takes that came later */
  assert_int_equal(end_residual(job, send), LUMOS_ABSENT);
  assert_int_equal(end_residual(job, receive), 0);
  assert_int_equal(second->rule, LUMOS_ROOTED);
  assert_int_equal(second->transfer, 20 * us);
  assert_int_equal(collective_at(job, 2)->rule, LUMOS_PAIR);
  lumos_job_free(job);
}

/* --- Roots --- */

/* Three ranks' kernels of a rooted operation, each {start, end} in us after `from`. */
static void add_rooted(struct lumos_job *job, uint32_t rank, const char *op, int64_t from, int64_t start, int64_t end) {
  (void)add_comm(job, rank, op, "0", from, ms * from + start * us, ms * from + end * us);
}

static void members_that_always_meet_make_a_rooted_operation_symmetric(void **state) {
  (void)state;
  /* Whoever is late, the others are there until it has come. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "0", 3);
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (int64_t i = 0; i < 3; i++) {
      add_rooted(job, rank, "broadcast", i, rank == i ? 100 : 0, 130);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 3);
  assert_int_equal(collective_at(job, 0)->rule, LUMOS_SYMMETRIC);
  assert_int_equal(collective_at(job, 0)->transfer, 30 * us);
  assert_int_equal(collective_at(job, 0)->root, LUMOS_ABSENT_INT);
  lumos_job_free(job);
}

static void who_leaves_early_shows_the_root(void **state) {
  (void)state;
  /* Broadcasts of rank 1: it is gone before others come, and nobody is before it comes. The third: rank 0 waits 50 us for
   * it, rank 2 comes last. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "0", 3);
  static const int64_t times[3][3][2] = {
      {{100, 110}, {0, 20}, {200, 212}}, {{0, 60}, {50, 55}, {0, 61}}, {{0, 59}, {50, 60}, {300, 309}}};
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (int64_t i = 0; i < 3; i++) {
      add_rooted(job, rank, "broadcast", i, times[i][rank][0], times[i][rank][1]);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(collective_at(job, i)->rule, LUMOS_ROOTED);
    assert_int_equal(collective_at(job, i)->root, 1);
  }
  assert_int_equal(collective_at(job, 0)->transfer, 10 * us); /* 110 - max(100, 0) */
  assert_int_equal(collective_at(job, 1)->transfer, 10 * us); /* 60 - 50 */
  assert_int_equal(collective_at(job, 2)->transfer, 9 * us);  /* 59 - 50, and 309 - 300 */
  uint32_t waited = job->members.items[collective_at(job, 0)->member_first + 2];
  assert_int_equal(end_residual(job, waited), 2 * us); /* 212 - (200 + 10) */
  uint32_t root = job->members.items[collective_at(job, 0)->member_first + 1];
  assert_int_equal(end_residual(job, root), LUMOS_ABSENT);
  lumos_job_free(job);
}

static void the_root_of_a_reduction_leaves_last(void **state) {
  (void)state;
  /* To rank 2: it waits for the others, who leave when they like. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "0", 3);
  static const int64_t times[2][3][2] = {{{0, 10}, {100, 110}, {0, 115}}, {{200, 210}, {0, 8}, {0, 212}}};
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (int64_t i = 0; i < 2; i++) {
      add_rooted(job, rank, "reduce", i, times[i][rank][0], times[i][rank][1]);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 2);
  assert_int_equal(collective_at(job, 0)->rule, LUMOS_ROOTED);
  assert_int_equal(collective_at(job, 0)->root, 2);
  assert_int_equal(collective_at(job, 0)->transfer, 15 * us); /* 115 - 100 */
  assert_int_equal(collective_at(job, 1)->transfer, 12 * us); /* 212 - 200 */
  lumos_job_free(job);
}

static void an_unknown_root_leaves_kernels_apart(void **state) {
  (void)state;
  /* Now 0 leaves before 1 comes, now 1 before 0: nobody fits both. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t i = 0; i < 2; i++) {
      add_rooted(job, rank, "broadcast", i, rank == i ? 100 : 0, rank == i ? 110 : 10);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 0);
  assert_int_equal(noted_of_rank(job, 0, "graph.uncoupled_collectives"), 2);
  lumos_job_free(job);
}

static void two_ranks_that_could_be_the_root_leave_it_unknown(void **state) {
  (void)state;
  /* 0 leaves before 1 comes: not 1, but 0 and 2 can be it. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "0", 3);
  for (uint32_t rank = 0; rank < 3; rank++) {
    add_rooted(job, rank, "broadcast", 1, rank == 1 ? 100 : 0, rank == 0 ? 20 : 110);
  }
  build(job);
  assert_int_equal(job->collectives.count, 0);
  lumos_job_free(job);
}

/* --- Incomplete sets --- */

static void ranks_without_a_trace_leave_waiting_unsplit(void **state) {
  (void)state;
  /* Three of eight: their clocks can be compared, but nobody knows when the others came. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "0", 8);
  job->groups.items[0].member_first = (uint32_t)job->group_ranks.count;
  job->groups.items[0].member_count = 8;
  for (int32_t rank = 0; rank < 8; rank++) {
    lumos_vector_push(&job->group_ranks, rank);
  }
  uint32_t first = 0;
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (int64_t i = 0; i < 5; i++) { /* of the last, rank 2 has nothing */
      int64_t at = irregular[i] * ms + rank * us;
      if (rank < 2 || i < 4) {
        uint32_t task = add_comm(job, rank, "all_reduce", "0", i, at, at + 100 * us);
        first = rank == 0 && i == 0 ? task : first;
      }
    }
  }
  (void)add_transfer(job, 2, true, 7, 500 * ms, 501 * ms); /* somebody without a trace */
  build(job);
  assert_int_equal(job->collectives.count, 4);
  assert_int_equal(collective_at(job, 0)->transfer, LUMOS_ABSENT);
  assert_int_equal(collective_at(job, 0)->size, 8);
  assert_int_equal(collective_at(job, 0)->member_count, 3);
  assert_int_equal(end_residual(job, first), LUMOS_ABSENT);
  assert_int_equal(job->ranks.items[2].clock.offset, -2 * us);
  for (int32_t rank = 0; rank < 3; rank++) {
    assert_int_equal(job->ranks.items[rank].coverage.joined, 0);
    assert_int_equal(noted_of_rank(job, rank, "graph.absent_members"), 5);
    assert_int_equal(noted_of_rank(job, rank, "graph.unjoined_collectives"), 0);
  }
  lumos_job_free(job);
}

static void what_names_another_peer_is_no_pair(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 2);
  for (uint32_t rank = 0; rank < 2; rank++) { /* two sends; a send whose receive waits for rank 2 */
    uint32_t send = add_comm(job, rank, "send", "p", 3, 0, 10);
    uint32_t other = add_comm(job, rank, rank == 0 ? "send" : "recv", "p", 4, 20, 30);
    add_peer(job, send, rank == 0 ? 1 : 0, 1024, 0);
    add_peer(job, other, rank == 0 ? 1 : 2, rank == 0 ? 1024 : 0, rank == 0 ? 0 : 1024);
  }
  build(job);
  assert_int_equal(job->collectives.count, 0);
  lumos_job_free(job);
}

/* --- In the order of ends --- */

/* All-reduces without a number on `rank`, from place `first` to before place `end`, its clock `ahead`. */
static uint32_t add_unnumbered(struct lumos_job *job, uint32_t rank, const char *group, int first, int end,
                               int64_t ahead) {
  uint32_t launch = add_launch_for(job, rank);
  for (int i = first; i < end; i++) {
    int64_t at = irregular[i] * ms + ahead;
    uint32_t kernel = add_comm(job, rank, "all_reduce", group, LUMOS_ABSENT, at - 100 * us, at);
    job->tasks.items[kernel].call = launch;
  }
  return launch + 1;
}

static void without_numbers_the_order_of_ends_joins(void **state) {
  (void)state;
  /* Rank 1 begins to record two collectives later and goes on for one more; its clock is 5 us ahead. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  uint32_t first = add_unnumbered(job, 0, "0", 0, 7, 0);
  uint32_t second = add_unnumbered(job, 1, "0", 2, 8, 5 * us);
  job->ranks.items[1].window_start = 11 * ms;
  build(job);
  assert_int_equal(job->ranks.items[1].clock.offset, -5 * us);
  assert_int_equal(job->collectives.count, 5);
  for (uint32_t i = 0; i < 5; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    assert_int_equal(collective->matched, LUMOS_BY_ORDER);
    assert_int_equal(collective->rule, LUMOS_SYMMETRIC);
    assert_int_equal(job->members.items[collective->member_first], first + 2 + i);
    assert_int_equal(job->members.items[collective->member_first + 1], second + i);
    assert_int_equal(collective->transfer, 100 * us);
  }
  assert_int_equal(noted_of_rank(job, 0, "graph.late_members"), 2);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), 0);
  assert_int_equal(noted_of_rank(job, 1, "graph.late_members"), 0); /* rank 0 still records, as far as anybody knows */
  assert_int_equal(noted_of_rank(job, 1, "graph.unjoined_collectives"), 1);
  job->ranks.items[0].window_end = 50 * ms; /* but now it does not */
  job->notes.count = 0;
  build(job);
  assert_int_equal(noted_of_rank(job, 1, "graph.late_members"), 1);
  lumos_job_free(job);
}

static void kernels_of_no_group_are_tried_as_one_of_all_ranks(void **state) {
  (void)state;
  for (int32_t world = 2; world <= 3; world++) {
    struct lumos_job *job = new_ranks(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
      job->ranks.items[rank].world = world; /* with a third rank it is not known who takes part */
      uint32_t from = add_unnumbered(job, rank, "", 0, IRREGULAR, 0);
      for (uint32_t task = from; task < job->tasks.count; task++) {
        detail(job, task)->comm.group = LUMOS_NO_STRING;
      }
      job->tasks.items[from].call = LUMOS_NONE; /* from before the recording */
    }
    build(job);
    assert_int_equal(job->collectives.count, IRREGULAR - 1);
    assert_int_equal(job->collectives.items[0].size, world);
    assert_int_equal(job->collectives.items[0].transfer, world == 2 ? 100 * us : LUMOS_ABSENT);
    assert_int_equal(job->ranks.items[0].coverage.joined, world == 2 ? IRREGULAR - 1 : 0);
    assert_int_equal(noted_of_rank(job, 0, "graph.absent_members"), world == 2 ? 0 : IRREGULAR - 1);
    lumos_job_free(job);
  }
}

/* Two ranks with the same collectives, of which the second rank ends every third `apart` later, and one in `odd` has
 * another name there; how many are joined. */
static size_t joined_of(int64_t apart, int odd, const char *name) {
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    uint32_t from = add_unnumbered(job, rank, "0", 0, IRREGULAR, 0);
    for (uint32_t i = 0; i < IRREGULAR; i++) {
      struct lumos_task *task = &job->tasks.items[from + i];
      task->name = word(job, name);
      if (rank == 1) {
        task->start += i % 3 == 0 ? apart : 0;
        task->name = odd > 0 && i % (uint32_t)odd == 0 ? word(job, "ncclOther") : task->name;
      }
    }
  }
  build(job);
  size_t joined = IRREGULAR - (size_t)noted_of_rank(job, 0, "graph.unjoined_collectives");
  lumos_job_free(job);
  return joined;
}

static void what_does_not_fit_is_not_joined_by_order(void **state) {
  (void)state;
  assert_int_equal(joined_of(0, 0, "ncclKernel"), IRREGULAR);
  assert_int_equal(joined_of(50 * us, 0, "ncclKernel"), IRREGULAR);
  assert_int_equal(joined_of(51 * us, 0, "ncclKernel"), 0);  /* three of eight, more than a quarter */
  assert_int_equal(joined_of(0, 4, "ncclKernel"), 0);        /* two of eight names differ */
  assert_int_equal(joined_of(0, 0, "deep_ep::dispatch"), 0); /* nobody knows what that does */
}

static void a_group_with_a_rank_that_fits_nowhere_is_left_alone(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(3);
  add_group(job, "0", 3);
  for (uint32_t rank = 0; rank < 3; rank++) {
    uint32_t from = add_unnumbered(job, rank, "0", 0, IRREGULAR, 0);
    for (uint32_t i = 0; rank == 2 && i < IRREGULAR; i++) {
      job->tasks.items[from + i].start += i * i * 300 * us;
    }
  }
  build(job);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), IRREGULAR);
  lumos_job_free(job);
}

static void of_shifts_that_fit_alike_the_clocks_decide(void **state) {
  (void)state;
  /* Every 3 ms, so any shift fits; rank 1 misses the first and its clock is 990 us ahead. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    uint32_t launch = add_launch_for(job, rank);
    for (int64_t i = rank; i < 10; i++) {
      int64_t at = 3 * ms * i + (rank == 1 ? ms : 10 * us);
      uint32_t task = add_comm(job, rank, "all_reduce", "0", LUMOS_ABSENT, at, at + 100 * us);
      job->tasks.items[task].call = launch;
    }
  }
  build(job);
  assert_int_equal(job->ranks.items[1].clock.offset, -990 * us);
  assert_int_equal(job->collectives.count, 9);
  lumos_job_free(job);
}

static void clocks_may_err_about_who_came_first(void **state) {
  (void)state;
  /* Rank 1's ends are 0 to 8 us after rank 0's, so its clock is known to 4 us. It always starts 2 us before its end: up
   * to 2 us after rank 0 has ended, which can be due to clocks, and in the last 25 us. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t i = 0; i < 11; i++) {
      int64_t noise = rank == 0 ? 0 : i == 10 ? 31 * us : (i % 9) * us;
      int64_t end = ms * i + 100 * us + noise;
      add_comm(job, rank, "all_reduce", "0", i, rank == 1 ? end - 2 * us : ms * i, end);
    }
  }
  build(job);
  assert_int_equal(job->ranks.items[1].clock.error, 4 * us);
  assert_int_equal(job->collectives.count, 10);
  assert_int_equal(noted_of_rank(job, 0, "graph.uncoupled_collectives"), 1);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_clock_that_fits_is_not_moved),
      cmocka_unit_test(kernels_before_their_launch_move_the_device_later),
      cmocka_unit_test(one_kernel_in_a_hundred_may_be_wrong),
      cmocka_unit_test(waits_that_return_early_move_the_device_earlier),
      cmocka_unit_test(where_evidence_contradicts_launches_decide),
      cmocka_unit_test(a_symmetric_collective_ends_after_its_last_member_has_started),
      cmocka_unit_test(clocks_of_ranks_are_medians_without_outliers),
      cmocka_unit_test(clocks_reach_ranks_through_others),
      cmocka_unit_test(what_does_not_end_together_is_not_coupled),
      cmocka_unit_test(long_collectives_may_end_further_apart),
      cmocka_unit_test(clocks_that_drift_are_followed),
      cmocka_unit_test(no_drift_is_seen_where_there_need_be_none),
      cmocka_unit_test(the_surest_way_settles_a_clock),
      cmocka_unit_test(short_collectives_weigh_more),
      cmocka_unit_test(an_incomplete_or_inconsistent_set_is_left_alone),
      cmocka_unit_test(a_communicator_id_joins_before_a_number),
      cmocka_unit_test(a_send_and_its_receive_end_together),
      cmocka_unit_test(a_pair_that_ends_apart_is_not_coupled),
      cmocka_unit_test(nobody_ends_before_another_starts),
      cmocka_unit_test(what_names_another_peer_is_no_pair),
      cmocka_unit_test(without_numbers_the_order_of_ends_joins),
      cmocka_unit_test(kernels_of_no_group_are_tried_as_one_of_all_ranks),
      cmocka_unit_test(what_does_not_fit_is_not_joined_by_order),
      cmocka_unit_test(a_group_with_a_rank_that_fits_nowhere_is_left_alone),
      cmocka_unit_test(of_shifts_that_fit_alike_the_clocks_decide),
      cmocka_unit_test(clocks_may_err_about_who_came_first),
      cmocka_unit_test(transfers_of_larger_groups_are_joined_in_their_order),
      cmocka_unit_test(ends_that_do_not_meet_or_match_are_no_transfers),
      cmocka_unit_test(a_batched_kernel_ends_with_the_last_of_its_transfers),
      cmocka_unit_test(a_transfer_that_decided_no_end_took_no_longer_than_others),
      cmocka_unit_test(two_ranks_that_exchange_are_one_pair),
      cmocka_unit_test(where_transfers_share_kernels_numbers_mean_nothing),
      cmocka_unit_test(a_batch_with_an_unknown_peer_is_not_split),
      cmocka_unit_test(small_messages_leave_at_once),
      cmocka_unit_test(members_that_always_meet_make_a_rooted_operation_symmetric),
      cmocka_unit_test(who_leaves_early_shows_the_root),
      cmocka_unit_test(the_root_of_a_reduction_leaves_last),
      cmocka_unit_test(an_unknown_root_leaves_kernels_apart),
      cmocka_unit_test(two_ranks_that_could_be_the_root_leave_it_unknown),
      cmocka_unit_test(ranks_without_a_trace_leave_waiting_unsplit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
