/* lumos_find_opportunities: the hand-made jobs (sim_jobs.h) with less work, as worked out on paper. */
#include "sim_jobs.h"

#include "sim/metrics.h"

#include <lumos/sim.h>

static struct lumos_job *with_opportunities(struct lumos_job *job) {
  struct lumos_error error = {0};
  if (!lumos_simulate(job, &error) || !lumos_find_opportunities(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

static struct lumos_job *opportunities_of(const char *text) { return with_opportunities(job_from_text(text)); }

/* The job's step 1 without the work, and with half of it; -1: there is no such opportunity. */
static void expect(const struct lumos_job *job, const char *kind, int64_t free, int64_t half) {
  int64_t found[] = {-1, -1};
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const char *name = lumos_string(job->strings, metric->name);
    bool with_half = strcmp(name, "opportunity_half") == 0;
    if ((with_half || strcmp(name, "opportunity_free") == 0) &&
        strcmp(lumos_string(job->strings, metric->scope.kind), kind) == 0) {
      assert_int_equal(metric->source, LUMOS_METRIC_SIMULATED);
      assert_int_equal(metric->scope.step, 1);
      assert_int_equal(metric->scope.rank, LUMOS_ABSENT_INT);
      assert_string_equal(lumos_string(job->strings, metric->of), "step_time");
      assert_int_equal(found[with_half], -1);
      found[with_half] = metric->value.units;
    }
  }
  if (found[0] != free || found[1] != half) {
    fail_msg("%s: %lld and %lld, not %lld and %lld", kind, (long long)found[0], (long long)found[1], (long long)free,
             (long long)half);
  }
}

/* The job's step 1 with a change; -1: it would not help. */
static void expect_change(const struct lumos_job *job, const char *kind, int64_t step) {
  int64_t found = -1;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (strcmp(lumos_string(job->strings, metric->name), "opportunity_change") == 0 &&
        strcmp(lumos_string(job->strings, metric->scope.kind), kind) == 0) {
      assert_int_equal(metric->scope.step, 1);
      assert_int_equal(found, -1);
      found = metric->value.units;
    }
  }
  if (found != step) {
    fail_msg("%s: %lld, not %lld", kind, (long long)found, (long long)step);
  }
}

/* launch1 takes 200: it ends 214, K1 runs 217-267, K3 269-299. In a graph behind launch0 it takes nothing, as what is
 * before and behind it does: K1 waits for K0 alone, as in the job as it is, and K3 ends at 199. */
static void a_graph_launches_all_at_once(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  job->tasks.items[task_named(job, "launch1")].dur = 200;
  expect_change(with_opportunities(job), "cuda_graphs", 199);
  lumos_job_free(job);
  job = opportunities_of(streams_job); /* here nothing is gained */
  expect_change(job, "cuda_graphs", -1);
  expect_change(job, "fused_launches", -1);
  expect_change(job, "balanced_stages", -1);
  lumos_job_free(job);
}

#undef RANK_OF_JOB
#define RANK_OF_JOB "0"
/* A thread launches N1, N2 and N3, of 10 each with a gap of 2, by calls of 50; they run at 51, 101 and 151. As one they
 * are there at 51 and take 30. */
static void kernels_become_one(void **state) {
  (void)state;
  static const char *const lines[] = {
      JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n",
      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n",
      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n",
      HOST("0:0", "t1", 0, "launch", "l1", 0, 50, 0, ""),
      HOST("0:1", "t1", 1, "launch", "l2", 50, 50, 0, ""),
      HOST("0:2", "t1", 2, "launch", "l3", 100, 50, 0, ""),
      HOST("0:3", "s7", 0, "norm", "N1", 51, 10, 0, ",'gap':0,'call':'0:0','launch_lag':1,'residual':0"),
      HOST("0:4", "s7", 1, "norm", "N2", 101, 10, 0, ",'gap':2,'call':'0:1','launch_lag':1,'residual':0"),
      HOST("0:5", "s7", 2, "elementwise", "N3", 151, 10, 0, ",'gap':2,'call':'0:2','launch_lag':1,'residual':0"),
      "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,",
      "'evidence':'recorded','mode':'fixed'}\n"};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    lumos_text_put(&text, lines[i]);
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = opportunities_of(text.bytes);
  expect_change(job, "fused_launches", 81);
  expect_change(job, "cuda_graphs", 51 + 10 + 2 + 10 + 2 + 10);
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* As it is: K0 12-112, K2 113-133, K1 117-167, K3 169-199. */
static void one_rank_with_less_work(void **state) {
  (void)state;
  struct lumos_job *job = opportunities_of(streams_job);
  /* K0 and K1 take 0: K0 ends 12; K1 launched 24 + 2 and a residual of 1, ends 27; K3 launched 50 + 2, ends 82. They
   * take half: K0 62, K1 62 + 4 + 1 = 67-92, K3 94-124. */
  expect(job, "gemm", 82, 124);
  /* K2 holds up nothing, so it is not asked. */
  expect(job, "norm", -1, -1);
  /* K3 169-169; 169-184. */
  expect(job, "copy", 169, 184);
  /* K0 10-110, K1 115-165, K3 167-197; K0 11-111, K1 116-166, K3 168-198. */
  expect(job, "launch", 197, 198);
  /* K0 launched 0 + 2, ends 102; K1 107-157, K3 159-189. launch0 0-5: K0 7-107, K1 112-162, K3 164-194. */
  expect(job, "host", 189, 194);
  expect(job, "communication", -1, -1);
  expect(job, "stragglers", -1, -1);
  lumos_job_free(job);
}

/* Of tasks that nothing follows from no run is kept but the last. */
static void tasks_that_nothing_follows_from(void **state) {
  (void)state;
  struct lumos_job *job = with_opportunities(streams_job_with_tail());
  expect(job, "gemm", 82, 124);
  expect(job, "norm", -1, -1);
  expect(job, "copy", 169, 184);
  expect(job, "launch", 197, 198);
  expect(job, "host", 189, 194);
  lumos_job_free(job);
}

/* As it is: A 11-61, C0 63-144; B 11-101, C1 103-143. */
static void two_ranks_with_less_work(void **state) {
  (void)state;
  struct lumos_job *job = opportunities_of(ranks_job);
  /* Both end at 103 + 0, or 20, C0 1 later. */
  expect(job, "communication", 104, 124);
  /* A and B end at 11, C0 and C1 are launched at 20 + 1: 61 and 1. Half: B ends at 56, C1 starts at 58: 98 and 1. */
  expect(job, "gemm", 62, 99);
  /* A is not B: nothing to compare. */
  expect(job, "stragglers", -1, -1);
  lumos_job_free(job);
}

/* B is called A, too: it takes 90 where the median, the lower of two, is 50. */
static void like_ranks_that_take_as_long(void **state) {
  (void)state;
  char *text = strdup(ranks_job);
  char *name = strstr(text, "'name':'B'");
  assert_non_null(name);
  name[8] = 'A';
  struct lumos_job *job = opportunities_of(text);
  /* B 11-61 as A, both end at 63 + 40, C0 1 later; B 11-81, both at 83 + 40. */
  expect(job, "stragglers", 104, 124);
  expect_change(job, "no_straggler", -1); /* none is named */
  lumos_job_free(job);
  job = job_from_text(text);
  struct lumos_error error = {0};
  assert_true(lumos_simulate(job, &error));
  struct lumos_metric_place place = {LUMOS_METRIC_SIMULATED, 1, LUMOS_ABSENT_INT};
  lumos_metric_share(job, "straggler", place, 40, 144);
  assert_true(lumos_find_opportunities(job, &error));
  expect_change(job, "no_straggler", 104);
  lumos_job_free(job);
  free(text);
}

/* B is A and takes as long, but the launch of C1 takes 100, 10-110, so C1 starts at 111 and ends at 151, C0 1 later.
 * The median, the lower of two, of what a thread does from the launch before to this one is 10: both start at 63, as C0
 * does. Half of the difference less, 10-65: C1 66-106. */
static void a_host_that_launches_late(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_task *b = &job->tasks.items[task_named(job, "B")];
  b->name = job->tasks.items[task_named(job, "A")].name;
  b->dur = 50;
  job->tasks.items[task_named(job, "launchC1")].dur = 100;
  expect(with_opportunities(job), "stragglers", 104, 107);
  lumos_job_free(job);
}

/* Where the critical path of that cured job lies: rank 1's launch 0-10, 1 to the device, B and the gap behind it 11-63,
 * for which C0 waits as for its own, C0 63-103, and 1 that nothing explains. */
static void what_limits_steps_without_late_ranks(void **state) {
  (void)state;
  static const struct {
    int32_t rank;
    const char *place;
    int64_t time;
  } expected[] = {{1, "cpu", 10}, {1, "other", 1}, {1, "gpu", 52}, {0, "communication", 40}, {0, "other", 1}};
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_task *b = &job->tasks.items[task_named(job, "B")];
  b->name = job->tasks.items[task_named(job, "A")].name;
  b->dur = 50;
  job->tasks.items[task_named(job, "launchC1")].dur = 100;
  struct lumos_error error = {0};
  assert_true(lumos_simulate(job, &error));
  lumos_metric_share(job, "straggler", (struct lumos_metric_place){LUMOS_METRIC_SIMULATED, 1, LUMOS_ABSENT_INT}, 48,
                     152);
  assert_true(lumos_find_opportunities(job, &error));
  size_t found = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
      if (strcmp(lumos_string(job->strings, metric->name), "straggler_free_path") == 0 &&
          metric->scope.rank == expected[k].rank &&
          strcmp(lumos_string(job->strings, metric->scope.kind), expected[k].place) == 0) {
        assert_int_equal(metric->value.units, expected[k].time);
        found++;
      }
    }
  }
  assert_int_equal(found, sizeof expected / sizeof *expected);
  lumos_job_free(job);
}

