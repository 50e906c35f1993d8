/* A rank that stands for several counts as so many: sums, means and medians over ranks, worked out on paper. */
#include "metric_text.h"
#include "sim_jobs.h"

#include "program/reach.h"
#include <lumos/sim.h>

/* Of the ranks of `ranks_job`. Rank 0 represents `represents`, `size` ranks meet in its one collective. */
static struct lumos_job *folded(int32_t represents, int32_t size) {
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(ranks_job);
  job->ranks.items[0].represents = represents;
  job->collectives.items[0].size = size;
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

/* The only metric of that source, rank (LUMOS_ABSENT_INT: the job's), step 1 or none, and group. */
static void expect(const struct lumos_job *job, const char *name, int32_t rank, bool of_step, const char *group,
                   int64_t units) {
  size_t found = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const struct lumos_scope *scope = &metric->scope;
    enum lumos_source source = strcmp(name, "unprofiled_step_time") == 0 || strcmp(name, "kept_wait") == 0
                                   ? LUMOS_METRIC_MEASURED
                                   : LUMOS_METRIC_SIMULATED;
    if (metric->source == source && scope->rank == rank && (scope->step == 1) == of_step && scope->kind == 0 &&
        scope->peer == LUMOS_ABSENT_INT && strcmp(lumos_string(job->strings, scope->group), group) == 0 &&
        strcmp(lumos_string(job->strings, metric->name), name) == 0) {
      found++;
      if (metric->value.units != units) {
        fail_msg("%s is %lld, not %lld", name, (long long)metric->value.units, (long long)units);
      }
    }
  }
  if (found != 1) {
    fail_msg("%s is there %zu times", name, found);
  }
}
#define OF_JOB(name, units) expect(job, name, LUMOS_ABSENT_INT, true, "", units)
#define OF_RANK(name, rank, units) expect(job, name, rank, true, "", units)
#define OF_GROUP(name, units) expect(job, name, LUMOS_ABSENT_INT, true, "world", units)

/* Three ranks like 0, which computes for 50 and is 81 in the collective, 40 of it waiting, and one that computes for 90
 * and is 40 in it. */
static void means_and_sums_have_its_weight(void **state) {
  (void)state;
  struct lumos_job *job = folded(3, 4);
  OF_RANK("exposed_compute", 0, 50);
  OF_JOB("step_time", 144);
  OF_JOB("exposed_compute", 60);        /* (3 x 50 + 90) / 4 */
  OF_JOB("communication_transfer", 40); /* (3 x 41 + 40) / 4 = 40.75, the rest to what is behind */
  OF_JOB("communication_wait", 30);     /* 3 x 40 / 4 */
  OF_JOB("idle", 14);                   /* (3 x 13 + 14) / 4 = 13.25 */
  OF_JOB("gpu_busy", 130);
  OF_RANK("late_arrival", 1, 40);
  OF_JOB("late_arrival", 10);                                     /* 40 on one of four */
  expect(job, "replay_error", LUMOS_ABSENT_INT, false, "", 5208); /* 3 x 1/144 / 4 */
  OF_GROUP("collective_count", 1);
  OF_GROUP("collective_time", 283);     /* 3 x 81 + 40 */
  OF_GROUP("collective_wait", 120);     /* 3 x 40 */
  OF_GROUP("collective_transfer", 163); /* 3 x 41 + 40 */
  OF_GROUP("collective_bytes", 8);
  OF_GROUP("collective_bus_bandwidth", 300000); /* 8 bytes in 40 ns, x 2 x 3 / 4 */
  OF_RANK("collective_wait", 0, 40);
  assert_int_equal(job->collectives.items[0].wait, 120);
  lumos_job_free(job);
}

/* Both ranks stand for three: three collectives of two, of which one stands for all. */
static void a_collective_stands_for_those_of_replicas(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(ranks_job);
  job->ranks.items[0].represents = job->ranks.items[1].represents = 3;
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  OF_GROUP("collective_count", 3);
  OF_GROUP("collective_time", 363); /* 3 x (81 + 40) */
  OF_GROUP("collective_bytes", 24);
  OF_GROUP("collective_bus_bandwidth", 200000); /* that of one: 8 bytes in 40 ns, x 2 x 1 / 2 */
  OF_RANK("late_arrival", 1, 40);               /* than its only partner, not than that and its own like ones */
  OF_JOB("late_arrival", 20);
  assert_int_equal(job->collectives.items[0].wait, 40);
  lumos_job_free(job);
}

static void means_by_step_are_rounded(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(ranks_job);
  job->collectives.count = 0;
  job->ranks.items[0].represents = 3;
  for (int rank = 0; rank < 2; rank++) {
    job->ranks.items[rank].unprofiled_steps = 1;
    job->ranks.items[rank].unprofiled_dur = rank == 0 ? 100 : 120;
  }
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  OF_JOB("kept_wait", 71); /* (3 x 81 + 40) / 4 = 70.75 */
  expect(job, "unprofiled_step_time", LUMOS_ABSENT_INT, false, "", 105);
  OF_GROUP("collective_count", 4); /* kernels that are joined with no others count each */
  OF_GROUP("collective_unsplit", 283);
  lumos_job_free(job);
}

