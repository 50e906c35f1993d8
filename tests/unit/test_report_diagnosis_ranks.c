/* The diagnosis of late ranks and slow links: who is to blame, and for what. Expected figures are worked out beside
 * each job. */
#include "unit/diagnosis_job.h"

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

/* Ranks lack 50 of 100 ms on the mean, of which a third of the 36 are the late rank's: 38 are more than 36, but it is
 * known whose those are; 78, if they lack 90, are more than twice as much. */
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
      const struct report_result result = {job, facts, none, diagnosis};
      expect_first_sentence(
          &result, "; the recording does not show what GPUs wait for during 50.0\xC2\xA0% of the step, most of that "
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

/* Ranks wait for each other for 20 ms by turns, and for their CPUs for 10; on the critical path CPUs have 60 ms of
 * 100. */
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

/* Between ranks 0 and 1, and 2 and 3: 2 ms; between 1 and 2: 14 ms, 12 more, and seven times as long. Other sizes do
 * not count beside these. The GPUs of that link are late by 5 ms, which is its doing. */
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
      cmocka_unit_test(a_slow_gpu_is_told_by_other_stages),
      cmocka_unit_test(late_compute_of_a_usual_pace_is_no_slow_gpu),
      cmocka_unit_test(waiting_by_turns_for_cpus_is_theirs),
      cmocka_unit_test(a_slow_link_is_told_by_like_transfers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
