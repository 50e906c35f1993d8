/* A rebuilt job beside the one that it was built from: sizes, passes, the waterfall between their steps, and ranges;
 * all worked out by hand. */
#include "unit/report_job.h"

#include "report/content/change.h"
#include "report/content/configuration.h"
#include "report/content/pipeline.h"
#include "report/draw/palette.h"
#include <lumos/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)
#define NONE LUMOS_ABSENT_INT

static void add_pass(struct lumos_job *job, int32_t stage, uint8_t phase, int32_t micro_batch, int64_t start) {
  struct lumos_recorded_pass pass = lumos_recorded_pass_empty;
  pass.rank = 10 + stage; /* a number that the built job has no rank of */
  pass.stage = stage;
  pass.step = 4;
  pass.phase = phase;
  pass.micro_batch = micro_batch;
  pass.start = start;
  pass.dur = MS(1);
  lumos_vector_push(&job->recorded_passes, pass);
}

/* Recorded: two stages, two micro-batches of three sequences of 1000 tokens, one replica, 10 ms, of which a stage works
 * for 4; GPipe. Predicted: one stage, five micro-batches, four replicas, 20 ms. The second stage's passes come in no
 * order. */
static struct lumos_job *rebuilt_job(void) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t number = 0; number < 4; number++) {
    uint32_t stream = add_lane(job, add_rank(job, number), "s7", LUMOS_STREAM);
    uint32_t task = add_task(job, stream, LUMOS_GEMM, "gemm", MS(2), MS(6));
    job->tasks.items[task].step = 2;
    job->tasks.items[task].phase = LUMOS_FORWARD;
    job->tasks.items[task].micro_batch = 0;
    add_parts(job, number, 2, LUMOS_METRIC_SIMULATED, (struct parts){.compute = MS(15), .wait = MS(5)});
  }
  add_parts(job, NONE, 4, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(4), .bubble = MS(6)});
  add_parts(job, NONE, 2, LUMOS_METRIC_SIMULATED, (struct parts){.compute = MS(15), .wait = MS(5)});
  struct lumos_model_description model = lumos_model_description_empty;
  model.layers = 4;
  model.sequence = 1000;
  model.micro_batch = 3;
  model.micro_batches = 5;
  model.sizes = (struct lumos_parallel){.tp = 1, .pp = 1, .dp = 4, .cp = NONE, .ep = NONE};
  model.recorded = (struct lumos_recorded_sizes){2, 4, 2, {.tp = 1, .pp = 2, .dp = 1, .cp = NONE, .ep = NONE}};
  lumos_vector_push(&job->models, model);
  for (int32_t m = 0; m < 2; m++) {
    add_pass(job, 0, LUMOS_FORWARD, m, MS(m));
    add_pass(job, 1, LUMOS_BACKWARD, 1 - m, MS(4 - m));
  }
  for (int32_t m = 0; m < 2; m++) {
    add_pass(job, 1, LUMOS_FORWARD, m, MS(1 + m));
    add_pass(job, 0, LUMOS_BACKWARD, m, MS(4 + m));
  }
  job->edited = 1;
  finish_job(job);
  return job;
}

