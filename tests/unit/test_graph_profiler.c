/* What recording takes on the host: found where ops do next to nothing, and left as it is by a what-if of the host.
 *
 * A round, of one thread (ns):
 *
 *   outer  0-72    holds inner 7-60 and other 65-70
 *   inner  7-60    holds call 20-30 and call 33-40
 *
 * Its tasks: outer 0-7, inner 7-20, call 20-30, inner 30-33, call 33-40, inner 40-60, outer 60-65, other 65-70, outer
 * 70-72. Alone stand: the start of inner in 7, the end of a call in 3 and in 20, the end of other in 2. The end of
 * inner and the start of other share 5, so that of 7 and 2 are left 7 * 5 / 9 = 4 and 1.
 */
#include "graph_job.h"

#include "graph/profiler.h"
#include "transform/pace.h"
#include <lumos/sim.h>
#include <lumos/transform.h>
#include <math.h>

enum { ROUND = 1000, ROUND_TASKS = 9 };
enum { OUTER_BEGINS, INNER_BEGINS, FIRST_CALL, BETWEEN_CALLS, SECOND_CALL, INNER_ENDS, BETWEEN_OPS, OTHER, OUTER_ENDS };

static uint32_t add_span(struct lumos_job *job, const char *name, int64_t start, int64_t dur, uint32_t parent) {
  struct lumos_span span = lumos_span_empty;
  span.id = (uint32_t)job->spans.count;
  span.rank = 0;
  span.lane = 0;
  span.kind = LUMOS_SPAN_OP;
  span.name = word(job, name);
  span.start = start;
  span.dur = dur;
  span.parent = parent;
  lumos_vector_push(&job->spans, span);
  return span.id;
}

static void add_stretch(struct lumos_job *job, enum lumos_task_kind kind, const char *name, int64_t start, int64_t end,
                        uint32_t span) {
  uint32_t task = add_task(job, 0, kind, name, start, end - start);
  job->tasks.items[task].span = span;
}

static struct lumos_job *job_of_rounds(int rounds) {
  struct lumos_job *job = new_job();
  (void)add_rank(job, 0);
  (void)add_thread(job, 0, "1");
  for (int64_t at = 0; at < (int64_t)rounds * ROUND; at += ROUND) {
    uint32_t outer = add_span(job, "outer", at, 72, LUMOS_NONE);
    uint32_t inner = add_span(job, "inner", at + 7, 53, outer);
    uint32_t other = add_span(job, "other", at + 65, 5, outer);
    add_stretch(job, LUMOS_OP, "outer", at, at + 7, outer);
    add_stretch(job, LUMOS_OP, "inner", at + 7, at + 20, inner);
    add_stretch(job, LUMOS_LAUNCH, "call", at + 20, at + 30, inner);
    add_stretch(job, LUMOS_OP, "inner", at + 30, at + 33, inner);
    add_stretch(job, LUMOS_LAUNCH, "call", at + 33, at + 40, inner);
    add_stretch(job, LUMOS_OP, "inner", at + 40, at + 60, inner);
    add_stretch(job, LUMOS_OP, "outer", at + 60, at + 65, outer);
    add_stretch(job, LUMOS_OP, "other", at + 65, at + 70, other);
    add_stretch(job, LUMOS_OP, "outer", at + 70, at + 72, outer);
  }
  return job;
}

static void the_shortest_typical_stretch_is_what_recording_takes(void **state) {
  (void)state;
  struct lumos_job *job = job_of_rounds(20);
  build(job);
  const struct lumos_profiler *profiler = &job->ranks.items[0].profiler;
  assert_int_equal(profiler->before_op, 4);
  assert_int_equal(profiler->after_op, 1);
  assert_int_equal(profiler->after_call, 3);
  assert_int_equal(profiler->least, LUMOS_ABSENT_INT);
  lumos_job_rewind(job, LUMOS_STAGE_PARSE);
  assert_true(profiler->before_op == LUMOS_ABSENT);
  lumos_job_free(job);
}

static void few_stretches_say_nothing(void **state) {
  (void)state;
  struct lumos_job *job = job_of_rounds(19);
  build(job);
  const struct lumos_profiler *profiler = &job->ranks.items[0].profiler;
  assert_true(profiler->before_op == LUMOS_ABSENT && profiler->after_op == LUMOS_ABSENT &&
              profiler->after_call == LUMOS_ABSENT);
  struct lumos_profiled part = lumos_profiled_part(job, ROUND_TASKS);
  assert_int_equal(part.dur, 0);
  assert_int_equal(part.lag, 0);
  lumos_job_free(job);
}

