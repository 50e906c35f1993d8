/* --straggler, --jitter and --launch graph on jobs of about ten tasks, by hand. */
#include "sim_jobs.h"

#include "cost/transfers.h"
#include "transform/edit.h"
#include "transform/estimates.h"

#include <lumos/sim.h>
#include <lumos/transform.h>

static const struct lumos_task *task(const struct lumos_job *job, const char *name) {
  return &job->tasks.items[task_named(job, name)];
}

static void a_straggler_computes_longer_and_transfers_as_before(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(ranks_job);
  int64_t transfer = job->collectives.items[0].transfer;
  assert_true(lumos_transform_straggler(job, "1=1.5", &error));
  assert_int_equal(task(job, "A")->dur, 50);
  assert_int_equal(task(job, "B")->dur, 135); /* 90 */
  assert_int_equal(job->collectives.items[0].transfer, transfer);
  assert_int_equal(job->edited, 1);
  lumos_job_free(job);
}

static void what_is_no_straggler_is_refused(void **state) {
  (void)state;
  const char *const rows[] = {"", "1", "x=1.5", "1=", "=1.5", "1=fast", "1,host=2"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_error error = {0};
    struct lumos_job *job = job_from_text(ranks_job);
    assert_false(lumos_transform_straggler(job, rows[i], &error));
    assert_non_null(strstr(error.text, "--straggler"));
    lumos_job_free(job);
  }
}

static int64_t error_of(const struct lumos_job *job, const char *name) {
  struct lumos_decimal error = lumos_detail_of(job, task(job, name))->dur_error;
  return error.units;
}

static void jitter_is_of_kernels_and_adds_up_as_squares(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(streams_job);
  assert_true(lumos_transform_jitter(job, "0.03", &error));
  assert_true(lumos_transform_jitter(job, "0.04", &error));
  assert_int_equal(error_of(job, "K0"), 50000); /* 3, 4, 5 */
  assert_int_equal(error_of(job, "K2"), 50000);
  assert_int_equal(error_of(job, "K3"), LUMOS_ABSENT); /* a copy */
  assert_int_equal(error_of(job, "launch0"), LUMOS_ABSENT);
  assert_int_equal(task(job, "K0")->dur, 100);
  assert_false(lumos_transform_jitter(job, "1.5", &error));
  assert_false(lumos_transform_jitter(job, "some", &error));
  lumos_job_free(job);
}

static void a_model_adds_its_error_to_what_was_unsure_before(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(streams_job);
  assert_true(lumos_transform_jitter(job, "0.03", &error));
  lumos_estimate_task(job, task_named(job, "K0"), (struct lumos_duration){.ns = 200, .own = 0.04}, LUMOS_NO_STRING);
  assert_int_equal(task(job, "K0")->dur, 200);
  assert_int_equal(error_of(job, "K0"), 50000); /* 3, 4, 5 */
  lumos_job_free(job);
}

/* The links that fitting finds: rank 0 and 1 are on one node, so transfers show nothing of what lies between nodes. */
static struct lumos_links links_of(const struct lumos_job *job) {
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_transfers *transfers = lumos_transfers_fit(job, NULL, &nodes);
  struct lumos_links links = *lumos_transfers_links(transfers);
  lumos_transfers_free(transfers);
  return links;
}

static void a_described_network_goes_with_the_job(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  assert_int_equal(lumos_nodes_of(job, NULL).size, 8);
  const double pair_latency = links_of(job).pair_latency_between;
  const int32_t sizes[] = {4, 2, 4};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct lumos_network network = lumos_network_unknown;
    size_t notes = job->notes.count;
    network.node_size = sizes[i];
    lumos_tell_network(job, &network);
    assert_int_equal(lumos_nodes_of(job, NULL).size, sizes[i]);
    assert_false(lumos_nodes_of(job, NULL).assumed);
    assert_int_equal(job->notes.count, notes + (i == 0));
  }
  struct lumos_network network = lumos_network_unknown;
  network.inter.bandwidth = 12.5;
  network.inter.p2p_bandwidth = 7.25;
  lumos_tell_network(job, &network);
  network = lumos_network_unknown;
  network.inter.latency = 0;
  network.inter.p2p_bandwidth = 8;
  lumos_tell_network(job, &network); /* of what it does not say, the bandwidth, the one before stays */
  assert_int_equal(lumos_nodes_of(job, NULL).size, 4);
  struct lumos_links links = links_of(job);
  assert_true(links.between == 12.5 && links.hop_between == 0 && links.pair_between == 8);
  assert_true(links.pair_latency_between <= pair_latency);
  const struct lumos_note *note = &job->notes.items[job->notes.count - 1];
  assert_non_null(strstr(lumos_string(job->strings, note->text),
                         "{\"node_size\": 4, \"inter\": {\"bandwidth_gbps\": 12.5, \"latency_us\": 0, "
                         "\"p2p_bandwidth_gbps\": 8}}"));
  /* A stream may say anything. */
  job->notes.items[job->notes.count - 1].text = lumos_intern_text(job->strings, "{\"node_size\": -3}");
  assert_int_equal(lumos_nodes_of(job, NULL).size, 8);
  lumos_job_free(job);
}