static void both_configurations_stand_beside_each_other(void **state) {
  (void)state;
  enum { DP = 1, TP, PP, GPUS, LAYERS, SCHEDULE, MICRO_BATCHES, BATCH, STEP, TOKENS };
  /* 6 sequences of 1000 tokens in 10 ms on 2 GPUs; 60 in 20 ms on 4. */
  static const int64_t rows[2][TOKENS + 1] = {{0, 1, 1, 2, 2, 4, 0, 2, 6, MS(10), 300000},
                                              {0, 4, 1, 1, 4, 4, 0, 5, 60, MS(20), 750000}};
  struct lumos_job *job = rebuilt_job();
  struct report_facts facts;
  struct lumos_passes recorded, none = {.job = job};
  struct report_table table;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_facts_read(job, &facts);
  report_recorded_passes_read(&facts, &recorded);
  report_configuration_table(&facts, &recorded, &none, &table);
  assert_int_equal(report_table_rows(&table), 2);
  for (size_t row = 0; row < 2; row++) {
    for (size_t column = DP; column <= TOKENS; column++) {
      if (column != SCHEDULE) {
        assert_int_equal(report_table_value(&table, row, column), rows[row][column]);
      }
    }
  }
  assert_string_equal(table.cells.items[SCHEDULE].bytes, "GPipe");
  report_put_batch_reading(&facts, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(
      text.bytes, "The global batch goes from 2 to 20 micro-batches, so the two steps do different amounts of work. "
                  "Each of 4\xC2\xA0GPUs processes 750,000 tokens/s; in the recorded configuration 300,000, on "
                  "each of 2\xC2\xA0GPUs.");
  lumos_text_free(&text);
  report_table_free(&table);
  lumos_passes_free(&recorded);
  job->models.items[0].sequence = NONE; /* then nobody knows how many tokens there are */
  report_recorded_passes_read(&facts, &recorded);
  report_configuration_table(&facts, &recorded, &none, &table);
  assert_int_equal(report_table_value(&table, 0, TOKENS), LUMOS_ABSENT);
  report_table_free(&table);
  job->models.items[0].recorded.ranks = NONE; /* a job that was edited alone */
  report_configuration_table(&facts, &recorded, &none, &table);
  assert_int_equal(report_table_rows(&table), 0);
  report_table_free(&table);
  lumos_passes_free(&recorded);
  report_facts_free(&facts);
  lumos_job_free(job);
}

static void recorded_passes_are_those_of_their_step(void **state) {
  (void)state;
  struct lumos_job *job = rebuilt_job();
  struct report_facts facts;
  struct lumos_passes recorded;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_facts_read(job, &facts);
  report_recorded_passes_read(&facts, &recorded);
  assert_int_equal(recorded.stages.count, 2);
  assert_int_equal(recorded.pipeline, 2);
  assert_int_equal(recorded.micro_batches, 2);
  assert_int_equal(lumos_passes_window(&recorded), MS(10));
  for (size_t s = 0; s < 2; s++) { /* four passes of a millisecond each */
    assert_int_equal(recorded.stages.items[s].stage, s);
    assert_int_equal(recorded.stages.items[s].number, 10 + s);
    assert_int_equal(recorded.stages.items[s].bubble, MS(6));
    assert_int_equal(recorded.stages.items[s].busy[LUMOS_FORWARD], MS(2));
  }
  report_put_pipeline(&recorded, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "GPipe over 2\xC2\xA0stages, 2\xC2\xA0micro-batches");
  lumos_text_free(&text);
  lumos_passes_free(&recorded);
  /* What a stream may claim. */
  job->recorded_passes.items[0].chunk = INT32_MAX;
  job->recorded_passes.items[1].track = 77;
  job->recorded_passes.items[2].start = INT64_MAX - 1;
  job->recorded_passes.items[3].micro_batch = INT32_MAX;
  report_recorded_passes_read(&facts, &recorded);
  assert_int_equal(recorded.list.count, 4);
  lumos_passes_free(&recorded);
  report_facts_free(&facts);
  lumos_job_free(job);
}

static bool says(const struct report_scene *scene, const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i < scene->marks.count; i++) {
    const struct report_mark *mark = &scene->marks.items[i];
    if (mark->kind == MARK_TEXT && mark->text_length == length &&
        memcmp(scene->texts.bytes + mark->text_first, text, length) == 0) {
      return true;
    }
  }
  return false;
}

/* The n-th box of a paint. */
static const struct report_mark *box_of(const struct report_scene *scene, enum report_paint paint, int number) {
  for (size_t i = 0; i < scene->marks.count; i++) {
    const struct report_mark *mark = &scene->marks.items[i];
    if (mark->kind == MARK_BOX && mark->paint == paint && number-- == 0) {
      return mark;
    }
  }
  return NULL;
}

