/* Graphs whose rows name the stream that they were captured on, and the stream that they are launched into. */
#include "graph_job.h"

#include "job/remove.h"
#include <lumos/sim.h>
#include <stdlib.h>

/* Every turn a kernel of 10 us runs on stream 7, then a graph of three of 4 us on stream 8, all launched long before;
 * each starts 3 us behind what it waits for, too little to be noticed by itself. */
enum { TURNS = 4, US = 1000, BEGIN = 200 * US, KERNEL = 10 * US, NODE = 4 * US, NODES = 3, LATENCY = 3 * US };
enum { TURN = KERNEL + NODES * NODE + 2 * LATENCY };

struct scene {
  struct lumos_job *job;
  uint32_t kernels[TURNS], nodes[TURNS][NODES];
};

/* The first so many kernels and graphs of these turns. `early`: how much earlier the second turn's graph starts.
 * `shared`: an ordinary launch goes to stream 8, too. */
static struct scene stage_of(size_t kernels, size_t graphs, int64_t early, bool shared) {
  struct scene scene = {.job = new_job()};
  uint32_t rank = add_rank(scene.job, 0), thread = add_thread(scene.job, rank, "1");
  uint32_t seven = add_stream(scene.job, rank, "7"), eight = add_stream(scene.job, rank, "8");
  uint32_t calls[TURNS][2], call = LUMOS_NONE;
  for (size_t i = 0; i < kernels; i++) {
    int64_t at = (int64_t)i * 20 * US;
    calls[i][0] = add_launch(scene.job, thread, at, 3 * US);
    if (i < graphs) {
      calls[i][1] = add_task(scene.job, thread, LUMOS_LAUNCH, "cudaGraphLaunch", at + 10 * US, 3 * US);
    }
  }
  if (shared) {
    call = add_launch(scene.job, thread, TURNS * 20 * US, 3 * US);
  }
  for (size_t i = 0; i < kernels; i++) {
    scene.kernels[i] = add_kernel(scene.job, seven, BEGIN + (int64_t)i * TURN, KERNEL, calls[i][0]);
  }
  for (size_t i = 0; i < graphs; i++) {
    int64_t start = BEGIN + (int64_t)i * TURN + KERNEL + LATENCY - (i == 1 ? early : 0);
    for (int64_t n = 0; n < NODES; n++) {
      scene.nodes[i][n] = add_kernel(scene.job, eight, start + n * NODE, NODE, calls[i][1]);
    }
  }
  if (shared) {
    (void)add_kernel(scene.job, eight, BEGIN + TURNS * TURN, KERNEL, call);
  }
  build(scene.job);
  return scene;
}

static struct scene stage(int64_t early, bool shared) { return stage_of(TURNS, TURNS, early, shared); }

static void expect_edge(const struct scene *scene, uint32_t source, uint32_t target) {
  const struct lumos_dep *edge = dep_into(scene->job, target, LUMOS_DEP_EVENT);
  assert_non_null(edge);
  assert_int_equal(edge->src, source);
  assert_int_equal(edge->evidence, LUMOS_INFERRED);
  assert_int_equal(edge->lag, LATENCY);
  assert_int_equal(timing(scene->job, target)->residual, 0);
}

static void expect_none(const struct scene *scene) {
  for (size_t i = 0; i < TURNS; i++) {
    assert_null(dep_into(scene->job, scene->kernels[i], LUMOS_DEP_EVENT));
    assert_null(dep_into(scene->job, scene->nodes[i][0], LUMOS_DEP_EVENT));
  }
}

static void test_a_graph_runs_in_the_order_of_the_stream_it_is_launched_into(void **state) {
  (void)state;
  struct scene scene = stage(0, false);
  for (size_t i = 0; i < TURNS; i++) {
    expect_edge(&scene, scene.kernels[i], scene.nodes[i][0]);
    assert_null(dep_into(scene.job, scene.nodes[i][1], LUMOS_DEP_EVENT));
  }
  for (size_t i = 1; i < TURNS; i++) {
    expect_edge(&scene, scene.nodes[i - 1][NODES - 1], scene.kernels[i]);
  }
  struct lumos_run *runs = lumos_allocate(scene.job->tasks.count * sizeof *runs);
  struct lumos_error error = {0};
  const struct lumos_sim_options options = {.drop_residuals = true};
  scene.job->tasks.items[scene.kernels[1]].dur = 50 * US;
  assert_true(lumos_engine_run(scene.job, &options, runs, &error));
  assert_int_equal(runs[scene.nodes[1][0]].start, runs[scene.kernels[1]].start + 50 * US + LATENCY);
  assert_int_equal(runs[scene.kernels[2]].start, runs[scene.nodes[1][2]].start + NODE + LATENCY);
  free(runs);
  lumos_job_free(scene.job);
}

