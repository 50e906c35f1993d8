/* What held every task, and the chain of a step, on the jobs of sim_jobs.h: expected parts follow from the arithmetic
 * there. */
#include "sim_jobs.h"

#include <lumos/path.h>
#include <lumos/sim.h>
#include <lumos/transform.h>

struct explained {
  struct lumos_job *job;
  struct lumos_held bindings;
};

static struct explained explain(struct lumos_job *job) {
  struct lumos_error error = {0};
  struct explained explained = {.job = job};
  if (!lumos_simulate(job, &error) || !lumos_bindings_find(job, &explained.bindings, NULL, NULL, &error)) {
    fail_msg("%s", error.text);
  }
  return explained;
}

static void forget(struct explained *explained) {
  lumos_held_free(&explained->bindings);
  lumos_job_free(explained->job);
}

struct expected_part {
  int64_t from, to;
  const char *task;
  enum lumos_path_what what;
  enum lumos_constraint_kind kind;
  enum lumos_evidence evidence;
};

static void check_path(const struct explained *explained, int64_t from, int64_t until,
                       const struct expected_part *expected, size_t count) {
  struct lumos_path_parts parts = {0};
  lumos_path_walk(explained->job, &explained->bindings, from, until, &parts);
  for (size_t i = 0; i < parts.count && i < count; i++) {
    const struct lumos_path_part *part = &parts.items[i];
    const char *name = lumos_string(explained->job->strings, explained->job->tasks.items[part->task].name);
    if (part->from != expected[i].from || part->to != expected[i].to || strcmp(name, expected[i].task) != 0 ||
        part->what != expected[i].what || part->kind != expected[i].kind || part->evidence != expected[i].evidence) {
      fail_msg("part %zu is %lld-%lld %s %s by %s, evidence %d", i, (long long)part->from, (long long)part->to, name,
               lumos_path_what_name(part->what), lumos_constraint_kind_name(part->kind), part->evidence);
    }
  }
  assert_int_equal(parts.count, count);
  lumos_vector_free(&parts);
}

#define CHECK_PATH(explained, from, until, ...)                                       \
  do {                                                                                \
    const struct expected_part expected[] = {__VA_ARGS__};                            \
    check_path(explained, from, until, expected, sizeof expected / sizeof *expected); \
  } while (0)

#define RUN(from, to, task) \
  { from, to, task, LUMOS_PATH_RUN, LUMOS_HELD_BY_ITSELF, LUMOS_RECORDED }
#define LAG(from, to, task, kind) \
  { from, to, task, LUMOS_PATH_LAG, kind, LUMOS_RECORDED }

static void a_chain_crosses_streams_by_their_events(void **state) {
  (void)state;
  struct explained explained = explain(job_from_text(streams_job));
  CHECK_PATH(&explained, 0, 199, RUN(0, 10, "launch0"), LAG(10, 12, "K0", LUMOS_HELD_BY_LAUNCH), RUN(12, 112, "K0"),
             LAG(112, 116, "K1", LUMOS_HELD_BY_EVENT),
             {116, 117, "K1", LUMOS_PATH_UNEXPLAINED, LUMOS_HELD_BY_EVENT, LUMOS_UNEXPLAINED}, RUN(117, 167, "K1"),
             LAG(167, 169, "K3", LUMOS_HELD_BY_STREAM), RUN(169, 199, "K3"));
  forget(&explained);
}

static void a_host_wait_leads_to_the_work_it_waited_for(void **state) {
  (void)state;
  struct explained explained = explain(job_from_text(streams_job));
  CHECK_PATH(&explained, 150, 182, RUN(150, 167, "K1"), LAG(167, 170, "sync", LUMOS_HELD_BY_WAIT),
             LAG(170, 175, "after", LUMOS_HELD_BY_THREAD), RUN(175, 182, "after"));
  forget(&explained);
}

