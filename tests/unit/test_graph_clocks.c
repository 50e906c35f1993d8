/* Clocks, of the device against its host and of ranks against each other, on jobs small enough to work out by hand.
 * Times are nanoseconds. */
#include "unit/ranks_job.h"

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

/* Three launches onto an idle stream, whose kernels start 30 us before their call, the last runs for 50 ms; behind it
 * wait 400 more, each right behind the one before it, or 3 us later where there are `gaps`. */
static int64_t offset_with_backlog(int64_t gaps) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t first = (uint32_t)job->tasks.count;
  for (int64_t k = 0; k < 403; k++) {
    add_launch(job, thread, ms + 10 * us * k, 5 * us);
  }
  for (int64_t k = 0; k < 3; k++) {
    add_kernel(job, stream, ms + 10 * us * k - 30 * us, k < 2 ? us : 50 * ms, first + (uint32_t)k);
  }
  for (int64_t k = 3; k < 403; k++) {
    add_kernel(job, stream, 51 * ms - 10 * us + gaps + (20 * us + gaps) * (k - 3), 20 * us, first + (uint32_t)k);
  }
  build(job);
  return offset_of(job);
}

static void launches_behind_a_backlog_do_not_count(void **state) {
  (void)state;
  assert_int_equal(offset_with_backlog(0), 30 * us);
  assert_int_equal(offset_with_backlog(3 * us), 30 * us);
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

/* --- Ranks against each other --- */

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
  /* A rise of 3 us in 40 us of noise; a clock that was set; one that runs 600 us a second fast, which is something
   * else; too few. */
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

/* Two ranks without a collective: rank 0 sends so often, in irregular intervals, to rank 1, whose clock is 3 ms ahead
 * and each of whose receives ends `later` than the one before. With a `custom` kernel instead nobody says who sends. */
static struct lumos_clock clock_of_transfers(int count, int64_t later, bool numbered, const char *custom) {
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    uint32_t launch = add_launch_for(job, rank);
    for (int i = 0; i < count; i++) {
      int64_t end = irregular[i] * ms + (rank == 0 ? 0 : 3 * ms + later * i);
      const char *op = custom != NULL ? "other" : rank == 0 ? "send" : "recv";
      uint32_t task = add_comm(job, rank, op, "0", numbered ? i : LUMOS_ABSENT, end - 200 * us, end);
      job->tasks.items[task].call = launch;
      if (custom != NULL) {
        job->tasks.items[task].name = word(job, custom);
      } else {
        add_peer(job, task, rank == 0 ? 1 : 0, rank == 0 ? 8 : 0, rank == 0 ? 0 : 8);
      }
    }
  }
  build(job);
  struct lumos_clock clock = job->ranks.items[1].clock;
  if (clock.from_collectives || custom != NULL) { /* they tell the clocks, and are joined by what they say alone */
    assert_int_equal(job->collectives.count, custom == NULL ? count : 0);
  }
  lumos_job_free(job);
  return clock;
}

static void without_collectives_other_kernels_tell_clocks(void **state) {
  (void)state;
  const char *custom[] = {NULL, NULL, "deep_ep::dispatch"};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(clock_of_transfers(5, 0, i == 1, custom[i]).offset, -3 * ms);
    assert_true(clock_of_transfers(5, 0, i == 1, custom[i]).from_collectives);
    /* Too few, or ends too far apart. */
    assert_false(clock_of_transfers(3, 0, i == 1, custom[i]).from_collectives);
    assert_false(clock_of_transfers(8, 60 * us, i == 1, custom[i]).from_collectives);
  }
}

static void clocks_of_collectives_need_no_others(void **state) {
  (void)state;
  /* Five all-reduces say that the clocks agree, five transfers 30 us apart, shorter ones, that they do not. A third
   * rank meets rank 1 in transfers alone, whose ends lie 30 us apart, too. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "0", 2);
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (int i = 0; i < 5; i++) {
      int64_t end = irregular[i] * ms;
      if (rank < 2) {
        add_comm(job, rank, "all_reduce", "0", i, end - ms, end);
        uint32_t task = add_comm(job, rank, rank == 0 ? "send" : "recv", "p", LUMOS_ABSENT, end + 30 * us * rank,
                                 end + 40 * us + 30 * us * rank);
        add_peer(job, task, rank == 0 ? 1 : 0, rank == 0 ? 8 : 0, rank == 0 ? 0 : 8);
      }
      if (rank > 0) {
        uint32_t task = add_comm(job, rank, rank == 1 ? "send" : "recv", "q", LUMOS_ABSENT, end + 400 * us,
                                 end + 570 * us + 30 * us * rank);
        add_peer(job, task, rank == 1 ? 2 : 1, rank == 1 ? 8 : 0, rank == 1 ? 0 : 8);
      }
    }
  }
  build(job);
  assert_int_equal(job->ranks.items[1].clock.offset, 0);
  assert_int_equal(job->ranks.items[2].clock.offset, -30 * us);
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
      cmocka_unit_test(launches_behind_a_backlog_do_not_count),
      cmocka_unit_test(waits_that_return_early_move_the_device_earlier),
      cmocka_unit_test(where_evidence_contradicts_launches_decide),
      cmocka_unit_test(clocks_of_ranks_are_medians_without_outliers),
      cmocka_unit_test(clocks_reach_ranks_through_others),
      cmocka_unit_test(clocks_that_drift_are_followed),
      cmocka_unit_test(no_drift_is_seen_where_there_need_be_none),
      cmocka_unit_test(the_surest_way_settles_a_clock),
      cmocka_unit_test(short_collectives_weigh_more),
      cmocka_unit_test(of_shifts_that_fit_alike_the_clocks_decide),
      cmocka_unit_test(without_collectives_other_kernels_tell_clocks),
      cmocka_unit_test(clocks_of_collectives_need_no_others),
      cmocka_unit_test(clocks_may_err_about_who_came_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
