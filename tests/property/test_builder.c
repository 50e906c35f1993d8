/* Property: a job made of all pieces of another one, in any order, is the same job: its records, own times and run.
 *
 * Random programs have calls, launches, events, waits, hand-overs, boundaries and collectives, and no spans, segments
 * or peers: those of tests/unit/test_job_builder.c have some.
 */
#include "random_variant.h"
#include "unit/copied_job.h"

#include "sim/engine.h"

enum { TRIALS = 300 };

static struct lumos_job *job_of(uint64_t trial) {
  random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
  struct lumos_job *job = random_job();
  add_boundaries(job);
  add_handovers(job);
  complete(job);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    if (pick(4) == 0) { /* the graph explained some of what was measured */
      struct lumos_detail *detail = lumos_task_detail(job, task);
      detail->own_dur = task->dur / 2;
      detail->own_lag = lumos_on_stream(job, task) || task->lag == 0 ? LUMOS_ABSENT : task->lag / 2;
    }
  }
  return job;
}

static void assert_same_lines(const char *left, const char *right, uint64_t trial) {
  const char *line[2] = {left, right};
  for (size_t i = 0; left[i] == right[i] && left[i] != '\0'; i++) {
    line[0] = left[i] == '\n' ? &left[i + 1] : line[0];
    line[1] = right[i] == '\n' ? &right[i + 1] : line[1];
  }
  if (strcmp(left, right) != 0) {
    fail_msg("trial %d: the job has %.*s, its copy %.*s", (int)trial, (int)strcspn(line[0], "\n"), line[0],
             (int)strcspn(line[1], "\n"), line[1]);
  }
}

static void assert_same_own_times(const struct lumos_job *job, const struct lumos_job *copy, uint64_t trial) {
  assert_int_equal(copy->tasks.count, job->tasks.count);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_times left = lumos_own_times(job, t), right = lumos_own_times(copy, t);
    if (left.dur != right.dur || left.lag != right.lag) {
      fail_msg("trial %d: task %d has %lld and %lld of its own, its copy %lld and %lld", (int)trial, (int)t,
               (long long)left.dur, (long long)left.lag, (long long)right.dur, (long long)right.lag);
    }
  }
}

/* A copy's times are all its own. */
static void keep_own_times(struct lumos_job *job) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_times own = lumos_own_times(job, t);
    job->tasks.items[t].dur = own.dur;
    job->tasks.items[t].lag = own.lag;
  }
}

static void assert_same_runs(struct lumos_job *job, const struct lumos_job *copy, uint64_t trial) {
  struct lumos_error error = {0};
  struct lumos_run *runs = malloc(2 * job->tasks.count * sizeof *runs), *copied_runs = runs + job->tasks.count;
  for (size_t t = 0; t < job->tasks.count; t++) {
    job->tasks.items[t].start = LUMOS_ABSENT; /* as the copy has none */
  }
  if (!lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error) ||
      !lumos_engine_run(copy, &(struct lumos_sim_options){0}, copied_runs, &error)) {
    fail_msg("trial %d: %s", (int)trial, error.text);
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    assert_int_equal(copied_runs[t].start, runs[t].start);
    assert_int_equal(copied_runs[t].dur, runs[t].dur);
  }
  free(runs);
}

static void a_copy_of_every_task_is_the_same_job(void **state) {
  (void)state;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    struct lumos_job *job = job_of(trial);
    struct lumos_error error = {0};
    if (!lumos_job_check(job, &error)) {
      fail_msg("trial %d: %s", (int)trial, error.text);
    }
    struct lumos_job *copy = copied(job, LUMOS_NONE, &error);
    if (copy == NULL) {
      fail_msg("trial %d: %s", (int)trial, error.text);
      return;
    }
    assert_same_own_times(job, copy, trial);
    assert_same_runs(job, copy, trial);
    keep_own_times(job);
    char *text = about_the_program(job), *copied_text = about_the_program(copy);
    assert_same_lines(text, copied_text, trial);
    free(text);
    free(copied_text);
    lumos_job_free(job);
    lumos_job_free(copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_copy_of_every_task_is_the_same_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