static void a_collective_leads_to_the_rank_that_came_last(void **state) {
  (void)state;
  struct explained explained = explain(job_from_text(ranks_job));
  CHECK_PATH(&explained, 0, 144, RUN(0, 10, "launchB"), LAG(10, 11, "B", LUMOS_HELD_BY_LAUNCH), RUN(11, 101, "B"),
             LAG(101, 103, "C1", LUMOS_HELD_BY_STREAM),
             {103, 143, "C0", LUMOS_PATH_RUN, LUMOS_HELD_BY_COLLECTIVE, LUMOS_RECORDED},
             {143, 144, "C0", LUMOS_PATH_UNEXPLAINED, LUMOS_HELD_BY_COLLECTIVE, LUMOS_UNEXPLAINED});
  forget(&explained);
}

static void an_edit_changes_what_binds(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_error error = {0};
  /* K0 in no time: ends at 12. K1 is then held by its launch, 24 + 2, and the event, 12 + 4, has 10 of slack. */
  assert_true(lumos_transform_scale(job, "kind=gemm=0", &error));
  struct explained explained = explain(job);
  const struct lumos_binding start = lumos_held_of(&explained.bindings, task_named(job, "K1")).start;
  assert_int_equal(start.kind, LUMOS_HELD_BY_LAUNCH);
  assert_int_equal(start.src, task_named(job, "launch1"));
  forget(&explained);
}

static void what_nothing_holds_is_outside(void **state) {
  (void)state;
  struct explained explained = explain(job_from_text(copies_job));
  uint32_t backlog = task_named(explained.job, "backlog");
  assert_int_equal(lumos_held_of(&explained.bindings, backlog).start.kind, LUMOS_HELD_BY_BOUNDARY);
  assert_int_equal(lumos_held_of(&explained.bindings, backlog).start.evidence, LUMOS_RECORDED);
  CHECK_PATH(&explained, 0, 11, {0, 6, "backlog", LUMOS_PATH_OUTSIDE, LUMOS_HELD_BY_BOUNDARY, LUMOS_RECORDED},
             RUN(6, 11, "backlog"));
  /* The blocking copy, 0 to 35: its own work, behind the backlog on the stream, ends at 32, and 3 later it returns. */
  CHECK_PATH(&explained, 0, 35, {0, 6, "backlog", LUMOS_PATH_OUTSIDE, LUMOS_HELD_BY_BOUNDARY, LUMOS_RECORDED},
             RUN(6, 11, "backlog"), LAG(11, 12, "copy", LUMOS_HELD_BY_STREAM), RUN(12, 32, "copy"),
             LAG(32, 35, "cudaMemcpy", LUMOS_HELD_BY_WAIT));
  forget(&explained);
}

static void behind_a_boundary_stands_what_would_have_held(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_dep boundary = lumos_dep_empty;
  boundary.dst = task_named(job, "K1");
  boundary.at = 130;
  boundary.lag = 0;
  boundary.kind = LUMOS_BOUNDARY;
  boundary.from = boundary.to = LUMOS_START;
  boundary.evidence = LUMOS_INFERRED;
  boundary.mode = LUMOS_FIXED;
  lumos_vector_push(&job->deps, boundary);
  struct explained explained = explain(job); /* K1 131-181, behind K0, which ends at 112, K3 183-213 */
  CHECK_PATH(&explained, 0, 213, RUN(0, 10, "launch0"), LAG(10, 12, "K0", LUMOS_HELD_BY_LAUNCH), RUN(12, 112, "K0"),
             {112, 130, "K1", LUMOS_PATH_OUTSIDE, LUMOS_HELD_BY_BOUNDARY, LUMOS_INFERRED},
             {130, 131, "K1", LUMOS_PATH_UNEXPLAINED, LUMOS_HELD_BY_BOUNDARY, LUMOS_UNEXPLAINED}, RUN(131, 181, "K1"),
             LAG(181, 183, "K3", LUMOS_HELD_BY_STREAM), RUN(183, 213, "K3"));
  forget(&explained);
}

