/* The page as a whole: what it says of a job worked out by hand, that nothing gets through unescaped, that it stays
 * small. */
#include "unit/report_job.h"

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/content/facts.h"
#include "sim/metrics.h"
#include <lumos/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)

/* Two ranks, one step of 100 ms each:
 *          compute overlapped transfer wait copy idle
 *   rank 0      60         10        5   10    1   14
 *   rank 1      50         10        5   25    0   10
 * so of 200 ms: computing 130 (65 %), exposed communication 45 (22.5 %), idle 24 (12 %). Simulated: rank 1 waits 1 ms
 * less. */
static struct lumos_job *hand_made(void) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t number = 0; number < 2; number++) {
    uint32_t rank = add_rank(job, number);
    uint32_t thread = add_lane(job, rank, "t77", LUMOS_THREAD);
    add_task(job, thread, LUMOS_OP, "aten::mm", MS(1), MS(2));
    add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", MS(3), MS(1));
    uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
    add_task(job, stream, LUMOS_GEMM, "gemm_a", MS(4), MS(30));
    add_task(job, stream, LUMOS_GEMM, "gemm_a", MS(40), MS(20));
    add_task(job, stream, LUMOS_NORM, "norm_b", MS(60), MS(10));
  }
  const struct parts measured[] = {{MS(60), MS(10), MS(5), MS(10), 0, MS(1), MS(14), 0},
                                   {MS(50), MS(10), MS(5), MS(25), 0, 0, MS(10), 0}};
  const struct parts simulated[] = {{MS(60), MS(10), MS(5), MS(10), 0, MS(1), MS(14), 0},
                                    {MS(50), MS(10), MS(5), MS(24), 0, 0, MS(10), 0}};
  for (int32_t rank = 0; rank < 2; rank++) {
    add_parts(job, rank, 0, LUMOS_METRIC_MEASURED, measured[rank]);
    add_parts(job, rank, 0, LUMOS_METRIC_SIMULATED, simulated[rank]);
    add_metric(job, "unexplained_lag", rank, 0, LUMOS_METRIC_SIMULATED, MS(3), 0);
    add_metric(job, "replay_error", rank, 0, LUMOS_METRIC_SIMULATED, rank == 0 ? 0 : -12500, 6);
  }
  add_metric(job, "step_time", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_MEASURED, MS(100), 0);
  add_metric(job, "step_time", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(100), 0);
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 6250, 6);
  finish_job(job);
  return job;
}

/* The page, NUL-terminated; the caller frees the text. */
static struct lumos_text render_with(struct lumos_job *job, struct lumos_report_options options) {
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  if (!lumos_report(job, &options, &page, &error)) {
    fail_msg("%s", error.text);
  }
  lumos_text_char(&page, '\0');
  return page;
}

static struct lumos_text render(struct lumos_job *job) {
  return render_with(job, (struct lumos_report_options){.details = false});
}

static size_t occurrences(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
    count++;
  }
  return count;
}

static void assert_has(const struct lumos_text *page, const char *part) {
  if (strstr(page->bytes, part) == NULL) {
    fail_msg("the page does not say: %s", part);
  }
}

static void verdict(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_report_verdict(job, &text, &error));
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes,
                      "The step takes 100 ms: ranks wait for each other by turns for 17.5 ms (17.5 %). Even out the "
                      "work of ranks, or reduce how often they meet; without that waiting it would take at least 82.5 "
                      "ms (\xE2\x88\x92"
                      "17.5 %).");
  job->stage = LUMOS_STAGE_GRAPH;
  assert_false(lumos_report_verdict(job, &text, &error));
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* More idle than computing; then a job without GPU work; then one without steps. */
static void other_verdicts(void **state) {
  (void)state;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
  add_task(job, stream, LUMOS_GEMM, "gemm", 0, MS(1));
  add_parts(job, 0, 3, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(2), .idle = MS(8)});
  add_parts(job, 0, 4, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(4), .idle = MS(6)});
  finish_job(job);
  assert_true(lumos_report_verdict(job, &text, &error));
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "A step takes 10.0 ms: the GPU is idle for 7.00 ms (70.0 %). Look at the critical "
                                  "path for what the GPUs wait for.");

  text.length = 0;
  job->lanes.items[0].kind = LUMOS_THREAD;
  assert_true(lumos_report_verdict(job, &text, &error));
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes,
                      "A step takes 10.0 ms on the CPU; no GPU work was recorded. If the job uses GPUs, record with "
                      "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].");

  text.length = 0;
  job->metrics.count = 0;
  add_parts(job, 0, 3, LUMOS_METRIC_MEASURED, (struct parts){0});
  assert_true(lumos_report_verdict(job, &text, &error));
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "The recording holds no work whose step is known, so no step can be timed.");

  text.length = 0;
  job->metrics.count = 0;
  assert_true(lumos_report_verdict(job, &text, &error));
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "The recording holds no complete step.");
  struct lumos_text page = render(job); /* and a page of it can be made */
  lumos_text_free(&page);
  lumos_text_free(&text);
  lumos_job_free(job);
}

