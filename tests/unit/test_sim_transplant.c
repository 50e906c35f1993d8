/* The transplant on hand-made jobs, worked out on paper; times in nanoseconds.
 *
 *   step 1  t  A1 0-10, B1 12-22 (lag 2)      s  A 12-112, B 116-136         0 to 136
 *   step 2  t  A2 42-50, B2 55-65 (lag 5)     s  A 137-187, B 191-291        136 to 291: 155
 *
 * A launch takes 2, the stream 1 between tasks; both B come 3 later than that, which nothing explains.
 *
 * Step 1 with the times of step 2: its host is as far ahead of the step as in step 2, 136 - 42 = 94, and its stream is
 * free from 0 on, as in step 2 from 136 on.
 *
 *   t  A1 -94 to -86, B1 -81 to -71           s  A 1-51, B 52-152            0 to 152
 */
#include "job_text.h"

#include <lumos/sim.h>

enum { NOWHERE = LUMOS_ABSENT_INT };

#define HOST(rank, id, seq, name, start, dur, lag, step)                                                          \
  "{'type':'task','id':'" rank ":" id "','rank':" rank ",'lane':'t','seq':" #seq ",'kind':'launch','name':'" name \
  "','start':" #start ",'dur':" #dur ",'lag':" #lag ",'step':" #step "}\n"
#define DEVICE(rank, id, seq, kind, name, start, dur, gap, call, residual, step, more)                              \
  "{'type':'task','id':'" rank ":" id "','rank':" rank ",'lane':'s','seq':" #seq ",'kind':'" kind "','name':'" name \
  "','start':" #start ",'dur':" #dur ",'lag':0,'gap':" #gap ",'call':'" rank ":" call                               \
  "','launch_lag':2,'residual':" #residual ",'step':" #step more "}\n"
#define RANK(rank)                                                                    \
  "{'type':'rank','rank':" rank ",'window':[0,900],'base':0," JOB_TEXT_COVERAGE "}\n" \
  "{'type':'lane','rank':" rank ",'lane':'t','kind':'thread','native':'1'}\n"         \
  "{'type':'lane','rank':" rank ",'lane':'s','kind':'stream','native':'7'}\n"
#define FROM_0(rank)                                                                 \
  "{'type':'dep','at':0,'dst':'" rank                                                \
  ":0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded'," \
  "'mode':'fixed'}\n"

/* clang-format off */
static const char two_steps[] = JOB_TEXT_HEADER RANK("0")
    HOST("0", "0", 0, "A1", 0, 10, 0, 1)
    HOST("0", "1", 1, "B1", 12, 10, 2, 1)
    HOST("0", "2", 2, "A1", 42, 8, 20, 2)
    HOST("0", "3", 3, "B1", 55, 10, 5, 2)
    DEVICE("0", "4", 0, "gemm", "A", 12, 100, 1, "0", 0, 1, "")
    DEVICE("0", "5", 1, "gemm", "B", 116, 20, 1, "1", 3, 1, "")
    DEVICE("0", "6", 2, "gemm", "A", 137, 50, 1, "2", 0, 2, "")
    DEVICE("0", "7", 3, "gemm", "B", 191, 100, 1, "3", 3, 2, "")
    FROM_0("0");

/* B of step 2 is launched late: 255-265 after a lag of 205, so it runs 267-367, and the step takes 234. */
static const char late_launch[] = JOB_TEXT_HEADER RANK("0")
    HOST("0", "0", 0, "A1", 0, 10, 0, 1)
    HOST("0", "1", 1, "B1", 12, 10, 2, 1)
    HOST("0", "2", 2, "A1", 42, 8, 20, 2)
    HOST("0", "3", 3, "B1", 255, 10, 205, 2)
    DEVICE("0", "4", 0, "gemm", "A", 12, 100, 1, "0", 0, 1, "")
    DEVICE("0", "5", 1, "gemm", "B", 113, 20, 1, "1", 0, 1, "")
    DEVICE("0", "6", 2, "gemm", "A", 134, 50, 1, "2", 0, 2, "")
    DEVICE("0", "7", 3, "gemm", "B", 267, 100, 1, "3", 0, 2, "")
    FROM_0("0");