/* Launching A takes 30, and C1 as much as `launch_c1`, the others 10: of both the median is 10. */
static struct lumos_job *irregular_hosts(int64_t launch_c1) {
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_task *b = &job->tasks.items[task_named(job, "B")];
  b->name = job->tasks.items[task_named(job, "A")].name;
  b->dur = 50;
  job->tasks.items[task_named(job, "launchA")].dur = 30;
  job->tasks.items[task_named(job, "launchC1")].dur = launch_c1;
  return with_opportunities(job);
}

static void what_every_rank_has_is_no_straggling(void **state) {
  (void)state;
  /* Both threads take 40 in all. */
  struct lumos_job *job = irregular_hosts(30);
  expect(job, "stragglers", -1, -1);
  lumos_job_free(job);
  /* Rank 1 takes 120, rank 0 40: of the 100 that launching C1 is above the median 80 go, so that it takes 10-40. A
   * still starts at 31: C0 83-123, and 1. With half of it C1 could start at 81. */
  job = irregular_hosts(110);
  expect(job, "stragglers", 124, 124);
  lumos_job_free(job);
}

/* What the thread waits for before it launches is not its own. */
static void a_host_that_waits_is_not_late(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_task *b = &job->tasks.items[task_named(job, "B")];
  b->name = job->tasks.items[task_named(job, "A")].name;
  b->dur = 50;
  job->tasks.items[task_named(job, "launchC1")].dur = 100;
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = task_named(job, "launchA");
  dep.dst = task_named(job, "launchC1");
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.evidence = LUMOS_RECORDED;
  dep.mode = LUMOS_FIXED;
  dep.lag = 0;
  job->tasks.items[dep.dst].dur = 10;
  job->tasks.items[dep.dst].lag = 90;
  lumos_vector_push(&job->deps, dep);
  expect(with_opportunities(job), "stragglers", -1, -1);
  lumos_job_free(job);
}

