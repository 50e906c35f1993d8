/* Event edges that timing alone shows: jobs in which a kernel follows a kernel of another stream again and again. */
#include "graph_job.h"

#include <lumos/sim.h>

enum { TIMES = 60, PERIOD = 1000000 };

/* What happens each time, from the beginning of its period on. The source runs from 6 us on, by a call from 0 to 5 us;
 * the call that launches the target lasts from 10 to 15 us. */
struct happening {
  int64_t source_lasts, target_starts;
};

struct scene {
  struct lumos_job *job;
  uint32_t source[TIMES], target[TIMES];
};

static const struct happening bound = {200000, 209000}, slack = {3000, 16000}, violated = {200000, 16000};

static const char *const unlike[] = {"a", "b", "c", "d", "e", "f"};

/* `busy_before`: the first target was launched before the recording. */
static struct scene stage_of(const struct happening *happenings, size_t times, const char *const *names,
                             bool busy_before) {
  struct scene scene = {.job = new_job()};
  uint32_t rank = add_rank(scene.job, 0), thread = add_thread(scene.job, rank, "1");
  uint32_t one = add_stream(scene.job, rank, "7"), other = add_stream(scene.job, rank, "8");
  uint32_t calls[TIMES][2];
  for (size_t i = 0; i < times; i++) {
    calls[i][0] = add_launch(scene.job, thread, (int64_t)i * PERIOD, 5000);
    calls[i][1] = add_launch(scene.job, thread, (int64_t)i * PERIOD + 10000, 5000);
  }
  for (size_t i = 0; i < times; i++) {
    scene.source[i] = add_kernel(scene.job, one, (int64_t)i * PERIOD + 6000, happenings[i].source_lasts, calls[i][0]);
    scene.job->tasks.items[scene.source[i]].name = word(scene.job, names == NULL ? "source" : names[i]);
  }
  for (size_t i = 0; i < times; i++) {
    scene.target[i] = add_kernel(scene.job, other, (int64_t)i * PERIOD + happenings[i].target_starts, 50000,
                                 busy_before && i == 0 ? LUMOS_NONE : calls[i][1]);
  }
  build(scene.job);
  return scene;
}

static struct scene stage(const struct happening *happenings, size_t times, const char *const *names) {
  return stage_of(happenings, times, names, false);
}

static void expect_edge(const struct scene *scene, size_t time) {
  const struct lumos_dep *edge = dep_into(scene->job, scene->target[time], LUMOS_DEP_EVENT);
  assert_non_null(edge);
  assert_int_equal(edge->src, scene->source[time]);
  assert_int_equal(edge->evidence, LUMOS_INFERRED);
  assert_int_equal(edge->lag, 3000);
}

static void expect_none(const struct scene *scene, size_t time) {
  assert_null(dep_into(scene->job, scene->target[time], LUMOS_DEP_EVENT));
}

static void test_what_comes_again_is_believed(void **state) {
  (void)state;
  const struct happening happenings[] = {bound, bound, bound};
  struct scene scene = stage(happenings, 3, NULL);
  for (size_t i = 0; i < 3; i++) {
    expect_edge(&scene, i);
    assert_int_equal(timing(scene.job, scene.target[i])->residual, 0);
  }
  assert_int_equal(noted(scene.job, "graph.unseen_stream_waits"), 3);
  lumos_job_free(scene.job);
}

/* Then the first and the last time are places of their own, for what stands before and behind them is not known. */
static void test_a_stream_that_was_busy_before_has_ends(void **state) {
  (void)state;
  const struct happening happenings[] = {bound, bound, bound, bound};
  struct scene scene = stage_of(happenings, 4, NULL, true);
  expect_edge(&scene, 1);
  expect_edge(&scene, 2);
  expect_none(&scene, 0);
  expect_none(&scene, 3);
  assert_int_equal(timing(scene.job, scene.target[1])->residual, 0);
  assert_non_null(dep_into(scene.job, scene.target[3], LUMOS_RESOURCE)); /* no event, but the source ran until then */
  assert_int_equal(noted(scene.job, "graph.unseen_stream_waits"), 2);
  lumos_job_free(scene.job);
}

static void test_what_is_seen_once_is_not(void **state) {
  (void)state;
  const struct happening happenings[] = {slack, bound, slack};
  struct scene scene = stage(happenings, 3, NULL);
  expect_none(&scene, 1);
  lumos_job_free(scene.job);
}

/* The target is ready at about 15 us, and of its delay the 20 us behind the one end in it are one part of a hundred
 * where it lasts 2 ms. */
