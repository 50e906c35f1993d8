/* Ranges of predictions (sim/ranges.h) on the hand-made job `streams` (sim_jobs.h), whose step is 199 ns: K0 100, then
 * K1 50, then 49 of others. Any change moves a thousandth, here 0.2 ns; 90 % are 1.645 standard deviations. */
#include "sim_jobs.h"

#include "sim/opportunity_range.h"
#include "sim/ranges.h"

#include <lumos/sim.h>
#include <math.h>

static struct lumos_task *task(struct lumos_job *job, const char *name) {
  return &job->tasks.items[task_named(job, name)];
}

static struct lumos_job *edited_job(void) {
  struct lumos_job *job = job_from_text(streams_job);
  job->edited = 1;
  return job;
}

static void simulate(struct lumos_job *job) {
  struct lumos_error error = {0};
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
}

/* Of the job's step; a kind's where it has a name. */
static void expect_range(const struct lumos_job *job, const char *name, const char *kind, int64_t low, int64_t value,
                         int64_t high) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->source == LUMOS_METRIC_SIMULATED && metric->scope.rank == LUMOS_ABSENT_INT &&
        strcmp(lumos_string(job->strings, metric->name), name) == 0 &&
        strcmp(lumos_string(job->strings, metric->scope.kind), kind) == 0) {
      assert_int_equal(metric->value.units, value);
      assert_int_equal(metric->low.units, low);
      assert_int_equal(metric->high.units, high);
      return;
    }
  }
  fail_msg("there is no %s of %s", name, kind);
}

/* K0 takes 116 (1.1645 times 100), or 86. */
static void a_common_error_is_run_up_and_down(void **state) {
  (void)state;
  struct lumos_job *job = edited_job();
  lumos_task_detail(job, task(job, "K0"))->common_error =
      lumos_job_common_error(job, "model", "a model", 100000, "by hand");
  simulate(job);
  expect_range(job, "step_time", "", 185, 199, 215);
  expect_range(job, "kind_time", "gemm", 136, 150, 166);
  expect_range(job, "kind_time", "norm", 20, 20, 20);
  expect_range(job, "device_time", "", 186, 200, 216);
  lumos_job_free(job);
}

static void what_can_only_be_shorter_has_one_side(void **state) {
  (void)state;
  struct lumos_job *job = edited_job();
  lumos_string_id error = lumos_job_common_error(job, "model", "a model", 100000, "by hand");
  lumos_task_detail(job, task(job, "K0"))->common_error = error;
  lumos_job_only_shorter(job, error);
  simulate(job);
  expect_range(job, "step_time", "", 185, 199, 199);
  lumos_job_free(job);
}

static void give_error(struct lumos_job *job, const char *name) {
  struct lumos_task *of = task(job, name);
  of->dur_source = LUMOS_MODELLED;
  lumos_task_detail(job, of)->dur_error = (struct lumos_decimal){100000, 6};
}

/* Both kernels are 0.17, 0.53, 0.96 and 1.66 standard deviations longer, or shorter: 3, 8, 15, 27 ns; 3, 8, 14, 23. */
static void kernels_of_one_name_are_off_together(void **state) {
  (void)state;
  struct lumos_job *job = edited_job();
  give_error(job, "K0");
  give_error(job, "K1");
  task(job, "K1")->name = task(job, "K0")->name;
  simulate(job);
  expect_range(job, "step_time", "", 176, 199, 225);
  lumos_job_free(job);
}

/* Half of what overlaps, which here is nothing. */
static void graphs_without_overlap_are_as_sure(void **state) {
  (void)state;
  struct lumos_job *job = edited_job();
  (void)lumos_job_common_error(job, LUMOS_ERROR_GRAPHS, "graphs", 500000, "by hand");
  simulate(job);
  expect_range(job, "step_time", "", 199, 199, 199);
  lumos_job_free(job);
}

/* K1 communicates, beside K2 for 16 ns. If half of that comes behind, 8, the step is longer by it, or shorter by the
 * 0.6 of 1.6 that K2 loses no more, 3: 1.645 sqrt(8^2 + 0.2^2), sqrt(3^2 + 0.2^2). */