/* K1 is launched 10^15 after its call, as far as times go: 24 + 10^15, a residual of 1, K1 50, gap 2, K3 30, so that
 * the step, from 0 on, ends at 10^15 + 107; with half of the lag 5 x 10^14 + 107. Without it as without any: 197. */
static void launches_that_take_days(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  lumos_task_timing(job, &job->tasks.items[task_named(job, "K1")])->launch_lag = INT64_C(1000000000000000);
  expect(with_opportunities(job), "launch", 197, INT64_C(500000000000107));
  lumos_job_free(job);
}

/* K3 stays at 10^6, whatever is before it, and takes 30, less than 0.5 % of the step. */
static void a_start_that_no_change_moves(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_dep boundary = lumos_dep_empty;
  boundary.at = 1000000;
  boundary.dst = task_named(job, "K3");
  boundary.kind = LUMOS_BOUNDARY;
  boundary.from = LUMOS_START;
  boundary.to = LUMOS_START;
  boundary.evidence = LUMOS_INFERRED;
  boundary.mode = LUMOS_FIXED;
  lumos_vector_push(&job->deps, boundary);
  with_opportunities(job);
  expect(job, "gemm", -1, -1);
  const char *text = "";
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), "sim.no_opportunity") == 0) {
      text = lumos_string(job->strings, job->notes.items[i].text);
    }
  }
  assert_non_null(strstr(text, "keep their measured times"));
  lumos_job_free(job);
}

static void what_is_not_simulated_has_none(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_error error = {0};
  assert_false(lumos_find_opportunities(job, &error));
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_launches_all_at_once),
      cmocka_unit_test(kernels_become_one),
      cmocka_unit_test(one_rank_with_less_work),
      cmocka_unit_test(two_ranks_with_less_work),
      cmocka_unit_test(like_ranks_that_take_as_long),
      cmocka_unit_test(a_host_that_launches_late),
      cmocka_unit_test(what_limits_steps_without_late_ranks),
      cmocka_unit_test(a_host_that_waits_is_not_late),
      cmocka_unit_test(what_every_rank_has_is_no_straggling),
      cmocka_unit_test(launches_that_take_days),
      cmocka_unit_test(what_is_not_simulated_has_none),
      cmocka_unit_test(a_start_that_no_change_moves),
      cmocka_unit_test(tasks_that_nothing_follows_from),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
