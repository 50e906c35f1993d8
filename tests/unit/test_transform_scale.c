/* --scale: arithmetic, what is marked, and what an identity leaves alone. */
#include "sim_jobs.h"

#include <lumos/sim.h>
#include <lumos/transform.h>

static void scale(struct lumos_job *job, const char *specification) {
  struct lumos_error error = {0};
  if (!lumos_transform_scale(job, specification, &error)) {
    fail_msg("%s", error.text);
  }
}

static const struct lumos_task *task(const struct lumos_job *job, const char *name) {
  return &job->tasks.items[task_named(job, name)];
}

static void factors_are_exact_ratios_rounded_half_up(void **state) {
  (void)state;
  const struct {
    const char *factor;
    int64_t dur, result;
  } rows[] = {
      {"2", 101, 202},
      {"0.5", 101, 51},
      {"0.5", 99, 50},
      {".25", 2, 1}, /* half up */
      {"0.25", 1, 0},
      {"1.000001", 1000000, 1000001},
      {"0.000001", 499999, 0},
      {"0.000001", 500000, 1},
      {"0", 77, 0},
      {"1.", 77, 77},
      {"3.141592", INT64_C(1000000000000), INT64_C(3141592000000)},
      {"0.999999", (INT64_C(1) << 53) - 1,
       INT64_C(9007190247541736)}, /* 9007199254740991 - 9007199254.740991 = ...736.26 */
      {"999999999", 9000000, INT64_C(8999999991000000)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_job *job = job_from_text(streams_job);
    char specification[64];
    (void)snprintf(specification, sizeof specification, "name~^K0$=%s", rows[i].factor);
    job->tasks.items[task_named(job, "K0")].dur = rows[i].dur;
    scale(job, specification);
    assert_int_equal(task(job, "K0")->dur, rows[i].result);
    lumos_job_free(job);
  }
}

static void what_is_no_factor_is_refused(void **state) {
  (void)state;
  const char *const rows[] = {"kind=gemm",       "host=",     "host=-1", "host=1e3",
                              "host=0.1234567",  "host=1..2", "host=.",  "host= 2",
                              "host=9999999999", "host",      ""};
  struct lumos_job *job = job_from_text(streams_job);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_error error = {0};
    assert_false(lumos_transform_scale(job, rows[i], &error));
    assert_int_equal(error.status, LUMOS_UNUSABLE);
    assert_non_null(strstr(error.text, "factor"));
  }
  struct lumos_error error = {0};
  assert_false(lumos_transform_scale(job, "host=99999999", &error) &&
               lumos_transform_scale(job, "host=999999999", &error));
  assert_non_null(strstr(error.text, "2^53"));
  lumos_job_free(job);
}

static void what_was_is_kept_through_several_changes(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  scale(job, "kind=gemm=0.5");
  scale(job, "device=0.5");
  assert_int_equal(task(job, "K0")->dur, 25);
  assert_int_equal(lumos_detail_of(job, task(job, "K0"))->was, 100);
  assert_int_equal(task(job, "K0")->dur_source, LUMOS_SCALED);
  assert_int_equal(task(job, "K3")->dur, 15);
  assert_int_equal(lumos_detail_of(job, task(job, "K3"))->was, 30);
  assert_int_equal(task(job, "work")->dur_source, 0);
  assert_int_equal(job->stage, LUMOS_STAGE_TRANSFORM);
  assert_true(lumos_job_edited(job));
  assert_int_equal(job->history.count, 2);
  assert_string_equal(lumos_string(job->strings, job->history.items[1].args), "--scale device=0.5");
  char *text = stream_text(job); /* readers take it */
  lumos_job_free(stream_good(text));
  free(text);
  lumos_job_free(job);
}

