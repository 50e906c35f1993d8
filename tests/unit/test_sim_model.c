/* The models that leave dependencies out: the hand-made jobs (sim_jobs.h) without them, worked out on paper. */
#include "sim_jobs.h"

#include "sim/model.h"
#include <lumos/path.h>
#include <lumos/transform.h>

struct expected {
  const char *name;
  int64_t start, end;
};

static void check(const struct lumos_job *job, enum lumos_model model, const struct expected *expected, size_t count) {
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  struct lumos_error error = {0};
  const struct lumos_sim_options options = {.model = model};
  if (!lumos_engine_run(job, &options, runs, &error)) {
    fail_msg("%s", error.text);
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t t = task_named(job, expected[i].name);
    if (runs[t].start != expected[i].start || runs[t].start + runs[t].dur != expected[i].end) {
      fail_msg("%s: %s runs %lld-%lld, not %lld-%lld", lumos_model_name(model), expected[i].name,
               (long long)runs[t].start, (long long)(runs[t].start + runs[t].dur), (long long)expected[i].start,
               (long long)expected[i].end);
    }
  }
  free(runs);
}

#define CHECK(job, model, ...)                                       \
  do {                                                               \
    const struct expected expected[] = {__VA_ARGS__};                \
    check(job, model, expected, sizeof expected / sizeof *expected); \
  } while (0)

static void without_events_a_stream_waits_for_no_other(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  CHECK(job, LUMOS_MODEL_LUMOS, {"K1", 117, 167}, {"K3", 169, 199});
  /* K1: launch 24 + 2, residual 1. K3: behind it, gap 2. The others wait for no event. */
  CHECK(job, LUMOS_MODEL_DPRO, {"K0", 12, 112}, {"K2", 113, 133}, {"K1", 27, 77}, {"K3", 79, 109});
  CHECK(job, LUMOS_MODEL_DAYDREAM, {"K0", 12, 112}, {"K2", 113, 133}, {"K1", 27, 77}, {"K3", 79, 109});
  lumos_job_free(job);
}

static void an_inferred_edge_is_left_out_as_a_recorded_one_is(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  for (size_t i = 0; i < job->deps.count; i++) {
    if (job->deps.items[i].kind == LUMOS_DEP_EVENT) {
      job->deps.items[i].evidence = LUMOS_INFERRED;
      job->deps.items[i].mode = LUMOS_FIXED;
    }
  }
  CHECK(job, LUMOS_MODEL_DPRO, {"K1", 27, 77});
  lumos_job_free(job);
}

static void without_host_waits_a_call_takes_only_its_own_time(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  CHECK(job, LUMOS_MODEL_DPRO, {"sync", 34, 37}, {"after", 42, 49});
  /* It looks at 34 and sees K1, which ends at 77; 3 more. */
  CHECK(job, LUMOS_MODEL_DAYDREAM, {"sync", 34, 80}, {"after", 85, 92});
  lumos_job_free(job);
  job = job_from_text(copies_job);
  CHECK(job, LUMOS_MODEL_DPRO, {"cudaMemcpy", 0, 3}, {"launch", 5, 9});
  CHECK(job, LUMOS_MODEL_DAYDREAM, {"cudaMemcpy", 0, 35});
  lumos_job_free(job);
}

static void without_ties_a_member_keeps_its_measured_length(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_error error = {0};
  assert_true(lumos_transform_scale(job, "name~^B$=2", &error)); /* 11-191: C1 starts 90 later */
  CHECK(job, LUMOS_MODEL_LUMOS, {"C1", 193, 233}, {"C0", 63, 234});
  CHECK(job, LUMOS_MODEL_DPRO, {"C1", 193, 233}, {"C0", 63, 234});
  CHECK(job, LUMOS_MODEL_DAYDREAM, {"C1", 193, 233}, {"C0", 63, 144});
  lumos_job_free(job);
}

static void a_transfer_that_changed_is_beyond_daydream(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_error error = {0};
  assert_true(lumos_transform_scale(job, "kind=collective=2", &error));
  assert_false(lumos_simulate_by(job, LUMOS_MODEL_DAYDREAM, &error));
  assert_non_null(strstr(error.text, "daydream"));
  assert_true(lumos_simulate_by(job, LUMOS_MODEL_DPRO, &error));
  lumos_job_free(job);
}

static void a_job_says_by_which_model_it_was_simulated(void **state) {
  (void)state;
  for (enum lumos_model model = LUMOS_MODEL_LUMOS; model < LUMOS_MODELS; model++) {
    enum lumos_model found = LUMOS_MODELS;
    struct lumos_error error = {0};
    struct lumos_job *job = job_from_text(streams_job);
    assert_true(lumos_model_find(lumos_model_name(model), &found));
    assert_int_equal(found, model);
    assert_true(lumos_simulate_by(job, model, &error));
    assert_int_equal(lumos_model_of(job), model);
    /* What held every task is asked of the same model. */
    struct lumos_held bindings = {0};
    assert_true(lumos_bindings_find(job, &bindings, NULL, NULL, &error));
    assert_int_equal(lumos_held_of(&bindings, task_named(job, "K1")).start.kind,
                     model == LUMOS_MODEL_LUMOS ? LUMOS_HELD_BY_EVENT : LUMOS_HELD_BY_LAUNCH);
    lumos_held_free(&bindings);
    assert_true(lumos_simulate(job, &error));
    assert_int_equal(lumos_model_of(job), LUMOS_MODEL_LUMOS);
    lumos_job_free(job);
  }
  enum lumos_model none;
  assert_false(lumos_model_find("astra", &none));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_events_a_stream_waits_for_no_other),
      cmocka_unit_test(an_inferred_edge_is_left_out_as_a_recorded_one_is),
      cmocka_unit_test(without_host_waits_a_call_takes_only_its_own_time),
      cmocka_unit_test(without_ties_a_member_keeps_its_measured_length),
      cmocka_unit_test(a_transfer_that_changed_is_beyond_daydream),
      cmocka_unit_test(a_job_says_by_which_model_it_was_simulated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