static void graphs_end_overlap_and_what_it_costs(void **state) {
  (void)state;
  struct lumos_job *job = edited_job();
  task(job, "K1")->kind = LUMOS_COLLECTIVE;
  (void)lumos_job_common_error(job, LUMOS_ERROR_GRAPHS, "graphs", 500000, "by hand");
  (void)lumos_job_common_error(job, LUMOS_ERROR_BESIDE, "beside", 600000, "by hand");
  simulate(job);
  expect_range(job, "step_time", "", 194, 199, 212);
  lumos_job_free(job);
}

/* Two recordings of this job lie 10 % apart. */
static void steps_differ(void **state) {
  (void)state;
  struct lumos_job *job = edited_job();
  (void)lumos_job_common_error(job, LUMOS_ERROR_STEPS, "steps", 100000, "by hand");
  simulate(job);
  expect_range(job, "step_time", "", 166, 199, 232);
  expect_range(job, "kind_time", "gemm", 125, 150, 175);
  lumos_job_free(job);
}

/* What keeps its measured waiting does not follow the change, by as much as nobody knows. */
static void add_step(struct lumos_job *job, enum lumos_source source, int32_t step, int64_t ns) {
  struct lumos_scope scope = lumos_everywhere;
  scope.step = step;
  lumos_metric_add(job, "step_time", &scope, source, (struct lumos_decimal){ns, 0});
}

/* The first does not count. Simulated the last is 6 shorter than the mean of 114, measured 3 longer than that of
 * 120. */
static void steps_settle(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  assert_true(lumos_unsettled(job) == 0);
  add_step(job, LUMOS_METRIC_SIMULATED, 7, 500);
  add_step(job, LUMOS_METRIC_SIMULATED, 9, 108);
  assert_true(lumos_unsettled(job) == 0);
  add_step(job, LUMOS_METRIC_SIMULATED, 8, 120);
  assert_true(lumos_unsettled(job) == 0); /* built of how many steps is not known */
  add_step(job, LUMOS_METRIC_MEASURED, 7, 100);
  assert_true(fabs(lumos_unsettled(job) - 6.0 / 114) < 1e-12);
  add_step(job, LUMOS_METRIC_MEASURED, 8, 117);
  add_step(job, LUMOS_METRIC_MEASURED, 9, 123);
  assert_true(lumos_unsettled(job) == 0); /* they may do other work */
  lumos_job_note(job, LUMOS_NOTE_WAITS_GONE, LUMOS_INFO, 1, NULL, "calls", NULL);
  assert_true(fabs(lumos_unsettled(job) - (6.0 / 114 + 3.0 / 120)) < 1e-12);
  lumos_job_free(job);
}

static void what_does_not_follow_the_change_has_no_range(void **state) {
  (void)state;
  static const char *const codes[] = {LUMOS_NOTE_UNTIED_COMMUNICATION, LUMOS_NOTE_UNTIED_THREADS};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    struct lumos_job *job = edited_job();
    (void)lumos_job_common_error(job, LUMOS_ERROR_STEPS, "steps", 100000, "by hand");
    lumos_job_note(job, codes[i], LUMOS_WARNING, 1, NULL, "not joined", NULL);
    simulate(job);
    expect_range(job, "step_time", "", LUMOS_ABSENT, 199, LUMOS_ABSENT);
    assert_true(lumos_job_has_note(job, "sim.range_unknown"));
    lumos_job_free(job);
  }
}

/* Half of the matrix products, which are half of 60 ns of kernels: 15 ns of a step of then 90 move, and 5 of the 20
 * that overlap. So of replays a third of 1 % counts, and 1.5 % of a sixth with a thousandth: 1.645 sqrt(0.003333^2 +
 * 0.0025^2 + 0.001^2). Kernels that take 1.6 times as long beside communication would still lose 0.6 of an eighteenth:
 * 1.645 sqrt(0.004285^2 + 0.033333^2). */