static void waits_keep_their_length_and_scale_their_residual(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  uint32_t wait_lag = task_named(job, "after");
  struct lumos_dep dep = lumos_dep_empty; /* 2 of the 5 before `after` are another thread's */
  dep.src = task_named(job, "work");
  dep.dst = wait_lag;
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.lag = 4;
  dep.covers = 2;
  dep.mode = LUMOS_FIXED;
  lumos_vector_push(&job->deps, dep);
  lumos_task_detail(job, &job->tasks.items[wait_lag])->own_lag = 5 - 2;
  scale(job, "host=3");
  assert_int_equal(job->deps.items[job->deps.count - 1].lag, 12);
  assert_int_equal(task(job, "sync")->dur, 136);
  assert_int_equal(lumos_detail_of(job, task(job, "sync"))->wait.residual, 9);
  assert_int_equal(task(job, "wait")->dur, 6); /* the stream waits, not the call */
  assert_int_equal(task(job, "after")->lag, 2 + 9);
  assert_int_equal(lumos_own_times(job, wait_lag).lag, 9);
  assert_int_equal(task(job, "K0")->dur, 100);
  assert_int_equal(lumos_timing_of(job, task_named(job, "K0"))->launch_lag, 2);
  lumos_job_free(job);

  /* By kind the time between events stays; a wait of which nothing is known may be all waiting. */
  job = job_from_text(streams_job);
  job->details.items[task(job, "sync")->detail].wait.residual = LUMOS_ABSENT;
  scale(job, "kind=sync=3");
  assert_int_equal(task(job, "sync")->dur, 136);
  assert_int_equal(task(job, "sync")->dur_source, 0);
  scale(job, "kind=op=3");
  assert_int_equal(task(job, "after")->dur, 21);
  assert_int_equal(task(job, "after")->lag, 5);
  lumos_job_free(job);
}

/* One thread began 4 before the other was done: clocks differ by as much, and no work is done in that time. */
static void a_handover_that_comes_early_stays(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = task_named(job, "work");
  dep.dst = task_named(job, "after");
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.lag = -4;
  dep.mode = LUMOS_FIXED;
  lumos_vector_push(&job->deps, dep);
  scale(job, "host=3");
  assert_int_equal(job->deps.items[job->deps.count - 1].lag, -4);
  lumos_job_free(job);
}

static void a_collectives_transfer_is_scaled_where_it_decides(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  scale(job, "group=world=0.5");
  const struct lumos_collective *collective = &job->collectives.items[0];
  assert_int_equal(collective->transfer, 20);
  assert_int_equal(collective->was, 40);
  assert_int_equal(collective->dur_source, LUMOS_SCALED);
  assert_int_equal(task(job, "C0")->dur, 81); /* holds waiting */
  assert_int_equal(task(job, "C0")->dur_source, 0);
  lumos_job_free(job);

  job = job_from_text(ranks_job);
  job->collectives.items[0].transfer = LUMOS_ABSENT; /* cannot be split: the members' own lengths */
  scale(job, "group=world=0.5");
  assert_int_equal(task(job, "C0")->dur, 41); /* 40.5, half up */
  assert_int_equal(task(job, "C1")->dur, 20);
  lumos_job_free(job);
}

static void the_identity_leaves_every_other_record(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_foreign foreign = {lumos_intern_text(job->strings, "cloud"),
                                  lumos_intern_text(job->strings, "{\"type\":\"cloud\"}")};
  lumos_vector_push(&job->foreign, foreign);
  char *before = stream_text(job);
  scale(job, "host=1");
  scale(job, "name~K=1.000000");
  struct lumos_error error = {0};
  assert_true(lumos_transform_begin(job, &error));
  char *after = stream_text(job);
  assert_int_equal(job->stage, LUMOS_STAGE_TRANSFORM);
  assert_string_equal(strchr(before, '\n'), strchr(after, '\n'));
  free(before);
  free(after);
  scale(job, "host=2"); /* a change: what this version does not know may not fit any more */
  assert_int_equal(job->foreign.count, 0);
  assert_int_equal(job->notes.count, 2); /* this, and that its two threads move apart */
  assert_string_equal(lumos_string(job->strings, job->notes.items[0].code), "transform.dropped_records");
  lumos_job_free(job);
}

static void choosing_nothing_is_said(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  scale(job, "op=aten::mm=0.5");
  assert_int_equal(job->notes.count, 1);
  assert_string_equal(lumos_string(job->strings, job->notes.items[0].code), "transform.nothing_selected");
  assert_non_null(strstr(lumos_string(job->strings, job->notes.items[0].text), "op=aten::mm=0.5"));
  lumos_job_free(job);
}

static int64_t noted(const struct lumos_job *job, const char *code) {
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), code) == 0) {
      return job->notes.items[i].count;
    }
  }
  return 0;
}

static int64_t untied_ranks(const struct lumos_job *job) { return noted(job, "transform.untied_threads"); }

/* Two ranks compute for 50 and 90 and communicate for so long; how many kernels are said to be tied to no other
 * rank. */
