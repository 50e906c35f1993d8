/* The diagnosis of jobs made by hand: who causes what, what it costs, and how sure that is. Expected figures are worked
 * out beside each job. */
#include "unit/report_job.h"

#include "base/text.h"
#include "report/diagnosis/gains.h"
#include "report/diagnosis/reason.h"
#include "report/diagnosis/remedy.h"
#include <lumos/diagnosis.h>
#include <lumos/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)((value)*1000000))

/* Ranks of one step each, with a thread t1 and a stream s7; tasks go lane by lane. */
static struct lumos_job *ranks_with(const struct parts *parts, int32_t count) {
  struct lumos_job *job = lumos_job_new();
  struct parts mean = {0};
  for (int32_t r = 0; r < count; r++) {
    (void)add_rank(job, r);
    add_parts(job, r, 0, LUMOS_METRIC_MEASURED, parts[r]);
    mean.compute += parts[r].compute;
    mean.transfer += parts[r].transfer;
    mean.wait += parts[r].wait;
    mean.bubble += parts[r].bubble;
    mean.copy += parts[r].copy;
    mean.idle += parts[r].idle;
    mean.unsplit += parts[r].unsplit;
  }
  int64_t *of = (int64_t *)&mean;
  for (size_t i = 0; i < sizeof mean / sizeof *of; i++) {
    of[i] /= count;
  }
  add_parts(job, LUMOS_ABSENT_INT, 0, LUMOS_METRIC_MEASURED, mean);
  return job;
}

static void add_kind(struct lumos_job *job, const char *name, int32_t rank, const char *kind, int64_t value) {
  add_metric(job, name, rank, 0, LUMOS_METRIC_MEASURED, value, 0);
  job->metrics.items[job->metrics.count - 1].scope.kind = lumos_intern_text(job->strings, kind);
}

static void add_straggler(struct lumos_job *job, int32_t rank, int64_t compute, int64_t host) {
  add_kind(job, "late_arrival", rank, "compute", compute);
  add_kind(job, "late_arrival", rank, "host", host);
  add_metric(job, "straggler", rank, LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED, 300000, 6);
}

static struct lumos_diagnosis diagnose(struct lumos_job *job) {
  struct lumos_diagnosis diagnosis;
  finish_job(job);
  lumos_diagnose(job, &diagnosis);
  return diagnosis;
}

static void expect_finding(const struct lumos_diagnosis *diagnosis, size_t place, enum lumos_cause cause, int64_t time,
                           int64_t share) {
  assert_true(place < diagnosis->count);
  const struct lumos_finding *finding = &diagnosis->findings[place];
  assert_string_equal(lumos_cause_name(finding->cause), lumos_cause_name(cause));
  assert_int_equal(finding->time, time);
  assert_int_equal(finding->share, share);
}

static const struct lumos_finding *find(const struct lumos_diagnosis *diagnosis, enum lumos_cause cause) {
  for (size_t i = 0; i < diagnosis->count; i++) {
    if (diagnosis->findings[i].cause == cause) {
      return &diagnosis->findings[i];
    }
  }
  return NULL;
}

static void expect_sentences(const struct lumos_job *job, const char *text) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_report_verdict(job, &out, &error));
  lumos_text_char(&out, '\0');
  assert_string_equal(out.bytes, text);
  lumos_text_free(&out);
}

/* It ends so. */
static void expect_first_sentence(const struct diagnosis_story *story, const char *end) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_sentence(story, &out);
  lumos_text_char(&out, '\0');
  assert_true(strlen(out.bytes) > strlen(end));
  assert_string_equal(out.bytes + strlen(out.bytes) - strlen(end), end);
  lumos_text_free(&out);
}

static void forget(struct lumos_job *job, struct lumos_diagnosis *diagnosis) {
  lumos_diagnosis_free(diagnosis);
  lumos_job_free(job);
}

/* Rank 1 computes 60 of 100 ms, waits for 3 and is idle for 37; the others wait for 38. It is late by 36 ms of its CPU. Of
 * the mean waiting of (38 + 3 + 38) / 3 = 26.3 ms 2 x 36 / 3 = 24 are its: left are 2.33 ms. */
static struct lumos_job *late_job(int64_t compute, int64_t host) {
  const struct parts parts[] = {{.compute = MS(62), .wait = MS(38)},
                                {.compute = MS(60), .wait = MS(3), .idle = MS(37)},
                                {.compute = MS(62), .wait = MS(38)}};
  struct lumos_job *job = ranks_with(parts, 3);
  add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(13), 0);
  add_straggler(job, 1, compute, host);
  return job;
}

/* Its thread spends 30 ms before "aten::zero_" that those of others do not; 30 is more than half of 36. */
static void waiting_goes_to_the_late_rank_and_the_op(void **state) {
  (void)state;
  struct lumos_job *job = late_job(MS(1), MS(35));
  for (uint32_t r = 0; r < 3; r++) {
    uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
    (void)add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", 0, MS(1));
    uint32_t late = add_task(job, thread, LUMOS_OP, "aten::zero_", MS(40), MS(1));
    job->tasks.items[late].lag = r == 1 ? MS(32) : MS(2);
    uint32_t wait = add_task(job, thread, LUMOS_SYNC, "cudaStreamSynchronize", MS(50), r == 1 ? MS(45) : MS(1));
    lumos_task_detail(job, &job->tasks.items[wait])->wait.on = LUMOS_WAIT_STREAM; /* what it waits for is the GPU's */
    uint32_t watching = add_lane(job, r, "t2", LUMOS_THREAD); /* it launches nothing, so it delays nothing */
    uint32_t watch = add_task(job, watching, LUMOS_OP, "watch", 0, r == 1 ? MS(90) : MS(1));
    assert_int_equal(job->tasks.items[watch].lane, watching);
    (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", MS(1), MS(60));
  }
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_SLOW_CPU, MS(36), 360000);
  assert_int_equal(diagnosis.findings[0].rank_count, 1);
  assert_int_equal(diagnosis.findings[0].ranks[0], 1);
  assert_int_equal(diagnosis.findings[0].op_time, MS(30));
  assert_true(diagnosis.findings[0].before_op);
  assert_int_equal(diagnosis.confidence, LUMOS_FAIR); /* what it did in 30 of the 36 ms is not recorded */
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_BLAMED_UNKNOWN);
  assert_int_equal(diagnosis.limit_share, 833333);
  const struct lumos_finding *waiting = find(&diagnosis, LUMOS_CAUSE_WAITING);
  assert_non_null(waiting);
  assert_int_equal(waiting->time, 2333333);
  expect_sentences(job,
                   "The step takes 100 ms: rank 1 is 36.0 ms late (36.0 %), as its CPU shows no op or launch "
                   "for most of that time, and the other 2 ranks wait. Look at what rank 1 does before \xE2\x80\x9C"
                   "aten::zero_\xE2\x80\x9D, where no op was recorded (with_stack=True would show more): "
                   "it spends 30.0 ms more there than similar ranks in each step.");
  lumos_diagnosis_free(&diagnosis);
  /* The op lies in two annotations, and the inner one begins when that time is over. */
  static const char *const names[] = {"sparse part", "dense part", "aten::zero_"};
  static const int64_t starts[] = {0, MS(39), MS(40)};
  for (uint32_t i = 0; i < 3; i++) {
    struct lumos_span span = lumos_span_empty;
    span.kind = i < 2 ? LUMOS_SPAN_ANNOTATION : LUMOS_SPAN_OP;
    span.rank = 1;
    span.parent = i == 0 ? LUMOS_NONE : i - 1;
    span.name = lumos_intern_text(job->strings, names[i]);
    span.start = starts[i];
    lumos_vector_push(&job->spans, span);
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].lag == MS(32)) {
      job->tasks.items[t].span = 2;
    }
  }
  diagnosis = diagnose(job);
  expect_sentences(job, "The step takes 100 ms: rank 1 is 36.0 ms late (36.0 %), as its CPU shows no op or launch "
                        "for most of that time, and the other 2 ranks wait. Look at what rank 1 does in "
                        "\xE2\x80\x9Csparse part\xE2\x80\x9D before \xE2\x80\x9C"
                        "aten::zero_\xE2\x80\x9D, where no op was recorded (with_stack=True would show more): "
                        "it spends 30.0 ms more there than similar ranks in each step.");
  forget(job, &diagnosis);
}

