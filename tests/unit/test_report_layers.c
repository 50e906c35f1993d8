/* GPU time by layer, of tasks whose sums are worked out by hand. */
#include "unit/report_job.h"

#include "report/content/layers.h"
#include "report/text/numbers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define NONE LUMOS_ABSENT_INT

enum { BEFORE = 5000 }; /* a task so long is of no step: it was launched before the recording */

static void add_work(struct lumos_job *job, uint32_t lane, enum lumos_task_kind kind, uint8_t phase, int32_t layer,
                     uint8_t part, int64_t dur) {
  uint32_t task = add_task(job, lane, kind, "work", 0, dur);
  job->tasks.items[task].phase = phase;
  job->tasks.items[task].layer = layer;
  job->tasks.items[task].part = part;
  job->tasks.items[task].step = dur == BEFORE ? NONE : 0;
}

/* Two ranks, two steps each: layers 3 and 4 on both, 7 on the second alone.
 *
 *                  rank 0                         rank 1
 *   layer 3        forward 30, its collective 10  the same        40 a rank: 20 a step
 *   layer 4        backward 60                    60              30 a step
 *   layer 7                                       forward 100     50 a step
 *   embedding      8
 *   head           backward 12, collective 4
 *   optimizer      20 by its part, 5 by its phase
 *   passes         a send of 6
 *   not assigned   9
 */
static struct lumos_job *two_ranks(void) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t number = 0; number < 2; number++) {
    uint32_t rank = add_rank(job, number);
    uint32_t thread = add_lane(job, rank, "t1", LUMOS_THREAD);
    add_work(job, thread, LUMOS_OP, LUMOS_FORWARD, 3, LUMOS_PART_LAYER, 1000);
    uint32_t lane = add_lane(job, rank, "s7", LUMOS_STREAM);
    add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 3, LUMOS_PART_LAYER, BEFORE);
    add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 3, LUMOS_PART_LAYER, 30);
    add_work(job, lane, LUMOS_GEMM, LUMOS_BACKWARD, 4, LUMOS_PART_LAYER, 60);
    if (number == 1) {
      add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 7, LUMOS_PART_LAYER, 100);
    } else {
      add_work(job, lane, LUMOS_EMBEDDING, LUMOS_FORWARD, NONE, LUMOS_PART_EMBEDDING, 8);
      add_work(job, lane, LUMOS_GEMM, LUMOS_BACKWARD, NONE, LUMOS_PART_HEAD, 12);
      add_work(job, lane, LUMOS_COLLECTIVE, LUMOS_BACKWARD, NONE, LUMOS_PART_HEAD, 4);
      add_work(job, lane, LUMOS_OPTIMIZER, LUMOS_OPTIMIZER_PHASE, NONE, LUMOS_PART_OPTIMIZER, 20);
      add_work(job, lane, LUMOS_REDUCTION, LUMOS_OPTIMIZER_PHASE, NONE, 0, 5);
      add_work(job, lane, LUMOS_P2P, LUMOS_FORWARD, NONE, 0, 6);
      add_work(job, lane, LUMOS_ELEMENTWISE, LUMOS_OTHER_PHASE, NONE, 0, 9);
    }
    uint32_t side = add_lane(job, rank, "s9", LUMOS_STREAM);
    add_work(job, side, LUMOS_COLLECTIVE, LUMOS_FORWARD, 3, LUMOS_PART_LAYER, 10);
    for (int32_t step = 0; step < 2; step++) {
      add_metric(job, "step_time", number, step, LUMOS_METRIC_MEASURED, 1000, 0);
    }
  }
  finish_job(job);
  return job;
}

static const struct report_layer *row_of(const struct report_layers *layers, enum report_place place, int32_t layer) {
  for (size_t i = 0; i < layers->list.count; i++) {
    if (layers->list.items[i].place == place && layers->list.items[i].layer == layer) {
      return &layers->list.items[i];
    }
  }
  fail();
  return NULL;
}

static void assert_row(const struct report_layers *layers, enum report_place place, int32_t layer, int64_t ranks,
                       int64_t total, int64_t mean) {
  const struct report_layer *row = row_of(layers, place, layer);
  assert_int_equal(row->ranks, ranks);
  assert_int_equal(row->total, total);
  assert_int_equal(report_layer_mean(row, row->total), mean);
}

