/* Causes of idle time, worked out on paper: on the jobs of sim_jobs.h, and on this one.
 *
 * `dry`: one rank, a thread, two streams. `sync` waits for A, so the device runs dry until B.
 *
 *   t1  launchA 0-10, sync 10-55, op 58-70, launchB 70-80, more 80-90, launchD 90-100
 *   s7  A: launch 10 + 1 = 11, ends 51.  B: launch 80 + 2 = 82, ends 100.
 *   s20 D: launch 100 + 2 = 102, ends 110.
 *   sync looks at 10 and returns 4 after A; then 3 of gap.
 */
#include "sim_jobs.h"

#include <lumos/sim.h>

/* clang-format off */
#undef RANK_OF_JOB
#define RANK_OF_JOB "0"
static const char dry_job[] = JOB_TEXT_HEADER
    "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
    "{'type':'lane','rank':0,'lane':'s20','kind':'stream','native':'20'}\n"
    "{'type':'span','id':'0:0','rank':0,'lane':'t1','kind':'op','name':'aten::work','start':58,'dur':12}\n"
    HOST("0:0", "t1", 0, "launch", "launchA", 0, 10, 0, "")
    HOST("0:1", "t1", 1, "sync", "sync", 10, 45, 0, ",'wait':{'on':'device','residual':4}")
    HOST("0:2", "t1", 2, "op", "aten::work", 58, 12, 3, ",'span':'0:0'")
    HOST("0:3", "t1", 3, "launch", "launchB", 70, 10, 0, "")
    HOST("0:4", "t1", 4, "op", "more", 80, 10, 0, "")
    HOST("0:5", "t1", 5, "launch", "launchD", 90, 10, 0, "")
    HOST("0:6", "s7", 0, "gemm", "A", 11, 40, 0, ",'gap':0,'call':'0:0','launch_lag':1,'residual':0")
    HOST("0:7", "s7", 1, "gemm", "B", 82, 18, 0, ",'gap':0,'call':'0:3','launch_lag':2,'residual':0")
    HOST("0:8", "s20", 0, "gemm", "D", 102, 8, 0, ",'gap':0,'call':'0:5','launch_lag':2,'residual':0")
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n";

/* `full`: s7 holds one launch that has not started, and B lies there when launchD wants to launch. So launchD, which
 * would take 10, returns 32 after the start of B.
 *
 *   t1  launchA 0-10, launchB 10-20, launchC 20-30, launchD 30-143
 *   s7  A: launch 10 + 1 = 11, ends 111.  B 111-113, C 113-115.  D: launch 143 + 1 = 144, ends 150.
 */
static const char full_job[] = JOB_TEXT_HEADER
    "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
    HOST("0:0", "t1", 0, "launch", "launchA", 0, 10, 0, "")
    HOST("0:1", "t1", 1, "launch", "launchB", 10, 10, 0, "")
    HOST("0:2", "t1", 2, "launch", "launchC", 20, 10, 0, "")
    HOST("0:3", "t1", 3, "launch", "launchD", 30, 113, 0, "")
    HOST("0:4", "s7", 0, "gemm", "A", 11, 100, 0, ",'gap':0,'call':'0:0','launch_lag':1,'residual':0")
    HOST("0:5", "s7", 1, "gemm", "B", 111, 2, 0, ",'gap':0,'call':'0:1','launch_lag':1,'residual':0")
    HOST("0:6", "s7", 2, "gemm", "C", 113, 2, 0, ",'gap':0,'call':'0:2','launch_lag':1,'residual':0")
    HOST("0:7", "s7", 3, "gemm", "D", 144, 6, 0, ",'gap':0,'call':'0:3','launch_lag':1,'residual':0")
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
    "{'type':'dep','src':'0:5','dst':'0:3','kind':'queue','from':'start','to':'end','lag':32,'covers':103,'evidence':'inferred',"
    "'mode':'run_time'}\n";
/* clang-format on */

static struct lumos_job *simulate(struct lumos_job *job) {
  struct lumos_error error = {0};
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

/* Of step 1 on a rank (LUMOS_ABSENT_INT: of the job), and on one of its streams or, "", none. */
static int64_t value_of(const struct lumos_job *job, const char *name, int32_t rank, const char *stream,
                        const char *op) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    lumos_string_id lane =
        metric->scope.lane == LUMOS_NONE ? LUMOS_NO_STRING : job->lanes.items[metric->scope.lane].lane;
    if (reads(job, metric->name, name) && metric->source == LUMOS_METRIC_SIMULATED && metric->scope.step == 1 &&
        metric->scope.rank == rank && reads(job, lane, stream) && reads(job, metric->scope.op, op)) {
      return metric->value.units;
    }
  }
  return LUMOS_ABSENT;
}

enum { OUTSIDE = 5, CAUSES }; /* what is outside of the recording is not idle time */
static const char *const causes[CAUSES] = {"idle_host",       "idle_sync",        "idle_launch",
                                           "idle_dependency", "idle_unexplained", "not_recorded"};

static void check(const struct lumos_job *job, int32_t rank, const char *stream, const int64_t expected[CAUSES]) {
  int64_t sum = 0;
  char name[64];
  for (int i = 0; i < CAUSES; i++) {
    (void)snprintf(name, sizeof name, "%s%s", stream[0] == '\0' ? "" : "stream_", causes[i]);
    int64_t found = value_of(job, name, rank, stream, "");
    if (found != expected[i]) {
      fail_msg("rank %d %s: %s is %lld, not %lld", rank, stream, name, (long long)found, (long long)expected[i]);
    }
    sum += i < OUTSIDE ? expected[i] : 0;
  }
  assert_int_equal(value_of(job, stream[0] == '\0' ? "idle" : "stream_idle", rank, stream, ""), sum);
}
#define CHECK(job, rank, stream, ...) check(job, rank, stream, (const int64_t[CAUSES]){__VA_ARGS__})

