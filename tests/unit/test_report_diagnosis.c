/* The diagnosis of jobs made by hand: who causes what, and what it costs. Expected figures are worked out beside each
 * job. */
#include "unit/diagnosis_job.h"

#include "report/diagnosis/gains.h"
#include "report/diagnosis/remedy.h"

/* Rank 2 is late by 15 ms for what was not recorded: of the mean waiting of (20 + 20 + 0) / 3 = 13.3 ms (15 + 15) / 3 =
 * 10 are for that, and no CPU's. On the critical path it has 62 of 100 ms, of which up to 15 lie outside the recording:
 * 47 are no majority, and with 5 outside at least 57 are. */
static void what_was_not_recorded_is_no_cpu_time(void **state) {
  (void)state;
  enum { IDLE = 26666666 }; /* the mean, all of it for CPUs */
  for (int outside = 5; outside <= 15; outside += 10) {
    const struct parts parts[] = {{.compute = MS(60), .wait = MS(20), .idle = MS(20)},
                                  {.compute = MS(60), .wait = MS(20), .idle = MS(20)},
                                  {.compute = MS(60), .idle = MS(40)}};
    struct lumos_job *job = ranks_with(parts, 3);
    add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(10), 0);
    add_kind(job, "late_arrival", 2, "unknown", MS(15));
    add_kind(job, "critical_path_kind", LUMOS_ABSENT_INT, "launch", MS(60));
    add_kind(job, "critical_path_kind", LUMOS_ABSENT_INT, "outside", MS(outside));
    add_kind(job, "critical_path_kind", LUMOS_ABSENT_INT, "gemm", MS(40 - outside));
    add_metric(job, "critical_path_rank", 2, 0, LUMOS_METRIC_SIMULATED, MS(62), 0);
    add_metric(job, "critical_path_rank", 0, 0, LUMOS_METRIC_SIMULATED, MS(38), 0);
    (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_int_equal(find(&diagnosis, LUMOS_CAUSE_NOT_RECORDED)->time, MS(10));
    assert_int_equal(find(&diagnosis, LUMOS_CAUSE_NOT_RECORDED)->waiting, MS(10));
    assert_int_equal(diagnosis.limits[LUMOS_LIMIT_NOT_RECORDED].size, 100000);
    const struct lumos_finding *cpus = find(&diagnosis, LUMOS_CAUSE_CPU_BOUND);
    assert_int_equal(cpus->time, IDLE + 3333333);
    struct report_facts facts;
    report_facts_read(job, &facts);
    const struct report_opportunities none = {.job = job};
    const struct report_result result = {job, facts, none, diagnosis};
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    diagnosis_put_finding(&result, cpus, &out);
    lumos_text_char(&out, '\0');
    assert_int_equal(
        strstr(out.bytes, "most of all for rank 2\xE2\x80\x99s (at least 57.0\xC2\xA0% of the critical path)") != NULL,
        outside == 5);
    assert_int_equal(strstr(out.bytes, "most of all") != NULL, outside == 5);
    lumos_text_free(&out);
    report_facts_free(&facts);
    forget(job, &diagnosis);
  }
}

/* Rank 2 is late by 50 ms and rank 1 by 45 for what was not recorded, which is nearly as late; so is rank 3, but nobody
 * waits for it. Of rank 0's 60 ms of waiting 50 are for that, of rank 1's 10 the 5 by which it is earlier, of rank 3's
 * 45 the 3: (50 + 5 + 3) / 4. The other 57 of 115 ms are waiting by turns. */
static void ranks_late_for_an_unknown_cause_are_named(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(20), .wait = MS(60), .idle = MS(20)},
                                {.compute = MS(80), .wait = MS(10), .idle = MS(10)},
                                {.compute = MS(90), .idle = MS(10)},
                                {.compute = MS(45), .wait = MS(45), .idle = MS(10)}};
  struct lumos_job *job = ranks_with(parts, 4);
  for (uint32_t r = 0; r < 4; r++) {
    job->ranks.items[r].world = 4;
  }
  add_kind(job, "late_arrival", 1, "unknown", MS(45));
  add_kind(job, "late_arrival", 2, "unknown", MS(50));
  add_kind(job, "late_arrival", 3, "unknown", MS(47));
  for (int32_t rank = 1; rank <= 3; rank++) {
    add_metric(job, "last_arrivals", rank, 0, LUMOS_METRIC_MEASURED, rank < 3, 0);
  }
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  finish_job(job);
  expect_sentences(job, "The step takes 100 ms: the recording does not show what the GPUs wait for during 14.5 ms "
                        "(14.5 %), nor why ranks 2 and 1 are up to 50.0 ms late; ranks wait for each other by turns "
                        "for 14.3 ms (14.3 %). Record several steps, beginning with the same one on all ranks.");
  lumos_job_free(job);
}