static int64_t untied_communication(bool joined, int64_t one, int64_t other) {
  struct lumos_job *job = job_from_text(ranks_job);
  job->collectives.count = joined ? 1 : 0;
  job->tasks.items[task_named(job, "C0")].dur = one;
  job->tasks.items[task_named(job, "C1")].dur = other;
  scale(job, "host=1");
  assert_int_equal(noted(job, "transform.untied_communication"), 0); /* nothing has changed */
  scale(job, "host=2");
  scale(job, "host=2");
  int64_t untied = noted(job, "transform.untied_communication");
  lumos_job_free(job);
  return untied;
}

static void communication_that_nothing_ties_is_said(void **state) {
  (void)state;
  assert_int_equal(untied_communication(true, 81, 40), 0);
  assert_int_equal(untied_communication(false, 81, 40), 2);
  assert_int_equal(untied_communication(false, 4, 4), 2); /* 8 of 148, more than one part in twenty */
  assert_int_equal(untied_communication(false, 4, 3), 0); /* 7 of 147 */
}

static void threads_that_nothing_ties_are_said(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job); /* t1 and t2 launch */
  scale(job, "host=1");
  assert_int_equal(untied_ranks(job), 0); /* nothing has changed */
  scale(job, "host=2");
  scale(job, "host=2");
  assert_int_equal(untied_ranks(job), 1);
  lumos_job_free(job);

  job = job_from_text(ranks_job); /* a thread each */
  scale(job, "host=2");
  assert_int_equal(untied_ranks(job), 0);
  lumos_job_free(job);

  job = job_from_text(streams_job);
  struct lumos_dep dep = {.src = task_named(job, "launch1"),
                          .at = LUMOS_ABSENT,
                          .dst = task_named(job, "launch3"),
                          .covers = LUMOS_ABSENT,
                          .kind = LUMOS_HANDOVER,
                          .from = LUMOS_END,
                          .to = LUMOS_START,
                          .evidence = LUMOS_RECORDED,
                          .mode = LUMOS_FIXED};
  lumos_vector_push(&job->deps, dep);
  scale(job, "host=2");
  assert_int_equal(untied_ranks(job), 0);
  lumos_job_free(job);
}

/* Rank 0 as above and a copy of it as rank 1; a hand-over on one ties nothing on the other. */
static void a_handover_ties_its_own_rank_only(void **state) {
  (void)state;
  const char *first = strstr(streams_job, "{'type':'rank'"), *deps = strstr(streams_job, "{'type':'dep'");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (const char *at = streams_job; at < deps; at++) {
    lumos_text_char(&text, *at);
  }
  for (const char *at = first; at < deps; at++) {
    bool number = at[0] == '0' && ((at[-1] == '\'' && at[1] == ':') || strncmp(at - 7, "'rank':", 7) == 0);
    lumos_text_add(&text, number ? "1" : at, 1);
  }
  lumos_text_put(&text, deps);
  lumos_text_char(&text, '\0');
  struct lumos_job *job = job_from_text(text.bytes);
  lumos_text_free(&text);
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = job->ranks.items[0].task_first;
  dep.dst = dep.src + 8; /* launch3 of rank 0 */
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.evidence = LUMOS_INFERRED;
  dep.mode = LUMOS_FIXED;
  lumos_vector_push(&job->deps, dep);
  scale(job, "host=2");
  assert_int_equal(untied_ranks(job), 1);
  lumos_job_free(job);
}

static void what_sim_wrote_goes(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_error error = {0};
  assert_true(lumos_simulate(job, &error));
  assert_true(job->metrics.count > 0);
  scale(job, "host=2");
  assert_int_equal(job->metrics.count, 0);
  assert_int_equal(job->runs.count, 0);
  assert_int_equal(job->stage, LUMOS_STAGE_TRANSFORM);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_are_exact_ratios_rounded_half_up),
      cmocka_unit_test(what_is_no_factor_is_refused),
      cmocka_unit_test(what_was_is_kept_through_several_changes),
      cmocka_unit_test(waits_keep_their_length_and_scale_their_residual),
      cmocka_unit_test(a_handover_that_comes_early_stays),
      cmocka_unit_test(a_collectives_transfer_is_scaled_where_it_decides),
      cmocka_unit_test(the_identity_leaves_every_other_record),
      cmocka_unit_test(choosing_nothing_is_said),
      cmocka_unit_test(threads_that_nothing_ties_are_said),
      cmocka_unit_test(communication_that_nothing_ties_is_said),
      cmocka_unit_test(a_handover_ties_its_own_rank_only),
      cmocka_unit_test(what_sim_wrote_goes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