/* One edge that binds is too few, the next kernel's is the second. */
static void test_two_edges_of_graphs_must_bind(void **state) {
  (void)state;
  struct scene scene = stage_of(1, 1, 0, false);
  assert_null(dep_into(scene.job, scene.nodes[0][0], LUMOS_DEP_EVENT));
  lumos_job_free(scene.job);
  scene = stage_of(2, 1, 0, false);
  expect_edge(&scene, scene.kernels[0], scene.nodes[0][0]);
  expect_edge(&scene, scene.nodes[0][NODES - 1], scene.kernels[1]);
  lumos_job_free(scene.job);
}

static void test_a_stream_that_other_calls_launch_on_is_what_rows_say(void **state) {
  (void)state;
  struct scene scene = stage(0, true);
  expect_none(&scene);
  lumos_job_free(scene.job);
}

static void test_a_graph_that_starts_too_early_waits_for_nothing_on_that_stream(void **state) {
  (void)state;
  struct scene scene = stage(8 * US, false);
  expect_none(&scene);
  lumos_job_free(scene.job);
}

/* A graph begins while its launch lasts. Its tasks wait for each other, and tell nothing of how long launches take. */
static void test_what_follows_in_a_graph_counts_from_where_the_first_does(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t graph = add_task(job, thread, LUMOS_LAUNCH, "cudaGraphLaunch", 0, 40 * US);
  uint32_t call = add_launch(job, thread, 100 * US, 5 * US), nodes[NODES];
  for (int64_t n = 0; n < NODES; n++) {
    nodes[n] = add_kernel(job, stream, 6 * US + n * 10 * US, 10 * US, graph);
  }
  uint32_t kernel = add_kernel(job, stream, 106 * US, 10 * US, call);
  build(job);
  for (size_t n = 0; n < NODES; n++) {
    assert_int_equal(timing(job, nodes[n])->launch_from, LUMOS_START);
    assert_int_equal(timing(job, nodes[n])->residual, 0);
  }
  assert_int_equal(timing(job, kernel)->launch_lag, 1 * US);
  lumos_job_free(job);
}

/* Two graphs of two streams each. The first starts 3 us after its call does, the other 9 us before its call's end, 5 us
 * after its begin: both count from the begin, 4 us, by their first node alone, and what comes first on the other stream
 * later than that is late. Only the first node can be early, whatever the call's length. */
static struct lumos_job *graphs_on_two_streams(uint32_t nodes[2][2][NODES], int64_t after[2]) {
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t seven = add_stream(job, rank, "7"), eight = add_stream(job, rank, "8"), calls[2];
  const int64_t begins[] = {0, 1000 * US}, lasts[] = {4 * US, 14 * US};
  after[0] = 3 * US;
  after[1] = 5 * US;
  for (size_t g = 0; g < 2; g++) {
    calls[g] = add_task(job, thread, LUMOS_LAUNCH, "cudaGraphLaunch", begins[g], lasts[g]);
  }
  for (size_t s = 0; s < 2; s++) {
    for (size_t g = 0; g < 2; g++) {
      for (size_t n = 0; n < NODES; n++) {
        int64_t start = begins[g] + after[g] + (s == 1 ? 50 * US : 0) + (int64_t)n * NODE;
        nodes[g][s][n] = add_kernel(job, s == 0 ? seven : eight, start, NODE, calls[g]);
      }
    }
  }
  build(job);
  return job;
}

