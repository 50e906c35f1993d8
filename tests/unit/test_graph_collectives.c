/* Collectives of whole groups, on jobs small enough to work out by hand. Times are nanoseconds. */
#include "unit/ranks_job.h"

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

static void nobody_ends_before_another_starts(void **state) {
  (void)state;
  /* Of nine collectives the second cannot be one: rank 0 is through 25 us before rank 1 comes, and clocks are known to
   * 11: eight others of 50 us, whose ends may lie 5 + 25 apart, by sqrt(8). */
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
  /* Broadcasts of rank 1: it is gone before others come, and nobody is before it comes. The third: rank 0 waits 50 us
   * for it, rank 2 comes last. */
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

/* --- Members without a trace --- */

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_symmetric_collective_ends_after_its_last_member_has_started),
      cmocka_unit_test(what_does_not_end_together_is_not_coupled),
      cmocka_unit_test(long_collectives_may_end_further_apart),
      cmocka_unit_test(an_incomplete_or_inconsistent_set_is_left_alone),
      cmocka_unit_test(a_communicator_id_joins_before_a_number),
      cmocka_unit_test(nobody_ends_before_another_starts),
      cmocka_unit_test(members_that_always_meet_make_a_rooted_operation_symmetric),
      cmocka_unit_test(who_leaves_early_shows_the_root),
      cmocka_unit_test(the_root_of_a_reduction_leaves_last),
      cmocka_unit_test(an_unknown_root_leaves_kernels_apart),
      cmocka_unit_test(two_ranks_that_could_be_the_root_leave_it_unknown),
      cmocka_unit_test(ranks_without_a_trace_leave_waiting_unsplit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
