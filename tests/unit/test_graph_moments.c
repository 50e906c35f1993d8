/* Collectives of no group, joined by the moments at which they end (graph/moments.c): four ranks by hand, of which 0
 * and 1, 2 and 3 share a communicator of many kernels, 0 and 2, 1 and 3 one of few. Times are nanoseconds. */
#include "unit/ranks_job.h"

enum { MANY = 20, SOME = 5, LENGTH = 1000000 };

static void add_all_reduces(struct lumos_job *job, uint32_t lane, uint32_t launch, const int64_t *ends, int count) {
  for (int i = 0; i < count; i++) {
    uint32_t task = add_task(job, lane, LUMOS_COLLECTIVE, "ncclDevKernel", ends[i] - LENGTH, LENGTH);
    detail(job, task)->comm.op = word(job, "all_reduce");
    job->tasks.items[task].call = launch;
  }
}

/* A world of so many ranks, of which four were recorded. `late`: what the kernels of few of ranks 1 and 3 end later. */
static struct lumos_job *four_ranks(int32_t world, const int64_t *late, int some_count) {
  struct lumos_job *job = new_job();
  for (uint32_t r = 0; r < 4; r++) {
    uint32_t rank = add_rank(job, (int32_t)r);
    job->ranks.items[rank].world = world;
    add_thread(job, rank, "1");
    add_stream(job, rank, "7");
    add_stream(job, rank, "9");
  }
  for (uint32_t r = 0; r < 4; r++) {
    int64_t many[MANY], some[SOME];
    for (int i = 0; i < MANY; i++) { /* those of 2 and 3 end 60 to 220 us later */
      many[i] = 10 * ms + i * 4 * ms + (r >= 2 ? (60 + i * 13 % 9 * 20) * us : 0) + (int)r * i % 2 * us;
    }
    for (int i = 0; i < SOME; i++) {
      some[i] = 12 * ms + i * 16 * ms + r * us + (r % 2 == 1 ? late[i] : 0);
    }
    uint32_t launch = add_launch(job, 3 * r, 0, us);
    add_all_reduces(job, 3 * r + 1, launch, many, MANY);
    add_all_reduces(job, 3 * r + 2, launch, some, some_count);
  }
  return job;
}

/* How many collectives have the ranks whose numbers stand in `ranks`, in order. */
static int count_of(const struct lumos_job *job, const char *ranks) {
  int count = 0;
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    bool same = collective->member_count == strlen(ranks) && collective->matched == LUMOS_BY_ORDER;
    for (uint32_t m = 0; same && m < collective->member_count; m++) {
      uint32_t task = job->members.items[collective->member_first + m];
      same = lumos_rank_of(job, &job->tasks.items[task]) == (uint32_t)(ranks[m] - '0');
    }
    count += same;
  }
  return count;
}

static void streams_whose_kernels_end_together_are_joined(void **state) {
  (void)state;
  const int64_t late[SOME] = {400 * us, 1200 * us, 900 * us, 2000 * us, 600 * us};
  struct lumos_job *job = four_ranks(4, late, SOME);
  build(job);
  assert_int_equal(count_of(job, "01"), MANY);
  assert_int_equal(count_of(job, "23"), MANY);
  assert_int_equal(count_of(job, "02"), SOME); /* once it is known how far the clocks of 0 and 1, 2 and 3 are apart */
  assert_int_equal(count_of(job, "13"), SOME);
  assert_int_equal(job->collectives.count, 2 * MANY + 2 * SOME);
  assert_int_equal(job->collectives.items[0].size, 2);
  for (uint32_t r = 1; r < 4; r++) {
    assert_true(job->ranks.items[r].clock.from_collectives);
    assert_in_range(job->ranks.items[r].clock.offset + 5 * us, 0, 10 * us);
  }
  lumos_job_free(job);
}