/* The recorded step, of 10 ms, takes half of the axis of the predicted one, of 20. */
static void both_pipelines_share_an_axis(void **state) {
  (void)state;
  enum { LABELS = 1500, PLOT = 9400 };
  struct lumos_job *job = rebuilt_job();
  struct report_boundary step = {2, 0, MS(20)};
  struct report_boundaries steps = {.items = &step, .count = 1};
  struct lumos_report_options options = {0};
  struct report_facts facts;
  struct lumos_passes recorded, passes;
  struct report_scene scene;
  report_facts_read(job, &facts);
  report_recorded_passes_read(&facts, &recorded);
  report_passes_read(job, &steps, &options, &passes);
  assert_int_equal(passes.stages.count, 4);
  report_pipelines_scene(&recorded, &passes, &scene);
  assert_true(says(&scene, "Recorded: GPipe over 2\xC2\xA0stages, 2\xC2\xA0micro-batches, 10.0\xC2\xA0ms"));
  assert_true(says(&scene, "Predicted: 1\xC2\xA0micro-batch, 20.0\xC2\xA0ms"));
  assert_true(says(&scene, "60.0\xC2\xA0%")); /* of the recorded stages no pass runs for so long */
  assert_int_equal(box_of(&scene, PAINT_FORWARD, 1)->x, LABELS + PLOT / 20);
  assert_int_equal(box_of(&scene, PAINT_FORWARD, 4)->x, LABELS + PLOT / 10);
  report_scene_free(&scene);
  lumos_passes_free(&recorded);
  lumos_passes_free(&passes);
  report_facts_free(&facts);
  lumos_job_free(job);
}

/* From 10 ms with 4 of compute and 6 of bubble to 20 with 15 and 5 of waiting. The axis goes to 21 ms, for compute
 * reaches that: 10 + 11 + 5 - 6 in the table's order. */
static void a_waterfall_leads_from_step_to_step(void **state) {
  (void)state;
  enum { LEFT = 2100, ROOM = 8400 };
  struct lumos_job *job = rebuilt_job();
  struct report_facts facts;
  struct report_table table;
  struct report_scene scene;
  report_facts_read(job, &facts);
  report_change_table(&facts, &table);
  assert_true(report_change_scene(&table, (struct report_range){MS(18), MS(26)}, false, &scene));
  const struct report_mark *compute = box_of(&scene, PAINT_COMPUTE, 0), *wait = box_of(&scene, PAINT_WAIT, 0);
  const struct report_mark *bubble = box_of(&scene, PAINT_BUBBLE, 0);
  const struct report_mark *before = box_of(&scene, PAINT_MUTED, 0), *after = box_of(&scene, PAINT_MUTED, 1);
  assert_in_range(before->width, ROOM * 10 / 26 - 2, ROOM * 10 / 26 + 2);
  assert_int_equal(compute->x, before->x + before->width);
  assert_in_range(compute->width, ROOM * 11 / 26 - 2, ROOM * 11 / 26 + 2);
  assert_int_equal(wait->x, compute->x + compute->width);
  assert_int_equal(bubble->x + bubble->width, wait->x + wait->width);
  assert_int_equal(after->x + after->width, bubble->x);
  assert_int_equal(after->x, LEFT);
  assert_true(says(&scene, "+11.0\xC2\xA0ms"));
  assert_true(says(&scene, "\xE2\x88\x92"
                           "6.00\xC2\xA0ms"));
  bool whisker = false;
  for (size_t i = 0; i < scene.marks.count; i++) {
    const struct report_mark *mark = &scene.marks.items[i];
    whisker |= mark->kind == MARK_LINE && mark->paint == PAINT_TEXT && abs(mark->x - LEFT - ROOM * 18 / 26) < 3 &&
               abs(mark->width - ROOM * 8 / 26) < 3;
  }
  assert_true(whisker);
  report_scene_free(&scene);
  assert_true(report_change_scene(&table, (struct report_range){LUMOS_ABSENT, LUMOS_ABSENT}, true, &scene));
  for (size_t i = 0; i < scene.marks.count; i++) {
    assert_false(scene.marks.items[i].kind == MARK_LINE && scene.marks.items[i].paint == PAINT_TEXT);
  }
  report_scene_free(&scene);
  report_table_free(&table);
  report_facts_free(&facts);
  lumos_job_free(job);
}