static const char *verdict_of(const struct lumos_job *job, struct lumos_text *text) {
  struct lumos_error error = {LUMOS_DONE, ""};
  text->length = 0;
  assert_true(lumos_report_verdict(job, text, &error));
  lumos_text_char(text, '\0');
  return text->bytes;
}

/* Waiting is told from communication that takes long, where it is more than half of it. */
static void verdict_of_waiting(void **state) {
  (void)state;
  static const struct {
    struct parts parts;
    const char *text;
  } cases[] = {
      {{.compute = MS(4), .transfer = MS(2), .wait = MS(3), .idle = MS(1)},
       "The step takes 10.0 ms: ranks wait for each other by turns for 3.00 ms (30.0 %)."},
      {{.compute = MS(3), .transfer = MS(1), .wait = MS(2), .bubble = MS(4)},
       "The step takes 10.0 ms: the pipeline bubble costs 4.00 ms (40.0 %)."},
      {{.compute = MS(7), .transfer = MS(1), .bubble = MS(2)},
       "The step takes 10.0 ms: the pipeline bubble costs 2.00 ms (20.0 %)."},
      {{.compute = MS(4), .transfer = MS(4), .wait = MS(2)},
       "The step takes 10.0 ms: exposed communication, without waiting, takes 4.00 ms (40.0 %)."},
      {{.compute = MS(6), .transfer = MS(4)}, "The step takes 10.0 ms: exposed communication takes 4.00 ms (40.0 %)."},
      {{.compute = 9600000, .transfer = 400000},
       "The step takes 10.0 ms: the GPU computes for 9.60 ms (96.0 %), and no overhead is above 5 %."},
  };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = lumos_job_new();
    uint32_t stream = add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM);
    add_task(job, stream, LUMOS_GEMM, "gemm", 0, MS(1));
    add_parts(job, 0, 3, LUMOS_METRIC_MEASURED, cases[i].parts);
    finish_job(job);
    if (strstr(verdict_of(job, &text), cases[i].text) != text.bytes) {
      fail_msg("it says: %s", text.bytes);
    }
    lumos_job_free(job);
  }
  lumos_text_free(&text);
}

/* Ranks begin apart: the job's step, from the first to the last of them, is longer than each rank's own, and what the
 * verdict says "of it" is of that one. */
static void verdict_of_ranks_that_begin_apart(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  for (int32_t rank = 0; rank < 2; rank++) {
    uint32_t stream = add_lane(job, add_rank(job, rank), "s7", LUMOS_STREAM);
    add_task(job, stream, LUMOS_GEMM, "gemm", MS(rank * 6), MS(6));
    add_parts(job, rank, 3, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(6), .idle = MS(4)});
  }
  add_parts(job, LUMOS_ABSENT_INT, 3, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(6), .idle = MS(10)});
  finish_job(job);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  assert_non_null(strstr(verdict_of(job, &text), "The step takes 16.0 ms: the GPUs are idle for 10.0 ms (62.5 %)."));
  struct lumos_text page = render(job);
  assert_has(
      &page,
      "One step was recorded, from the first rank\xE2\x80\x99s start to the last one\xE2\x80\x99s end; ranks begin to "
      "record at different times, and each takes 10.0\xC2\xA0ms to 10.0\xC2\xA0ms");
  assert_has(&page, "Idle time takes 62.5");
  assert_has(&page, "swatch compute\"><a href=\"#term-exposed_compute\">compute</a> <b>37.5"); /* of the legend */
  assert_has(&page, "\"loss\":{\"name\":\"idle\",\"share\":0.625,\"time\":10000000}");
  lumos_text_free(&page);
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* A change that makes the step 8 % shorter; measured is before. */
static void verdict_of_a_change(void **state) {
  (void)state;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  uint32_t task = add_task(job, add_lane(job, rank, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(1));
  struct lumos_detail detail = lumos_detail_empty;
  detail.was = MS(2);
  lumos_vector_push(&job->details, detail);
  job->tasks.items[task].detail = 0;
  job->tasks.items[task].dur_source = LUMOS_SCALED;
  add_parts(job, 0, 3, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(5), .idle = MS(5)});
  add_parts(job, 0, 3, LUMOS_METRIC_SIMULATED, (struct parts){.compute = 4200000, .idle = MS(5)});
  lumos_job_history(job, "lumos-transform", "--scale kind=gemm=0.5", NULL, 0);
  job->edited = 1;
  finish_job(job);
  assert_true(lumos_job_edited(job));
  assert_true(lumos_report_verdict(job, &text, &error));
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "After the change the step takes 9.20 ms instead of 10.0 ms (\xE2\x88\x92"
                                  "8.0 %): the GPU is idle for 5.00 ms (54.3 %). Look at the critical path for what "
                                  "the GPUs wait for.");
  struct lumos_text page = render(job);
  assert_has(&page, "The change: <code>--scale kind=gemm=0.5</code>");
  assert_has(&page, ". Durations: after the change<");
  lumos_text_free(&page);

  lumos_text_free(&text);
  lumos_job_free(job);
}

