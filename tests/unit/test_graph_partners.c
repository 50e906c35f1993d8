/* Sends and receives of which no trace says who talks to whom, joined by who waits and when both end, on jobs small
 * enough to work out by hand. Times are nanoseconds. */
#include "unit/ranks_job.h"

/* How far each rank's clock is ahead. */
static const int64_t ahead[] = {0, 5000, -3000, 0};

/* A kernel that takes `length` and truly ends at `end`. */
static uint32_t add_open(struct lumos_job *job, uint32_t rank, int64_t end, int64_t length) {
  end += ahead[rank];
  uint32_t task = add_comm(job, rank, "send_recv", "", LUMOS_ABSENT, end - length, end);
  detail(job, task)->comm.group = LUMOS_NO_STRING;
  return task;
}

static struct lumos_job *new_world(int32_t ranks, int32_t world) {
  struct lumos_job *job = new_ranks(ranks);
  for (int32_t r = 0; r < ranks; r++) {
    job->ranks.items[r].world = world;
  }
  return job;
}

/* Does rank 0, or 1 of a transfer between 1 and 2, come last? */
static bool lower_comes_last(int i) { return i % 4 < 2; }

static int64_t length_of(int i, bool lower) { return lower_comes_last(i) == lower ? 100 * us : ms; }

/* Three stages: 0 and 1 have the even transfers, 1 and 2 the odd ones. Each rank's first task launches the others. */
static struct lumos_job *three_stages(int32_t world) {
  struct lumos_job *job = new_world(3, world);
  uint32_t launches[3] = {add_launch_for(job, 0)};
  for (int i = 0; i < IRREGULAR; i += 2) {
    add_open(job, 0, irregular[i] * ms, length_of(i, true));
  }
  launches[1] = add_launch_for(job, 1);
  for (int i = 0; i < IRREGULAR; i++) {
    add_open(job, 1, irregular[i] * ms, length_of(i, i % 2 == 1));
  }
  launches[2] = add_launch_for(job, 2);
  for (int i = 1; i < IRREGULAR; i += 2) {
    add_open(job, 2, irregular[i] * ms, length_of(i, false));
  }
  for (uint32_t task = 0; task < job->tasks.count; task++) {
    uint32_t launch = launches[job->lanes.items[job->tasks.items[task].lane].rank];
    job->tasks.items[task].call = task == launch ? LUMOS_NONE : launch;
  }
  return job;
}

static void who_waits_and_ends_together_belongs_together(void **state) {
  (void)state;
  struct lumos_job *job = three_stages(3);
  build(job);
  assert_int_equal(job->collectives.count, 8);
  for (uint32_t i = 0; i < 8; i++) { /* ascending by lowest member: those with rank 0, then those of rank 1 with 2 */
    const struct lumos_collective *collective = collective_at(job, i);
    uint32_t place = i < 4 ? 2 * i : 2 * (i - 4) + 1; /* in rank 1's kernels */
    assert_members(job, i, i < 4 ? 1 + i : 6 + place, i < 4 ? 6 + place : 15 + i - 4);
    assert_int_equal(collective->rule, LUMOS_PAIR);
    assert_int_equal(collective->matched, LUMOS_BY_ORDER);
    assert_int_equal(collective->transfer, 100 * us);
  }
  assert_int_equal(job->ranks.items[1].clock.offset, -5 * us);
  assert_int_equal(job->ranks.items[2].clock.offset, 3 * us);
  assert_int_equal(noted_of_rank(job, 1, "graph.unjoined_collectives"), 0);
  lumos_job_free(job);
}

static void partners_without_a_trace_are_not_given_to_others(void **state) {
  (void)state;
  const int32_t worlds[] = {4, LUMOS_ABSENT_INT};
  for (size_t w = 0; w < 2; w++) {
    struct lumos_job *job = three_stages(worlds[w]);
    build(job);
    assert_int_equal(job->collectives.count, 0);
    assert_int_equal(noted_of_rank(job, 1, "graph.unjoined_collectives"), 8);
    lumos_job_free(job);
  }
}

/* How many of two ranks' kernels are joined: `count` of them, where the earlier waits `wait` longer and every third
 * transfer takes `third`. */
