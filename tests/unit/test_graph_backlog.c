/* Event edges of work that was launched before the recording: two streams that do the same again and again. */
#include "graph_job.h"

#include <lumos/sim.h>
#include <stdlib.h>

/* Every turn: `works` runs for 100 us on stream 7, and `waits`, which was told to wait for it, on stream 8. What is launched in the
 * recording was launched long before it runs, for the backlog keeps the streams busy. */
enum { PERIOD = 200000, WORKS = 100000, LATENCY = 3000, TURNS = 12, LONG_WORK = 150000 };

struct scene {
  struct lumos_job *job;
  uint32_t works[TURNS], waits[TURNS];
};

/* `waits` starts at the same time of every turn, however long `works` takes. */
struct turn {
  const char *works, *waits; /* names */
  int64_t lasts;             /* works */
};

static struct scene stage(const struct turn *turns, size_t before, size_t all) {
  struct scene scene = {.job = new_job()};
  uint32_t rank = add_rank(scene.job, 0), thread = add_thread(scene.job, rank, "1");
  uint32_t seven = add_stream(scene.job, rank, "7"), eight = add_stream(scene.job, rank, "8");
  uint32_t calls[TURNS][2];
  for (size_t i = before; i < all; i++) {
    int64_t at = (int64_t)(i - before) * 40000;
    calls[i][0] = add_launch(scene.job, thread, at, 5000);
    uint32_t record = add_record(scene.job, thread, at + 10000, 1000, seven);
    (void)add_stream_wait(scene.job, thread, at + 20000, 1000, eight, record);
    calls[i][1] = add_launch(scene.job, thread, at + 30000, 5000);
  }
  for (size_t i = 0; i < all; i++) {
    scene.works[i] =
        add_kernel(scene.job, seven, (int64_t)i * PERIOD, turns[i].lasts, i < before ? LUMOS_NONE : calls[i][0]);
    scene.job->tasks.items[scene.works[i]].name = word(scene.job, turns[i].works);
  }
  for (size_t i = 0; i < all; i++) {
    scene.waits[i] = add_kernel(scene.job, eight, (int64_t)i * PERIOD + WORKS + LATENCY, 50000,
                                i < before ? LUMOS_NONE : calls[i][1]);
    scene.job->tasks.items[scene.waits[i]].name = word(scene.job, turns[i].waits);
  }
  build(scene.job);
  return scene;
}

static void expect_edge(const struct scene *scene, size_t turn, size_t source) {
  const struct lumos_dep *edge = dep_into(scene->job, scene->waits[turn], LUMOS_DEP_EVENT);
  assert_non_null(edge);
  assert_int_equal(edge->src, scene->works[source]);
  assert_int_equal(edge->evidence, LUMOS_INFERRED);
  assert_int_equal(edge->lag, LATENCY);
  assert_int_equal(timing(scene->job, scene->waits[turn])->residual, 0);
}

static void expect_none(const struct scene *scene, size_t turn) {
  assert_null(dep_into(scene->job, scene->waits[turn], LUMOS_DEP_EVENT));
}

static const struct turn usual = {"works", "waits", WORKS};

static void test_what_waits_in_the_recording_waited_before_it(void **state) {
  (void)state;
  const struct turn turns[] = {usual, usual, usual, usual, usual, usual, usual};
  struct scene scene = stage(turns, 3, 7);
  for (size_t i = 0; i < 3; i++) {
    expect_edge(&scene, i, i);
  }
  lumos_job_free(scene.job);
}