/* As many ranks as one may stand for. */
static void sums_stay_bounded(void **state) {
  (void)state;
  struct lumos_job *job = folded(INT32_MAX, 2);
  OF_JOB("exposed_compute", 50);
  OF_JOB("communication_wait", 39); /* a little under 40 */
  OF_GROUP("collective_count", (INT64_C(1) << 31) / 2);
  OF_GROUP("collective_wait", 40 * (int64_t)INT32_MAX);
  lumos_job_free(job);
}

/* Two stages, of which the collective's members are of the first: it crosses none where they stand for all of its
 * ranks, though its group is as wide as both. */
static void a_collective_whose_ranks_are_represented_is_whole(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  lumos_vector_push(&job->models, lumos_model_description_empty);
  job->models.items[0].sizes.pp = 2;
  for (int rank = 0; rank < 2; rank++) {
    job->ranks.items[rank].has_parallel = true;
    job->ranks.items[rank].parallel.pp = 0;
  }
  job->groups.items[0].size = job->collectives.items[0].size = 4;
  struct lumos_reaches reaches;
  lumos_reaches_read(job, &reaches);
  assert_true(lumos_crosses_stages(job, &reaches, &job->collectives.items[0]));
  job->ranks.items[0].represents = 3;
  assert_false(lumos_crosses_stages(job, &reaches, &job->collectives.items[0]));
  lumos_reaches_free(&reaches);
  lumos_job_free(job);
}

static void a_weight_is_at_least_one(void **state) {
  (void)state;
  static const int32_t absent[] = {LUMOS_ABSENT_INT, -5, 0, 1};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    assert_int_equal(lumos_rank_weight(&(struct lumos_rank){.represents = absent[i]}), 1);
  }
  assert_int_equal(lumos_rank_weight(&(struct lumos_rank){.represents = 7}), 7);
  struct lumos_job *job = job_from_text(ranks_job);
  assert_int_equal(lumos_job_weight(job), 2);
  assert_true(lumos_ranks_weigh_alike(job));
  job->ranks.items[1].represents = 7;
  assert_int_equal(lumos_job_weight(job), 8);
  assert_false(lumos_ranks_weigh_alike(job));
  assert_int_equal(lumos_collective_weight(job, &job->collectives.items[0]), 8);
  lumos_job_free(job);
}

/* clang-format off */
#define ONE_RANK(rank, name, kind, dur, occupancy) \
  "{'type':'rank','rank':" rank ",'world':4,'window':[0,900],'base':0," JOB_TEXT_COVERAGE "}\n" \
  "{'type':'lane','rank':" rank ",'lane':'s7','kind':'stream','native':'7'}\n" \
  "{'type':'task','id':'" rank ":0','rank':" rank ",'lane':'s7','seq':0,'kind':'" kind "','name':'" name "'" \
  ",'start':0,'dur':" #dur ",'lag':0,'gap':0,'step':1,'residual':0,'occupancy':" occupancy "}\n" \
  "{'type':'dep','at':0,'dst':'" rank ":0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
static const char kernels_job[] = JOB_TEXT_HEADER
    ONE_RANK("0", "A", "gemm", 10, "0.5")
    ONE_RANK("1", "B", "gemm", 20, "0.25");
/* clang-format on */

static void roll_ups_have_its_weight(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(kernels_job);
  job->ranks.items[0].represents = 3;
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  expect_metric(job, "device_time step=1", 50); /* 3 x 10 + 20 */
  expect_metric(job, "kernel_time step=1 name=A", 30);
  expect_metric(job, "kernel_count step=1 name=A", 3);
  expect_metric(job, "kind_time step=1 kind=gemm", 50);
  expect_metric(job, "kind_count step=1 kind=gemm", 4);
  expect_metric(job, "occupancy_time step=1", 50);
  expect_metric(job, "occupancy step=1", 400000); /* (30 x 0.5 + 20 x 0.25) / 50 */
  expect_metric(job, "occupancy rank=0 step=1", 500000);
  /* Rank 0 computes for 10 of the job's 20, and rank 1 for 20: 12.5, of which the half goes to what is behind. */
  OF_JOB("exposed_compute", 12);
  OF_JOB("not_recorded", 8); /* where a rank has no row any more */
  OF_JOB("idle", 0);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(means_and_sums_have_its_weight),
      cmocka_unit_test(a_collective_stands_for_those_of_replicas),
      cmocka_unit_test(means_by_step_are_rounded),
      cmocka_unit_test(sums_stay_bounded),
      cmocka_unit_test(a_collective_whose_ranks_are_represented_is_whole),
      cmocka_unit_test(a_weight_is_at_least_one),
      cmocka_unit_test(roll_ups_have_its_weight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
