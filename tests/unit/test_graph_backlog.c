/* Event edges of work that was launched before the recording: two streams that do the same again and again. */
#include "graph_job.h"

#include <lumos/sim.h>
#include <stdlib.h>

/* Every turn: `works` runs for 100 us on stream 7; on stream 8 `begins` does for 1 us, and `waits`, which was told to
 * wait for `works`. What is launched in the recording was launched long before it runs, for the backlog keeps the
 * streams busy. */
enum { PERIOD = 200000, WORKS = 100000, LATENCY = 3000, TURNS = 102, LONG_WORK = 150000 };

struct scene {
  struct lumos_job *job;
  uint32_t works[TURNS], waits[TURNS];
};

/* `waits` starts at the same time of every turn, however long `works` takes. */
struct turn {
  const char *works, *waits; /* names; works NULL: it ran before the first task that was recorded */
  int64_t lasts;             /* works */
};

static uint32_t add_named(struct lumos_job *job, uint32_t stream, const char *name, int64_t start, int64_t dur,
                          uint32_t call) {
  uint32_t task = add_kernel(job, stream, start, dur, call);
  job->tasks.items[task].name = word(job, name);
  return task;
}

/* Which of a turn's kernels is launched first. */
enum order { WORKS_FIRST, BEGINS_FIRST };

static struct scene stage_in(enum order order, const struct turn *turns, size_t before, size_t all) {
  struct scene scene = {.job = new_job()};
  uint32_t rank = add_rank(scene.job, 0), thread = add_thread(scene.job, rank, "1");
  uint32_t seven = add_stream(scene.job, rank, "7"), eight = add_stream(scene.job, rank, "8");
  uint32_t calls[TURNS][3];
  for (size_t i = 0; i < all; i++) {
    calls[i][0] = calls[i][1] = calls[i][2] = LUMOS_NONE;
    int64_t at = (int64_t)(i - before) * 50000;
    if (i >= before) {
      calls[i][order == BEGINS_FIRST] = add_launch(scene.job, thread, at, 5000);
      calls[i][order == WORKS_FIRST] = add_launch(scene.job, thread, at + 10000, 5000);
      uint32_t record = add_record(scene.job, thread, at + 20000, 1000, seven);
      (void)add_stream_wait(scene.job, thread, at + 30000, 1000, eight, record);
      calls[i][2] = add_launch(scene.job, thread, at + 40000, 5000);
    }
  }
  for (size_t i = 0; i < all; i++) {
    scene.works[i] = turns[i].works == NULL ? LUMOS_NONE
                                            : add_named(scene.job, seven, turns[i].works, (int64_t)i * PERIOD,
                                                        turns[i].lasts, calls[i][0]);
  }
  for (size_t i = 0; i < all; i++) {
    int64_t at = (int64_t)i * PERIOD;
    (void)add_named(scene.job, eight, "begins", at, 1000, calls[i][1]);
    scene.waits[i] = add_named(scene.job, eight, turns[i].waits, at + WORKS + LATENCY, 50000, calls[i][2]);
  }
  build(scene.job);
  return scene;
}