/* Unless some end much closer together than others: then there are several, but nobody knows which. */
static void groups_that_end_together_are_one(void **state) {
  (void)state;
  const int64_t close[SOME] = {1 * us, 0, 2 * us, 0, 1 * us}, apart[SOME] = {20 * us, 0, 30 * us, 0, 20 * us};
  for (int i = 0; i < 2; i++) {
    struct lumos_job *job = four_ranks(4, i == 0 ? close : apart, SOME);
    build(job);
    assert_int_equal(count_of(job, "01"), MANY);
    assert_int_equal(count_of(job, "0123"), i == 0 ? SOME : 0);
    assert_int_equal(job->collectives.count, 2 * MANY + (i == 0 ? SOME : 0));
    assert_true(lumos_job_has_note(job, LUMOS_NOTE_GUESSED_MEMBERS));
    lumos_job_free(job);
  }
}

/* Rank 1's fit rank 0's and rank 3's, but rank 0's do not fit those of rank 3. */
static void what_does_not_hang_together_is_left_alone(void **state) {
  (void)state;
  const int64_t late[SOME] = {240 * us, 0, 240 * us, 0, 240 * us};
  struct lumos_job *job = four_ranks(4, late, SOME);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    int64_t other = task->start + LENGTH - 12 * ms;
    task->start += task->lane == 3 * 3 + 2 && other / (16 * ms) % 2 == 0 ? 200 * us : 0;
  }
  build(job);
  assert_int_equal(count_of(job, "01"), MANY);
  assert_int_equal(count_of(job, "13") + count_of(job, "0123") + count_of(job, "123") + count_of(job, "013"), 0);
  lumos_job_free(job);
}

static void a_stream_that_fits_two_of_a_rank_is_left_alone(void **state) {
  (void)state;
  const int64_t late[SOME] = {400 * us, 1200 * us, 900 * us, 2000 * us, 600 * us};
  struct lumos_job *job = new_job();
  for (uint32_t r = 0; r < 2; r++) {
    uint32_t rank = add_rank(job, (int32_t)r);
    job->ranks.items[rank].world = 2;
    add_thread(job, rank, "1");
    add_stream(job, rank, "7");
    if (r == 1) {
      add_stream(job, rank, "9");
    }
  }
  for (uint32_t r = 0; r < 2; r++) {
    int64_t ends[SOME];
    for (int i = 0; i < SOME; i++) {
      ends[i] = 12 * ms + i * 16 * ms + late[i];
    }
    uint32_t launch = add_launch(job, 2 * r, 0, us);
    add_all_reduces(job, 2 * r + 1, launch, ends, SOME);
    if (r == 1) { /* the other ends up to half a microsecond later */
      for (int i = 0; i < SOME; i++) {
        ends[i] += i % 2 * us / 2;
      }
      add_all_reduces(job, 4, launch, ends, SOME);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 0);
  lumos_job_free(job);
}

/* Ranks 1 and 3 are as late each time, and it is known that the clocks of 0 and 1 are not; those of 0 and 3 might
 * be. */
static void what_ends_later_each_time_is_not_joined(void **state) {
  (void)state;
  const int64_t late[SOME] = {400 * us, 400 * us, 400 * us, 400 * us, 400 * us};
  struct lumos_job *job = four_ranks(4, late, SOME);
  build(job);
  assert_int_equal(job->collectives.count, 2 * MANY);
  lumos_job_free(job);
}

static void three_kernels_do_not_show_how_far_clocks_are_apart(void **state) {
  (void)state;
  const int64_t late[SOME] = {400 * us, 1200 * us, 900 * us};
  struct lumos_job *job = four_ranks(4, late, 3);
  build(job);
  assert_int_equal(job->collectives.count, 2 * MANY);
  lumos_job_free(job);
}

static void with_a_rank_missing_nothing_is_joined(void **state) {
  (void)state;
  const int64_t late[SOME] = {400 * us, 1200 * us, 900 * us, 2000 * us, 600 * us};
  struct lumos_job *job = four_ranks(5, late, SOME);
  build(job);
  assert_int_equal(job->collectives.count, 0);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_whose_kernels_end_together_are_joined),
      cmocka_unit_test(groups_that_end_together_are_one),
      cmocka_unit_test(what_does_not_hang_together_is_left_alone),
      cmocka_unit_test(a_stream_that_fits_two_of_a_rank_is_left_alone),
      cmocka_unit_test(what_ends_later_each_time_is_not_joined),
      cmocka_unit_test(three_kernels_do_not_show_how_far_clocks_are_apart),
      cmocka_unit_test(with_a_rank_missing_nothing_is_joined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