static void test_a_graph_that_starts_before_its_call_ends_counts_from_the_begin(void **state) {
  (void)state;
  uint32_t nodes[2][2][NODES];
  int64_t after[2];
  struct lumos_job *job = graphs_on_two_streams(nodes, after);
  for (size_t g = 0; g < 2; g++) {
    assert_int_equal(timing(job, nodes[g][0][0])->launch_from, LUMOS_START);
    assert_int_equal(timing(job, nodes[g][0][0])->launch_lag, 4 * US);
    assert_int_equal(timing(job, nodes[g][0][0])->residual, after[g] - 4 * US);
    assert_int_equal(timing(job, nodes[g][1][0])->residual, 50 * US + after[g] - 4 * US);
    for (size_t n = 1; n < NODES; n++) {
      assert_int_equal(timing(job, nodes[g][0][n])->launch_from, LUMOS_START);
      assert_int_equal(timing(job, nodes[g][0][n])->launch_lag, 0);
      assert_int_equal(timing(job, nodes[g][0][n])->residual, 0);
    }
  }
  lumos_job_free(job);
}

/* The launch then holds the node that is first. */
static void test_a_launch_holds_the_next_node_when_the_first_goes(void **state) {
  (void)state;
  uint32_t nodes[2][2][NODES];
  int64_t after[2];
  struct lumos_job *job = graphs_on_two_streams(nodes, after);
  uint8_t *gone = lumos_allocate_zeroed(job->tasks.count, 1);
  gone[nodes[0][0][0]] = gone[nodes[0][0][1]] = 1;
  lumos_job_remove(job, gone);
  uint32_t first = nodes[0][0][2] - 2;
  assert_int_equal(timing(job, first)->launch_from, LUMOS_START);
  assert_int_equal(timing(job, first)->launch_lag, 4 * US);
  assert_int_equal(timing(job, nodes[1][0][1] - 2)->launch_lag, 0);
  free(gone);
  lumos_job_free(job);
}

/* One graph on two streams: kernels of these lengths on s7, 1 us apart, of which after every `turn` one on s8, which
 * `lasts`, waits for the last, 3 us, and the next on s7 for that one, `behind` it. All is launched by a call from 0 to
 * 5 us. */
struct two_streams {
  struct lumos_job *job;
  uint32_t kernels[60], waiting[20];
  size_t turns;
};

static struct two_streams graph_of(size_t turns, size_t turn, int64_t length, int64_t lasts, int64_t behind) {
  struct two_streams two = {.job = new_job(), .turns = turns};
  uint32_t rank = add_rank(two.job, 0), thread = add_thread(two.job, rank, "1");
  uint32_t seven = add_stream(two.job, rank, "7"), eight = add_stream(two.job, rank, "8");
  uint32_t call = add_task(two.job, thread, LUMOS_LAUNCH, "cudaGraphLaunch", 0, 5 * US);
  int64_t at = 7 * US, ends[20];
  for (size_t i = 0; i < turns * turn; i++) {
    two.kernels[i] = add_kernel(two.job, seven, at, length, call);
    at += length + US;
    if (i % turn == turn - 1) {
      ends[i / turn] = at - US;
      at = ends[i / turn] + 3 * US + lasts + behind;
    }
  }
  for (size_t i = 0; i < turns; i++) {
    two.waiting[i] = add_kernel(two.job, eight, ends[i] + 3 * US, lasts, call);
  }
  build(two.job);
  return two;
}

static void expect_lag(const struct lumos_job *job, uint32_t source, uint32_t target, int64_t lag) {
  const struct lumos_dep *edge = dep_into(job, target, LUMOS_DEP_EVENT);
  assert_non_null(edge);
  assert_int_equal(edge->src, source);
  assert_int_equal(edge->lag, lag);
  assert_int_equal(edge->evidence, LUMOS_INFERRED);
  assert_int_equal(timing(job, target)->residual, 0);
}

static void test_nodes_wait_for_each_other_across_streams(void **state) {
  (void)state;
  struct two_streams two = graph_of(20, 3, 10 * US, 20 * US, 3 * US);
  for (size_t i = 0; i < two.turns; i++) {
    expect_lag(two.job, two.kernels[3 * i + 2], two.waiting[i], 3 * US);
    assert_null(dep_into(two.job, two.kernels[3 * i + 1], LUMOS_DEP_EVENT));
    if (i > 0) {
      expect_lag(two.job, two.waiting[i - 1], two.kernels[3 * i], 3 * US);
    }
  }
  lumos_job_free(two.job);
}

/* 1 us from kernel to kernel; the 14 us in which one on s8 ran tell of that one. */
static void test_gaps_in_which_another_stream_ends_are_not_typical(void **state) {
  (void)state;
  struct two_streams two = graph_of(20, 3, 10 * US, 8 * US, 3 * US);
  for (size_t i = 1; i < 60; i++) {
    assert_int_equal(timing(two.job, two.kernels[i])->gap, US);
  }
  expect_lag(two.job, two.waiting[3], two.kernels[12], 3 * US);
  lumos_job_free(two.job);
}