/* Without it `waits` would start where the boundary of its stream holds it. */
static void test_a_replay_keeps_to_it(void **state) {
  (void)state;
  const struct turn turns[] = {usual, usual, usual, usual, usual, usual, usual};
  struct scene scene = stage(turns, 3, 7);
  struct lumos_run *runs = lumos_allocate(scene.job->tasks.count * sizeof *runs);
  struct lumos_error error = {0};
  const struct lumos_sim_options options = {.drop_residuals = true};
  scene.job->tasks.items[scene.works[0]].dur = LONG_WORK;
  assert_true(lumos_engine_run(scene.job, &options, runs, &error));
  assert_int_equal(runs[scene.waits[0]].start, runs[scene.works[0]].start + LONG_WORK + LATENCY);
  free(runs);
  lumos_job_free(scene.job);
}

static void test_other_work_is_not_taken_for_it(void **state) {
  (void)state;
  const struct turn first = {"a", "a", WORKS}, second = {"b", "b", WORKS}, third = {"c", "c", WORKS};
  const struct turn turns[] = {first, {"x", "x", WORKS}, third, first, second, third, first, second, third};
  struct scene scene = stage(turns, 3, 9);
  expect_none(&scene, 0); /* beyond what is unlike nothing is compared */
  expect_none(&scene, 1);
  expect_edge(&scene, 2, 2);
  lumos_job_free(scene.job);
}

/* All turns are the same, and what waits was launched last: the backlog may end before it or behind it. */
static void test_where_two_places_fit_nothing_is_repeated(void **state) {
  (void)state;
  const struct turn turns[] = {usual, {"works", "x", WORKS}, usual, usual, usual, usual, usual};
  struct scene scene = stage(turns, 3, 7);
  for (size_t i = 0; i < 3; i++) {
    expect_none(&scene, i);
  }
  lumos_job_free(scene.job);
}

/* `waits` of turn 1 starts while `works` runs: the backlog did something else. */
static void test_a_backlog_that_violates_its_edges_has_none(void **state) {
  (void)state;
  const struct turn turns[] = {usual, {"works", "waits", LONG_WORK}, usual, usual, usual, usual, usual};
  struct scene scene = stage(turns, 3, 7);
  for (size_t i = 0; i < 3; i++) {
    expect_none(&scene, i);
  }
  lumos_job_free(scene.job);
}

/* On the stream that works every turn is the same; the other tells which of them the backlog ends with. It is the odd one: at an even
 * one the backlog's odd turn would fit nothing. */
static void test_all_streams_tell_where_the_backlog_comes_again(void **state) {
  (void)state;
  const struct turn odd = {"works", "waits a little", WORKS};
  const struct turn turns[] = {usual, odd, usual, odd, usual, odd, usual, odd};
  struct scene scene = stage(turns, 2, 8);
  expect_edge(&scene, 0, 0);
  expect_edge(&scene, 1, 1);
  lumos_job_free(scene.job);
  const struct turn others[] = {odd, usual, usual, odd, usual, usual, odd, usual};
  scene = stage(others, 2, 8);
  expect_edge(&scene, 0, 0);
  expect_edge(&scene, 1, 1);
  lumos_job_free(scene.job);
}

static void test_a_recording_without_a_backlog_has_no_such_edges(void **state) {
  (void)state;
  const struct turn turns[] = {usual, usual, usual};
  struct scene scene = stage(turns, 0, 3);
  for (size_t i = 0; i < 3; i++) {
    const struct lumos_dep *edge = dep_into(scene.job, scene.waits[i], LUMOS_DEP_EVENT);
    assert_non_null(edge);
    assert_int_equal(edge->evidence, LUMOS_RECORDED);
  }
  lumos_job_free(scene.job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_waits_in_the_recording_waited_before_it),
      cmocka_unit_test(test_a_replay_keeps_to_it),
      cmocka_unit_test(test_other_work_is_not_taken_for_it),
      cmocka_unit_test(test_where_two_places_fit_nothing_is_repeated),
      cmocka_unit_test(test_a_backlog_that_violates_its_edges_has_none),
      cmocka_unit_test(test_all_streams_tell_where_the_backlog_comes_again),
      cmocka_unit_test(test_a_recording_without_a_backlog_has_no_such_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