static void test_what_is_seen_once_is_believed_when_it_is_no_chance(void **state) {
  (void)state;
  const struct happening longer = {2020000, 2029000}, shorter = {1980000, 1989000};
  struct scene scene = stage(&longer, 1, NULL);
  expect_edge(&scene, 0);
  assert_int_equal(timing(scene.job, scene.target[0])->residual, 0);
  lumos_job_free(scene.job);
  scene = stage(&shorter, 1, NULL);
  expect_none(&scene, 0);
  assert_non_null(dep_into(scene.job, scene.target[0], LUMOS_RESOURCE));
  lumos_job_free(scene.job);
}

static void test_another_source_is_another_edge(void **state) {
  (void)state;
  const struct happening happenings[] = {bound, bound, bound, bound, bound, bound};
  struct scene scene = stage(happenings, 6, unlike);
  for (size_t i = 0; i < 6; i++) {
    expect_none(&scene, i);
  }
  lumos_job_free(scene.job);
}

static void test_a_late_start_far_from_any_end_is_no_edge(void **state) {
  (void)state;
  const struct happening far = {200000, 227000};
  const struct happening happenings[] = {far, far, far, far};
  struct scene scene = stage(happenings, 4, NULL);
  expect_none(&scene, 1);
  expect_none(&scene, 2);
  lumos_job_free(scene.job);
}

static void test_most_late_starts_must_be_explained(void **state) {
  (void)state;
  const struct happening far = {200000, 300000};
  const struct happening happenings[] = {far, bound, far, bound}, others[] = {far, bound, far, bound, far};
  struct scene scene = stage(happenings, 4, NULL);
  expect_edge(&scene, 1);
  lumos_job_free(scene.job);
  scene = stage(others, 5, NULL);
  expect_none(&scene, 1);
  lumos_job_free(scene.job);
}

static void test_a_usual_edge_holds_where_it_does_not_bind(void **state) {
  (void)state;
  const struct happening happenings[] = {bound, bound, slack, bound, bound};
  struct scene scene = stage(happenings, 5, NULL);
  expect_edge(&scene, 1);
  expect_edge(&scene, 2);
  expect_edge(&scene, 3);
  lumos_job_free(scene.job);
}

/* Bound in 2 of 8 times it is usual, in 2 of 9 not: then only those two are explained. */
static void test_an_edge_is_usual_that_binds_one_time_in_four(void **state) {
  (void)state;
  const struct happening happenings[] = {bound, bound, slack, slack, slack, slack, slack, slack, slack};
  struct scene scene = stage(happenings, 8, NULL);
  for (size_t i = 0; i < 8; i++) {
    expect_edge(&scene, i);
  }
  lumos_job_free(scene.job);
  scene = stage(happenings, 9, NULL);
  for (size_t i = 0; i < 9; i++) {
    if (i < 2) {
      expect_edge(&scene, i);
    } else {
      expect_none(&scene, i);
    }
  }
  lumos_job_free(scene.job);
}

static void test_an_edge_that_is_violated_is_none(void **state) {
  (void)state;
  const struct happening happenings[] = {bound, bound, violated, slack, bound, bound};
  struct scene scene = stage(happenings, 6, NULL);
  expect_edge(&scene, 1);
  expect_none(&scene, 2);
  expect_none(&scene, 3); /* it is not usual */
  expect_edge(&scene, 4);
  lumos_job_free(scene.job);
}

static void test_a_usual_edge_is_dropped_where_it_is_violated(void **state) {
  (void)state;
  struct happening happenings[TIMES];
  for (size_t i = 0; i < TIMES; i++) {
    happenings[i] = i == 30 ? violated : i == 40 ? slack : bound;
  }
  struct scene scene = stage(happenings, TIMES, NULL);
  expect_edge(&scene, 29);
  expect_none(&scene, 30);
  expect_edge(&scene, 40);
  lumos_job_free(scene.job);
}

/* Launched later than what should wait for it. */
static void test_nothing_waits_for_what_comes_later(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), second = add_thread(job, rank, "2");
  uint32_t one = add_stream(job, rank, "7"), other = add_stream(job, rank, "8");
  uint32_t source_calls[4], target_calls[4], targets[4];
  for (int64_t i = 0; i < 4; i++) {
    target_calls[i] = add_launch(job, thread, i * PERIOD, 5000);
  }
  for (int64_t i = 0; i < 4; i++) {
    source_calls[i] = add_launch(job, second, i * PERIOD + 10000, 5000);
  }
  for (int64_t i = 0; i < 4; i++) {
    (void)add_kernel(job, one, i * PERIOD + 16000, 200000, source_calls[i]);
  }
  for (int64_t i = 0; i < 4; i++) {
    targets[i] = add_kernel(job, other, i * PERIOD + 219000, 50000, target_calls[i]);
  }
  build(job);
  for (size_t i = 0; i < 4; i++) {
    assert_null(dep_into(job, targets[i], LUMOS_DEP_EVENT));
  }
  lumos_job_free(job);
}