static void launches_and_events_hold_streams(void **state) {
  (void)state;
  struct lumos_job *job = simulate(job_from_text(streams_job));
  /* Nothing runs 0-12 (launch0, and 2 on the way), 112-113 and 167-169, from one task of a stream to the next. */
  CHECK(job, 0, "", 10, 0, 5, 0, 0, 0);
  /* K2 is the last on s7: 133-199 others run. */
  CHECK(job, 0, "s7", 10, 0, 3, 66, 0, 0);
  /* K1 waits for K0, 12-112, and 4 for the event; 1 is unexplained. */
  CHECK(job, 0, "s20", 10, 0, 4, 104, 1, 0);
  lumos_job_free(job);
}

static void a_rank_that_is_done_waits_for_the_others(void **state) {
  (void)state;
  struct lumos_job *job = simulate(job_from_text(ranks_job));
  CHECK(job, 0, "", 10, 0, 3, 0, 0, 0);
  CHECK(job, 1, "", 10, 0, 3, 0, 0, 0);
  /* The job's step is 144 long, rank 1 done at 143: host 20 / 2, launch 6 / 2, other work 1 / 2, and idle is 27 / 2.
   * The half goes to the last part. */
  CHECK(job, LUMOS_ABSENT_INT, "", 10, 0, 3, 1, 0, 0);
  lumos_job_free(job);
}

static void a_wait_that_lets_the_device_run_dry_is_to_blame(void **state) {
  (void)state;
  struct lumos_job *job = simulate(job_from_text(dry_job));
  /* 0-11; 51-82 behind the wait; 100-102 D's launch. */
  CHECK(job, 0, "", 10, 31, 3, 0, 0, 0);
  CHECK(job, 0, "s7", 10, 31, 1, 10, 0, 0);
  /* D's chain leads over launchD and `more` to the wait, but from 82 on the device had work: 82-100 is the host's. */
  CHECK(job, 0, "s20", 28, 31, 3, 40, 0, 0);
  lumos_job_free(job);
}

static void a_wait_is_to_blame_also_where_it_returns_at_once(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(dry_job);
  job->details.items[job->tasks.items[task_named(job, "sync")].detail].wait.residual = 0;
  simulate(job); /* all behind it 4 earlier: 51-78 */
  CHECK(job, 0, "", 10, 27, 3, 0, 0, 0);
  lumos_job_free(job);
}

static void a_full_queue_is_a_wait_for_the_device(void **state) {
  (void)state;
  struct lumos_job *job = simulate(job_from_text(full_job));
  /* 0-11; 115-144 behind launchD, which waited for the device, as a synchronisation does: no time of the host. */
  CHECK(job, 0, "", 10, 29, 1, 0, 0, 0);
  CHECK(job, 0, "s7", 10, 29, 1, 0, 0, 0);
  lumos_job_free(job);
}

static void idle_time_is_told_by_the_op_at_which_the_host_was(void **state) {
  (void)state;
  struct lumos_job *job = simulate(job_from_text(dry_job));
  assert_int_equal(value_of(job, "idle_at_op", LUMOS_ABSENT_INT, "", "aten::work"), 12);
  assert_int_equal(value_of(job, "idle_at_op", LUMOS_ABSENT_INT, "", "(none)"), 10 + 31 - 12);
  lumos_job_free(job);
}

/* The wait returns 2000000 after A: all of that is for what is not recorded, of the rank and of its streams. Behind it
 * all is as if it had returned at once. */
static void a_wait_for_what_is_not_recorded_is_not_idle(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(dry_job);
  job->details.items[job->tasks.items[task_named(job, "sync")].detail].wait.residual = 2000000;
  simulate(job);
  CHECK(job, 0, "", 10, 27, 3, 0, 0, 2000000);
  CHECK(job, 0, "s7", 10, 27, 1, 10, 0, 2000000);
  CHECK(job, 0, "s20", 28, 27, 3, 40, 0, 2000000);
  CHECK(job, LUMOS_ABSENT_INT, "", 10, 27, 3, 0, 0, 2000000);
  lumos_job_free(job);
}

static void what_is_not_recorded_is_not_idle(void **state) {
  (void)state;
  struct lumos_job *job = simulate(job_from_text(copies_job));
  /* backlog from 6 on, then one nanosecond between two tasks, twice: 11-12 and 32-33. */
  CHECK(job, 0, "", 0, 0, 2, 0, 0, 6);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_and_events_hold_streams),
      cmocka_unit_test(a_rank_that_is_done_waits_for_the_others),
      cmocka_unit_test(a_wait_that_lets_the_device_run_dry_is_to_blame),
      cmocka_unit_test(a_wait_is_to_blame_also_where_it_returns_at_once),
      cmocka_unit_test(a_full_queue_is_a_wait_for_the_device),
      cmocka_unit_test(idle_time_is_told_by_the_op_at_which_the_host_was),
      cmocka_unit_test(a_wait_for_what_is_not_recorded_is_not_idle),
      cmocka_unit_test(what_is_not_recorded_is_not_idle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
