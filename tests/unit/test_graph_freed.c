/* Threads that wait to free memory, where no row tells of the wait: the edge by hand, and what a shorter kernel makes
 * of it. */
#include "unit/graph_job.h"

#include <lumos/sim.h>

static const int64_t us = 1000;

/* A kernel from 10 to 5,010 us on stream 20, while a thread allocates from 20 to 30, then stays in an operator or does
 * nothing, and frees from `resumed` on, for 50. A second kernel on stream 7, launched before, ends at 9,000: it was not
 * what the thread waited for. */
struct freeing {
  struct lumos_job *job;
  uint32_t piece, call, kernel; /* piece: LUMOS_NONE, the thread does nothing */
};

/* The first call is named `asks`. */
static struct freeing make_after(const char *asks, bool in_operator, int64_t resumed, const char *name) {
  struct freeing made = {.job = new_job(), .piece = LUMOS_NONE};
  uint32_t rank = add_rank(made.job, 0), thread = add_thread(made.job, rank, "1");
  uint32_t s7 = add_stream(made.job, rank, "7"), s20 = add_stream(made.job, rank, "20");
  uint32_t other = add_launch(made.job, thread, 0, 4 * us), launch = add_launch(made.job, thread, 4 * us, 4 * us);
  bool allocates = strcmp(asks, "cudaMalloc") == 0;
  (void)add_task(made.job, thread, allocates ? LUMOS_ALLOC : LUMOS_OP, asks, 20 * us, 10 * us);
  if (in_operator) {
    made.piece = add_task(made.job, thread, LUMOS_OP, "aten::cat", 30 * us, resumed - 30 * us);
  }
  made.call = add_task(made.job, thread, LUMOS_ALLOC, name, resumed, 50 * us);
  (void)add_kernel(made.job, s7, 5 * us, 8995 * us, other);
  made.kernel = add_kernel(made.job, s20, 10 * us, 5000 * us, launch);
  build(made.job);
  return made;
}

static struct freeing make(bool in_operator, int64_t resumed, const char *name) {
  return make_after("cudaMalloc", in_operator, resumed, name);
}

static const struct lumos_dep *wait_into(const struct freeing *made) {
  return dep_into(made->job, made->piece == LUMOS_NONE ? made->call : made->piece, LUMOS_HOST_WAIT);
}

static void a_thread_that_frees_has_waited(void **state) {
  (void)state;
  for (int in_operator = 0; in_operator < 2; in_operator++) {
    struct freeing made = make(in_operator, 5040 * us, "cudaFree");
    const struct lumos_dep *wait = wait_into(&made);
    assert_non_null(wait);
    assert_int_equal(wait->src, made.kernel);
    assert_int_equal(wait->from, LUMOS_END);
    assert_int_equal(wait->to, in_operator ? LUMOS_END : LUMOS_START);
    assert_int_equal(wait->lag, 30 * us);
    assert_int_equal(wait->covers, 4980 * us); /* from 30 to 5,010 */
    assert_int_equal(wait->evidence, LUMOS_INFERRED);
    assert_int_equal(wait->mode, LUMOS_FIXED);
    assert_int_equal(noted(made.job, "graph.waits_to_free"), 1);
    struct lumos_times own = lumos_own_times(made.job, in_operator ? made.piece : made.call);
    assert_int_equal(in_operator ? own.dur : own.lag, 30 * us);
    lumos_job_free(made.job);
  }
}

/* Simulated as it is, the call starts when it did; with a kernel of 1,000 us, so many earlier. */
static void the_wait_is_as_long_as_the_work(void **state) {
  (void)state;
  for (int in_operator = 0; in_operator < 2; in_operator++) {
    struct freeing made = make(in_operator, 5040 * us, "cudaFree");
    struct lumos_error error = {0};
    assert_true(lumos_simulate(made.job, &error));
    assert_int_equal(made.job->runs.items[made.call].start, 5040 * us);
    lumos_job_rewind(made.job, LUMOS_STAGE_GRAPH);
    made.job->tasks.items[made.kernel].dur = 1000 * us;
    detail(made.job, made.kernel)->was = 5000 * us;
    made.job->edited = 1;
    made.job->stage = LUMOS_STAGE_TRANSFORM;
    assert_true(lumos_simulate(made.job, &error));
    assert_int_equal(made.job->runs.items[made.call].start, 1040 * us);
    lumos_job_free(made.job);
  }
}

static void other_silences_are_the_thread_s_own(void **state) {
  (void)state;
  static const struct {
    int64_t resumed;
    const char *name;
  } cases[] = {
      {5040, "cudaMalloc"},    /* frees nothing */
      {5040, "cudaFreeAsync"}, /* waits for nothing */
      {5600, "cudaFree"},      /* 590 us behind the work, of 5,570: more than a tenth */
      {900, "cudaFree"},       /* after 870 us, with the work under way */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int in_operator = 0; in_operator < 2; in_operator++) {
      struct freeing made = make(in_operator, cases[i].resumed * us, cases[i].name);
      assert_null(wait_into(&made));
      assert_int_equal(noted(made.job, "graph.waits_to_free"), 0);
      lumos_job_free(made.job);
    }
  }
}

/* A thread that waits for the next batch may free memory then: it has not asked for any. */
static void who_has_not_asked_for_memory_may_wait_for_anything(void **state) {
  (void)state;
  for (int in_operator = 0; in_operator < 2; in_operator++) {
    struct freeing made = make_after("enumerate(DataLoader)", in_operator, 5040 * us, "cudaFree");
    assert_null(wait_into(&made));
    lumos_job_free(made.job);
  }
}

/* The call may be a thread's first. */
static void nothing_is_before_the_first_call(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), s7 = add_stream(job, rank, "7");
  (void)add_task(job, thread, LUMOS_ALLOC, "cudaFree", 5040 * us, 10 * us);
  uint32_t launch = add_launch(job, thread, 5060 * us, 4 * us);
  (void)add_kernel(job, s7, 5070 * us, 10 * us, launch);
  build(job);
  assert_int_equal(noted(job, "graph.waits_to_free"), 0);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_that_frees_has_waited),
      cmocka_unit_test(the_wait_is_as_long_as_the_work),
      cmocka_unit_test(other_silences_are_the_thread_s_own),
      cmocka_unit_test(who_has_not_asked_for_memory_may_wait_for_anything),
      cmocka_unit_test(nothing_is_before_the_first_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