/* The same time is in the data loader. */
static void a_late_rank_may_wait_for_data(void **state) {
  (void)state;
  struct lumos_job *job = late_job(0, MS(36));
  for (uint32_t r = 0; r < 3; r++) {
    uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
    (void)add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", 0, MS(1));
    (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", MS(1), MS(60));
  }
  struct lumos_span span = lumos_span_empty;
  span.rank = 1;
  span.kind = LUMOS_SPAN_ANNOTATION;
  span.name = lumos_intern_text(job->strings, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  span.dur = MS(34); /* on the mean of three ranks 11.3: 22.7 more, and half of 36 is 18 */
  lumos_vector_push(&job->spans, span);
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_DATA_LOADER, MS(36), 360000);
  assert_int_equal(diagnosis.findings[0].ranks[0], 1);
  lumos_diagnosis_free(&diagnosis);
  job->spans.items[0].dur = MS(26); /* 17.3 more; and what is in it counts once */
  span.dur = MS(20);
  span.parent = 0;
  lumos_vector_push(&job->spans, span);
  diagnosis = diagnose(job);
  assert_int_equal(diagnosis.findings[0].cause, LUMOS_CAUSE_SLOW_CPU);
  forget(job, &diagnosis);
}

/* Rank 1 is late by 9 of 100 ms. Its thread takes 1.09 times as long as the others', in ten ops alike, which is chance;
 * 1.11 times is not, nor is 5 ms in one op, which is more than half of 9. */
static void a_cpu_that_is_hardly_slower_is_not_blamed(void **state) {
  (void)state;
  static const struct {
    int64_t each, first;
    enum lumos_cause cause;
  } cases[] = {{MS(5.45), MS(5.45), LUMOS_CAUSE_WAITING},
               {MS(5.55), MS(5.55), LUMOS_CAUSE_SLOW_CPU},
               {MS(5), MS(9.6), LUMOS_CAUSE_SLOW_CPU}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct parts parts[] = {{.compute = MS(62), .wait = MS(38)},
                                  {.compute = MS(60), .wait = MS(29), .idle = MS(11)},
                                  {.compute = MS(62), .wait = MS(38)}};
    struct lumos_job *job = ranks_with(parts, 3);
    add_straggler(job, 1, 0, MS(9));
    for (uint32_t r = 0; r < 3; r++) {
      uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
      (void)add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", 0, 1);
      for (int op = 0; op < 10; op++) {
        char name[8];
        (void)snprintf(name, sizeof name, "op %d", op);
        int64_t slow = op == 0 ? cases[i].first : cases[i].each;
        (void)add_task(job, thread, LUMOS_OP, name, MS(10) * op + 1, r == 1 ? slow : MS(5));
      }
      (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", MS(1), MS(60));
    }
    struct lumos_diagnosis diagnosis = diagnose(job);
    const struct lumos_finding *slow = find(&diagnosis, LUMOS_CAUSE_SLOW_CPU);
    assert_int_equal(slow != NULL, cases[i].cause == LUMOS_CAUSE_SLOW_CPU);
    forget(job, &diagnosis);
  }
}

/* Kernels that take half as long again: 90 ms instead of 60. */
static void a_slow_gpu_is_told_by_its_kernels(void **state) {
  (void)state;
  struct lumos_job *job = late_job(MS(30), MS(6));
  for (uint32_t r = 0; r < 3; r++) {
    uint32_t stream = add_lane(job, r, "s7", LUMOS_STREAM);
    (void)add_task(job, stream, LUMOS_GEMM, "gemm_a", 0, r == 1 ? MS(45) : MS(30));
    (void)add_task(job, stream, LUMOS_GEMM, "gemm_b", MS(50), r == 1 ? MS(45) : MS(30));
    (void)add_task(job, stream, LUMOS_COLLECTIVE, "all_reduce", MS(95), r == 1 ? MS(1) : MS(38));
  }
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_SLOW_GPU, MS(36), 360000);
  assert_int_equal(diagnosis.findings[0].ratio, 1500000);
  assert_int_equal(diagnosis.findings[0].op, LUMOS_NO_STRING); /* each is 15 ms, less than half of 36 */
  forget(job, &diagnosis);
}

/* Rank 1 lacks 25 ms that the others have, more than half of what it is late by. */
static void a_late_rank_may_be_unrecorded(void **state) {
  (void)state;
  struct lumos_job *job = late_job(0, MS(36));
  add_metric(job, "not_recorded", 1, 0, LUMOS_METRIC_MEASURED, MS(25), 0);
  (void)add_task(job, add_lane(job, 1, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_UNRECORDED_RANK, MS(36), 360000);
  expect_sentences(job, "The step takes 100 ms: rank 1 is 36.0 ms late (36.0 %), and the other 2 ranks wait. Record "
                        "more steps, and check whether another process uses that GPU: 36.0 ms of the delay "
                        "pass on the CPU, while the GPU waits for work that was not recorded.");
  lumos_diagnosis_free(&diagnosis);
  job->metrics.items[job->metrics.count - 1].value.units = MS(17);
  diagnosis = diagnose(job);
  assert_int_equal(diagnosis.findings[0].cause, LUMOS_CAUSE_SLOW_CPU);
  forget(job, &diagnosis);
}

/* Ranks lack 50 of 100 ms on the mean, of which a third of the 36 are the late rank's: 38 are more than 36, but it is known
 * whose those are; 78, if they lack 90, are more than twice as much. */
static void an_unrecorded_rank_goes_before_what_else_was_not_recorded(void **state) {
  (void)state;
  for (int lacking = 50; lacking <= 90; lacking += 40) {
    struct lumos_job *job = late_job(0, MS(36));
    add_metric(job, "not_recorded", 1, 0, LUMOS_METRIC_MEASURED, MS(25), 0);
    add_metric(job, "not_recorded", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_MEASURED, MS(lacking), 0);
    (void)add_task(job, add_lane(job, 1, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
    struct lumos_diagnosis diagnosis = diagnose(job);
    bool rank_first = lacking == 50;
    assert_int_equal(diagnosis.findings[rank_first ? 0 : 1].cause, LUMOS_CAUSE_UNRECORDED_RANK);
    assert_int_equal(diagnosis.findings[rank_first ? 1 : 0].time, MS(lacking - 12));
    if (rank_first) {
      struct report_facts facts;
      report_facts_read(job, &facts);
      const struct report_opportunities none = {.job = job};
      const struct diagnosis_story story = {job, &facts, &none, &diagnosis};
      expect_first_sentence(
          &story, "; the recording does not show what GPUs wait for during 50.0\xC2\xA0% of the step, most of that "
                  "delay included.");
      report_facts_free(&facts);
    }
    forget(job, &diagnosis);
  }
}

/* Two ranks are late by 36 and 30 ms: side by side, so that 36 is what they cost. */
static void ranks_that_are_late_together_are_named_together(void **state) {
  (void)state;
  struct lumos_job *job = late_job(0, MS(36));
  add_straggler(job, 2, MS(-4), MS(34));
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_SLOW_CPU, MS(36), 360000);
  assert_int_equal(diagnosis.findings[0].rank_count, 2);
  assert_int_equal(diagnosis.findings[0].ranks[1], 2);
  assert_int_equal(diagnosis.findings[0].rank_times[1], MS(30));
  forget(job, &diagnosis);
}

/* Another rank is late for another reason, by 30 ms or, too little to be named, by 20. */
static void a_rank_nearly_as_late_is_named_too(void **state) {
  (void)state;
  static const struct {
    int64_t late;
    const char *more;
  } cases[] = {{MS(30), "; rank 2\xE2\x80\x99s GPU is 30.0 ms late (30.0 %), and 1 rank waits"}, {MS(20), ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = late_job(0, MS(36));
    add_straggler(job, 2, cases[i].late, 0);
    (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
    struct lumos_diagnosis diagnosis = diagnose(job);
    char text[256];
    (void)snprintf(text, sizeof text,
                   "The step takes 100 ms: rank 1\xE2\x80\x99s CPU is 36.0 ms late (36.0 %%), and the other "
                   "2 ranks wait%s. Give rank 1\xE2\x80\x99s process CPU cores",
                   cases[i].more);
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_true(lumos_report_verdict(job, &out, &error));
    lumos_text_char(&out, '\0');
    out.bytes[strlen(text)] = '\0';
    assert_string_equal(out.bytes, text);
    lumos_text_free(&out);
    forget(job, &diagnosis);
  }
}

/* Stages compute for 20, 20 and 65 ms of 100 with 5 micro-batches: of the mean of 35 the last has 30 more, four fifths of
 * which, 24 ms, are lost; 65 is 3.25 times the mean of the others. Its head takes 40 ms. The mean bubble is
 * (80 + 80 + 35) / 3 = 65. */
static struct lumos_job *pipeline_job(int32_t micro_batches) {
  const struct parts parts[] = {{.compute = MS(20), .bubble = MS(80)},
                                {.compute = MS(20), .bubble = MS(80)},
                                {.compute = MS(65), .bubble = MS(35)}};
  struct lumos_job *job = ranks_with(parts, 3);
  for (uint32_t r = 0; r < 3; r++) {
    job->ranks.items[r].has_parallel = true;
    job->ranks.items[r].parallel = (struct lumos_parallel){0, (int32_t)r, 0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    uint32_t stream = add_lane(job, r, "s7", LUMOS_STREAM);
    uint32_t layer = add_task(job, stream, LUMOS_GEMM, "gemm", 0, r == 2 ? MS(25) : MS(20));
    job->tasks.items[layer].part = LUMOS_PART_LAYER;
    if (r == 2) {
      uint32_t head = add_task(job, stream, LUMOS_GEMM, "gemm", MS(40), MS(40));
      job->tasks.items[head].part = LUMOS_PART_HEAD;
    }
  }
  struct lumos_model_description model = lumos_model_description_empty;
  model.micro_batches = micro_batches;
  lumos_vector_push(&job->models, model);
  return job;
}

static void an_unbalanced_stage_takes_its_part_of_the_bubble(void **state) {
  (void)state;
  struct lumos_job *job = pipeline_job(5);
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_finding(&diagnosis, 0, LUMOS_CAUSE_BUBBLE, MS(65) - MS(24), 410000);
  expect_finding(&diagnosis, 1, LUMOS_CAUSE_IMBALANCE, MS(24), 240000);
  const struct lumos_finding *stage = &diagnosis.findings[1];
  assert_int_equal(stage->stage, 2);
  assert_int_equal(stage->part, LUMOS_PART_HEAD);
  assert_int_equal(stage->op_time, MS(40));
  assert_int_equal(stage->ratio, 3250000);
  assert_int_equal(stage->ranks[0], 2);
  assert_int_equal(stage->idle, 2);
  assert_int_equal(stage->next, LUMOS_ABSENT_INT);
  lumos_diagnosis_free(&diagnosis);
  add_straggler(job, 2, MS(15), 0); /* 50 ms without that: 20 more than the mean of 30, and four fifths of it */
  diagnosis = diagnose(job);
  assert_int_equal(find(&diagnosis, LUMOS_CAUSE_IMBALANCE)->time, MS(16));
  lumos_diagnosis_free(&diagnosis);
  job->metrics.count -= 3;
  job->models.items[0].micro_batches = 1; /* whoever has most work, one micro-batch passes all stages in turn */
  diagnosis = diagnose(job);
  assert_null(find(&diagnosis, LUMOS_CAUSE_IMBALANCE));
  forget(job, &diagnosis);
}

/* Two stages of so much compute, which wait for the other for the rest of 100 ms but are idle in between, and so many launches
 * of so many ms. */
static struct lumos_job *launching_stages(const int64_t compute[2], const int64_t waits[2], const uint32_t launches[2],
                                          const int64_t times[2]) {
  struct parts parts[2];
  for (int s = 0; s < 2; s++) {
    parts[s] = (struct parts){.compute = compute[s], .bubble = waits[s], .idle = MS(100) - waits[s] - compute[s]};
  }
  struct lumos_job *job = ranks_with(parts, 2);
  struct lumos_model_description model = lumos_model_description_empty;
  model.micro_batches = 5;
  lumos_vector_push(&job->models, model);
  for (uint32_t r = 0; r < 2; r++) {
    job->ranks.items[r].has_parallel = true;
    job->ranks.items[r].parallel = (struct lumos_parallel){0, (int32_t)r, 0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
    for (uint32_t i = 0; i < launches[r]; i++) {
      uint32_t task = add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", i * times[r], times[r]);
      job->tasks.items[task].part = LUMOS_PART_LAYER;
    }
    (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, compute[r]);
  }
  return job;
}

/* Where CPUs set the pace, work is what they launch. */
static struct lumos_job *launching_job(const uint32_t launches[2], const int64_t times[2]) {
  return launching_stages((const int64_t[]){MS(20), MS(20)}, (const int64_t[]){MS(80), MS(40)}, launches, times);
}

/* CPUs launch for as long on both stages, and longer than GPUs compute; one GPU computes for 30 ms, the other for 10: 10 more
 * than the mean, and four fifths of it are 8. */
static void gpus_are_uneven_beside_busy_cpus(void **state) {
  (void)state;
  static const struct {
    int64_t waits[2], launches[2], cost;
  } cases[] = {
      {{MS(85), MS(60)}, {MS(10), MS(10)}, MS(8)},
      {{MS(85), MS(80)}, {MS(10), MS(10)}, MS(2)}, /* without waiting, 15 and 20 ms: 2.5 more than the mean */
      {{MS(85), MS(60)}, {MS(19), MS(19)}, MS(5)}, /* CPUs are busy for 95 ms of 100 */
      {{MS(85), MS(60)}, {MS(10), MS(16)}, MS(4)}, /* 5 x 3 of 40 ms are for a slow CPU: 15 and 25 are left */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = launching_stages((const int64_t[]){MS(10), MS(30)}, cases[i].waits,
                                             (const uint32_t[]){5, 5}, cases[i].launches);
    struct lumos_diagnosis diagnosis = diagnose(job);
    const struct lumos_finding *stage = find(&diagnosis, LUMOS_CAUSE_IMBALANCE);
    assert_non_null(stage);
    assert_int_equal(stage->stage, 1);
    assert_int_equal(stage->time, cases[i].cost);
    assert_int_equal(stage->ratio, 3000000);
    forget(job, &diagnosis);
  }
}

static void a_stage_that_launches_more_has_more_work(void **state) {
  (void)state;
  struct lumos_job *job = launching_job((const uint32_t[]){2, 6}, (const int64_t[]){MS(10), MS(10)});
  struct lumos_diagnosis diagnosis = diagnose(job);
  const struct lumos_finding *stage = find(&diagnosis, LUMOS_CAUSE_IMBALANCE);
  assert_non_null(stage);
  assert_int_equal(stage->stage, 1);
  assert_int_equal(stage->time, MS(16)); /* 60 ms are 20 more than the mean of 40, and four fifths of it */
  assert_int_equal(stage->ratio, 3000000);
  assert_int_equal(stage->part, LUMOS_PART_LAYER);
  assert_int_equal(stage->op_time, MS(60));
  forget(job, &diagnosis);
  job = launching_job((const uint32_t[]){4, 4}, (const int64_t[]){MS(5), MS(15)}); /* a slow CPU has no more work */
  diagnosis = diagnose(job);
  assert_null(find(&diagnosis, LUMOS_CAUSE_IMBALANCE));
  forget(job, &diagnosis);
}

/* A bubble's advice leaves out the schedule that the job has already. */
static void a_bubble_asks_for_a_better_schedule(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"1f1b", "Use more micro-batches, or an interleaved or zero-bubble schedule"},
      {"interleaved", "Use more micro-batches, or a zero-bubble schedule"},
      {"zb-h1", "Use more micro-batches; without"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = launching_job((const uint32_t[]){1, 1}, (const int64_t[]){MS(5), MS(5)});
    struct lumos_error error = {LUMOS_DONE, ""};
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    add_kind(job, "bubble_theory", LUMOS_ABSENT_INT, cases[i][0], 300000);
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_true(lumos_report_verdict(job, &out, &error));
    lumos_text_char(&out, '\0');
    assert_non_null(strstr(out.bytes, cases[i][1]));
    lumos_text_free(&out);
    forget(job, &diagnosis);
  }
}

/* A recording of CPUs alone says nothing of the GPUs that it is judged by. */
static void ranks_without_gpu_work_limit_confidence(void **state) {
  (void)state;
  for (uint32_t with = 0; with <= 4; with++) {
    static const struct parts parts[4] = {
        {.compute = MS(90)}, {.compute = MS(90)}, {.compute = MS(90)}, {.compute = MS(90)}};
    struct lumos_job *job = ranks_with(parts, 4);
    add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
    for (uint32_t r = 0; r < with; r++) {
      (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(90));
    }
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_int_equal(diagnosis.confidence, with < 2 ? LUMOS_POOR : with < 4 ? LUMOS_FAIR : LUMOS_GOOD);
    assert_int_equal(diagnosis.limit, with < 4 ? LUMOS_LIMIT_NO_GPU : LUMOS_LIMIT_NONE);
    forget(job, &diagnosis);
  }
}

/* Two stages with so many layers of 10 ms and an optimizer of 40, the second with a head besides; 5 micro-batches. */
static struct lumos_job *layers_job(int32_t first, int32_t second, int64_t head) {
  const int64_t compute[] = {MS(40) + first * MS(10), MS(40) + second * MS(10) + head};
  const struct parts parts[] = {{.compute = compute[0], .bubble = MS(100) - compute[0]},
                                {.compute = compute[1], .bubble = MS(100) - compute[1]}};
  const int32_t layers[] = {first, second};
  struct lumos_job *job = ranks_with(parts, 2);
  struct lumos_model_description model = lumos_model_description_empty;
  model.micro_batches = 5;
  model.layers = first + second;
  lumos_vector_push(&job->models, model);
  for (int32_t r = 0, layer = 0; r < 2; r++) {
    job->ranks.items[r].has_parallel = true;
    job->ranks.items[r].parallel = (struct lumos_parallel){0, r, 0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    uint32_t stream = add_lane(job, (uint32_t)r, "s7", LUMOS_STREAM);
    for (int32_t i = 0; i < layers[r]; i++) {
      uint32_t task = add_task(job, stream, LUMOS_GEMM, "gemm", i * MS(10), MS(10));
      job->tasks.items[task].part = LUMOS_PART_LAYER;
      job->tasks.items[task].layer = layer++;
    }
    uint32_t optimizer = add_task(job, stream, LUMOS_OPTIMIZER, "adam", layers[r] * MS(10), MS(40));
    job->tasks.items[optimizer].part = LUMOS_PART_OPTIMIZER;
    if (r == 1 && head > 0) {
      uint32_t task = add_task(job, stream, LUMOS_GEMM, "head", MS(40) + layers[r] * MS(10), head);
      job->tasks.items[task].part = LUMOS_PART_HEAD;
    }
  }
  return job;
}

/* What to do about it: how many layers go elsewhere. */
static void an_unbalanced_pipeline_is_split_anew(void **state) {
  (void)state;
  static const struct {
    int32_t first, second;
    int64_t head;
    int32_t split[2]; /* by hand: a layer goes to whom has less */
    const char *action, *stage;
  } cases[] = {
      {2,
       6,
       0,
       {4, 4},
       "Move 2 of the stage\xE2\x80\x99s 6 layers to other stages (lumos-transform --split 4,4)",
       "stage 1 (rank 1) has 1.7 times the work of other stages, because it holds more layers, so stage 0 idles: the "},
      {2,
       3,
       MS(25),
       {4, 1},
       "Move 2 of the stage\xE2\x80\x99s 3 layers to other stages (lumos-transform --split 4,1; "
       "a stage keeps at least one layer)",
       "stage 1 (rank 1) holds "},
      {1,
       1,
       MS(40),
       {1, 1},
       "Moving whole layers does not help: divide the output head over more ranks",
       "stage 1 (rank 1) holds the output head, 4.0 times a layer\xE2\x80\x99s work, so stage 0 idles: the "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = layers_job(cases[i].first, cases[i].second, cases[i].head);
    struct lumos_diagnosis diagnosis = diagnose(job);
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    struct lumos_error error = {LUMOS_DONE, ""};
    const struct lumos_finding *found = find(&diagnosis, LUMOS_CAUSE_IMBALANCE);
    assert_non_null(found);
    assert_int_equal(found->layers, cases[i].second);
    assert_int_equal(found->stages, 2);
    assert_memory_equal(found->split, cases[i].split, sizeof cases[i].split);
    if (found == &diagnosis.findings[0]) {
      assert_true(lumos_report_verdict(job, &out, &error));
      lumos_text_char(&out, '\0');
      assert_non_null(strstr(out.bytes, cases[i].action));
      assert_non_null(strstr(out.bytes, cases[i].stage));
    } else {
      fail_msg("case %zu: the first finding is %s", i, lumos_cause_name(diagnosis.findings[0].cause));
    }
    lumos_text_free(&out);
    struct report_facts facts; /* what that gains is what moving these layers gains, not equal stages */
    report_facts_read(job, &facts);
    struct report_opportunity changes[] = {{.kind = lumos_intern_text(job->strings, "balanced_stages"), .half = MS(50)},
                                           {.kind = lumos_intern_text(job->strings, "moved_layers"), .half = MS(70)}};
    const struct report_opportunities opportunities = {.job = job, .changes = {changes, 2, 2}, .step = MS(100)};
    const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
    assert_int_equal(diagnosis_cure(&story).share, cases[i].split[1] < cases[i].second ? 300000 : LUMOS_ABSENT);
    report_facts_free(&facts);
    job->tasks.items[0].layer = 100; /* of a layer that the model lacks, so that layers are not known */
    lumos_diagnosis_free(&diagnosis);
    lumos_diagnose(job, &diagnosis);
    assert_int_equal(find(&diagnosis, LUMOS_CAUSE_IMBALANCE)->layers, LUMOS_ABSENT_INT);
    forget(job, &diagnosis);
  }
}

/* Of three stages the others are two. */
static void two_stages_that_idle_are_named(void **state) {
  (void)state;
  struct lumos_job *job = pipeline_job(5);
  struct lumos_diagnosis diagnosis = diagnose(job);
  struct report_facts facts;
  report_facts_read(job, &facts);
  const struct report_opportunities opportunities = {.job = job, .step = MS(100)};
  const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_finding(&story, find(&diagnosis, LUMOS_CAUSE_IMBALANCE), &out);
  lumos_text_char(&out, '\0');
  assert_non_null(
      strstr(out.bytes, ", because it holds the output head, so stages 0 and 1 idle: the imbalance costs 24.0"));
  lumos_text_free(&out);
  report_facts_free(&facts);
  forget(job, &diagnosis);
}

/* Stages 0 to 2 of four compute for so long, the last for 60 ms: whoever has 3/4 of its excess over the mean, or more, is
 * nearly as heavy, and the others idle. */
static void stages_that_idle_are_named(void **state) {
  (void)state;
  static const struct {
    int64_t compute[3];
    const char *text;
  } cases[] = {
      {{MS(20), MS(20), MS(20)}, "so stages 0 to 2 idle: the "},
      {{MS(20), MS(56), MS(20)},
       "so 2\xC2\xA0other stages idle and stage 1 is nearly as heavy: the "}, /* 39: 17 of 21 */
      {{MS(20), MS(50), MS(20)}, "so stages 0 to 2 idle: the "},              /* 37.5: 12.5 of 22.5 */
      {{MS(70), MS(20), MS(20)}, "so stages 1 to 3 idle: the "},              /* 42.5: 17.5 of 27.5 */
      {{MS(20), MS(70), MS(20)}, "so the other 3\xC2\xA0stages idle: the "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct parts parts[4];
    for (int s = 0; s < 4; s++) {
      int64_t compute = s < 3 ? cases[i].compute[s] : MS(60);
      parts[s] = (struct parts){.compute = compute, .bubble = MS(100) - compute};
    }
    struct lumos_job *job = ranks_with(parts, 4);
    struct lumos_model_description model = lumos_model_description_empty;
    model.micro_batches = 20;
    lumos_vector_push(&job->models, model);
    for (uint32_t r = 0; r < 4; r++) {
      job->ranks.items[r].has_parallel = true;
      job->ranks.items[r].parallel = (struct lumos_parallel){0, (int32_t)r, 0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
      (void)add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(20));
    }
    struct lumos_diagnosis diagnosis = diagnose(job);
    struct report_facts facts;
    report_facts_read(job, &facts);
    const struct report_opportunities opportunities = {.job = job, .step = MS(100)};
    const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    const struct lumos_finding *found = find(&diagnosis, LUMOS_CAUSE_IMBALANCE);
    assert_non_null(found);
    diagnosis_put_finding(&story, found, &out);
    lumos_text_char(&out, '\0');
    assert_non_null(strstr(out.bytes, cases[i].text));
    lumos_text_free(&out);
    report_facts_free(&facts);
    forget(job, &diagnosis);
  }
}

/* Kernels of a layer on one rank, `count` of one name in one forward pass. */
static void add_layer(struct lumos_job *job, uint32_t rank, int32_t layer, int64_t dur, int count) {
  uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
  for (int i = 0; i < count; i++) {
    uint32_t task = add_task(job, stream, LUMOS_GEMM, "gemm", i * MS(20), dur);
    job->tasks.items[task].part = LUMOS_PART_LAYER;
    job->tasks.items[task].layer = layer;
    job->tasks.items[task].phase = LUMOS_FORWARD;
    job->tasks.items[task].micro_batch = 0;
  }
}

/* Nobody does the work of stage 1 beside rank 1, so that it is late to nothing. Its layer's kernels take 1.6 times as
 * long as those of stage 0's layer: of its 64 ms 24 are too many. */
static void a_slow_gpu_is_told_by_other_stages(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(40), .bubble = MS(60)}, {.compute = MS(64), .bubble = MS(36)}};
  struct lumos_job *job = ranks_with(parts, 2);
  for (uint32_t r = 0; r < 2; r++) {
    job->ranks.items[r].has_parallel = true;
    job->ranks.items[r].parallel = (struct lumos_parallel){0, (int32_t)r, 0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    add_layer(job, r, (int32_t)r, r == 1 ? MS(16) : MS(10), 4);
  }
  struct lumos_diagnosis diagnosis = diagnose(job);
  const struct lumos_finding *slow = find(&diagnosis, LUMOS_CAUSE_SLOW_GPU);
  assert_non_null(slow);
  assert_int_equal(slow->time, MS(24));
  assert_int_equal(slow->ranks[0], 1);
  assert_null(find(&diagnosis, LUMOS_CAUSE_IMBALANCE));
  forget(job, &diagnosis);
}

/* Late by what it computes, but its kernels take as long as those of others, and so do its threads: it waits for
 * somebody itself. With threads that take longer it launched late. */
static void late_compute_of_a_usual_pace_is_no_slow_gpu(void **state) {
  (void)state;
  for (int slow = 0; slow < 2; slow++) {
    struct lumos_job *job = late_job(MS(30), MS(6));
    for (uint32_t r = 0; r < 3; r++) {
      uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
      (void)add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", 0, slow == 1 && r == 1 ? MS(20) : MS(10));
      add_layer(job, r, 0, MS(10), 4);
    }
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_null(find(&diagnosis, LUMOS_CAUSE_SLOW_GPU));
    assert_int_equal(find(&diagnosis, LUMOS_CAUSE_SLOW_CPU) != NULL, slow == 1);
    forget(job, &diagnosis);
  }
}

/* Ranks wait for each other for 20 ms by turns, and for their CPUs for 10; on the critical path CPUs have 60 ms of 100. */
static void waiting_by_turns_for_cpus_is_theirs(void **state) {
  (void)state;
  for (int host = 40; host <= 60; host += 20) {
    const struct parts parts[] = {{.compute = MS(70), .wait = MS(20), .idle = MS(10)}};
    struct lumos_job *job = ranks_with(parts, 1);
    add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(10), 0);
    add_kind(job, "critical_path_kind", LUMOS_ABSENT_INT, "launch", MS(host));
    add_kind(job, "critical_path_kind", LUMOS_ABSENT_INT, "gemm", MS(100 - host));
    (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_int_equal(find(&diagnosis, LUMOS_CAUSE_CPU_BOUND)->time, host > 50 ? MS(30) : MS(10));
    assert_int_equal(find(&diagnosis, LUMOS_CAUSE_WAITING) != NULL, host < 50);
    forget(job, &diagnosis);
  }
}

/* Rank 2 is late by 15 ms for what was not recorded: of the mean waiting of (20 + 20 + 0) / 3 = 13.3 ms (15 + 15) / 3 = 10
 * are for that, and no CPU's. On the critical path it has 62 of 100 ms, of which up to 15 lie outside the recording: 47 are
 * no majority, and with 5 outside at least 57 are. */
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
    const struct diagnosis_story story = {job, &facts, &none, &diagnosis};
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    diagnosis_put_finding(&story, cpus, &out);
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

static void add_transfer(struct lumos_job *job, uint32_t first, uint32_t second, int64_t transfer, int64_t bytes) {
  struct lumos_collective collective = lumos_collective_empty;
  collective.id = (uint32_t)job->collectives.count;
  collective.op = lumos_intern_text(job->strings, "send_recv");
  collective.member_first = (uint32_t)job->members.count;
  collective.member_count = 2;
  collective.size = 2;
  collective.bytes = bytes;
  collective.transfer = transfer;
  lumos_vector_push(&job->members, first);
  lumos_vector_push(&job->members, second);
  lumos_vector_push(&job->collectives, collective);
}

/* Between ranks 0 and 1, and 2 and 3: 2 ms; between 1 and 2: 14 ms, 12 more, and seven times as long. Other sizes do not
 * count beside these. The GPUs of that link are late by 5 ms, which is its doing. */
static void a_slow_link_is_told_by_like_transfers(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(60), .transfer = MS(2), .wait = MS(38)},
                                {.compute = MS(60), .transfer = MS(14), .idle = MS(26)},
                                {.compute = MS(60), .transfer = MS(14), .idle = MS(26)},
                                {.compute = MS(60), .transfer = MS(2), .wait = MS(38)}};
  struct lumos_job *job = ranks_with(parts, 4);
  uint32_t tasks[4];
  for (uint32_t r = 0; r < 4; r++) {
    tasks[r] = add_task(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_P2P, "send", 0, MS(1));
  }
  add_straggler(job, 1, MS(5), 0);
  add_transfer(job, tasks[0], tasks[1], MS(2), 4096);
  add_transfer(job, tasks[2], tasks[1], MS(14), 4096);
  add_transfer(job, tasks[2], tasks[3], MS(2), 4096);
  add_transfer(job, tasks[0], tasks[3], MS(90), 8192);
  struct lumos_diagnosis diagnosis = diagnose(job);
  const struct lumos_finding *link = find(&diagnosis, LUMOS_CAUSE_SLOW_LINK);
  assert_non_null(link);
  assert_int_equal(link->time, MS(12));
  assert_int_equal(link->ratio, 7000000);
  assert_int_equal(link->rank_count, 2);
  assert_int_equal(link->ranks[0] + link->ranks[1], 3);
  assert_null(find(&diagnosis, LUMOS_CAUSE_SLOW_GPU));
  lumos_diagnosis_free(&diagnosis);
  job->collectives.items[0].transfer = job->collectives.items[2].transfer = MS(10);
  job->collectives.items[1].transfer = MS(14.9); /* less than one and a half times */
  diagnosis = diagnose(job);
  assert_null(find(&diagnosis, LUMOS_CAUSE_SLOW_LINK));
  assert_non_null(find(&diagnosis, LUMOS_CAUSE_SLOW_GPU));
  forget(job, &diagnosis);
}

/* 100 ms with the profiler and 85 without it, of which the GPU computes for 70. 30 are idle, 24 of them for the CPU: 15 are
 * the profiler's, 9 the job's. Without CUDA graphs' CPU time a step takes 75. */
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
  const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
  const struct {
    int64_t time;
    const char *gain;
  } rows[] = {{MS(75), "\xE2\x88\x92"
                       "11.8\xC2\xA0%"},
              {MS(85), "no gain known"},
              {MS(95), "no gain known"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    out.length = 0;
    diagnosis_put_row_gain(&story, rows[i].time, &out);
    lumos_text_char(&out, '\0');
    assert_string_equal(out.bytes, rows[i].gain);
  }
  report_facts_free(&facts);
  lumos_text_free(&out);
  forget(job, &diagnosis);
}

/* 30 ms idle, 24 of which for the CPU, 2 behind waits, 4 for dependencies; the thread is blocked for 12 ms. So 10 of the
 * 24 are the synchronization's doing, too. */
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
    const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    diagnosis_put_sentence(&story, &out);
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

/* Without its delay of 36 ms a step would take 90 of 100 ms, which is less than a change saves that is simulated, too; half
 * of a kind of work counts only where there is nothing else. */
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
  const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
  assert_int_equal(diagnosis_cure(&story).share, 100000);
  struct diagnosis_gain best = diagnosis_best_gain(&story);
  assert_int_equal(best.share, 300000);
  assert_ptr_equal(best.opportunity, &changes[0]);
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_remedy(&story, &out); /* which the cure's 10 % are less than half of */
  lumos_text_char(&out, '\0');
  assert_non_null(strstr(out.bytes, "Capture each pass in a CUDA graph: "));
  assert_non_null(strstr(out.bytes,
                         "; with that it would take 70.0\xC2\xA0ms (\xE2\x88\x92"
                         "30.0\xC2\xA0%), while removing rank 1\xE2\x80\x99s delay alone would save 10.0\xC2\xA0%."));
  expect_first_sentence(&story, "; without that delay, something else limits the step.");
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
  diagnosis_put_remedy(&story, &out);
  lumos_text_char(&out, '\0');
  assert_null(strstr(out.bytes, "limit the step"));
  expect_first_sentence(&story, "; without that delay, CPUs still limit the step.");
  job->metrics.items[job->metrics.count - 3].value.units = 155;
  expect_first_sentence(&story, "the other 2\xC2\xA0ranks wait; without that delay, CPUs still limit the step.");
  changes[0].half = MS(81);
  out.length = 0;
  diagnosis_put_remedy(&story, &out);
  lumos_text_char(&out, '\0');
  assert_null(strstr(out.bytes, "CUDA graph"));
  assert_non_null(strstr(out.bytes, "; without that delay it would take 90.0\xC2\xA0ms (\xE2\x88\x92"
                                    "10.0\xC2\xA0%); less than the delay, because rank 2\xE2\x80\x99s CPU then limits "
                                    "the step (73.8\xC2\xA0% of the critical path)."));
  expect_first_sentence(&story, "the other 2\xC2\xA0ranks wait.");
  lumos_text_free(&out);
  changes[0].half = MS(92);
  best = diagnosis_best_gain(&story);
  assert_int_equal(best.share, 100000);
  assert_ptr_equal(best.opportunity, &changes[1]);
  opportunities.changes.count = 0; /* what the delay costs beside others is not known then */
  assert_int_equal(diagnosis_cure(&story).share, LUMOS_ABSENT);
  best = diagnosis_best_gain(&story);
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
  const struct diagnosis_story story = {job, &facts, &opportunities, &diagnosis};
  struct diagnosis_gain best = diagnosis_best_gain(&story), headline = diagnosis_headline_gain(&story);
  assert_ptr_equal(best.opportunity, &changes[0]);
  assert_true(diagnosis_same_gain(&best, &headline));
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_remedy(&story, &out);
  lumos_text_char(&out, '\0');
  assert_non_null(strstr(out.bytes, ", while removing the pipeline bubble alone would save up to 30.0\xC2\xA0%."));
  lumos_text_free(&out);
  changes[0].half = MS(86);
  best = diagnosis_best_gain(&story);
  headline = diagnosis_headline_gain(&story);
  assert_true(best.at_most);
  assert_true(diagnosis_same_gain(&best, &headline));
  report_facts_free(&facts);
  forget(job, &diagnosis);
}

/* 41 that the schedule costs and 24 for unequal stages are the 65 of 100 ms that ranks lose on the mean. */
static void the_bubble_adds_up(void **state) {
  (void)state;
  struct lumos_job *job = pipeline_job(5);
  struct lumos_diagnosis diagnosis = diagnose(job);
  struct report_facts facts;
  report_facts_read(job, &facts);
  const struct report_opportunities none = {.job = job};
  const struct diagnosis_story story = {job, &facts, &none, &diagnosis};
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_own_delay(&story, &out);
  lumos_text_char(&out, '\0');
  assert_string_equal(
      out.bytes, " The bubble is a mean over ranks: 65.0\xC2\xA0%, of which 41.0\xC2\xA0% is what the schedule costs "
                 "and 24.0\xC2\xA0% what unequal stages cost, as stage 2 (rank 2) has 3.3 times the work of other "
                 "stages, because it holds the output head, so stages 0 and 1 idle.");
  lumos_text_free(&out);
  report_facts_free(&facts);
  forget(job, &diagnosis);
}

/* What the profiler takes counts where a CPU is blamed, or the best change saves much of what CPUs launch. */
static void the_profiler_counts_where_advice_rests_on_cpus(void **state) {
  (void)state;
  static const struct {
    const char *change;
    int64_t time, idle_host, profiler;
    enum lumos_confidence confidence;
  } cases[] = {{"cuda_graphs", 90, 0, 11, LUMOS_FAIR},    {"fused_launches", 90, 0, 11, LUMOS_FAIR},
               {"cuda_graphs", 96, 0, 11, LUMOS_GOOD},    {"faster_network", 80, 0, 11, LUMOS_GOOD},
               {"cuda_graphs", 90, 0, 9, LUMOS_GOOD},     {"faster_network", 99, 40, 11, LUMOS_FAIR},
               {"faster_network", 99, 40, 9, LUMOS_GOOD}, {"cuda_graphs", 90, 0, 51, LUMOS_POOR}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct parts parts[] = {{.compute = MS(60), .idle = MS(40)}};
    struct lumos_job *job = ranks_with(parts, 1);
    add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
    add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(cases[i].idle_host), 0);
    add_metric(job, "profiler_time", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_MEASURED, MS(cases[i].profiler), 0);
    add_kind(job, "opportunity_change", LUMOS_ABSENT_INT, cases[i].change, MS(cases[i].time));
    (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_string_equal(lumos_confidence_name(diagnosis.confidence), lumos_confidence_name(cases[i].confidence));
    forget(job, &diagnosis);
  }
}

/* All that keeps it from being better is named, the worst first, and what is the same time once. */
static void every_reason_of_a_grade_is_named(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(80), .unsplit = MS(20)}};
  struct lumos_job *job = ranks_with(parts, 1);
  add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
  add_parts(job, 0, 0, LUMOS_METRIC_SIMULATED, parts[0]);
  add_metric(job, "kept_wait", 0, 0, LUMOS_METRIC_SIMULATED, MS(30), 0);
  add_metric(job, "host_unknown", 0, 0, LUMOS_METRIC_SIMULATED, MS(37), 0);
  add_metric(job, "unexplained_lag", 0, 0, LUMOS_METRIC_SIMULATED, MS(3), 0);
  add_metric(job, "step_spread", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED, 90000, 6);
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(60));
  struct lumos_diagnosis diagnosis = diagnose(job);
  struct report_facts facts;
  report_facts_read(job, &facts);
  const struct report_opportunities none = {.job = job};
  const struct diagnosis_story story = {job, &facts, &none, &diagnosis};
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_confidence(&story, &out);
  lumos_text_char(&out, '\0');
  assert_string_equal(out.bytes,
                      "Communication with ranks that were not recorded takes 20.0\xC2\xA0% of the step. Also: "
                      "unexplained CPU time 37.0\xC2\xA0%, unexplained delay 3.0\xC2\xA0%.");
  lumos_text_free(&out);
  report_facts_free(&facts);
  forget(job, &diagnosis);
}

/* Each figure at its thresholds, alone: above the first it is fair, above the second poor. */
static void confidence_is_that_of_the_worst_figure(void **state) {
  (void)state;
  static const struct {
    const char *metric;
    enum lumos_source source;
    int decimals;
    int64_t good, fair, poor;
    enum lumos_limit limit;
  } rows[] = {
      {"replay_error", LUMOS_METRIC_SIMULATED, 6, -10000, 10001, -50001, LUMOS_LIMIT_REPLAY},
      {"rebuild_error", LUMOS_METRIC_SIMULATED, 6, 10000, -10001, 50001, LUMOS_LIMIT_REBUILD},
      {"transplant_error", LUMOS_METRIC_SIMULATED, 6, 30000, -30001, 100001, LUMOS_LIMIT_CROSS_STEP},
      {"step_spread", LUMOS_METRIC_MEASURED, 6, 100000, 100001, 500001, LUMOS_LIMIT_VARIATION},
      {"host_unknown", LUMOS_METRIC_SIMULATED, 0, MS(10), MS(10.1), MS(100.1), LUMOS_LIMIT_CPU_UNKNOWN},
      {"not_recorded", LUMOS_METRIC_MEASURED, 0, MS(5), MS(5.1), MS(25.1), LUMOS_LIMIT_NOT_RECORDED},
      {"boundary", LUMOS_METRIC_SIMULATED, 0, MS(5), MS(5.1), MS(25.1), LUMOS_LIMIT_BOUNDARY},
      {"unexplained_lag", LUMOS_METRIC_SIMULATED, 0, MS(2), MS(2.1), MS(10.1), LUMOS_LIMIT_UNEXPLAINED},
      {"kept_wait", LUMOS_METRIC_SIMULATED, 0, MS(5), MS(5.1), MS(100.1), LUMOS_LIMIT_UNJOINED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int64_t values[] = {rows[i].poor, rows[i].fair, rows[i].good};
    for (int grade = LUMOS_POOR; grade <= LUMOS_GOOD; grade++) {
      struct lumos_job *job = lumos_job_new();
      (void)add_rank(job, 0);
      const struct parts parts = {.compute = MS(100)};
      add_parts(job, 0, 0, LUMOS_METRIC_MEASURED, parts);
      add_parts(job, 0, 0, LUMOS_METRIC_SIMULATED, parts);
      bool whole = rows[i].decimals == 6;
      if (i > 0) {
        add_metric(job, "replay_error", LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_METRIC_SIMULATED, 1, 6);
      }
      add_metric(job, rows[i].metric, whole ? LUMOS_ABSENT_INT : 0, whole ? LUMOS_ABSENT_INT : 0, rows[i].source,
                 values[grade - LUMOS_POOR], rows[i].decimals);
      (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
      struct lumos_diagnosis diagnosis = diagnose(job);
      assert_string_equal(lumos_confidence_name(diagnosis.confidence),
                          lumos_confidence_name((enum lumos_confidence)grade));
      assert_int_equal(diagnosis.limit, grade == LUMOS_GOOD ? LUMOS_LIMIT_NONE : rows[i].limit);
      forget(job, &diagnosis);
    }
  }
}

/* Its replay error is that of the unchanged job, which is not there any more. */
static void a_changed_job_is_fair_at_best(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  (void)add_rank(job, 0);
  const struct parts parts = {.compute = MS(100)};
  add_parts(job, 0, 0, LUMOS_METRIC_MEASURED, parts);
  add_parts(job, 0, 0, LUMOS_METRIC_SIMULATED, parts);
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
  lumos_job_history(job, "lumos-transform", "--scale kind=gemm=0.5", NULL, 0);
  job->edited = 1;
  struct lumos_diagnosis diagnosis = diagnose(job);
  assert_int_equal(diagnosis.confidence, LUMOS_FAIR);
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_CHANGED);
  lumos_diagnosis_free(&diagnosis);
  lumos_job_note(job, "transform.untied_communication", LUMOS_WARNING, 8, NULL, "not joined", NULL);
  lumos_diagnose(job, &diagnosis);
  assert_int_equal(diagnosis.confidence, LUMOS_POOR);
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_UNTIED);
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

/* What is to be recorded comes first, the best change after it: one order, where 25 of 100 are unsplit and the grade is fair. */
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

static void without_a_measured_step_confidence_is_unknown(void **state) {
  (void)state;
  const struct parts parts[] = {{.compute = MS(100)}};
  struct lumos_job *job = ranks_with(parts, 1);
  (void)add_task(job, add_lane(job, 0, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, MS(70));
  struct lumos_diagnosis diagnosis = diagnose(job);
  assert_int_equal(diagnosis.confidence, LUMOS_CONFIDENCE_UNKNOWN);
  assert_int_equal(diagnosis.limit, LUMOS_LIMIT_NOTHING_MEASURED);
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
      cmocka_unit_test(waiting_goes_to_the_late_rank_and_the_op),
      cmocka_unit_test(a_late_rank_may_wait_for_data),
      cmocka_unit_test(a_cpu_that_is_hardly_slower_is_not_blamed),
      cmocka_unit_test(a_slow_gpu_is_told_by_its_kernels),
      cmocka_unit_test(a_late_rank_may_be_unrecorded),
      cmocka_unit_test(an_unrecorded_rank_goes_before_what_else_was_not_recorded),
      cmocka_unit_test(ranks_that_are_late_together_are_named_together),
      cmocka_unit_test(a_rank_nearly_as_late_is_named_too),
      cmocka_unit_test(an_unbalanced_stage_takes_its_part_of_the_bubble),
      cmocka_unit_test(an_unbalanced_pipeline_is_split_anew),
      cmocka_unit_test(stages_that_idle_are_named),
      cmocka_unit_test(two_stages_that_idle_are_named),
      cmocka_unit_test(gpus_are_uneven_beside_busy_cpus),
      cmocka_unit_test(a_stage_that_launches_more_has_more_work),
      cmocka_unit_test(a_bubble_asks_for_a_better_schedule),
      cmocka_unit_test(ranks_without_gpu_work_limit_confidence),
      cmocka_unit_test(a_slow_gpu_is_told_by_other_stages),
      cmocka_unit_test(late_compute_of_a_usual_pace_is_no_slow_gpu),
      cmocka_unit_test(waiting_by_turns_for_cpus_is_theirs),
      cmocka_unit_test(what_was_not_recorded_is_no_cpu_time),
      cmocka_unit_test(a_bound_is_no_prediction),
      cmocka_unit_test(the_bubble_adds_up),
      cmocka_unit_test(the_profiler_counts_where_advice_rests_on_cpus),
      cmocka_unit_test(every_reason_of_a_grade_is_named),
      cmocka_unit_test(a_slow_link_is_told_by_like_transfers),
      cmocka_unit_test(what_the_profiler_costs_is_not_the_jobs),
      cmocka_unit_test(a_blocked_cpu_cannot_be_ahead),
      cmocka_unit_test(small_overheads_are_no_diagnosis),
      cmocka_unit_test(a_step_that_mostly_computes_says_so),
      cmocka_unit_test(what_is_not_recorded_comes_first_and_nothing_is_predicted),
      cmocka_unit_test(the_best_gain_is_the_larger_one),
      cmocka_unit_test(confidence_is_that_of_the_worst_figure),
      cmocka_unit_test(a_changed_job_is_fair_at_best),
      cmocka_unit_test(communication_is_unsplit_for_two_reasons),
      cmocka_unit_test(the_best_change_comes_after_recording),
      cmocka_unit_test(without_a_measured_step_confidence_is_unknown),
      cmocka_unit_test(the_highest_numbers_are_no_harm),
      cmocka_unit_test(a_job_of_nothing_has_no_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