static void set_range(struct lumos_job *job, int32_t step, int64_t low, int64_t high) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    struct lumos_metric *metric = &job->metrics.items[i];
    if (strcmp(lumos_string(job->strings, metric->name), "step_time") == 0 && metric->scope.rank == NONE &&
        metric->scope.step == step && metric->source != LUMOS_METRIC_MEASURED) {
      metric->low = (struct lumos_decimal){low, 0};
      metric->high = (struct lumos_decimal){high, 0};
    }
  }
}

/* The first step of a change is in no mean, nor in the range of one. */
static void a_range_is_the_mean_over_the_steps_that_count(void **state) {
  (void)state;
  struct lumos_job *job = rebuilt_job();
  struct report_facts facts;
  add_parts(job, NONE, 1, LUMOS_METRIC_SIMULATED, (struct parts){.compute = MS(90)});
  add_parts(job, NONE, 3, LUMOS_METRIC_SIMULATED, (struct parts){.compute = MS(22)});
  report_facts_read(job, &facts);
  assert_false(report_range_known(facts.step_range));
  report_facts_free(&facts);
  set_range(job, 2, MS(18), MS(23));
  report_facts_read(job, &facts);
  assert_false(report_range_known(facts.step_range)); /* step 3 has none */
  report_facts_free(&facts);
  set_range(job, 3, MS(20), MS(25));
  report_facts_read(job, &facts);
  assert_int_equal(facts.step_range.low, MS(19));
  assert_int_equal(facts.step_range.high, MS(24));
  report_facts_free(&facts);
  lumos_job_free(job);
}

static void add_doubt(struct lumos_job *job, const char *source, int64_t share) {
  add_metric(job, "prediction_error", NONE, NONE, LUMOS_METRIC_SIMULATED, share, 6);
  job->metrics.items[job->metrics.count - 1].scope.name = lumos_intern_text(job->strings, source);
}

static struct lumos_text render(struct lumos_job *job, enum lumos_report_format format) {
  const struct lumos_report_options options = {.format = format};
  struct lumos_error error = {0};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (!lumos_report(job, &options, &text, &error)) {
    fail_msg("%s", error.text);
  }
  lumos_text_char(&text, '\0');
  return text;
}

static void expect_form(struct lumos_job *job, enum lumos_report_format format, const char *wanted, const char *other) {
  struct lumos_text text = render(job, format);
  assert_non_null(strstr(text.bytes, wanted));
  assert_null(strstr(text.bytes, other));
  lumos_text_free(&text);
}

static void forms_show_the_range_or_that_it_is_unknown(void **state) {
  (void)state;
  static const char range[] = "90\xC2\xA0% range 18.0\xC2\xA0ms to 23.0\xC2\xA0ms";
  struct lumos_job *job = rebuilt_job();
  expect_form(job, LUMOS_REPORT_HTML, "range unknown", "class=\"range\"");
  expect_form(job, LUMOS_REPORT_JSON, "\"simulated\":20000000,\"low\":null,\"high\":null", "\"low\":18000000");
  set_range(job, 2, MS(18), MS(23));
  expect_form(job, LUMOS_REPORT_HTML, range, "range unknown");
  expect_form(job, LUMOS_REPORT_HTML, "class=\"range\"", "range unknown");
  expect_form(job, LUMOS_REPORT_MARKDOWN, range, "range unknown");
  add_doubt(job, "rebuilding", 12000);
  add_doubt(job, "copies on another GPU", 30000);
  add_doubt(job, "differences between steps", 9000);
  expect_form(job, LUMOS_REPORT_HTML, "Its largest source: copies on another GPU, 3.00\xC2\xA0%",
              "Largest source of uncertainty");
  expect_form(job, LUMOS_REPORT_MARKDOWN, "ms. Largest source of uncertainty: copies on another GPU", "range unknown");
  expect_form(job, LUMOS_REPORT_JSON, "\"simulated\":20000000,\"low\":18000000,\"high\":23000000", "\"low\":null,");
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_configurations_stand_beside_each_other),
      cmocka_unit_test(recorded_passes_are_those_of_their_step),
      cmocka_unit_test(both_pipelines_share_an_axis),
      cmocka_unit_test(a_waterfall_leads_from_step_to_step),
      cmocka_unit_test(a_range_is_the_mean_over_the_steps_that_count),
      cmocka_unit_test(forms_show_the_range_or_that_it_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