static void layers_by_hand(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  struct report_facts facts;
  struct report_layers layers;
  report_facts_read(job, &facts);
  report_layers_read(&facts, &layers);
  assert_int_equal(layers.layers, 3);
  assert_row(&layers, PLACE_LAYER, 3, 2, 80, 20);
  assert_row(&layers, PLACE_LAYER, 4, 2, 120, 30);
  assert_row(&layers, PLACE_LAYER, 7, 1, 100, 50);
  assert_row(&layers, PLACE_EMBEDDING, NONE, 1, 8, 4);
  assert_row(&layers, PLACE_HEAD, NONE, 1, 16, 8);
  assert_row(&layers, PLACE_OPTIMIZER, NONE, 1, 25, 12);
  assert_row(&layers, PLACE_PASS, NONE, 1, 6, 3);
  assert_row(&layers, PLACE_NONE, NONE, 1, 9, 4);
  const struct report_layer *third = row_of(&layers, PLACE_LAYER, 3);
  assert_int_equal(third->compute[WORK_FORWARD], 60);
  assert_int_equal(third->communication[WORK_FORWARD], 20);
  assert_int_equal(third->compute[WORK_BACKWARD], 0);
  assert_int_equal(layers.whole, 80 + 120 + 100 + 8 + 16 + 25 + 6 + 9);
  assert_int_equal(layers.median, 30);
  assert_int_equal(report_layer_excess(&layers, report_longest_layer(&layers)), 666667);
  assert_false(layers.weight);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_layers_finding(&layers, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes,
                      "Each of 3\xC2\xA0layers takes 30\xC2\xA0ns of GPU time in a step (median), the longest of them "
                      "50\xC2\xA0ns (layer 7, 66.7\xC2\xA0% more)");
  text.length = 0;
  report_put_layers_reading(&layers, &text);
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes,
                         "Of all GPU time 97.5\xC2\xA0% is assigned: 82.4\xC2\xA0% to layers, 6.6\xC2\xA0% to "
                         "embedding and head, 6.9\xC2\xA0% to the optimizer (kernels of any kind that it launches), "
                         "1.6\xC2\xA0% to passes"));
  lumos_text_free(&text);
  report_layers_free(&layers);
  report_facts_free(&facts);
  lumos_job_free(job);
}

/* Of a changed job the first step is in no sum of the page's figures, nor in this one. */
static void a_change_leaves_out_the_first_step(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  struct lumos_history change = {.tool = lumos_intern_text(job->strings, "lumos-transform")};
  lumos_vector_push(&job->history, change);
  job->edited = 1;
  struct report_facts facts;
  struct report_layers layers;
  report_facts_read(job, &facts);
  assert_true(facts.edited);
  assert_int_equal(facts.ranks.items[0].steps, 1);
  report_layers_read(&facts, &layers);
  assert_row(&layers, PLACE_LAYER, 3, 2, 80, 40);
  report_layers_free(&layers);
  report_facts_free(&facts);
  lumos_job_free(job);
}

/* The table has a row for what there is, and its shares add up to the whole. */
static void the_table_adds_up(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  struct report_facts facts;
  struct report_layers layers;
  struct report_table table;
  report_facts_read(job, &facts);
  report_layers_read(&facts, &layers);
  report_layers_table(&layers, &table);
  assert_int_equal(report_table_rows(&table), 8);
  int64_t shares = 0;
  for (size_t row = 0; row < report_table_rows(&table); row++) {
    shares += report_table_value(&table, row, table.column_count - 1);
  }
  assert_in_range(shares, 999990, 1000010);
  report_table_free(&table);
  report_layers_free(&layers);
  report_facts_free(&facts);
  lumos_job_free(job);
}

/* Columns stand for neighbours where there are more layers than columns; what takes longest is marked. */
static void the_picture_is_bounded(void **state) {
  (void)state;
  static const struct {
    int32_t layers, apart;
    size_t boxes;
  } cases[] = {{1, 1, 1}, {24, 1, 24}, {250, 1, 250}, {251, 1, 126}, {4096, 1, 241}, {3, 700000000, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct lumos_job *job = lumos_job_new();
    uint32_t lane = add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM);
    for (int32_t layer = 0; layer < cases[i].layers; layer++) {
      int64_t dur = layer == 1 ? 3000 : 1000;
      add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, layer * cases[i].apart, LUMOS_PART_LAYER, dur);
    }
    finish_job(job);
    struct report_facts facts;
    struct report_layers layers;
    struct report_scene scene;
    report_facts_read(job, &facts);
    report_layers_read(&facts, &layers);
    assert_true(report_layers_scene(&layers, &scene));
    size_t boxes = 0;
    size_t marks = 0;
    for (size_t k = 0; k < scene.marks.count; k++) {
      const struct report_mark *mark = &scene.marks.items[k];
      boxes += mark->kind == MARK_BOX && mark->paint == PAINT_FORWARD;
      marks += mark->kind == MARK_TEXT && scene.texts.bytes[mark->text_first] == '+';
      assert_true(mark->x >= 0 && mark->x <= scene.width);
    }
    assert_int_equal(boxes, cases[i].boxes);
    assert_int_equal(marks, cases[i].layers > 1);
    report_scene_free(&scene);
    report_layers_free(&layers);
    report_facts_free(&facts);
    lumos_job_free(job);
  }
}

static void without_layers_there_is_nothing(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t lane = add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, NONE, LUMOS_PART_HEAD, 10);
  finish_job(job);
  struct report_facts facts;
  struct report_layers layers;
  struct report_scene scene;
  struct report_table table;
  report_facts_read(job, &facts);
  report_layers_read(&facts, &layers);
  assert_int_equal(layers.layers, 0);
  assert_false(report_layers_scene(&layers, &scene));
  report_layers_table(&layers, &table);
  assert_int_equal(report_table_rows(&table), 0);
  report_table_free(&table);
  report_layers_free(&layers);
  report_facts_free(&facts);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(layers_by_hand),
                                     cmocka_unit_test(a_change_leaves_out_the_first_step),
                                     cmocka_unit_test(the_table_adds_up), cmocka_unit_test(the_picture_is_bounded),
                                     cmocka_unit_test(without_layers_there_is_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