/* 100 ms with the profiler and 85 without it, of which the GPU computes for 70. 30 are idle, 24 of them for the CPU: 15
 * are the profiler's, 9 the job's. Without CUDA graphs' CPU time a step takes 75. */
static void what_the_profiler_costs_is_not_the_jobs(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(70), .idle = MS(30)}};
  struct lumos_job *job = ranks_with(parts, 1);
  add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(24), 0);
  add_metric(job, "idle_dependency", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(6), 0);
  add_metric(job, "unprofiled_step_time", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED, MS(85), 0);
  add_metric(job, "profiling_cost", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED, 176471, 6);
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 0, 6);
  add_parts(job, LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, parts[0]);
  add_kind(job, "opportunity_change", LUMOS_ABSENT_INT, "cuda_graphs", MS(75));
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_CPU_BOUND, MS(9), 90000);
  expect_finding(&diagnosis, diagnosis.count - 1, LUMOS_CAUSE_PROFILER, MS(15), 150000);
  assert_string_equal(lumos_confidence_name(diagnosis.confidence), "fair");
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_RECORDING);
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_report_verdict(job, &out, &error));
  lumos_text_char(&out, '\0');
  assert_non_null(strstr(out.bytes,
                         "The step takes 100 ms with the profiler and 85.0 ms without it: the "
                         "GPU waits for the CPU to launch work for 9.00 ms (10.6 % of the unprofiled step). "));
  assert_non_null(strstr(out.bytes, "with CUDA graphs it would take 75.0 ms (\xE2\x88\x92"
                                    "11.8 % of the unprofiled step)."));
  /* On bars: of the 85, and nothing where the rest may be what recording took. */
  struct report_facts facts;
  report_facts_read(job, &facts);
  struct report_opportunities opportunities = {.job = job, .step = MS(100)};
  const struct report_result result = {job, facts, opportunities, diagnosis};
  const struct {
    int64_t time;
    const char *gain;
  } rows[] = {{MS(75), "\xE2\x88\x92"
                       "11.8\xC2\xA0%"},
              {MS(85), "no gain known"},
              {MS(95), "no gain known"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    out.length = 0;
    diagnosis_put_row_gain(&result, rows[i].time, &out);
    lumos_text_char(&out, '\0');
    assert_string_equal(out.bytes, rows[i].gain);
  }
  report_facts_free(&facts);
  lumos_text_free(&out);
  forget(job, &diagnosis);
}

/* 30 ms idle, 24 of which for the CPU, 2 behind waits, 4 for dependencies; the thread is blocked for 12 ms. So 10 of
 * the 24 are the synchronization's doing, too. */
static void a_blocked_cpu_cannot_be_ahead(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(70), .idle = MS(30)}};
  struct lumos_job *job = ranks_with(parts, 1);
  add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(24), 0);
  add_metric(job, "idle_sync", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(2), 0);
  add_metric(job, "idle_dependency", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(4), 0);
  uint32_t thread = add_lane(job, 0, "t1", LUMOS_THREAD);
  (void)add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", 0, MS(1));
  uint32_t wait = add_task(job, thread, LUMOS_SYNC, "cudaStreamSynchronize", MS(2), MS(12));
  struct lumos_detail *detail = lumos_task_detail(job, &job->tasks.items[wait]);
  detail->wait.on = LUMOS_WAIT_STREAM;
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_CPU_BOUND, MS(14), 140000);
  expect_finding(&diagnosis, 1, LUMOS_CAUSE_SYNCHRONIZATION, MS(12), 120000);
  expect_finding(&diagnosis, 2, LUMOS_CAUSE_IDLE, MS(4), 40000);
  expect_finding(&diagnosis, 3, LUMOS_CAUSE_COMPUTE, MS(70), 700000);
  assert_int_equal(diagnosis.count, 4);
  forget(job, &diagnosis);
}