static void job_is_described_as_far_as_it_is_known(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  (void)add_task(job, add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(1));
  add_parts(job, 0, 3, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(5), .idle = MS(5)});
  finish_job(job);
  struct lumos_text page = render(job);
  assert_null(strstr(page.bytes, "The job<"));
  lumos_text_free(&page);

  struct lumos_model_description model = lumos_model_description_empty;
  model.hidden = 5120;
  model.evidence.hidden = lumos_intern_text(job->strings, "shapes: aten::embedding [9, 5120] <b>");
  lumos_vector_push(&job->models, model);
  page = render(job);
  assert_has(&page, "<summary>The job</summary>");
  assert_has(&page, "The parallel layout is only partly known");
  assert_has(&page, "[\"hidden size\",5120,\"shapes: aten::embedding [9, 5120] ");
  assert_has(&page, "&lt;b&gt;");
  assert_null(strstr(page.bytes, "head size"));
  lumos_text_free(&page);

  job->models.items[0].sizes = (struct lumos_parallel){2, 4, 1, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
  page = render(job);
  assert_has(&page, "4\xC2\xA0pipeline stages, 2\xC2\xA0tensor-parallel ranks in each, 1\xC2\xA0"
                    "data-parallel replica of all");
  assert_has(&page, "[\"pipeline stages\",4,");
  assert_null(strstr(page.bytes, "expert-parallel"));
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* A changed job of two ranks and three steps: the first is shown, and is in no sum. Rank 1 has only the last two. */
static struct lumos_job *job_of_three_steps(bool changed) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t rank = 0; rank < 2; rank++) {
    (void)add_task(job, add_lane(job, add_rank(job, rank), "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(1));
    for (int32_t step = 4 + rank; step < 7; step++) {
      bool first = step == 4 + rank;
      add_parts(job, rank, step, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(5), .idle = MS(5)});
      add_parts(job, rank, step, LUMOS_METRIC_SIMULATED,
                (struct parts){.compute = MS(4), .idle = first ? MS(6) : MS(4)});
    }
  }
  for (int32_t step = 4; step < 7; step++) {
    add_metric(job, "step_time", LUMOS_ABSENT_INT, step, LUMOS_METRIC_MEASURED, MS(10), 0);
    add_metric(job, "step_time", LUMOS_ABSENT_INT, step, LUMOS_METRIC_SIMULATED, step == 4 ? MS(50) : MS(3 + step), 0);
  }
  if (changed) {
    lumos_job_history(job, "lumos-transform", "--scale kind=gemm=0.8", NULL, 0);
    job->edited = 1;
  }
  finish_job(job);
  return job;
}