/* Six us behind the end is no reaction within a graph. */
static void test_a_node_that_starts_later_waited_for_something_else(void **state) {
  (void)state;
  struct two_streams two = graph_of(20, 3, 10 * US, 20 * US, 6 * US);
  assert_null(dep_into(two.job, two.kernels[3], LUMOS_DEP_EVENT));
  expect_lag(two.job, two.kernels[2], two.waiting[0], 3 * US);
  lumos_job_free(two.job);
}

/* Kernels of 5 us, an end every 6: of instants five in six lie within 5 us of one. Of 6 to 9 that wait on s8 chance
 * could have put all there. */
static void test_what_chance_would_show_as_well_is_not_believed(void **state) {
  (void)state;
  struct two_streams two = graph_of(6, 9, 5 * US, 20 * US, 3 * US);
  for (size_t i = 0; i < two.turns; i++) {
    assert_null(dep_into(two.job, two.waiting[i], LUMOS_DEP_EVENT));
  }
  lumos_job_free(two.job);
}

/* Where all start behind their calls, the end counts: 2 us of calls of unlike lengths. */
static void test_graphs_that_start_after_their_calls_count_from_the_end(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t calls[2], nodes[2][2];
  const int64_t lasts[] = {4 * US, 40 * US};
  for (int64_t g = 0; g < 2; g++) {
    calls[g] = add_task(job, thread, LUMOS_LAUNCH, "cudaGraphLaunch", g * 1000 * US, lasts[g]);
  }
  for (int64_t g = 0; g < 2; g++) {
    for (int64_t n = 0; n < 2; n++) {
      nodes[g][n] = add_kernel(job, stream, g * 1000 * US + lasts[g] + 2 * US + n * NODE, NODE, calls[g]);
    }
  }
  build(job);
  for (size_t g = 0; g < 2; g++) {
    assert_int_not_equal(timing(job, nodes[g][0])->launch_from, LUMOS_START);
    assert_int_equal(timing(job, nodes[g][0])->launch_lag, 2 * US);
    assert_int_equal(timing(job, nodes[g][0])->residual, 0);
  }
  lumos_job_free(job);
}

/* A copy that is staged while its call lasts starts where it does; nearer to the call's end, yet before it. */
static void test_a_pageable_copy_counts_from_the_begin_of_its_call(void **state) {
  (void)state;
  static const char *const names[] = {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"};
  for (size_t k = 0; k < 2; k++) {
    struct lumos_job *job = new_job();
    uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
    uint32_t call = add_task(job, thread, LUMOS_LAUNCH, "cudaMemcpyAsync", 0, 10 * US);
    uint32_t copy = add_task(job, stream, LUMOS_COPY, names[k], 8 * US, 4 * US);
    job->tasks.items[copy].call = call;
    build(job);
    assert_int_equal(timing(job, copy)->launch_from == LUMOS_START, k == 0);
    assert_int_equal(timing(job, copy)->launch_lag, k == 0 ? 8 * US : -2 * US);
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_graph_runs_in_the_order_of_the_stream_it_is_launched_into),
      cmocka_unit_test(test_two_edges_of_graphs_must_bind),
      cmocka_unit_test(test_a_stream_that_other_calls_launch_on_is_what_rows_say),
      cmocka_unit_test(test_a_graph_that_starts_too_early_waits_for_nothing_on_that_stream),
      cmocka_unit_test(test_what_follows_in_a_graph_counts_from_where_the_first_does),
      cmocka_unit_test(test_a_graph_that_starts_before_its_call_ends_counts_from_the_begin),
      cmocka_unit_test(test_a_launch_holds_the_next_node_when_the_first_goes),
      cmocka_unit_test(test_nodes_wait_for_each_other_across_streams),
      cmocka_unit_test(test_gaps_in_which_another_stream_ends_are_not_typical),
      cmocka_unit_test(test_a_node_that_starts_later_waited_for_something_else),
      cmocka_unit_test(test_what_chance_would_show_as_well_is_not_believed),
      cmocka_unit_test(test_graphs_that_start_after_their_calls_count_from_the_end),
      cmocka_unit_test(test_a_pageable_copy_counts_from_the_begin_of_its_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