/* The same job, but B of step 2 counts from a hand-over, whose 5 are not taken: of the 43 of its thread 38 are in
 * common. */
static const char handed_over[] = JOB_TEXT_HEADER RANK("0")
    HOST("0", "0", 0, "A1", 0, 10, 0, 1)
    HOST("0", "1", 1, "B1", 12, 10, 2, 1)
    HOST("0", "2", 2, "A1", 42, 8, 20, 2)
    HOST("0", "3", 3, "B1", 255, 10, 205, 2)
    DEVICE("0", "4", 0, "gemm", "A", 12, 100, 1, "0", 0, 1, "")
    DEVICE("0", "5", 1, "gemm", "B", 113, 20, 1, "1", 0, 1, "")
    DEVICE("0", "6", 2, "gemm", "A", 134, 50, 1, "2", 0, 2, "")
    DEVICE("0", "7", 3, "gemm", "B", 267, 100, 1, "3", 0, 2, "")
    FROM_0("0")
    "{'type':'dep','src':'0:2','dst':'0:3','kind':'handover','from':'end','to':'start','lag':205,'covers':200,"
    "'evidence':'recorded','mode':'fixed'}\n";

/* Steps 1 and 3 are like, and take 100 and 120; step 2, of 50, is not like either. The host never waits. */
static const char every_other[] = JOB_TEXT_HEADER RANK("0")
    HOST("0", "0", 0, "A1", 0, 10, 0, 1)
    HOST("0", "1", 1, "A1", 10, 10, 0, 2)
    HOST("0", "2", 2, "A1", 20, 10, 0, 3)
    DEVICE("0", "3", 0, "gemm", "A", 12, 88, 1, "0", 0, 1, "")
    DEVICE("0", "4", 1, "gemm", "B", 101, 49, 1, "1", 0, 2, "")
    DEVICE("0", "5", 2, "gemm", "A", 151, 119, 1, "2", 0, 3, "")
    FROM_0("0");

/* As the first, but a step allocates for so long, where the other does not: threads take 22 in step 1 and 43 in step 2,
 * the time before every task included. */
#define ALLOCATING(first, lag, second)                                \
  JOB_TEXT_HEADER RANK("0")                                           \
      HOST("0", "0", 0, "A1", 0, 10, 0, 1)                            \
      HOST("0", "1", 1, "B1", 12, 10, 2, 1)                           \
      first                                                           \
      HOST("0", "2", 3, "A1", 42, 8, lag, 2)                          \
      HOST("0", "3", 4, "B1", 55, 10, 5, 2)                           \
      second                                                          \
      DEVICE("0", "4", 0, "gemm", "A", 12, 100, 1, "0", 0, 1, "")     \
      DEVICE("0", "5", 1, "gemm", "B", 116, 20, 1, "1", 3, 1, "")     \
      DEVICE("0", "6", 2, "gemm", "A", 137, 50, 1, "2", 0, 2, "")     \
      DEVICE("0", "7", 3, "gemm", "B", 191, 100, 1, "3", 3, 2, "")    \
      FROM_0("0")
#define IN_FIRST(dur) HOST("0", "8", 2, "cudaMalloc", 22, dur, 0, 1)
#define IN_SECOND(dur) HOST("0", "8", 5, "cudaMalloc", 65, dur, 0, 2)

/* Two ranks and a collective a step, of transfer 40, then 60. Rank 1 comes 30 later to the first, rank 0 10 later to
 * the second.
 *   rank 0  C 12-82 (waits for 42 + 40), then 93-153 (gap 1 and residual 10)
 *   rank 1  C 42-82, then 83-153 (waits for 93) */