/* Just under and at the share from which an overhead is a diagnosis. */
static void small_overheads_are_no_diagnosis(void **state) {
  (void)state;
  static const struct {
    int64_t wait;
    enum lumos_cause cause;
  } cases[] = {{MS(4.9), LUMOS_CAUSE_COMPUTE}, {MS(5), LUMOS_CAUSE_WAITING}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct parts parts[] = {{.compute = MS(100) - cases[i].wait, .wait = cases[i].wait}};
    struct lumos_job *job = ranks_with(parts, 1);
    (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_int_equal(diagnosis.findings[0].cause, cases[i].cause);
    assert_int_equal(diagnosis.count, 2);
    forget(job, &diagnosis);
  }
}

/* What a small overhead stands beside; where a rank is to blame that is what there is to say. */
static void a_step_that_mostly_computes_says_so(void **state) {
  (void)state;
  static const struct {
    int64_t compute;
    const char *text;
  } cases[] = {{MS(75), "The step takes 100\xC2\xA0ms, 75.0\xC2\xA0% of it compute: ranks wait "},
               {MS(74), "The step takes 100\xC2\xA0ms: ranks wait "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct parts parts[] = {{.compute = cases[i].compute, .wait = MS(100) - cases[i].compute}};
    struct lumos_job *job = ranks_with(parts, 1);
    (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
    struct lumos_diagnosis diagnosis = diagnose(job);
    struct report_facts facts;
    report_facts_read(job, &facts);
    const struct report_opportunities opportunities = {.job = job, .step = MS(100)};
    const struct report_result result = {job, facts, opportunities, diagnosis};
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    diagnosis_put_sentence(&result, &out);
    lumos_text_char(&out, '\0');
    assert_memory_equal(out.bytes, cases[i].text, strlen(cases[i].text));
    lumos_text_free(&out);
    report_facts_free(&facts);
    forget(job, &diagnosis);
  }
}

/* Most of the step is outside the recording: that is what there is to say, with the rank that is late beside it, and no
 * gain is predicted although one was simulated. */
static void what_is_not_recorded_comes_first_and_nothing_is_predicted(void **state) {
  (void)state;
  struct lumos_job *job = late_job(0, MS(36));
  for (int32_t rank = LUMOS_ABSENT_INT, left = 4; left > 0; left--) {
    add_metric(job, "not_recorded", rank, 0, LUMOS_METRIC_MEASURED, MS(60), 0);
    rank = rank == LUMOS_ABSENT_INT ? 0 : rank + 1;
  }
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
  add_metric(job, "step_time", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(100), 0);
  add_kind(job, "opportunity_half", LUMOS_ABSENT_INT, "stragglers", MS(80));
  add_kind(job, "opportunity_free", LUMOS_ABSENT_INT, "stragglers", MS(70));
  for (size_t i = job->metrics.count - 2; i < job->metrics.count; i++) {
    job->metrics.items[i].source = LUMOS_METRIC_SIMULATED;
  }
  (void)add_task(job, add_lane(job, 1, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_NOT_RECORDED, MS(60), 600000);
  assert_int_equal(diagnosis.confidence, LUMOS_POOR);
  expect_sentences(job,
                   "The step takes 100 ms: the recording does not show what the GPUs wait for during 60.0 ms "
                   "(60.0 %); rank 1\xE2\x80\x99s CPU seems 36.0 ms late (36.0 %), and the other 2 ranks wait. Record "
                   "more steps, on all ranks, with CPU and CUDA activities.");
  forget(job, &diagnosis);
}

/* Without its delay of 36 ms a step would take 90 of 100 ms, which is less than a change saves that is simulated, too;
 * half of a kind of work counts only where there is nothing else. */
static void the_best_gain_is_the_larger_one(void **state) {
  (void)state;
  struct lumos_job *job = late_job(0, MS(36));
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  }
  struct lumos_diagnosis diagnosis = diagnose(job);
  struct report_facts facts;
  report_facts_read(job, &facts);
  struct report_opportunity changes[] = {{.kind = lumos_intern_text(job->strings, "cuda_graphs"), .half = MS(70)},
                                         {.kind = lumos_intern_text(job->strings, "no_straggler"), .half = MS(90)}};
  struct report_opportunity works[] = {
      {.kind = lumos_intern_text(job->strings, "host"), .half = MS(50)},
      {.kind = lumos_intern_text(job->strings, "stragglers"), .half = MS(60), .free = MS(55)}};
  struct report_opportunities opportunities = {
      .job = job, .list = {works, 2, 2}, .changes = {changes, 2, 2}, .step = MS(100)};
  struct report_result result = {job, facts, opportunities, diagnosis};
  assert_int_equal(diagnosis_cure(&result).share, 100000);
  struct diagnosis_gain best = diagnosis_best_gain(&result);
  assert_int_equal(best.share, 300000);
  assert_ptr_equal(best.opportunity, &changes[0]);
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_remedy(&result, &out); /* which the cure's 10 % are less than half of */
  lumos_text_char(&out, '\0');
  assert_non_null(strstr(out.bytes, "Capture each pass in a CUDA graph: "));
  assert_non_null(strstr(out.bytes,
                         "; with that it would take 70.0\xC2\xA0ms (\xE2\x88\x92"
                         "30.0\xC2\xA0%), while removing rank 1\xE2\x80\x99s delay alone would save 10.0\xC2\xA0%."));
  expect_first_sentence(&result, "; without that delay, something else limits the step.");
  /* Then CPUs are 70 of 100 on the critical path, rank 2's alone 45; and with a little more all of them. */
  static const struct {
    int32_t rank;
    const char *place;
    int64_t time;
  } path[] = {{2, "cpu", 45}, {0, "cpu", 25}, {1, "gpu", 30}};
  for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) {
    add_metric(job, "straggler_free_path", path[i].rank, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, path[i].time, 0);
    job->metrics.items[job->metrics.count - 1].scope.kind = lumos_intern_text(job->strings, path[i].place);
  }
  out.length = 0;
  diagnosis_put_remedy(&result, &out);
  lumos_text_char(&out, '\0');
  assert_null(strstr(out.bytes, "limit the step"));
  expect_first_sentence(&result, "; without that delay, CPUs still limit the step.");
  job->metrics.items[job->metrics.count - 3].value.units = 155;
  expect_first_sentence(&result, "the other 2\xC2\xA0ranks wait; without that delay, CPUs still limit the step.");
  changes[0].half = MS(81);
  out.length = 0;
  diagnosis_put_remedy(&result, &out);
  lumos_text_char(&out, '\0');
  assert_null(strstr(out.bytes, "CUDA graph"));
  assert_non_null(strstr(out.bytes, "; without that delay it would take 90.0\xC2\xA0ms (\xE2\x88\x92"
                                    "10.0\xC2\xA0%); less than the delay, because rank 2\xE2\x80\x99s CPU then limits "
                                    "the step (73.8\xC2\xA0% of the critical path)."));
  expect_first_sentence(&result, "the other 2\xC2\xA0ranks wait.");
  lumos_text_free(&out);
  changes[0].half = MS(92);
  best = diagnosis_best_gain(&result);
  assert_int_equal(best.share, 100000);
  assert_ptr_equal(best.opportunity, &changes[1]);
  result.opportunities.changes.count = 0; /* what the delay costs beside others is not known then */
  assert_int_equal(diagnosis_cure(&result).share, LUMOS_ABSENT);
  best = diagnosis_best_gain(&result);
  assert_int_equal(best.share, 500000);
  assert_ptr_equal(best.opportunity, &works[0]);
  report_facts_free(&facts);
  forget(job, &diagnosis);
}

/* The bubble of 30 of 100 ms is no more than a bound: 20 % that were simulated go before it, 14 % do not. */
static void a_bound_is_no_prediction(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(70), .bubble = MS(30)}};
  struct lumos_job *job = ranks_with(parts, 1);
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_BUBBLE, MS(30), 300000);
  struct report_facts facts;
  report_facts_read(job, &facts);
  struct report_opportunity changes[] = {{.kind = lumos_intern_text(job->strings, "cuda_graphs"), .half = MS(80)}};
  struct report_opportunities opportunities = {.job = job, .changes = {changes, 1, 1}, .step = MS(100)};
  const struct report_result result = {job, facts, opportunities, diagnosis};
  struct diagnosis_gain best = diagnosis_best_gain(&result), headline = diagnosis_headline_gain(&result);
  assert_ptr_equal(best.opportunity, &changes[0]);
  assert_true(diagnosis_same_gain(&best, &headline));
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_remedy(&result, &out);
  lumos_text_char(&out, '\0');
  assert_non_null(strstr(out.bytes, ", while removing the pipeline bubble alone would save up to 30.0\xC2\xA0%."));
  lumos_text_free(&out);
  changes[0].half = MS(86);
  best = diagnosis_best_gain(&result);
  headline = diagnosis_headline_gain(&result);
  assert_true(best.at_most);
  assert_true(diagnosis_same_gain(&best, &headline));
  report_facts_free(&facts);
  forget(job, &diagnosis);
}