static void an_opportunity_is_as_sure_as_any_change(void **state) {
  (void)state;
  struct lumos_opportunity_range range = {.errors = {.replay = 0.01, .steps = 0},
                                          .step = 100,
                                          .compute = 60,
                                          .overlapped = 20,
                                          .communication = 30,
                                          .beside = {.lost = 0.6, .error = 0.2, .kept = true}};
  const struct lumos_work gemm = {.subject = LUMOS_WORK_KIND, .kind = LUMOS_GEMM};
  range.kinds[LUMOS_GEMM] = 0.5;
  assert_int_equal(1e5 * lumos_opportunity_width(&range, &gemm, 500000, 90).above, 5528);
  assert_int_equal(1e5 * lumos_opportunity_width(&range, &gemm, 500000, 90).below, 704);
  range.errors.steps = 0.04; /* 1.645 sqrt(0.033607^2 + 0.04^2), sqrt(0.004285^2 + 0.04^2) */
  assert_int_equal(1e5 * lumos_opportunity_width(&range, &gemm, 500000, 90).above, 8594);
  assert_int_equal(1e5 * lumos_opportunity_width(&range, &gemm, 500000, 90).below, 6617);
  /* A change that moves 10 of 90, of which 3 may not come true, and as much as a half of what is saved:
   * 1.645 sqrt(0.002222^2 + 0.001667^2 + 0.001^2 + 0.04^2), and above with 0.033333^2 and 0.055556^2. */
  struct lumos_assumed assumed = {.longer = 3, .of_gain = 0.5};
  assert_int_equal(1e5 * lumos_improvement_width(&range, &assumed, 90).below, 6597);
  assert_int_equal(1e5 * lumos_improvement_width(&range, &assumed, 90).above, 12534);
  assert_int_equal(lumos_improvement_least(&range, &assumed), 0);
  assumed.keeps_kernels = true; /* GPUs still compute for 60 */
  assert_int_equal(lumos_improvement_least(&range, &assumed), 60);
  range.errors.replay = NAN;
  assert_true(isnan(lumos_improvement_width(&range, &assumed, 90).above));
  assert_true(isnan(lumos_opportunity_width(&range, &gemm, 500000, 90).above));
}

/* Of an overlap that grows or shrinks by a tenth of the step, where kernels lose 0.6 of it, give or take 0.2. */
static void what_overlap_costs_is_one_sided_until_it_is_predicted(void **state) {
  (void)state;
  struct lumos_beside beside = {.lost = 0.6, .error = 0.2, .kept = true};
  struct lumos_change_errors more = lumos_change_errors((struct lumos_change){0, 0.1, 0}, 0, beside, false),
                             less = lumos_change_errors((struct lumos_change){0, 0, 0.1}, 0, beside, false);
  assert_float_equal(more.longer, 0.06, 1e-9);
  assert_float_equal(more.shorter, 0, 1e-9);
  assert_float_equal(less.longer, 0, 1e-9);
  assert_float_equal(less.shorter, 0.0375, 1e-9);
  beside.kept = false;
  more = lumos_change_errors((struct lumos_change){0, 0.1, 0}, 0, beside, false);
  less = lumos_change_errors((struct lumos_change){0, 0, 0.1}, 0, beside, false);
  assert_float_equal(more.longer, 0.02, 1e-9);
  assert_float_equal(more.shorter, 0.02, 1e-9);
  assert_float_equal(less.shorter, 0.02, 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_common_error_is_run_up_and_down),
                                     cmocka_unit_test(what_can_only_be_shorter_has_one_side),
                                     cmocka_unit_test(kernels_of_one_name_are_off_together),
                                     cmocka_unit_test(graphs_without_overlap_are_as_sure),
                                     cmocka_unit_test(graphs_end_overlap_and_what_it_costs),
                                     cmocka_unit_test(steps_differ),
                                     cmocka_unit_test(steps_settle),
                                     cmocka_unit_test(what_does_not_follow_the_change_has_no_range),
                                     cmocka_unit_test(what_overlap_costs_is_one_sided_until_it_is_predicted),
                                     cmocka_unit_test(an_opportunity_is_as_sure_as_any_change)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