/* In every second round inner begins with outer, other ends with it, and the calls follow each other at once: 3 or 4
 * of 7, 1 of 2, 1 or 2 of 3, trimmed. */
static void stretches_of_no_length_count(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  (void)add_rank(job, 0);
  (void)add_thread(job, 0, "1");
  for (int64_t i = 0; i < 40; i++) {
    int64_t at = i * ROUND;
    int64_t none = i % 2; /* 1: the stretches have no length */
    uint32_t outer = add_span(job, "outer", at + 8 * none, 62 - 10 * none, LUMOS_NONE);
    uint32_t inner = add_span(job, "inner", at + 8, 52, outer);
    if (none == 0) {
      add_stretch(job, LUMOS_OP, "outer", at, at + 8, outer);
    }
    add_stretch(job, LUMOS_OP, "inner", at + 8, at + 20, inner);
    add_stretch(job, LUMOS_LAUNCH, "call", at + 20, at + 30 + 4 * none, inner);
    if (none == 0) {
      add_stretch(job, LUMOS_OP, "inner", at + 30, at + 34, inner);
    }
    add_stretch(job, LUMOS_LAUNCH, "call", at + 34, at + 40, inner);
    add_stretch(job, LUMOS_OP, "inner", at + 40, at + 60, inner);
    if (none == 0) {
      add_stretch(job, LUMOS_OP, "outer", at + 60, at + 62, outer);
    }
  }
  build(job);
  const struct lumos_profiler *profiler = &job->ranks.items[0].profiler;
  assert_int_equal(profiler->before_op, 4);
  assert_int_equal(profiler->after_op, 1);
  assert_int_equal(profiler->after_call, 2);
  lumos_job_free(job);
}

/* A call that is cut by one inside it does not end where that begins, nor does the inner one end an op. */
static void calls_inside_calls_say_nothing(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  (void)add_rank(job, 0);
  (void)add_thread(job, 0, "1");
  for (int64_t at = 0; at < (int64_t)20 * ROUND; at += ROUND) {
    uint32_t op = add_span(job, "op", at, 60, LUMOS_NONE);
    add_stretch(job, LUMOS_OP, "op", at, at + 10, op);
    add_stretch(job, LUMOS_LAUNCH, "call", at + 10, at + 20, op);
    uint32_t first = (uint32_t)job->tasks.count - 1;
    add_stretch(job, LUMOS_LAUNCH, "driver", at + 20, at + 40, op);
    add_stretch(job, LUMOS_LAUNCH, "call", at + 40, at + 50, op);
    detail(job, (uint32_t)job->tasks.count - 1)->first_segment = first;
    add_stretch(job, LUMOS_OP, "op", at + 50, at + 60, op);
  }
  build(job);
  assert_int_equal(job->ranks.items[0].profiler.after_call, 10);
  lumos_job_free(job);
}

static void a_call_may_end_with_its_op(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  (void)add_rank(job, 0);
  (void)add_thread(job, 0, "1");
  for (int64_t at = 0; at < (int64_t)20 * ROUND; at += ROUND) {
    uint32_t op = add_span(job, "op", at, 20, LUMOS_NONE);
    add_stretch(job, LUMOS_OP, "op", at, at + 10, op);
    add_stretch(job, LUMOS_LAUNCH, "call", at + 10, at + 20, op);
  }
  build(job);
  assert_int_equal(job->ranks.items[0].profiler.after_call, 0);
  lumos_job_free(job);
}

static void every_stretch_holds_the_rows_at_its_ends(void **state) {
  (void)state;
  const struct lumos_profiled parts[ROUND_TASKS] = {
      [OUTER_BEGINS] = {4, 1 + 4}, /* behind the round before: the end of its outer, and this one's start */
      [INNER_BEGINS] = {0, 0},     [FIRST_CALL] = {0, 0},      [BETWEEN_CALLS] = {3, 0}, [SECOND_CALL] = {0, 0},
      [INNER_ENDS] = {3, 0},       [BETWEEN_OPS] = {1 + 4, 0}, [OTHER] = {0, 0},         [OUTER_ENDS] = {1, 0},
  };
  struct lumos_job *job = job_of_rounds(20);
  build(job);
  for (uint32_t i = 0; i < ROUND_TASKS; i++) {
    struct lumos_profiled part = lumos_profiled_part(job, ROUND_TASKS + i);
    assert_int_equal(part.dur, parts[i].dur);
    assert_int_equal(part.lag, parts[i].lag);
  }
  lumos_job_free(job);
}