/* Four times, one call launches a kernel on each stream; the lanes stand so that the one that waits comes first. */
static void test_within_a_graph_launch(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t waits = add_stream(job, rank, "7"), awaited = add_stream(job, rank, "8");
  uint32_t calls[4], targets[4], sources[4];
  for (int64_t i = 0; i < 4; i++) {
    calls[i] = add_task(job, thread, LUMOS_LAUNCH, "cudaGraphLaunch", i * PERIOD, 5000);
  }
  for (int64_t i = 0; i < 4; i++) {
    targets[i] = add_kernel(job, waits, i * PERIOD + 209000, 50000, calls[i]);
  }
  for (int64_t i = 0; i < 4; i++) {
    sources[i] = add_kernel(job, awaited, i * PERIOD + 6000, 200000, calls[i]);
  }
  build(job);
  const struct lumos_dep *edge = dep_into(job, targets[1], LUMOS_DEP_EVENT);
  assert_non_null(edge);
  assert_int_equal(edge->src, sources[1]);
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  struct lumos_error error = {0};
  const struct lumos_sim_options options = {.drop_residuals = true};
  assert_true(lumos_engine_run(job, &options, runs, &error));
  assert_int_equal(runs[targets[1]].start - runs[sources[1]].start - runs[sources[1]].dur, 3000);
  free(runs);
  lumos_job_free(job);
}

/* Four times, the last of a graph's nodes starts 10 us late, and 500 ns before a kernel of another launch ends: so
 * short a delay tells of nodes of the same graph alone. */
static void test_a_node_just_before_an_end_of_another_launch(void **state) {
  (void)state;
  enum { NODES = 12, NODE = 4000, GAP = 1000, BEGIN = 20000, LATE = BEGIN + NODES * (NODE + GAP) + 10000 };
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t nodes = add_stream(job, rank, "7"), other = add_stream(job, rank, "8");
  uint32_t calls[4][2], targets[4];
  for (int64_t i = 0; i < 4; i++) {
    calls[i][0] = add_launch(job, thread, i * PERIOD, 5000);
    calls[i][1] = add_task(job, thread, LUMOS_LAUNCH, "cudaGraphLaunch", i * PERIOD + 10000, 5000);
  }
  for (int64_t i = 0; i < 4; i++) {
    for (int64_t n = 0; n < NODES; n++) {
      (void)add_kernel(job, nodes, i * PERIOD + BEGIN + n * (NODE + GAP), NODE, calls[i][1]);
    }
    targets[i] = add_kernel(job, nodes, i * PERIOD + LATE, NODE, calls[i][1]);
  }
  for (int64_t i = 0; i < 4; i++) {
    (void)add_kernel(job, other, i * PERIOD + 6000, LATE + 500 - 6000, calls[i][0]);
  }
  build(job);
  for (size_t i = 0; i < 4; i++) {
    assert_true(timing(job, targets[i])->residual > 2000);
    assert_null(dep_into(job, targets[i], LUMOS_DEP_EVENT));
  }
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_comes_again_is_believed),
      cmocka_unit_test(test_a_stream_that_was_busy_before_has_ends),
      cmocka_unit_test(test_what_is_seen_once_is_not),
      cmocka_unit_test(test_what_is_seen_once_is_believed_when_it_is_no_chance),
      cmocka_unit_test(test_another_source_is_another_edge),
      cmocka_unit_test(test_a_late_start_far_from_any_end_is_no_edge),
      cmocka_unit_test(test_most_late_starts_must_be_explained),
      cmocka_unit_test(test_a_usual_edge_holds_where_it_does_not_bind),
      cmocka_unit_test(test_an_edge_is_usual_that_binds_one_time_in_four),
      cmocka_unit_test(test_an_edge_that_is_violated_is_none),
      cmocka_unit_test(test_a_usual_edge_is_dropped_where_it_is_violated),
      cmocka_unit_test(test_nothing_waits_for_what_comes_later),
      cmocka_unit_test(test_within_a_graph_launch),
      cmocka_unit_test(test_a_node_just_before_an_end_of_another_launch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
