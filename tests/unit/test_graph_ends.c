/* Collectives without numbers, joined in the order in which they end, on jobs small enough to work out by hand. Times
 * are nanoseconds. */
#include "unit/ranks_job.h"

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

/* --- Where it is known who takes part --- */

/* Group 0 of two ranks. */
static struct lumos_job *new_known_group(void) {
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  struct lumos_group *group = &job->groups.items[0];
  group->member_first = (uint32_t)job->group_ranks.count;
  group->member_count = 2;
  lumos_vector_push(&job->group_ranks, 0);
  lumos_vector_push(&job->group_ranks, 1);
  return job;
}

/* How many of a known group's kernels are joined, of which each rank has so many; those of rank 1 end `late` later,
 * every third of them. */
static size_t joined_of_known(int one, int other, int64_t late) {
  struct lumos_job *job = new_known_group();
  (void)add_unnumbered(job, 0, "0", 0, one, 0);
  uint32_t from = add_unnumbered(job, 1, "0", 0, other, 0);
  for (uint32_t i = 0; i < (uint32_t)other; i += 3) {
    job->tasks.items[from + i].start += late;
  }
  build(job);
  size_t joined = job->collectives.count;
  lumos_job_free(job);
  return joined;
}

static void of_a_known_group_few_are_enough(void **state) {
  (void)state;
  for (int count = 1; count <= 3; count++) { /* of a group of which it is not known who is in it */
    struct lumos_job *job = new_ranks(2);
    add_group(job, "0", 2);
    (void)add_unnumbered(job, 0, "0", 0, count, 0);
    (void)add_unnumbered(job, 1, "0", 0, count, 0);
    build(job);
    assert_int_equal(job->collectives.count, 0);
    lumos_job_free(job);
    assert_int_equal(joined_of_known(count, count, 0), count);
  }
  assert_int_equal(joined_of_known(4, 3, 0), 3); /* slid: all three of the shorter sequence */
  assert_int_equal(joined_of_known(3, 2, 0), 0);
}

static void of_a_known_group_the_same_order_joins_what_meets(void **state) {
  (void)state;
  /* Kernels of 100 us. Three of eight end 80 us late, but have begun when the others end; or 103 us. */
  assert_int_equal(joined_of_known(8, 8, 80 * us), 8);
  assert_int_equal(joined_of_known(8, 8, 103 * us), 0);
  assert_int_equal(joined_of_known(8, 7, 80 * us), 0);
}

/* Two kernels of 100 us a step, in three steps of 20 ms; what rank 1 ends later, in order. The clocks' distance, or
 * FEWER where fewer than six are joined. */
enum { FEWER = 1 };
static int64_t distance_of_clocks(const int64_t *late) {
  struct lumos_job *job = new_known_group();
  for (uint32_t rank = 0; rank < 2; rank++) {
    uint32_t launch = add_launch_for(job, rank);
    for (int i = 0; i < 6; i++) {
      int64_t end = 10 * ms + i / 2 * 20 * ms + i % 2 * ms + (rank == 1 ? late[i] : 0);
      uint32_t kernel = add_comm(job, rank, "all_reduce", "0", LUMOS_ABSENT, end - 100 * us, end);
      job->tasks.items[kernel].call = launch;
    }
  }
  build(job);
  int64_t distance = job->collectives.count == 6 ? job->ranks.items[1].clock.offset : FEWER;
  lumos_job_free(job);
  return distance;
}

static void what_comes_once_a_step_is_not_joined_a_step_apart(void **state) {
  (void)state;
  /* A step apart the ends of four kernels lie 20 ms apart to 1 us; at their places those of six lie 0 or 8 us. */
  assert_int_equal(distance_of_clocks((int64_t[]){0, 0, 0, 0, 8 * us, 8 * us}), 0);
  /* Or two of the six 80 us, more than a quarter, so that only those a step apart fit; but all meet at their places. */
  assert_int_equal(distance_of_clocks((int64_t[]){80 * us, 80 * us, 0, 0, 0, 0}), 0);
}

static void in_a_world_of_two_there_is_one_group(void **state) {
  (void)state;
  for (int32_t world = 2; world <= 3; world++) {
    struct lumos_job *job = new_ranks(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
      job->ranks.items[rank].world = world;
      uint32_t from = add_unnumbered(job, rank, "", 0, 3, 0);
      for (uint32_t task = from; task < job->tasks.count; task++) {
        detail(job, task)->comm.group = LUMOS_NO_STRING;
      }
    }
    build(job);
    assert_int_equal(job->collectives.count, world == 2 ? 3 : 0);
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_numbers_the_order_of_ends_joins),
      cmocka_unit_test(kernels_of_no_group_are_tried_as_one_of_all_ranks),
      cmocka_unit_test(what_does_not_fit_is_not_joined_by_order),
      cmocka_unit_test(a_group_with_a_rank_that_fits_nowhere_is_left_alone),
      cmocka_unit_test(of_a_known_group_few_are_enough),
      cmocka_unit_test(of_a_known_group_the_same_order_joins_what_meets),
      cmocka_unit_test(what_comes_once_a_step_is_not_joined_a_step_apart),
      cmocka_unit_test(in_a_world_of_two_there_is_one_group),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