#define MEET ",'comm':{'op':'all_reduce','group':'world','seq':0,'bytes':8},'end_residual':0"
static const char two_ranks[] = JOB_TEXT_HEADER RANK("0")
    "{'type':'group','id':'world','rank':0,'size':2,'ranks':[0,1]}\n"
    HOST("0", "0", 0, "C1", 0, 10, 0, 1)
    HOST("0", "1", 1, "C1", 71, 20, 61, 2)
    DEVICE("0", "2", 0, "collective", "C", 12, 70, 1, "0", 0, 1, MEET)
    DEVICE("0", "3", 1, "collective", "C", 93, 60, 1, "1", 0, 2, MEET)
    RANK("1")
    HOST("1", "0", 0, "C1", 0, 40, 0, 1)
    HOST("1", "1", 1, "C1", 60, 10, 20, 2)
    DEVICE("1", "2", 0, "collective", "C", 42, 40, 1, "0", 0, 1, MEET)
    DEVICE("1", "3", 1, "collective", "C", 83, 70, 1, "1", 0, 2, MEET)
    FROM_0("0") FROM_0("1")
    "{'type':'collective','id':'c:0','op':'all_reduce','rule':'symmetric','group':'world','members':['0:2','1:2'],'size':2,'transfer':40,'matched':'seq'}\n"
    "{'type':'collective','id':'c:1','op':'all_reduce','rule':'symmetric','group':'world','members':['0:3','1:3'],'size':2,'transfer':60,'matched':'seq'}\n";
/* clang-format on */

static const struct lumos_metric *find(const struct lumos_job *job, const char *name, int32_t rank, int32_t step) {
  const struct lumos_metric *found = NULL;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->scope.rank == rank && metric->scope.step == step &&
        strcmp(lumos_string(job->strings, metric->name), name) == 0) {
      assert_null(found);
      found = metric;
    }
  }
  return found;
}

static void expect(const struct lumos_job *job, const char *name, int32_t rank, int32_t step, int64_t millionths) {
  const struct lumos_metric *metric = find(job, name, rank, step);
  if (metric == NULL || metric->value.units != millionths) {
    fail_msg("%s of rank %d, step %d is %lld, not %lld", name, rank, step,
             metric == NULL ? -1 : (long long)metric->value.units, (long long)millionths);
  }
}

static void a_step_takes_the_time_of_the_next_one(void **state) {
  (void)state;
  struct lumos_job *job = simulated(two_steps);
  expect(job, "transplant_error", 0, 1, -19355); /* 152 for 155 */
  expect(job, "transplant_error", NOWHERE, 1, -19355);
  expect(job, "transplant_error", NOWHERE, NOWHERE, 19355);
  expect(job, "step_spread", 0, 1, -122581); /* 136 for 155 */
  expect(job, "step_spread", NOWHERE, NOWHERE, 122581);
  expect(job, "transplant_matched", 0, 1, 1000000);
  assert_null(find(job, "transplant_error", 0, 2)); /* there is no step behind it */
  lumos_job_free(job);
}

static void host_gaps_are_taken_too(void **state) {
  (void)state;
  struct lumos_job *job = simulated(late_launch);
  expect(job, "transplant_error", 0, 1, 0);
  expect(job, "step_spread", 0, 1, -431624); /* 133 for 234 */
  lumos_job_free(job);
}

static void only_like_steps_are_compared(void **state) {
  (void)state;
  struct lumos_job *job = simulated(every_other);
  /* A of step 1: launched at -140, free from 0 on, 1-120. */
  expect(job, "transplant_error", 0, 1, 0);
  expect(job, "step_spread", 0, 1, -166667); /* 100 for 120 */
  assert_null(find(job, "transplant_error", 0, 2));
  lumos_job_free(job);
}

/* Two steps of 50 kernels, of which the first `other` have other names in the second. */
static struct lumos_job *steps_with_other_kernels(int other) {
  enum { KERNELS = 50 };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER RANK("0"));
  for (int i = 0; i < 2 * KERNELS; i++) {
    lumos_text_format(&text,
                      "{'type':'task','id':'0:%d','rank':0,'lane':'t','seq':%d,'kind':'launch','name':'L','start':%d,"
                      "'dur':10,'lag':0,'step':%d}\n",
                      i, i, 10 * i, 1 + i / KERNELS);
  }
  for (int i = 0; i < 2 * KERNELS; i++) {
    lumos_text_format(&text,
                      "{'type':'task','id':'0:%d','rank':0,'lane':'s','seq':%d,'kind':'gemm','name':'%c%d','start':%d,"
                      "'dur':5,'lag':0,'gap':0,'call':'0:%d','launch_lag':2,'residual':0,'step':%d}\n",
                      2 * KERNELS + i, i, i >= KERNELS && i < KERNELS + other ? 'X' : 'K', i % KERNELS, 10 * i + 12, i,
                      1 + i / KERNELS);
  }
  lumos_text_put(&text, FROM_0("0"));
  lumos_text_char(&text, '\0');
  struct lumos_job *job = simulated(text.bytes);
  lumos_text_free(&text);
  return job;
}