static struct scene stage(const struct turn *turns, size_t before, size_t all) {
  return stage_in(BEGINS_FIRST, turns, before, all);
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

/* Of turns with the same names timing alone would tell the edges. */
static const struct turn first = {"a", "a", WORKS}, second = {"b", "b", WORKS}, third = {"c", "c", WORKS};
static const struct turn usual = {"works", "waits", WORKS}, slack = {"works", "waits", WORKS / 2};

static void test_what_waits_in_the_recording_waited_before_it(void **state) {
  (void)state;
  const struct turn turns[] = {first, second, third, first, second, third, first};
  struct scene scene = stage(turns, 3, 7);
  for (size_t i = 0; i < 3; i++) {
    expect_edge(&scene, i, i);
  }
  lumos_job_free(scene.job);
}

/* Without it `waits` would start when its stream is free. */
static void test_a_replay_keeps_to_it(void **state) {
  (void)state;
  const struct turn turns[] = {first, second, third, first, second, third, first};
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
  const struct turn early = {"a", "a", WORKS / 2}, other = {"x", "x", WORKS / 2}; /* too short for timing to tell */
  const struct turn turns[] = {early, other, third, first, second, third, first, second, third};
  struct scene scene = stage(turns, 3, 9);
  expect_none(&scene, 0); /* beyond what is unlike nothing is compared */
  expect_none(&scene, 1);
  expect_edge(&scene, 2, 2);
  lumos_job_free(scene.job);
}

/* All turns are the same, and what waits was launched last: the backlog may end before it or behind it. */
static void test_where_two_places_fit_nothing_is_repeated(void **state) {
  (void)state;
  const struct turn turns[] = {slack, {"works", "x", WORKS / 2}, slack, usual, usual, usual, usual};
  struct scene scene = stage_in(WORKS_FIRST, turns, 3, 7);
  for (size_t i = 0; i < 3; i++) {
    expect_none(&scene, i);
  }
  lumos_job_free(scene.job);
}

/* `waits` of turn 1 starts while `works` runs: the backlog did something else. */
static void test_a_backlog_that_violates_its_edges_has_none(void **state) {
  (void)state;
  const struct turn turns[] = {slack, {"works", "waits", LONG_WORK}, slack, usual, usual, usual, usual};
  struct scene scene = stage(turns, 3, 7);
  for (size_t i = 0; i < 3; i++) {
    expect_none(&scene, i);
  }
  lumos_job_free(scene.job);
}

/* As many turns before the recording, of which one violates its edge, and one turn more in it. */
static struct scene stage_one_violated_in(size_t before) {
  struct turn turns[TURNS];
  for (size_t i = 0; i < 2 * before + 1; i++) {
    turns[i] = i < before ? slack : usual;
  }
  turns[1] = (struct turn){"works", "waits", LONG_WORK};
  return stage(turns, before, 2 * before + 1);
}

/* Edges of the backlog hold together or not at all: 1 of 50 may be violated, and is left out; 1 of 49 is too many. */
static void test_one_violated_edge_of_fifty_is_chance(void **state) {
  (void)state;
  struct scene scene = stage_one_violated_in(50);
  expect_none(&scene, 1);
  for (size_t i = 0; i < 50; i++) {
    assert_true(i == 1 || dep_into(scene.job, scene.waits[i], LUMOS_DEP_EVENT) != NULL);
  }
  lumos_job_free(scene.job);
  scene = stage_one_violated_in(49);
  for (size_t i = 0; i < 49; i++) {
    expect_none(&scene, i);
  }
  lumos_job_free(scene.job);
}

/* On the stream that waits every turn is the same; the other tells which of them the backlog ends with. */
static void test_all_streams_tell_where_the_backlog_comes_again(void **state) {
  (void)state;
  const struct turn odd = {"other works", "waits", WORKS};
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

/* No edge can tell it: what was awaited is not in the recording. */
static void test_what_waited_for_lost_work_is_held_by_a_boundary(void **state) {
  (void)state;
  const struct turn turns[] = {{NULL, "waits", 0}, usual, usual, usual, usual, usual, usual};
  struct scene scene = stage(turns, 3, 7);
  expect_none(&scene, 0);
  const struct lumos_dep *boundary = dep_into(scene.job, scene.waits[0], LUMOS_BOUNDARY);
  assert_non_null(boundary);
  assert_int_equal(boundary->at, WORKS + LATENCY);
  assert_int_equal(boundary->evidence, LUMOS_INFERRED);
  assert_int_equal(timing(scene.job, scene.waits[0])->residual, 0);
  assert_null(dep_into(scene.job, scene.waits[1], LUMOS_BOUNDARY));
  expect_edge(&scene, 1, 1);
  lumos_job_free(scene.job);
  const struct turn others[] = {{NULL, "waits", 0}, {NULL, "x", 0}, usual, {"works", "x", WORKS}, usual, usual};
  scene = stage(others, 2, 6);
  assert_non_null(dep_into(scene.job, scene.waits[0], LUMOS_BOUNDARY));
  assert_non_null(dep_into(scene.job, scene.waits[1], LUMOS_BOUNDARY));
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
      cmocka_unit_test(test_one_violated_edge_of_fifty_is_chance),
      cmocka_unit_test(test_all_streams_tell_where_the_backlog_comes_again),
      cmocka_unit_test(test_what_waited_for_lost_work_is_held_by_a_boundary),
      cmocka_unit_test(test_a_recording_without_a_backlog_has_no_such_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