#define RANK_ON(rank, host) \
  "{'type':'rank','rank':" #rank ",'world':16,'host':'" host "','window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"

/* Of 0 to 7 and 8 to 15 on two nodes some are recorded. With nodes of 7, 14 and 12 would be apart, which one host
 * has. */
static void a_node_is_as_large_as_its_hosts_ranks_lie_apart(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int32_t size;
  } cases[] = {
      {JOB_TEXT_HEADER RANK_ON(0, "a") RANK_ON(2, "a") RANK_ON(4, "a") RANK_ON(6, "a") RANK_ON(8, "b") RANK_ON(10, "b")
           RANK_ON(12, "b") RANK_ON(14, "b"),
       8},
      {JOB_TEXT_HEADER RANK_ON(0, "a") RANK_ON(1, "a") RANK_ON(2, "b") RANK_ON(3, "b"), 2},
      /* Numbered in turn: no size fits, and as many as one host shows are believed. */
      {JOB_TEXT_HEADER RANK_ON(0, "a") RANK_ON(1, "b") RANK_ON(2, "a") RANK_ON(3, "b"), 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = job_from_text(cases[i].text);
    assert_int_equal(lumos_nodes_of(job, NULL).size, cases[i].size);
    assert_false(lumos_nodes_of(job, NULL).assumed);
    lumos_job_free(job);
  }
}

static int64_t start_of(const struct lumos_job *job, const struct lumos_run *runs, const char *name) {
  return runs[task_named(job, name)].start;
}

/* launch0 launches K0, K1 and K2; sync waits, so what comes before it is one graph. launch3 is alone on its thread. */
static void a_graph_is_launched_by_its_first_launch(void **state) {
  (void)state;
  struct lumos_error error = {0};
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_job *job = job_from_text(streams_job);
  assert_true(lumos_transform_launch(job, "graph", &error));
  struct lumos_run *runs = malloc(job->tasks.count * sizeof *runs);
  assert_true(lumos_engine_run(job, &options, runs, &error));
  assert_int_equal(task(job, "launch0")->dur, 10);
  assert_int_equal(task(job, "launch1")->dur, 0);
  assert_int_equal(task(job, "launch3")->dur, 10);
  assert_int_equal(start_of(job, runs, "launch2"), 10);
  assert_int_equal(start_of(job, runs, "sync"), 10);
  assert_int_equal(start_of(job, runs, "K0"), 12);
  assert_int_equal(start_of(job, runs, "K1"), 117); /* the event still holds it: 112 + 4, residual 1 */
  assert_int_equal(start_of(job, runs, "K2"), 113);
  assert_int_equal(start_of(job, runs, "after"), 175); /* sync waits for K1, 167 + 3, and 5 between */
  assert_int_equal(job->notes.items[job->notes.count - 1].count, 1);
  assert_false(lumos_transform_launch(job, "fast", &error));
  free(runs);
  lumos_job_free(job);
}

/* Before launch1 the thread is silent for 2 ms, which no graph holds: launch0 is alone, and launch1 and launch2 are
 * one. */
static void a_long_silence_is_in_no_graph(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(streams_job);
  job->tasks.items[task_named(job, "launch1")].lag = 2000000;
  assert_true(lumos_transform_launch(job, "graph", &error));
  assert_int_equal(task(job, "launch1")->lag, 2000000);
  assert_int_equal(task(job, "launch1")->dur, 10);
  assert_int_equal(task(job, "launch2")->dur, 0);
  lumos_job_free(job);
}

/* What a call is kept waiting for is not drawn out by an error of the profiler's time, so that it does not count. */
static void the_profilers_error_is_of_what_is_the_hosts_own(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_edit_profiler profiler = {0};
  uint32_t blocked = task_named(job, "launch2"), op = task_named(job, "after");
  lumos_task_detail(job, &job->tasks.items[blocked])->own_dur = 4; /* of 10 */
  lumos_edit_profiled(job, blocked, 2, &profiler);
  lumos_edit_profiled(job, op, 3, &profiler); /* 7, and a lag of 5 */
  assert_true(profiler.moved > 4.99 && profiler.moved < 5.01);
  assert_true(profiler.whole > 15.99 && profiler.whole < 16.01);
  lumos_edit_profiler_error(job, &profiler); /* 0.3 of 5 in 16 */
  assert_int_equal(lumos_common_error_of(job, lumos_intern_text(job->strings, "profiler"))->sigma.units, 93750);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_straggler_computes_longer_and_transfers_as_before),
      cmocka_unit_test(what_is_no_straggler_is_refused),
      cmocka_unit_test(jitter_is_of_kernels_and_adds_up_as_squares),
      cmocka_unit_test(a_model_adds_its_error_to_what_was_unsure_before),
      cmocka_unit_test(a_described_network_goes_with_the_job),
      cmocka_unit_test(a_node_is_as_large_as_its_hosts_ranks_lie_apart),
      cmocka_unit_test(a_graph_is_launched_by_its_first_launch),
      cmocka_unit_test(a_long_silence_is_in_no_graph),
      cmocka_unit_test(the_profilers_error_is_of_what_is_the_hosts_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
