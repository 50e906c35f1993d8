/* Jobs made out of pieces of others: one that is made of all pieces, in any order, is the same job. */
#include "copied_job.h"
#include "sim_jobs.h"

#include <lumos/path.h>

static const char *const texts[] = {streams_job, ranks_job, copies_job, late_job};
enum { TEXTS = sizeof texts / sizeof *texts };

static void a_copy_of_every_task_is_the_same_job(void **state) {
  (void)state;
  for (int i = 0; i < TEXTS; i++) {
    struct lumos_job *job = job_from_text(texts[i]);
    struct lumos_error error = {0};
    struct lumos_job *copy = copied(job, LUMOS_NONE, &error);
    if (copy == NULL) {
      fail_msg("%s", error.text);
      return;
    }
    struct lumos_job *again = copied(copy, LUMOS_NONE, &error);
    char *first = about_the_program(job), *second = about_the_program(copy), *third = about_the_program(again);
    assert_string_equal(first, second);
    assert_string_equal(second, third);
    free(first);
    free(second);
    free(third);
    lumos_job_free(job);
    lumos_job_free(copy);
    lumos_job_free(again);
  }
}

static void a_copy_runs_as_its_original_without_starts(void **state) {
  (void)state;
  for (int i = 0; i < TEXTS; i++) {
    struct lumos_job *job = job_from_text(texts[i]);
    struct lumos_error error = {0};
    for (size_t t = 0; t < job->tasks.count; t++) {
      job->tasks.items[t].start = LUMOS_ABSENT;
    }
    struct lumos_job *copy = copied(job, LUMOS_NONE, &error);
    assert_non_null(copy);
    assert_true(lumos_simulate(job, &error));
    assert_true(lumos_simulate(copy, &error));
    assert_int_equal(copy->tasks.count, job->tasks.count);
    for (size_t t = 0; t < job->tasks.count; t++) {
      assert_int_equal(copy->runs.items[t].start, job->runs.items[t].start);
      assert_int_equal(copy->runs.items[t].dur, job->runs.items[t].dur);
    }
    lumos_job_free(job);
    lumos_job_free(copy);
  }
}

static void an_open_port_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *task, *expected;
  } cases[] = {
      {streams_job, "K1", "a task like 0:11 is built without how it comes to its stream"},
      {streams_job, "wait", "a task like 0:2 is built without the record that it awaits"},
      {ranks_job, "C1", "a task like 1:5 is built without how it comes to its stream"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = job_from_text(cases[i].text);
    struct lumos_error error = {0};
    assert_null(copied(job, task_named(job, cases[i].task), &error));
    assert_string_equal(error.text, cases[i].expected);
    lumos_job_free(job);
  }
}

/* Rank 1 twice, as 1 and 2: an all-reduce of three, the last of which comes when the second does. */
static void a_rank_may_be_built_twice(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_builder *builder = lumos_builder_new(job);
  struct lumos_built_task members[3];
  struct lumos_error error = {0};
  for (int32_t number = 0; number < 3; number++) {
    uint32_t like = number == 0 ? 0 : 1;
    const struct lumos_rank *rank = &job->ranks.items[like];
    struct lumos_built_rank built = lumos_build_rank(builder, like, number);
    struct lumos_built_task tasks[6] = {{0}};
    if (number == 0) {
      lumos_build_group(builder, 0, built, (const int32_t[]){0, 1, 2}, 3);
    }
    for (uint32_t i = 0; i < rank->lane_count; i++) {
      const struct lumos_lane *lane = &job->lanes.items[rank->lane_first + i];
      struct lumos_built_lane on = lumos_build_lane(builder, rank->lane_first + i, built);
      for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
        tasks[t - rank->task_first] = lumos_build_task(builder, t, on, lumos_own_times(job, t), 1);
      }
    }
    for (uint32_t t = 4; t < 6; t++) {
      lumos_build_origin(builder, tasks[t], LUMOS_LAUNCHED,
                         tasks[job->tasks.items[rank->task_first + t].call - rank->task_first]);
    }
    lumos_build_dep(builder, like, no_task, job->deps.items[like].at, tasks[0]);
    members[number] = tasks[5];
  }
  lumos_build_collective(builder, 0, members, 3, 3);
  struct lumos_job *built = lumos_builder_finish(builder, &error);
  lumos_builder_free(builder);
  if (built == NULL) {
    fail_msg("%s", error.text);
    return;
  }
  assert_int_equal(built->ranks.items[2].from, 1);
  assert_int_equal(built->ranks.items[1].from, LUMOS_ABSENT_INT);
  assert_int_equal(built->tasks.items[12].id, 0);
  struct lumos_run runs[18];
  assert_true(lumos_engine_run(built, &(struct lumos_sim_options){0}, runs, &error));
  assert_int_equal(runs[11].start, 103);
  assert_int_equal(runs[17].start, 103);
  assert_int_equal(runs[17].start + runs[17].dur, 143);
  lumos_job_free(built);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_copy_of_every_task_is_the_same_job),
      cmocka_unit_test(a_copy_runs_as_its_original_without_starts),
      cmocka_unit_test(an_open_port_is_refused),
      cmocka_unit_test(a_rank_may_be_built_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