/* Of a round 4 + 3 + 3 + 5 + 1, and of the 19 lags between rounds 5 each. */
static void its_time_is_added_up_by_step(void **state) {
  (void)state;
  for (int changed = 0; changed < 2; changed++) {
    struct lumos_job *job = job_of_rounds(20);
    build(job);
    struct lumos_error error = {0};
    assert_true(changed == 0 || lumos_transform_scale(job, "host=0.1", &error));
    assert_true(lumos_simulate(job, &error));
    int64_t time = LUMOS_ABSENT;
    for (size_t i = 0; i < job->metrics.count; i++) {
      const struct lumos_metric *metric = &job->metrics.items[i];
      if (strcmp(lumos_string(job->strings, metric->name), "profiler_time") == 0 && metric->scope.rank == 0) {
        assert_int_equal(metric->source, changed ? LUMOS_METRIC_SIMULATED : LUMOS_METRIC_MEASURED);
        time = metric->value.units;
      }
    }
    assert_int_equal(time, 20 * 16 + 19 * 5);
    lumos_job_free(job);
  }
}

/* dur = profiled + factor (dur - profiled), and the lag of 928 alike; so it is behind a second change. */
static void a_host_of_another_speed_leaves_it(void **state) {
  (void)state;
  const int64_t twice[ROUND_TASKS] = {10, 26, 20, 3, 14, 37, 5, 10, 3};
  const int64_t four_times[ROUND_TASKS] = {16, 52, 40, 3, 28, 71, 5, 20, 5};
  struct lumos_job *job = job_of_rounds(20);
  build(job);
  const struct lumos_task *tasks = job->tasks.items + ROUND_TASKS;
  struct lumos_error error = {0};
  assert_true(lumos_transform_scale(job, "host=2", &error));
  for (int i = 0; i < ROUND_TASKS; i++) {
    assert_int_equal(tasks[i].dur, twice[i]);
  }
  assert_int_equal(tasks[0].lag, 5 + 2 * 923);
  assert_true(lumos_transform_scale(job, "host=2", &error));
  for (int i = 0; i < ROUND_TASKS; i++) {
    assert_int_equal(tasks[i].dur, four_times[i]);
  }
  assert_int_equal(tasks[0].lag, 5 + 4 * 923);
  lumos_job_free(job);
}

/* What is left is the host's own, of which a change then changes all. */
static void without_it_the_rest_is_left(void **state) {
  (void)state;
  const int64_t own[ROUND_TASKS] = {3, 13, 10, 0, 7, 17, 0, 5, 1};
  struct lumos_job *job = job_of_rounds(20);
  build(job);
  const struct lumos_task *tasks = job->tasks.items + ROUND_TASKS;
  struct lumos_error error = {0};
  assert_true(lumos_transform_unprofiled(job, NULL, &error));
  for (int i = 0; i < ROUND_TASKS; i++) {
    assert_int_equal(tasks[i].dur, own[i]);
    assert_int_equal(tasks[i].dur_source, own[i] < 5 || i == INNER_ENDS ? LUMOS_SCALED : 0);
  }
  assert_int_equal(tasks[0].lag, 923);
  assert_int_equal(lumos_detail_of(job, &tasks[0])->was, 7);
  assert_string_equal(lumos_string(job->strings, job->history.items[job->history.count - 1].args), "--unprofiled");
  assert_true(job->ranks.items[0].profiler.before_op == LUMOS_ABSENT);
  assert_true(lumos_transform_scale(job, "host=2", &error));
  for (int i = 0; i < ROUND_TASKS; i++) {
    assert_int_equal(tasks[i].dur, 2 * own[i]);
  }
  assert_int_equal(tasks[0].lag, 2 * 923);
  assert_int_equal(noted(job, "transform.profiler_unknown"), 0);
  assert_int_equal(noted(job, "transform.profiler_range"), 1);
  lumos_job_free(job);
}

/* A change has left 3 of the first task's 7, of which 4 were the profiler's: more than 3 cannot be taken out. */
static void no_time_falls_below_0(void **state) {
  (void)state;
  struct lumos_job *job = job_of_rounds(20);
  build(job);
  struct lumos_task *task = &job->tasks.items[ROUND_TASKS];
  struct lumos_error error = {0};
  lumos_task_detail(job, task)->was = 7;
  task->dur = 3;
  assert_true(lumos_transform_unprofiled(job, NULL, &error));
  assert_int_equal(job->tasks.items[ROUND_TASKS].dur, 0);
  lumos_job_free(job);
}