static size_t joined_of(int count, int64_t wait, int64_t third) {
  struct lumos_job *job = new_world(2, 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int i = 0; i < count; i++) {
      int64_t transfer = i % 3 == 2 ? third : 100 * us;
      add_open(job, rank, irregular[i] * ms, transfer + (lower_comes_last(i) == (rank == 0) ? 0 : wait));
    }
  }
  build(job);
  size_t joined = job->collectives.count;
  lumos_job_free(job);
  return joined;
}

static void one_waits_and_the_other_takes_as_long_as_its_like(void **state) {
  (void)state;
  assert_int_equal(joined_of(4, ms, 100 * us), 4);
  assert_int_equal(joined_of(3, ms, 100 * us), 0);       /* too few */
  assert_int_equal(joined_of(8, 20 * us, 100 * us), 0);  /* nobody waits */
  assert_int_equal(joined_of(8, 21 * us, 100 * us), 8);  /* 20 us are as many as ends may lie apart */
  assert_int_equal(joined_of(8, 500 * us, 210 * us), 8); /* twice as long, and 10 us */
  assert_int_equal(joined_of(8, 500 * us, 210001), 6);   /* both waited for somebody else */
}

static void who_fits_two_as_well_is_joined_with_neither(void **state) {
  (void)state;
  for (int64_t later = 0; later <= 30; later += 30) { /* us by which every second end of rank 2 lies elsewhere */
    struct lumos_job *job = new_world(3, 3);
    for (uint32_t rank = 0; rank < 3; rank++) {
      for (int i = 0; i < IRREGULAR; i++) {
        add_open(job, rank, irregular[i] * ms + (rank == 2 && i % 2 == 1 ? later * us : 0), rank == 0 ? 100 * us : ms);
      }
    }
    build(job);
    size_t joined = 0;
    for (size_t i = 0; i < job->collectives.count; i++) {
      joined +=
          lumos_rank_of(job, &job->tasks.items[job->members.items[job->collectives.items[i].member_first + 1]]) == 1;
    }
    assert_int_equal(joined, later == 0 ? 0 : 8);
    lumos_job_free(job);
  }
}

/* Of rank 0's eight kernels others than rank 1 fit all but one. */
static void who_fits_two_others_nearly_as_well_is_joined_with_none(void **state) {
  (void)state;
  for (int32_t ranks = 3; ranks <= 4; ranks++) {
    struct lumos_job *job = new_world(ranks, ranks);
    for (uint32_t rank = 0; rank < (uint32_t)ranks; rank++) {
      for (int i = 0; i < IRREGULAR; i++) {
        add_open(job, rank, irregular[i] * ms + (rank > 1 && i == 5 ? 30 * us : 0), rank == 0 ? 100 * us : ms);
      }
    }
    build(job);
    assert_int_equal(job->ranks.items[1].coverage.joined, ranks == 3 ? IRREGULAR : 0);
    lumos_job_free(job);
  }
}

/* All of rank 1 and 2, half of them with rank 0 too, which waits as long as 2 does. */
static void who_comes_last_lets_both_neighbours_go(void **state) {
  (void)state;
  struct lumos_job *job = new_world(3, 3);
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (int i = 0; i < IRREGULAR; i += rank == 0 ? 2 : 1) {
      add_open(job, rank, irregular[i] * ms, rank == 1 ? 100 * us : ms);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 12);
  uint32_t batched = 0;
  for (uint32_t i = 0; i < 12; i++) {
    batched += collective_at(job, i)->rule == LUMOS_BATCHED;
    assert_int_equal(collective_at(job, i)->transfer, 100 * us);
  }
  assert_int_equal(batched, 8);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_waits_and_ends_together_belongs_together),
      cmocka_unit_test(partners_without_a_trace_are_not_given_to_others),
      cmocka_unit_test(one_waits_and_the_other_takes_as_long_as_its_like),
      cmocka_unit_test(who_fits_two_as_well_is_joined_with_neither),
      cmocka_unit_test(who_fits_two_others_nearly_as_well_is_joined_with_none),
      cmocka_unit_test(who_comes_last_lets_both_neighbours_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