static void like_steps_have_98_per_cent_of_their_kernels_in_common(void **state) {
  (void)state;
  struct lumos_job *job = steps_with_other_kernels(1);
  expect(job, "transplant_matched", 0, 1, 980000);
  lumos_job_free(job);
  job = steps_with_other_kernels(2);
  assert_null(find(job, "transplant_matched", 0, 1));
  assert_null(find(job, "transplant_error", 0, 1));
  lumos_job_free(job);
}

static void expect_like(const char *text, bool like) {
  struct lumos_job *job = simulated(text);
  assert_int_equal(find(job, "transplant_error", 0, 1) != NULL, like);
  int64_t noted = 0;
  for (size_t i = 0; i < job->notes.count; i++) {
    bool said = strcmp(lumos_string(job->strings, job->notes.items[i].code), "sim.no_like_steps") == 0;
    noted += said ? job->notes.items[i].count : 0;
  }
  assert_int_equal(noted, like ? 0 : 1);
  lumos_job_free(job);
}

static void like_steps_have_95_per_cent_of_their_host_time_in_common(void **state) {
  (void)state;
  expect_like(ALLOCATING(IN_FIRST(1), 19, ""), true);   /* 22 of 23; 42 of 42 */
  expect_like(ALLOCATING(IN_FIRST(2), 18, ""), false);  /* 22 of 24 */
  expect_like(ALLOCATING("", 20, IN_SECOND(2)), true);  /* 43 of 45 */
  expect_like(ALLOCATING("", 20, IN_SECOND(3)), false); /* 43 of 46 */
}

/* A step that keeps a long gap of its own is not like one without it, whatever both are called. */
static void a_gap_that_is_not_taken_is_no_time_in_common(void **state) {
  (void)state;
  expect_like(late_launch, true);
  expect_like(handed_over, false);
}

static void transfers_are_taken_and_members_wait_for_each_other(void **state) {
  (void)state;
  struct lumos_job *job = simulated(two_ranks);
  /* Step 2 takes 82 to 153 on both. Step 1: rank 0 is launched at 0 - (82 - 71) = -11 and 20 long, so C starts at 11;
   * rank 1's at -22 to -12, C at 1, when the stream is free. Both end at 11 + 60 = 71. */
  expect(job, "transplant_error", 0, 1, 0);
  expect(job, "transplant_error", 1, 1, 0);
  expect(job, "transplant_error", NOWHERE, 1, 0);
  expect(job, "step_spread", 0, 1, 154930); /* 82 for 71 */
  lumos_job_free(job);
}

static void a_job_without_like_steps_has_no_transplant(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(two_steps);
  lumos_string_id other = lumos_intern_text(job->strings, "other");
  job->tasks.items[job->tasks.count - 1].name = other;
  struct lumos_error error = {0};
  assert_true(lumos_simulate(job, &error));
  assert_null(find(job, "transplant_error", NOWHERE, NOWHERE));
  assert_null(find(job, "step_spread", NOWHERE, NOWHERE));
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_takes_the_time_of_the_next_one),
      cmocka_unit_test(host_gaps_are_taken_too),
      cmocka_unit_test(only_like_steps_are_compared),
      cmocka_unit_test(like_steps_have_98_per_cent_of_their_kernels_in_common),
      cmocka_unit_test(like_steps_have_95_per_cent_of_their_host_time_in_common),
      cmocka_unit_test(a_gap_that_is_not_taken_is_no_time_in_common),
      cmocka_unit_test(transfers_are_taken_and_members_wait_for_each_other),
      cmocka_unit_test(a_job_without_like_steps_has_no_transplant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
