/* Numbers that were chosen: each holds on one side of itself and not on the other. Times are nanoseconds. */
#include "unit/ranks_job.h"

#include "graph/graph.h"
#include "graph/places.h"

/* ---- wait.c: a call returns within twice the 90th percentile of those that name their stream ---- */

/* Ten waits for stream 7 return 5 us after its kernel, the last two 60 us: at the 90th percentile, so that the window
 * is 120 us. A wait that does not name its stream returns `after` stream 20; what was launched last, on 7, was over
 * long before. The stream that it waits for. */
static uint32_t awaited_by_a_wait_that_returns(int64_t after) {
  enum { NAMED = 10 };
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t one = add_stream(job, rank, "7"), other = add_stream(job, rank, "20"), calls[NAMED];
  for (int64_t k = 0; k < NAMED; k++) {
    calls[k] = add_launch(job, thread, ms * k, 5 * us);
    add_wait(job, thread, ms * k + 20 * us, (90 + (k < 8 ? 5 : 60)) * us, LUMOS_WAIT_STREAM, one, LUMOS_NONE);
  }
  uint32_t first = add_launch(job, thread, 20 * ms, 5 * us), second = add_launch(job, thread, 20 * ms + 5 * us, 5 * us);
  uint32_t wait = add_wait(job, thread, 20 * ms + 12 * us, 98 * us + after, LUMOS_WAIT_STREAM, LUMOS_NONE, LUMOS_NONE);
  for (int64_t k = 0; k < NAMED; k++) {
    add_kernel(job, one, ms * k + 10 * us, 100 * us, calls[k]);
  }
  add_kernel(job, one, 20 * ms + 15 * us, 5 * us, second);
  add_kernel(job, other, 20 * ms + 10 * us, 100 * us, first);
  build(job);
  uint32_t lane = lumos_detail_of(job, &job->tasks.items[wait])->wait.lane;
  bool named_other = lane == other;
  assert_true(named_other || lane == one);
  lumos_job_free(job);
  return named_other ? 20 : 7;
}

static void a_wait_returns_within_twice_what_others_take(void **state) {
  (void)state;
  assert_int_equal(awaited_by_a_wait_that_returns(120 * us), 20);
  assert_int_equal(awaited_by_a_wait_that_returns(121 * us), 7);
}

/* ---- rank_clock.c: a rounding is 1 us ---- */

/* Thirty collectives that take 5 ms, 10 ms apart; rank 1 ends ahead[k] before rank 0. */
static struct lumos_clock clock_of(const int64_t ahead[30]) {
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  for (int64_t rank = 0; rank < 2; rank++) {
    for (int64_t k = 0; k < 30; k++) {
      int64_t end = 10 * ms * k + 5 * ms - (rank == 1 ? ahead[k] : 0);
      add_comm(job, (uint32_t)rank, "all_reduce", "0", k, 10 * ms * k, end);
    }
  }
  build(job);
  struct lumos_clock clock = job->ranks.items[1].clock;
  lumos_job_free(job);
  return clock;
}

/* Three of thirty lie `off` from the others, which agree to the nanosecond: one of each third, so that none drifts. */
static int64_t error_with_outliers(int64_t off) {
  int64_t ahead[30] = {0};
  ahead[5] = ahead[15] = ahead[25] = off;
  struct lumos_clock clock = clock_of(ahead);
  assert_int_equal(clock.offset, 0);
  assert_int_equal(clock.drift_ppb, 0);
  return clock.error;
}

static void what_lies_a_rounding_apart_is_no_outlier(void **state) {
  (void)state;
  assert_int_equal(error_with_outliers(1000), 1000); /* the 95th percentile */
  assert_int_equal(error_with_outliers(1001), 0);
}

/* From the middle of the first third to that of the last are twenty collectives, 200 ms. */
static int64_t drift_of(int64_t each) {
  int64_t ahead[30];
  for (int64_t k = 0; k < 30; k++) {
    ahead[k] = k * each;
  }
  return clock_of(ahead).drift_ppb;
}

static void a_drift_rises_by_more_than_a_rounding(void **state) {
  (void)state;
  assert_int_equal(drift_of(50), 0);    /* 1000 */
  assert_int_equal(drift_of(51), 5100); /* 1020 in 200 ms, 1020 less on the clock of rank 1 */
}