/* The same communication where a rank is missing, and where none is. */
static void communication_is_unsplit_for_two_reasons(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(60), .unsplit = MS(40)}, {.compute = MS(60), .unsplit = MS(40)}};
  for (int32_t world = 3; world > 1; world--) {
    struct lumos_job *job = ranks_with(parts, 2);
    job->ranks.items[0].world = job->ranks.items[1].world = world;
    (void)add_task(job, add_lane(job, 1, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
    struct lumos_diagnosis diagnosis = diagnose(job);
    expect_finding(&diagnosis, 0, LUMOS_CAUSE_UNSPLIT, MS(40), 400000);
    expect_sentences(job, world == 3 ? "The step takes 100 ms: communication with ranks that were not recorded takes "
                                       "40.0 ms (40.0 %). Record all ranks, so that waiting can be split from transfer."
                                     : "The step takes 100 ms: communication that could not be matched between ranks "
                                       "takes 40.0 ms (40.0 %). Record with a PyTorch that writes sequence numbers of "
                                       "collectives (Seq), so that waiting can be split from transfer.");
    forget(job, &diagnosis);
  }
}

/* What is to be recorded comes first, the best change after it: one order, where 25 of 100 are unsplit and the grade is
 * fair. */
static void the_best_change_comes_after_recording(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(75), .unsplit = MS(25)}};
  struct lumos_job *job = ranks_with(parts, 1);
  job->ranks.items[0].world = 2;
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
  add_parts(job, LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, parts[0]);
  add_kind(job, "opportunity_change", LUMOS_ABSENT_INT, "cuda_graphs", MS(80));
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  struct lumos_diagnosis diagnosis = diagnose(job);
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_report_verdict(job, &out, &error));
  lumos_text_char(&out, '\0');
  const char *remedy =
      strstr(out.bytes, "First record all ranks, so that waiting can be split from transfer. Then capture");
  assert_non_null(remedy);
  assert_non_null(strstr(remedy, "; with that it would take 80.0 ms (\xE2\x88\x92"
                                 "20.0 %)."));
  lumos_text_free(&out);
  forget(job, &diagnosis);
}