/* Of 4 and 2 ms of two steps of 8 ms each. */
static void the_only_step_of_a_change_counts(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (int32_t rank = 0; rank < 2; rank++) {
    (void)add_task(job, add_lane(job, add_rank(job, rank), "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(1));
    int64_t computes = rank == 0 ? MS(4) : MS(2);
    add_parts(job, rank, 4, LUMOS_METRIC_SIMULATED, (struct parts){.compute = computes, .idle = MS(8) - computes});
  }
  lumos_job_history(job, "lumos-transform", "--scale kind=gemm=0.8", NULL, 0);
  job->edited = 1;
  finish_job(job);
  assert_non_null(strstr(verdict_of(job, &text), "idle for 5.00 ms (62.5 %)"));
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* Steps of 16, 10 and 10 ms; the first is in no sum, of the recording and after a change. */
static void a_change_compares_the_same_steps(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (int changed = 0; changed < 2; changed++) {
    struct lumos_job *job = job_of_three_steps(changed == 1);
    for (size_t i = 0; i < job->metrics.count; i++) {
      struct lumos_metric *metric = &job->metrics.items[i];
      if (metric->scope.rank == LUMOS_ABSENT_INT && metric->scope.step == 4 &&
          metric->source == LUMOS_METRIC_MEASURED) {
        metric->value.units = MS(16);
      }
    }
    assert_non_null(strstr(verdict_of(job, &text), changed == 1 ? "instead of 10.0 ms" : "takes 10.0 ms"));
    lumos_job_free(job);
  }
  lumos_text_free(&text);
}

static void the_first_step_of_a_change_is_in_no_sum(void **state) {
  (void)state;
  struct lumos_job *job = job_of_three_steps(true);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  assert_non_null(strstr(verdict_of(job, &text), "After the change a step takes 8.50 ms instead of 10.0 ms"));
  assert_non_null(strstr(text.bytes, "idle for 4.50 ms (52.9 %)")); /* 4 + 4 of 8 + 8 ms, and 6 + 4 of 10 + 8 */
  lumos_text_free(&text);
  struct lumos_text page = render(job);
  assert_has(&page, "2\xC2\xA0steps, 8.00\xC2\xA0ms to 9.00\xC2\xA0ms. The first step is left out, as it begins before "
                    "the change");
  assert_null(strstr(page.bytes, "the measured mean with it")); /* of 10, 10 and 10 */
  assert_has(&page, "\"step\":4,\"timeline\":\"simulated\",\"left_out\":true,\"step_time\":50000000}");
  lumos_text_free(&page);
  lumos_job_free(job);

  job = job_of_three_steps(false);
  page = render(job);
  assert_has(&page, "2\xC2\xA0steps, 10.0\xC2\xA0ms to 10.0\xC2\xA0ms. The first step is left out, as the "
                    "recording may begin in it");
  assert_has(&page, "\"step\":4,\"timeline\":\"measured\",\"left_out\":true,");
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* Ranks of 100 ms in a job's step of 125, as where one begins and the other ends it: 25 lie outside their
 * recordings. */
static void bars_are_as_long_as_the_step(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  for (size_t i = 0; i < job->metrics.count; i++) {
    struct lumos_metric *metric = &job->metrics.items[i];
    bool of_job = metric->scope.rank == LUMOS_ABSENT_INT && metric->value.units == MS(100);
    metric->value.units = of_job ? MS(125) : metric->value.units;
  }
  struct lumos_text page = render(job);
  assert_has(&page, "outside the recording: 25.0\xC2\xA0ms (20.0\xC2\xA0%)");
  assert_has(&page, "Before and after its own part of it a rank counts as outside the recording.");
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* Utilization is what the model's formula says, though recorded shapes say more, in every step that counts. */
static void mfu_is_the_models(void **state) {
  (void)state;
  struct lumos_job *job = job_of_three_steps(false);
  static const struct {
    const char *kind;
    int32_t step;
    int64_t millionths;
  } rows[] = {{"shapes", 4, 900000}, {"model", 4, 800000},  {"shapes", 5, 400000},
              {"model", 5, 310000},  {"shapes", 6, 400000}, {"model", 6, 330000}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_scope scope = lumos_everywhere;
    scope.step = rows[i].step;
    scope.kind = lumos_intern_text(job->strings, rows[i].kind);
    lumos_metric_add(job, "mfu", &scope, LUMOS_METRIC_MEASURED, (struct lumos_decimal){rows[i].millionths, 6});
  }
  struct report_facts facts;
  report_facts_read(job, &facts);
  struct report_mfu mfu = report_mfu(&facts, MEASURED);
  assert_int_equal(mfu.share, 320000);
  assert_true(mfu.by_model);
  assert_int_equal(report_mfu(&facts, SIMULATED).share, LUMOS_ABSENT);
  report_facts_free(&facts);
  struct lumos_text page = render(job);
  assert_has(&page, "<p class=\"figure\">32.0\xC2\xA0%</p>\n<p class=\"evidence\">model FLOPs by the model");
  lumos_text_free(&page);
  lumos_job_free(job);
}

static void numbers(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  struct lumos_text page = render(job);
  assert_has(&page, "Waiting for other ranks takes 17.5\xC2\xA0% of the step: from 10.0\xC2\xA0% on rank 0 to "
                    "25.0\xC2\xA0% on rank 1");
  assert_has(&page, "65.0\xC2\xA0ms of a step, overlap included, averaged over ranks");
  assert_has(&page, "of the measured step, mean size; worst \xE2\x88\x92"
                    "1.25\xC2\xA0%");
  assert_has(&page, ">1\xC2\xA0name makes up 83.3\xC2\xA0% of the GPU time<");
  assert_has(&page, ">For 100\xC2\xA0% of the GPU time no op was recorded<"); /* no kernel names its call */
  assert_has(&page, ">For 100\xC2\xA0% of the CPU time no op was recorded<");
  assert_has(&page, ">Nothing was skipped, repaired or inferred<");
  /* kernels of two ranks: gemm_a 2 x 50 ms of 120, norm_b 2 x 10 */
  assert_has(&page, "gemm_a</th><td class=\"text swatch gemm\">GEMM</td><td>2</td><td>50.000</td>"
                    "<td class=\"bar\" style=\"--bar-length:0.833\">83.3</td><td>25,000.0</td><td>30,000.0</td>");
  assert_has(
      &page,
      "\"kernels\":{\"finding\":\"1\xC2\xA0name makes up 83.3\xC2\xA0% of the GPU time\",\"caption\":\"GPU time by "
      "kernel, copy and memset, added up over streams, the mean per step and rank. Share: of the GPU time, "
      "60.0\xC2\xA0ms\",\"whole\":60000000,\"columns\":[\"name\",\"kind\",\"count\",\"time\",\"share\",\"mean\","
      "\"longest\"],\"rows\":["
      "[\"gemm_a\",\"gemm\",2,50000000,0.833333,25000000,30000000],\n"
      "[\"norm_b\",\"norm\",1,10000000,0.166667,10000000,10000000]]}");
  assert_has(&page, "\"trust\":{\"replay_error\":0.00625,\"replay_error_worst\":-0.0125,\"host_replay_error\":null,"
                    "\"unexplained_lag\":0.030151"); /* 6 of 199 ms */
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* Of two rank-steps that have a like one the graph is off by -2.0 and 0.4 %, and of one of them 98.8 % of the tasks
 * have a partner. */
static void the_transplant_stands_beside_the_replay(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  struct lumos_text page = render(job);
  /* 6 ms of 199 simulated ones are worth more doubt than 0.6 % */
  assert_has(&page, "Unexplained delays of kernels add up to 3.0\xC2\xA0% of the step.");
  assert_has(&page, "<ul>\n<li>\n<p class=\"label\"><a href=\"#term-unexplained_lag\">unexplained delay</a></p>\n"
                    "<p class=\"figure fair\">3.0\xC2\xA0%</p>"); /* the worst comes first */
  assert_int_equal(occurrences(page.bytes, "href=\"#term-transplant_error\""), 0);
  assert_has(&page, "\"transplant_error\":null,\"transplant_error_worst\":null,\"transplant_matched\":null,"
                    "\"step_spread\":null");
  lumos_text_free(&page);

  for (int32_t rank = 0; rank < 2; rank++) {
    add_metric(job, "transplant_error", rank, 0, LUMOS_METRIC_SIMULATED, rank == 0 ? -20000 : 4000, 6);
    add_metric(job, "step_spread", rank, 0, LUMOS_METRIC_MEASURED, rank == 0 ? 50000 : -18000, 6);
    add_metric(job, "transplant_matched", rank, 0, LUMOS_METRIC_MEASURED, rank == 0 ? 987500 : 1000000, 6);
  }
  add_metric(job, "transplant_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 12000, 6);
  add_metric(job, "step_spread", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED, 34000, 6);
  page = render(job);
  assert_has(&page, "<p class=\"label\"><a href=\"#term-transplant_error\">cross-step error</a></p>\n"
                    "<p class=\"figure good\">1.20\xC2\xA0%</p>\n"
                    "<p class=\"evidence\">mean size, worst \xE2\x88\x92"
                    "2.00\xC2\xA0%; fair above 3\xC2\xA0%, poor above 10\xC2\xA0%</p>");
  assert_has(&page, "<p class=\"label\"><a href=\"#term-step_spread\">step-to-step variation</a></p>\n"
                    "<p class=\"figure good\">3.40\xC2\xA0%</p>");
  assert_has(&page, "<p class=\"label\"><a href=\"#term-transplant_matched\">tasks matched across steps</a></p>\n"
                    "<p class=\"figure \">98.8\xC2\xA0%</p>");
  assert_has(&page, "id=\"term-transplant_error\"");
  assert_has(&page, "id=\"term-transplant_matched\"");
  assert_has(&page, "id=\"term-step_spread\"");
  assert_has(&page, "\"transplant_error\":0.012,\"transplant_error_worst\":-0.02,\"transplant_matched\":0.9875,"
                    "\"step_spread\":0.034");
  lumos_text_free(&page);
  page = render_with(job, (struct lumos_report_options){.format = LUMOS_REPORT_MARKDOWN, .full = true});
  assert_has(&page, "| cross-step error | 1.20\xC2\xA0% | mean size, worst \xE2\x88\x92"
                    "2.00\xC2\xA0%; fair above 3\xC2\xA0%, poor above 10\xC2\xA0% |\n"
                    "| step-to-step variation | 3.40\xC2\xA0% |");
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* Only where rows are grouped, measured and simulated of three places and of two steps, is a name not shown twice:
 * two kinds of kernel with one name are two. */
static void repeated_names(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  lumos_string_id gemm = lumos_intern_text(job->strings, "gemm_a");
  for (size_t i = 0; i < job->tasks.count; i++) {
    job->tasks.items[i].name = job->tasks.items[i].kind == LUMOS_NORM ? gemm : job->tasks.items[i].name;
  }
  struct lumos_text page = render(job);
  assert_int_equal(occurrences(page.bytes, "<tr class=\"again\">"), 5);
  assert_int_equal(occurrences(page.bytes, "<tr><th scope=\"row\" class=\"name\">gemm_a</th>"), 2);
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* Two ranks with a step and one of them with 1,000 more: 1,002 rank-steps, each measured and simulated. And 201 notes,
 * one of them longer than anybody reads. */
static void a_page_is_bounded(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  for (int32_t step = 1; step <= 1000; step++) {
    add_parts(job, 0, step, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(2)});
    add_parts(job, 0, step, LUMOS_METRIC_SIMULATED, (struct parts){.compute = MS(2)});
  }
  char code[32];
  for (int note = 0; note < 201; note++) {
    (void)snprintf(code, sizeof code, "sim.note_%03d", note);
    lumos_job_note(job, code, LUMOS_INFO, LUMOS_ABSENT, NULL, "short", NULL);
  }
  char *text = lumos_allocate(100001);
  memset(text, 'x', 100000);
  text[100000] = '\0';
  job->notes.items[0].text = lumos_intern_text(job->strings, text);
  free(text);
  finish_job(job);
  struct lumos_text page = render(job);
  assert_has(&page, ">and 4 more rows: the stream that this page was made from has them all<");
  assert_has(&page, "\"left_out\":4,\"columns\":[\"where\",\"timeline\",\"step_time\"");
  assert_has(&page, "\"rank_steps_left_out\":2,");
  assert_has(&page, ">201\xC2\xA0notes; here are the first 200<");
  assert_int_equal(occurrences(page.bytes, ">sim.note_"), 200);
  assert_true(page.length < 2000000);
  lumos_text_free(&page);
  lumos_job_free(job);
}

static void same_bytes(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  struct lumos_text first = render(job);
  struct lumos_text again = render(job);
  assert_int_equal(first.length, again.length);
  assert_memory_equal(first.bytes, again.bytes, first.length);
  lumos_text_free(&first);
  lumos_text_free(&again);
  lumos_job_free(job);
}

/* Every term that a heading leads to is defined, every id is there once, and nothing leads out of the page. */
static void links(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  struct lumos_text page = render(job);
  assert_int_equal(occurrences(page.bytes, "://"), 0);
  assert_int_equal(occurrences(page.bytes, "src="), 0);
  assert_int_equal(occurrences(page.bytes, "@import"), 0);
  size_t found = 0;
  for (const char *at = strstr(page.bytes, "href=\"#"); at != NULL; at = strstr(at + 1, "href=\"#")) {
    char id[80];
    (void)snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(at + 7, "\""), at + 7);
    if (occurrences(page.bytes, id) != 1) {
      fail_msg("%s is there %zu times", id, occurrences(page.bytes, id));
    }
    found++;
  }
  assert_true(found > 30);
  lumos_text_free(&page);
  lumos_job_free(job);
}

static const char *summary_of(const struct lumos_text *page) {
  static const char start[] = "<script type=\"application/json\" id=\"lumos-summary\">\n";
  const char *at = strstr(page->bytes, start);
  assert_non_null(at);
  return at + sizeof start - 1;
}

static void summary_is_json(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  lumos_job_note(job, "parse.skipped_events", LUMOS_WARNING, 3, NULL, "3 events were skipped", "record again");
  struct lumos_text page = render(job);
  const char *cursor = summary_of(&page);
  assert_true(lumos_json_skip(&cursor, NULL));
  assert_memory_equal(cursor, "\n</script>", 10);
  assert_has(&page, "{\"level\":\"warning\",\"code\":\"parse.skipped_events\",\"text\":\"3 events were "
                    "skipped\",\"count\":3,\"cure\":"
                    "\"record again\"}");
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* Everything that a trace may say, said in the worst way. */
#define EVIL "<script>alert(1)</script></style></title><!--\"'&\x1b[31m\x01\x7f\xff\xfe{{verdict}}]]>"

static lumos_string_id evil(struct lumos_job *job) { return lumos_intern_text(job->strings, EVIL); }

static struct lumos_job *evil_job(void) {
  struct lumos_job *job = hand_made();
  lumos_string_id string = evil(job);
  for (size_t i = 0; i < job->ranks.count; i++) {
    struct lumos_rank *rank = &job->ranks.items[i];
    rank->host = rank->source = rank->device_name = rank->cuda = rank->nccl = rank->torch = rank->unknown = string;
  }
  for (size_t i = 0; i < job->lanes.count; i++) {
    struct lumos_lane *lane = &job->lanes.items[i];
    lane->lane = lane->native = lane->process = lane->name = lane->unknown = string;
  }
  struct lumos_span span = lumos_span_empty;
  span.kind = LUMOS_SPAN_OP;
  span.rank = 0;
  span.name = span.shapes = span.dtypes = span.unknown = string;
  span.rank = 0;
  lumos_vector_push(&job->spans, span);
  struct lumos_detail detail = lumos_detail_empty;
  detail.event_id = detail.unknown = string;
  detail.comm = (struct lumos_comm){.op = string, .group = string, .id = string, .dtype = string, .seq = 1, .bytes = 2};
  lumos_vector_push(&job->details, detail);
  for (size_t i = 0; i < job->tasks.count; i++) {
    job->tasks.items[i].name = string;
    job->tasks.items[i].span = 0;
    job->tasks.items[i].detail = 0;
    job->tasks.items[i].kind = i % 2 == 0 ? LUMOS_COLLECTIVE : LUMOS_GEMM;
  }
  struct lumos_history history = {.tool = string, .version = string, .args = string, .input_count = 1};
  lumos_vector_push(&job->inputs, string);
  lumos_vector_push(&job->history, history);
  lumos_job_note(job, EVIL, LUMOS_SERIOUS, 1, NULL, EVIL " and more", EVIL " to cure");
  return job;
}

static void nothing_unescaped_with(struct lumos_job *job, bool details) {
  struct lumos_text page = render_with(job, (struct lumos_report_options){.details = details});
  assert_int_equal(occurrences(page.bytes, "<script"), 3); /* the numbers, the tasks, and what runs */
  assert_int_equal(occurrences(page.bytes, "</script"), 3);
  assert_int_equal(occurrences(page.bytes, "</style"), 1);
  assert_int_equal(occurrences(page.bytes, "<!--"), 0);
  assert_int_equal(occurrences(page.bytes, "alert(1)\""), 0);
  if (details) { /* it was there to be escaped */
    assert_has(&page, "&lt;script&gt;alert(1)");
    assert_has(&page, "\\u003cscript\\u003ealert(1)");
  }
  for (size_t at = 0; at + 1 < page.length;) {
    uint32_t point = 0;
    size_t step = lumos_utf8_character(page.bytes + at, page.length - at, &point);
    assert_true(step > 0);
    assert_true(point == '\n' || point == '\t' || (point >= 0x20 && point != 0x7F && !(point >= 0x80 && point < 0xA0)));
    at += step;
  }
  const char *cursor = summary_of(&page);
  assert_true(lumos_json_skip(&cursor, NULL));
  lumos_text_free(&page);
}

static void nothing_unescaped(void **state) {
  (void)state;
  struct lumos_job *job = evil_job();
  nothing_unescaped_with(job, true);
  nothing_unescaped_with(job, false);
  lumos_job_free(job);
}

static void no_private_names(void **state) {
  (void)state;
  struct lumos_job *job = hand_made();
  job->ranks.items[0].host = lumos_intern_text(job->strings, "gpu-node-17");
  job->ranks.items[0].source = lumos_intern_text(job->strings, "gpu-node-17_4242.pt.trace.json.gz");
  const char *inputs[] = {"gpu-node-17_4242.pt.trace.json.gz", "someone.json"};
  lumos_job_history(job, "lumos-parse", "--rank 0", inputs, 2);
  lumos_job_note(job, "parse.cut", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                 "gpu-node-17_4242.pt.trace.json.gz: byte 7: the file is cut",
                 "copy someone.json again from gpu-node-17");
  struct lumos_text page = render(job);
  assert_int_equal(occurrences(page.bytes, "gpu-node-17"), 0);
  assert_int_equal(occurrences(page.bytes, "someone"), 0);
  assert_has(&page, "an input file: byte 7: the file is cut");
  assert_has(&page, "copy an input file again from (host)");
  assert_has(&page, "of 2\xC2\xA0inputs<");
  lumos_text_free(&page);
  page = render_with(job, (struct lumos_report_options){.details = true});
  assert_has(&page, "gpu-node-17_4242.pt.trace.json.gz: byte 7: the file is cut");
  assert_has(&page, "copy someone.json again from gpu-node-17");
  assert_has(&page, "of 2\xC2\xA0inputs: gpu-node-17_4242.pt.trace.json.gz, someone.json<");
  assert_has(&page, ">gpu-node-17</td>");
  assert_has(&page, ">gpu-node-17_4242.pt.trace.json.gz</td>");
  assert_has(&page,
             "<td class=\"text\">\xE2\x80\x93</td><td class=\"text\">\xE2\x80\x93</td></tr>"); /* of the other rank */
  assert_has(&page, ",null,null]");
  lumos_text_free(&page);
  lumos_job_free(job);
}

/* The bytes of the page's pictures. */
static size_t picture_bytes(const struct lumos_text *page) {
  size_t bytes = 0;
  const char *end = page->bytes;
  for (const char *at = strstr(end, "<svg"); at != NULL; at = strstr(end, "<svg")) {
    end = strstr(at, "</svg>");
    assert_non_null(end);
    bytes += (size_t)(end - at);
  }
  return bytes;
}

/* A million short tasks of every kind in no order: every column of every lane differs from its neighbours. */
static struct lumos_job *crowded(uint32_t ranks, uint32_t lanes, uint32_t tasks) {
  struct lumos_job *job = lumos_job_new();
  uint64_t random = 88172645463325252U;
  for (uint32_t number = 0; number < ranks; number++) {
    uint32_t rank = add_rank(job, (int32_t)number);
    for (uint32_t lane = 0; lane < lanes; lane++) {
      char name[16];
      (void)snprintf(name, sizeof name, "s%u", lane);
      uint32_t stream = add_lane(job, rank, name, LUMOS_STREAM);
      int64_t start = 0;
      for (uint32_t i = 0; i < tasks / ranks / lanes; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        start += (int64_t)(random % 5000);
        int64_t dur = (int64_t)(random / 5000 % 5000);
        add_task(job, stream, (enum lumos_task_kind)(1 + random / 97 % LUMOS_OTHER_DEVICE), "kernel", start, dur);
        start += dur;
      }
    }
  }
  finish_job(job);
  return job;
}

static void stays_small(void **state) {
  (void)state;
  static const uint32_t shapes[][2] = {{1, 70}, {70, 4}, {600, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    struct lumos_job *job = crowded(shapes[i][0], shapes[i][1], 1000000);
    struct lumos_text page = render(job);
    assert_true(picture_bytes(&page) > 1000000); /* the test is a hard one */
    assert_true(picture_bytes(&page) < 3000000);
    const char *tasks = strstr(page.bytes, "id=\"lumos-tasks\">");
    assert_non_null(tasks);
    assert_true(strstr(tasks, "</script>") - tasks < 1500000);
    lumos_text_free(&page);
    lumos_job_free(job);
  }
}

/* Times at the ends of what a stream may hold. */
static void far_times(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
  add_task(job, stream, LUMOS_GEMM, "early", -9007199254740991, 9007199254740991);
  add_task(job, stream, LUMOS_GEMM, "late", 9007199254740991, 9007199254740991);
  finish_job(job);
  struct lumos_text page = render(job);
  lumos_text_free(&page);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(verdict),
      cmocka_unit_test(other_verdicts),
      cmocka_unit_test(verdict_of_waiting),
      cmocka_unit_test(verdict_of_ranks_that_begin_apart),
      cmocka_unit_test(verdict_of_a_change),
      cmocka_unit_test(job_is_described_as_far_as_it_is_known),
      cmocka_unit_test(the_only_step_of_a_change_counts),
      cmocka_unit_test(a_change_compares_the_same_steps),
      cmocka_unit_test(the_first_step_of_a_change_is_in_no_sum),
      cmocka_unit_test(mfu_is_the_models),
      cmocka_unit_test(numbers),
      cmocka_unit_test(bars_are_as_long_as_the_step),
      cmocka_unit_test(the_transplant_stands_beside_the_replay),
      cmocka_unit_test(repeated_names),
      cmocka_unit_test(same_bytes),
      cmocka_unit_test(a_page_is_bounded),
      cmocka_unit_test(links),
      cmocka_unit_test(summary_is_json),
      cmocka_unit_test(nothing_unescaped),
      cmocka_unit_test(no_private_names),
      cmocka_unit_test(stays_small),
      cmocka_unit_test(far_times),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