/* 20 rounds in a step of 20000, of which recording takes 415 at most, beside two steps without it that take so long. */
static struct lumos_job *job_of_a_timed_step(int64_t unprofiled) {
  struct lumos_job *job = job_of_rounds(20);
  job->spans.items[add_span(job, "ProfilerStep#1", 0, (int64_t)20 * ROUND, LUMOS_NONE)].kind = LUMOS_SPAN_STEP;
  job->ranks.items[0].unprofiled_steps = 2;
  job->ranks.items[0].unprofiled_dur = unprofiled;
  build(job);
  return job;
}

static void steps_timed_without_it_tell_how_much_at_least(void **state) {
  (void)state;
  const struct {
    int64_t unprofiled;
    int32_t least;
    int64_t between_ops; /* of 1 + 4 */
  } cases[] = {
      {40010, 0, 0},                    /* the recorded step took no longer */
      {40000 - 2 * 208, 501204, 0 + 2}, /* 208 of 415 longer */
      {40000 - 2 * 415, 1000000, 1 + 4},
      {40000 - 2 * 500, 1000000, 1 + 4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = job_of_a_timed_step(cases[i].unprofiled);
    assert_int_equal(job->ranks.items[0].profiler.before_op, 4);
    assert_int_equal(job->ranks.items[0].profiler.least, cases[i].least);
    assert_int_equal(lumos_profiled_part(job, BETWEEN_OPS).dur, cases[i].between_ops);
    struct lumos_error error = {0};
    assert_true(lumos_transform_unprofiled(job, NULL, &error));
    assert_int_equal(noted(job, "transform.profiler_range"), 0);
    lumos_job_free(job);
  }
}

/* The threads of 20 rounds hold the step up: it takes what they take, 19072 up to the end of the last task. */
static void threads_keep_the_pace_of_timed_steps(void **state) {
  (void)state;
  const struct {
    int64_t timed; /* ns of two steps */
    bool faster;
  } cases[] = {
      {(int64_t)2 * 15000, true}, {(int64_t)2 * 8000, true}, {(int64_t)2 * 20000, false}, {(int64_t)2 * 30000, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = job_of_a_timed_step(cases[i].timed);
    struct lumos_pace pace = lumos_pace_find(job);
    assert_int_equal(pace.factor < 1, cases[i].faster);
    assert_true(pace.sigma == 0); /* timed steps show it */
    struct lumos_error error = {0};
    assert_true(lumos_transform_unprofiled(job, NULL, &error));
    assert_true(lumos_simulate(job, &error));
    const struct lumos_run *last = &job->runs.items[job->tasks.count - 1];
    assert_float_equal((double)(last->start + last->dur), fmin((double)cases[i].timed / 2, 19072), 0.01 * 20000);
    lumos_job_free(job);
  }
}

/* A changed job is not what was timed. */
static void the_pace_is_that_of_the_recording(void **state) {
  (void)state;
  struct lumos_job *job = job_of_a_timed_step((int64_t)2 * 15000);
  struct lumos_error error = {0};
  assert_true(lumos_transform_scale(job, "host=2", &error));
  assert_true(lumos_transform_unprofiled(job, NULL, &error));
  assert_int_equal(noted(job, "transform.profiler_late"), LUMOS_ABSENT); /* told, without a number */
  lumos_job_free(job);
}

static void what_is_not_known_cannot_be_taken_out(void **state) {
  (void)state;
  struct lumos_job *job = job_of_rounds(19);
  build(job);
  struct lumos_error error = {0};
  assert_true(lumos_transform_unprofiled(job, NULL, &error));
  assert_int_equal(job->tasks.items[0].dur, 7);
  assert_int_equal(job->notes.count, 1);
  assert_string_equal(lumos_string(job->strings, job->notes.items[0].code), "transform.profiler_unknown");
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_shortest_typical_stretch_is_what_recording_takes),
      cmocka_unit_test(few_stretches_say_nothing),
      cmocka_unit_test(stretches_of_no_length_count),
      cmocka_unit_test(calls_inside_calls_say_nothing),
      cmocka_unit_test(a_call_may_end_with_its_op),
      cmocka_unit_test(every_stretch_holds_the_rows_at_its_ends),
      cmocka_unit_test(its_time_is_added_up_by_step),
      cmocka_unit_test(a_host_of_another_speed_leaves_it),
      cmocka_unit_test(without_it_the_rest_is_left),
      cmocka_unit_test(no_time_falls_below_0),
      cmocka_unit_test(steps_timed_without_it_tell_how_much_at_least),
      cmocka_unit_test(threads_keep_the_pace_of_timed_steps),
      cmocka_unit_test(the_pace_is_that_of_the_recording),
      cmocka_unit_test(what_is_not_known_cannot_be_taken_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