static void a_watched_task_tells_all_that_holds_it(void **state) {
  (void)state;
  struct explained explained = explain(job_from_text(streams_job));
  const struct lumos_job *job = explained.job;
  uint8_t *watched = lumos_allocate_zeroed(job->tasks.count, 1);
  struct lumos_constraints all = {0};
  struct lumos_error error = {0};
  watched[task_named(job, "K1")] = watched[task_named(job, "sync")] = 1;
  assert_true(lumos_bindings_find(job, &explained.bindings, watched, &all, &error));
  const struct lumos_constraint expected[] = {
      {34, task_named(job, "launch2"), task_named(job, "sync"), LUMOS_HELD_BY_THREAD, LUMOS_END, LUMOS_START,
       LUMOS_RECORDED},
      {167, task_named(job, "K1"), task_named(job, "sync"), LUMOS_HELD_BY_WAIT, LUMOS_END, LUMOS_END, LUMOS_RECORDED},
      {26, task_named(job, "launch1"), task_named(job, "K1"), LUMOS_HELD_BY_LAUNCH, LUMOS_END, LUMOS_START,
       LUMOS_RECORDED},
      {116, task_named(job, "K0"), task_named(job, "K1"), LUMOS_HELD_BY_EVENT, LUMOS_END, LUMOS_START, LUMOS_RECORDED},
  };
  assert_int_equal(all.count, sizeof expected / sizeof *expected);
  for (size_t i = 0; i < all.count; i++) {
    const struct lumos_constraint *one = &all.items[i];
    assert_int_equal(one->bound, expected[i].bound);
    assert_int_equal(one->src, expected[i].src);
    assert_int_equal(one->dst, expected[i].dst);
    assert_int_equal(one->kind, expected[i].kind);
    assert_int_equal(one->to, expected[i].to);
    assert_int_equal(one->evidence, expected[i].evidence);
  }
  free(watched);
  lumos_vector_free(&all);
  forget(&explained);
}

/* Of a task that only follows the one before it, too, by a run that looks at such tasks together. */
static void a_watched_task_may_be_one_of_many(void **state) {
  (void)state;
  struct explained explained = explain(streams_job_with_tail());
  const struct lumos_job *job = explained.job;
  uint8_t *watched = lumos_allocate_zeroed(job->tasks.count, 1);
  struct lumos_constraints all = {0};
  struct lumos_error error = {0};
  watched[task_named(job, "and then")] = 1;
  assert_true(lumos_bindings_find(job, NULL, watched, &all, &error));
  assert_int_equal(all.count, 1);
  assert_int_equal(all.items[0].bound, 183);
  assert_int_equal(all.items[0].src, task_named(job, "then"));
  assert_int_equal(all.items[0].dst, task_named(job, "and then"));
  assert_int_equal(all.items[0].kind, LUMOS_HELD_BY_THREAD);
  free(watched);
  lumos_vector_free(&all);
  forget(&explained);
}

static void edited_times_are_not_explained(void **state) {
  (void)state;
  struct explained explained = explain(job_from_text(streams_job));
  struct lumos_error error = {0};
  explained.job->runs.items[task_named(explained.job, "K2")].start++;
  lumos_job_forget_run(explained.job); /* as in a job that was read from a stream */
  assert_false(lumos_bindings_find(explained.job, &explained.bindings, NULL, NULL, &error));
  assert_non_null(strstr(error.text, "0:10"));
  forget(&explained);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_crosses_streams_by_their_events),
      cmocka_unit_test(a_host_wait_leads_to_the_work_it_waited_for),
      cmocka_unit_test(a_collective_leads_to_the_rank_that_came_last),
      cmocka_unit_test(an_edit_changes_what_binds),
      cmocka_unit_test(what_nothing_holds_is_outside),
      cmocka_unit_test(behind_a_boundary_stands_what_would_have_held),
      cmocka_unit_test(a_watched_task_tells_all_that_holds_it),
      cmocka_unit_test(a_watched_task_may_be_one_of_many),
      cmocka_unit_test(edited_times_are_not_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