/* ---- pairs.c: shares that meet differ by five in a hundred ---- */

/* Rank 0 sends forty times, 10 ms apart, for 9.5 ms; rank 1 receives 41 times, from 2 ms before to 1 ms behind. So the
 * n-th send fits with the n-th receive, with 1 ms for the transfer, and with the next one, with 1.5 ms; but of the
 * former `late` sends begin 0.5 ms after the end. How far behind the twentieth send its receive is. */
static uint32_t shift_with(int64_t late) {
  enum { SENDS = 40, LOOKED_AT = 20 };
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  for (int64_t k = 0; k < SENDS; k++) {
    int64_t start = 10 * ms * k + (k < late ? 1500 * us : 0);
    add_transfer(job, 0, true, 1, start, 10 * ms * k + 9500 * us);
  }
  for (int64_t k = 0; k <= SENDS; k++) {
    add_transfer(job, 1, false, 0, 10 * ms * k - 2 * ms, 10 * ms * k + ms);
  }
  struct lumos_matches matches = {.taken = calloc(job->tasks.count, 1)};
  lumos_graph_match_pairs(job, &matches);
  uint32_t found = LUMOS_NONE;
  for (size_t i = 0; i < matches.items.count; i++) {
    const uint32_t *members = matches.members.items + matches.items.items[i].member_first;
    found = members[0] == LOOKED_AT ? members[1] : found;
  }
  assert_int_not_equal(found, LUMOS_NONE);
  free(matches.taken);
  lumos_vector_free(&matches.items);
  lumos_vector_free(&matches.members);
  lumos_job_free(job);
  return found - SENDS - LOOKED_AT;
}

static void what_nearly_as_many_meet_is_chosen_by_its_time(void **state) {
  (void)state;
  assert_int_equal(shift_with(0), 0);
  assert_int_equal(shift_with(2), 1); /* 95 in a hundred meet, of the other all */
  assert_int_equal(shift_with(1), 0); /* 97 */
}

/* ---- places.c: three spans tell a place ---- */

/* Two waits, each inside four ops; of the second one those at `other`, counted from the inside, have another name. Is
 * it the same place? */
static bool is_same_place(int other) {
  enum { DEPTH = 4 };
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), waits[2];
  for (int i = 0; i < 2; i++) {
    waits[i] = add_stream_wait(job, thread, 10 * us * i, us, LUMOS_NONE, LUMOS_NONE);
    for (int depth = 0; depth < DEPTH; depth++) {
      struct lumos_span span = lumos_span_empty;
      span.id = (uint32_t)job->spans.count;
      span.kind = LUMOS_SPAN_OP;
      span.name = word(job, i == 1 && depth == other ? "other" : "op");
      span.parent = depth + 1 < DEPTH ? span.id + 1 : LUMOS_NONE;
      lumos_vector_push(&job->spans, span);
    }
    job->tasks.items[waits[i]].span = (uint32_t)(i * DEPTH);
  }
  struct lumos_error error = {0};
  assert_true(lumos_job_arrange(job, &error));
  uint32_t launched[] = {LUMOS_NONE, LUMOS_NONE};
  const uint8_t unnamed[] = {1, 1};
  struct lumos_rank_graph graph = {.job = job, .rank = &job->ranks.items[0], .launched = launched};
  struct lumos_places places = {0};
  lumos_places_find(&graph, unnamed, &places);
  assert_int_equal(places.waits.count, 2);
  bool same = places.waits.items[0].place == places.waits.items[1].place;
  lumos_places_free(&places);
  lumos_job_free(job);
  return same;
}

static void three_spans_tell_a_place(void **state) {
  (void)state;
  assert_false(is_same_place(0));
  assert_false(is_same_place(2));
  assert_true(is_same_place(3));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_wait_returns_within_twice_what_others_take),
      cmocka_unit_test(what_lies_a_rounding_apart_is_no_outlier),
      cmocka_unit_test(a_drift_rises_by_more_than_a_rounding),
      cmocka_unit_test(what_nearly_as_many_meet_is_chosen_by_its_time),
      cmocka_unit_test(three_spans_tell_a_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
