/* The diagnosis of pipelines: bubbles and unequal stages. Expected figures are worked out beside each job. */
#include "unit/diagnosis_job.h"

#include "report/diagnosis/gains.h"

/* Stages compute for 20, 20 and 65 ms of 100 with 5 micro-batches: of the mean of 35 the last has 30 more, four fifths
 * of which, 24 ms, are lost; 65 is 3.25 times the mean of the others. Its head takes 40 ms. The mean bubble is (80 + 80
 * + 35) / 3 = 65. */
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

/* Two stages of so much compute, which wait for the other for the rest of 100 ms but are idle in between, and so many
 * launches of so many ms. */
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

/* CPUs launch for as long on both stages, and longer than GPUs compute; one GPU computes for 30 ms, the other for 10:
 * 10 more than the mean, and four fifths of it are 8. */
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
    add_kind(job, "critical_path_kind", LUMOS_ABSENT_INT, i == 1 ? "launch" : "gemm", MS(60));
    add_kind(job, "critical_path_kind", LUMOS_ABSENT_INT, i == 1 ? "gemm" : "launch", MS(40));
    struct lumos_diagnosis diagnosis = diagnose(job);
    assert_true(lumos_report_verdict(job, &out, &error));
    lumos_text_char(&out, '\0');
    assert_non_null(strstr(out.bytes, cases[i][1]));
    assert_int_equal(strstr(out.bytes, "; CPUs set how long passes take. ") != NULL, i == 1);
    lumos_text_free(&out);
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
       "Move 2 of the stage\xE2\x80\x99s 6 layers to the other stage (simulated by lumos-transform --split 4,4)",
       "stage 1 (rank 1) has 1.7 times the work of other stages, because it holds more layers, so stage 0 idles: the "},
      {2,
       3,
       MS(25),
       {4, 1},
       "Move 2 of the stage\xE2\x80\x99s 3 layers to the other stage (simulated by lumos-transform --split 4,1; "
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
    out.length = 0;
    struct report_facts facts; /* what that gains is what moving these layers gains, not equal stages */
    report_facts_read(job, &facts);
    struct report_opportunity changes[] = {{.kind = lumos_intern_text(job->strings, "balanced_stages"), .half = MS(50)},
                                           {.kind = lumos_intern_text(job->strings, "moved_layers"), .half = MS(70)}};
    const struct report_opportunities opportunities = {.job = job, .changes = {changes, 2, 2}, .step = MS(100)};
    const struct report_result result = {job, facts, opportunities, diagnosis};
    assert_int_equal(diagnosis_cure(&result).share, cases[i].split[1] < cases[i].second ? 300000 : LUMOS_ABSENT);
    diagnosis_put_own_delay(&result, &out);
    lumos_text_char(&out, '\0');
    assert_non_null(strstr(out.bytes, "what unequal stages cost"));
    assert_int_equal(strstr(out.bytes, "; moving whole layers would not help.") != NULL,
                     cases[i].split[1] == cases[i].second);
    lumos_text_free(&out);
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
  const struct report_result result = {job, facts, opportunities, diagnosis};
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_finding(&result, find(&diagnosis, LUMOS_CAUSE_IMBALANCE), &out);
  lumos_text_char(&out, '\0');
  assert_non_null(
      strstr(out.bytes, ", because it holds the output head, so stages 0 and 1 idle: the imbalance costs 24.0"));
  lumos_text_free(&out);
  report_facts_free(&facts);
  forget(job, &diagnosis);
}

/* Stages 0 to 2 of four compute for so long, the last for 60 ms: whoever has 3/4 of its excess over the mean, or more,
 * is nearly as heavy, and the others idle. */
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
    const struct report_result result = {job, facts, opportunities, diagnosis};
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    const struct lumos_finding *found = find(&diagnosis, LUMOS_CAUSE_IMBALANCE);
    assert_non_null(found);
    diagnosis_put_finding(&result, found, &out);
    lumos_text_char(&out, '\0');
    assert_non_null(strstr(out.bytes, cases[i].text));
    lumos_text_free(&out);
    report_facts_free(&facts);
    forget(job, &diagnosis);
  }
}

/* 41 that the schedule costs and 24 for unequal stages are the 65 of 100 ms that ranks lose on the mean. */
static void the_bubble_adds_up(void **state) {
  (void)state;
  struct lumos_job *job = pipeline_job(5);
  struct lumos_diagnosis diagnosis = diagnose(job);
  expect_text(job, &diagnosis, diagnosis_put_own_delay,
              " The bubble is a mean over ranks: 65.0\xC2\xA0%, of which 41.0\xC2\xA0% is what the schedule costs "
              "and 24.0\xC2\xA0% what unequal stages cost, as stage 2 (rank 2) has 3.3 times the work of other "
              "stages, because it holds the output head, so stages 0 and 1 idle.");
  forget(job, &diagnosis);
}

/* Nobody knows what recorded stages wait for where others were not recorded: of more stages than ranks, or of as many.
 * None is accused, and no gain is predicted. */
static void a_stage_that_was_not_recorded_is_asked_for(void **state) {
  (void)state;
  static const struct {
    int32_t stages, second; /* that of rank 1 */
    bool all;
  } cases[] = {{2, 1, true}, {3, 1, false}, {2, 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = launching_stages((const int64_t[]){MS(10), MS(30)}, (const int64_t[]){MS(85), MS(60)},
                                             (const uint32_t[]){1, 1}, (const int64_t[]){MS(1), MS(1)});
    job->models.items[0].sizes.pp = cases[i].stages;
    job->ranks.items[1].parallel.pp = cases[i].second;
    struct lumos_diagnosis diagnosis = diagnose(job);
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_int_equal(find(&diagnosis, LUMOS_CAUSE_IMBALANCE) != NULL, cases[i].all);
    assert_true(lumos_report_verdict(job, &out, &error));
    lumos_text_char(&out, '\0');
    const char *end =
        ", and not all of its stages were recorded. Record all pipeline stages, to see what the others wait for.";
    assert_int_equal(strstr(out.bytes, end) != NULL, !cases[i].all);
    lumos_text_free(&out);
    forget(job, &diagnosis);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_unbalanced_stage_takes_its_part_of_the_bubble),
      cmocka_unit_test(an_unbalanced_pipeline_is_split_anew),
      cmocka_unit_test(stages_that_idle_are_named),
      cmocka_unit_test(two_stages_that_idle_are_named),
      cmocka_unit_test(gpus_are_uneven_beside_busy_cpus),
      cmocka_unit_test(a_stage_that_launches_more_has_more_work),
      cmocka_unit_test(a_bubble_asks_for_a_better_schedule),
      cmocka_unit_test(the_bubble_adds_up),
      cmocka_unit_test(a_stage_that_was_not_recorded_is_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