/* Sums and products of numbers as high as a stream may have them do not run over. */
static void the_highest_numbers_are_no_harm(void **state) {
  (void)state;
  enum { NAMES = 1100 };
  const int64_t highest = (INT64_C(1) << 53U) - 1;
  for (int sign = -1; sign <= 1; sign += 2) {
    struct lumos_job *job = late_job(sign * highest, highest);
    for (uint32_t r = 0; r < 3; r++) {
      uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
      (void)add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", 0, highest);
      for (int i = 0; i < NAMES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "op %d", i);
        (void)add_task(job, thread, LUMOS_OP, name, 0, highest);
      }
      (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, highest);
      job->ranks.items[r].represents = INT32_MAX;
    }
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_true(diagnosis.count > 0);
    for (size_t i = 0; i < diagnosis.count; i++) {
      assert_true(diagnosis.findings[i].time >= 0);
      assert_true(diagnosis.findings[i].share <= 1000000);
    }
    forget(job, &diagnosis);
  }
}

static void a_job_of_nothing_has_no_step(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_sentences(job, "The recording holds no complete step.");
  forget(job, &diagnosis);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_not_recorded_is_no_cpu_time),
      cmocka_unit_test(ranks_late_for_an_unknown_cause_are_named),
      cmocka_unit_test(a_bound_is_no_prediction),
      cmocka_unit_test(what_the_profiler_costs_is_not_the_jobs),
      cmocka_unit_test(a_blocked_cpu_cannot_be_ahead),
      cmocka_unit_test(small_overheads_are_no_diagnosis),
      cmocka_unit_test(a_step_that_mostly_computes_says_so),
      cmocka_unit_test(what_is_not_recorded_comes_first_and_nothing_is_predicted),
      cmocka_unit_test(the_best_gain_is_the_larger_one),
      cmocka_unit_test(communication_is_unsplit_for_two_reasons),
      cmocka_unit_test(the_best_change_comes_after_recording),
      cmocka_unit_test(the_highest_numbers_are_no_harm),
      cmocka_unit_test(a_job_of_nothing_has_no_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
