/* Tables of metrics: a row for each scope, the mean over the steps, of the timeline that the verdict speaks of. */
#include "unit/report_job.h"

#include "report/content/metric_tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)
#define NONE LUMOS_ABSENT_INT

static struct lumos_scope *add(struct lumos_job *job, const char *name, int32_t rank, int32_t step,
                               enum lumos_source source, int64_t value, int decimals) {
  add_metric(job, name, rank, step, source, value, decimals);
  return &job->metrics.items[job->metrics.count - 1].scope;
}

static lumos_string_id text_of(struct lumos_job *job, const char *text) {
  return lumos_intern_text(job->strings, text);
}

/* Two ranks, two steps of 100 and 300 ms. */
static struct lumos_job *two_steps(void) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t number = 0; number < 2; number++) {
    uint32_t stream = add_lane(job, add_rank(job, number), "s7", LUMOS_STREAM);
    add_task(job, stream, LUMOS_GEMM, "gemm", 0, MS(10));
  }
  for (int32_t step = 0; step < 2; step++) {
    for (int source = LUMOS_METRIC_MEASURED; source <= LUMOS_METRIC_SIMULATED; source++) {
      for (int32_t rank = 0; rank < 2; rank++) {
        add_parts(job, rank, step, (enum lumos_source)source, (struct parts){.compute = MS(100 + 200 * step)});
      }
      (void)add(job, "step_time", NONE, step, (enum lumos_source)source, MS(100 + 200 * step), 0);
    }
    (void)add(job, "critical_path", NONE, step, LUMOS_METRIC_SIMULATED, MS(100 + 200 * step), 0);
    add(job, "critical_path_kind", NONE, step, LUMOS_METRIC_SIMULATED, MS(20), 0)->kind = text_of(job, "host_gap");
    add(job, "critical_path_kind", NONE, step, LUMOS_METRIC_SIMULATED, MS(80 + 200 * step), 0)->kind =
        text_of(job, "gemm");
    add(job, "critical_path_rank", 1, step, LUMOS_METRIC_SIMULATED, MS(100 + 200 * step), 0);
    struct lumos_scope *crossing =
        add(job, "critical_path_crossing_time", NONE, step, LUMOS_METRIC_SIMULATED, MS(20), 0);
    crossing->kind = text_of(job, "thread order");
    crossing->name = text_of(job, "recorded");
    crossing = add(job, "critical_path_crossings", NONE, step, LUMOS_METRIC_SIMULATED, 6, 0);
    crossing->kind = text_of(job, "thread order");
    crossing->name = text_of(job, "recorded");
    /* Of both timelines: the measured one counts. Rank 0 waits for rank 1 10 and 30 ms. */
    add(job, "wait_for", 0, step, LUMOS_METRIC_MEASURED, MS(10 + 20 * step), 0)->peer = 1;
    add(job, "wait_for", 0, step, LUMOS_METRIC_SIMULATED, MS(99), 0)->peer = 1;
    add(job, "late_arrival", 1, step, LUMOS_METRIC_MEASURED, MS(8), 0)->kind = text_of(job, "host");
    add(job, "straggler_delay", 1, step, LUMOS_METRIC_MEASURED, MS(8), 0);
    add(job, "straggler_delay", 0, step, LUMOS_METRIC_MEASURED, 0, 0);
    struct lumos_scope *bandwidth =
        add(job, "collective_bus_bandwidth", NONE, step, LUMOS_METRIC_MEASURED, 1000500 + 2000000 * step, 6);
    bandwidth->op = text_of(job, "all_reduce");
    bandwidth->group = text_of(job, "7");
  }
  add(job, "straggler", 1, NONE, LUMOS_METRIC_MEASURED, 120000, 6);
  finish_job(job);
  return job;
}

static struct report_table table_of(const struct lumos_job *job, enum report_metric_table number) {
  struct report_facts facts;
  struct report_table table;
  report_facts_read(job, &facts);
  report_metric_table(&facts, number, &table);
  report_facts_free(&facts);
  return table;
}

static void expect_name(const struct report_table *table, size_t row, size_t column, const char *name) {
  const struct report_cell *cell = &table->cells.items[row * table->column_count + column];
  assert_int_equal(cell->length, strlen(name));
  assert_memory_equal(cell->bytes, name, cell->length);
}

static void means_over_the_steps(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  struct report_table table = table_of(job, METRICS_PATH_KINDS);
  assert_int_equal(report_table_rows(&table), 2);
  assert_int_equal(table.whole, MS(200));
  expect_name(&table, 0, 0, "GEMM");
  assert_int_equal(report_table_value(&table, 0, 1), MS(180));
  assert_int_equal(report_table_value(&table, 0, 2), 900000);
  expect_name(&table, 1, 0, "CPU gap");
  assert_int_equal(report_table_value(&table, 1, 1), MS(20));
  report_table_free(&table);
  table = table_of(job, METRICS_PATH_CROSSINGS);
  assert_int_equal(report_table_rows(&table), 1);
  expect_name(&table, 0, 0, "thread order");
  expect_name(&table, 0, 1, "recorded");
  assert_int_equal(report_table_value(&table, 0, 2), MS(20));
  assert_int_equal(report_table_value(&table, 0, 4), 6);
  report_table_free(&table);
  table = table_of(job, METRICS_GROUPS); /* 1.0005 and 3.00 GB/s: no time is known, and 2,000 MB/s */
  assert_int_equal(report_table_rows(&table), 1);
  assert_int_equal(report_table_value(&table, 0, 2), LUMOS_ABSENT);
  assert_int_equal(report_table_value(&table, 0, 8), 2000);
  report_table_free(&table);
  table = table_of(job, METRICS_MODULES);
  assert_int_equal(report_table_rows(&table), 0);
  report_table_free(&table);
  lumos_job_free(job);
}

/* Stages in their order, each beside the theory of the whole pipeline; the job's own bubble is no stage's. */
static void bubbles_stand_beside_theory(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (int32_t step = 0; step < 2; step++) {
    add(job, "bubble", NONE, step, LUMOS_METRIC_MEASURED, MS(90 + 20 * step), 0)->stage = 1;
    add(job, "bubble", NONE, step, LUMOS_METRIC_MEASURED, MS(40), 0)->stage = 0;
    (void)add(job, "bubble", NONE, step, LUMOS_METRIC_MEASURED, MS(70), 0);
  }
  add(job, "bubble_theory", NONE, NONE, LUMOS_METRIC_MEASURED, 333333, 6)->kind = text_of(job, "1f1b");
  struct report_table table = table_of(job, METRICS_BUBBLES);
  assert_int_equal(report_table_rows(&table), 2);
  assert_int_equal(table.whole, MS(200));
  expect_name(&table, 0, 0, "stage 0");
  assert_int_equal(report_table_value(&table, 0, 1), MS(40));
  assert_int_equal(report_table_value(&table, 0, 2), 200000);
  assert_int_equal(report_table_value(&table, 0, 3), 333333);
  expect_name(&table, 1, 0, "stage 1");
  assert_int_equal(report_table_value(&table, 1, 1), MS(100));
  assert_int_equal(report_table_value(&table, 1, 2), 500000);
  assert_int_equal(report_table_value(&table, 1, 3), 333333);
  report_table_free(&table);
  lumos_job_free(job);
}

/* Of kernels those are shown of which it is known what they reach. */
static void what_kernels_reach(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (int32_t step = 0; step < 2; step++) {
    add(job, "kernel_time", NONE, step, LUMOS_METRIC_MEASURED, MS(10), 0)->name = text_of(job, "gemm");
    add(job, "kernel_time", NONE, step, LUMOS_METRIC_MEASURED, MS(70), 0)->name = text_of(job, "copy");
    add(job, "flops_rate", NONE, step, LUMOS_METRIC_MEASURED, 300500000, 6)->name = text_of(job, "gemm");
    (void)add(job, "device_time", NONE, step, LUMOS_METRIC_MEASURED, MS(80), 0);
    add(job, "mfu", NONE, step, LUMOS_METRIC_MEASURED, 250000 + 50000 * step, 6)->kind = text_of(job, "shapes");
  }
  struct report_table table = table_of(job, METRICS_RATES);
  assert_int_equal(report_table_rows(&table), 1);
  expect_name(&table, 0, 0, "gemm");
  assert_int_equal(report_table_value(&table, 0, 1), MS(5)); /* of one of two ranks */
  assert_int_equal(report_table_value(&table, 0, 2), 125000);
  assert_int_equal(report_table_value(&table, 0, 3), 300500);
  report_table_free(&table);
  table = table_of(job, METRICS_MFU);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_mfu_finding(&table, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "Model FLOPs utilization (MFU): 27.5\xC2\xA0% by the recorded shapes");
  lumos_text_free(&text);
  report_table_free(&table);
  lumos_job_free(job);
}

static void who_waits_and_who_is_late(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  struct report_table waits = table_of(job, METRICS_WAITS);
  struct report_table stragglers = table_of(job, METRICS_STRAGGLERS);
  assert_int_equal(report_table_rows(&waits), 1);
  expect_name(&waits, 0, 0, "rank 0");
  expect_name(&waits, 0, 1, "rank 1");
  assert_int_equal(report_table_value(&waits, 0, 2), MS(20));
  assert_int_equal(report_table_rows(&stragglers), 2);
  assert_int_equal(report_table_value(&stragglers, 1, 1), MS(8));
  assert_int_equal(report_table_value(&stragglers, 1, 2), 40000); /* of 200 ms */
  assert_int_equal(report_table_value(&stragglers, 1, 4), MS(8));
  assert_int_equal(report_table_value(&stragglers, 0, 8), LUMOS_ABSENT);
  assert_int_equal(report_table_value(&stragglers, 1, 8), 120000);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_waits_finding(&waits, &stragglers, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "Rank 1 arrives 8.00\xC2\xA0ms late (4.0\xC2\xA0% of the step)");
  report_table_free(&stragglers);
  for (size_t i = 0; i < job->metrics.count; i++) { /* by no more than others */
    struct lumos_metric *metric = &job->metrics.items[i];
    bool mark = strcmp(lumos_string(job->strings, metric->name), "straggler") == 0;
    metric->name = mark ? lumos_intern_text(job->strings, "something_else") : metric->name;
  }
  stragglers = table_of(job, METRICS_STRAGGLERS);
  text.length = 0;
  report_put_waits_finding(&waits, &stragglers, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "Ranks wait most for rank 1, though it is not late compared with similar ranks; the "
                                  "longest wait is 20.0\xC2\xA0ms per step, of rank 0 for rank 1");
  lumos_text_free(&text);
  report_table_free(&waits);
  report_table_free(&stragglers);
  lumos_job_free(job);
}

/* What is said about ranks is about all of them: the one straggler of 60 is the last. */
static void all_ranks_are_there(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (int32_t rank = 2; rank < 60; rank++) {
    for (int32_t step = 0; step < 2; step++) {
      add(job, "straggler_delay", rank, step, LUMOS_METRIC_MEASURED, MS(rank == 59 ? 40 : 0), 0);
    }
  }
  for (size_t i = 0; i < job->metrics.count; i++) { /* instead of rank 1 */
    struct lumos_metric *metric = &job->metrics.items[i];
    bool mark = strcmp(lumos_string(job->strings, metric->name), "straggler") == 0;
    metric->scope.rank = mark ? 59 : metric->scope.rank;
  }
  struct report_table waits = table_of(job, METRICS_WAITS);
  struct report_table stragglers = table_of(job, METRICS_STRAGGLERS);
  assert_int_equal(report_table_rows(&stragglers), 60);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_waits_finding(&waits, &stragglers, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "Rank 59 arrives 40.0\xC2\xA0ms late (20.0\xC2\xA0% of the step)");
  lumos_text_free(&text);
  report_table_free(&waits);
  report_table_free(&stragglers);
  lumos_job_free(job);
}

/* However many rows there are, what stands for others comes last. */
static void all_rows_are_there(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (int i = 0; i < 100; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, i == 0 ? "(rest)" : "<op %d>", i);
    add(job, "critical_path_op", NONE, 0, LUMOS_METRIC_SIMULATED, i == 0 ? INT64_C(9007199254740991) : MS(i), 0)->op =
        text_of(job, name);
  }
  struct report_table table = table_of(job, METRICS_PATH_OPS);
  assert_int_equal(report_table_rows(&table), 100);
  expect_name(&table, 0, 0, "<op 99>");
  expect_name(&table, 99, 0, "(all others)");
  assert_int_equal(table.rest.length, 0);
  report_table_free(&table);
  lumos_job_free(job);
}

/* What is added up over ranks is shown as a rank's share of it, quantiles as they are. */
static void per_step_and_rank(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (int32_t step = 0; step < 2; step++) {
    add(job, "call_time", NONE, step, LUMOS_METRIC_MEASURED, MS(10 + 20 * step), 0)->name = text_of(job, "launch");
    add(job, "call_count", NONE, step, LUMOS_METRIC_MEASURED, 3, 0)->name = text_of(job, "launch");
  }
  add(job, "call_median", NONE, NONE, LUMOS_METRIC_MEASURED, 7000, 0)->name = text_of(job, "launch");
  struct report_table table = table_of(job, METRICS_CALLS);
  assert_int_equal(report_table_rows(&table), 1);
  assert_int_equal(report_table_value(&table, 0, 1), MS(10));
  assert_int_equal(report_table_value(&table, 0, 2), 1500); /* thousandths */
  assert_int_equal(report_table_value(&table, 0, 3), 7000);
  assert_int_equal(report_table_value(&table, 0, 4), LUMOS_ABSENT);
  report_table_free(&table);
  lumos_job_free(job);
}

/* Twenty rows stand open, all others are in the page, folded; a few more than twenty are not worth folding. */
static void long_tables_are_folded(void **state) {
  (void)state;
  static const struct report_column columns[] = {{"name", "name", NULL, COLUMN_NAME},
                                                 {"rate", "rate", NULL, COLUMN_TFLOPS}};
  for (int64_t rows = 25; rows <= 26; rows++) {
    struct report_table table;
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    report_table_begin(&table, "many", columns, 2);
    for (int64_t row = 0; row < rows; row++) {
      report_table_word(&table, "kernel");
      report_table_number(&table, 758123 - row);
    }
    report_table_html(&table, &text);
    lumos_text_char(&text, '\0');
    assert_true((strstr(text.bytes, "<summary>Show all 26</summary>") != NULL) == (rows == 26));
    assert_non_null(strstr(text.bytes, "rate <small>TFLOP/s</small>"));
    int64_t found = 0;
    for (const char *at = text.bytes; (at = strstr(at, "<td>758</td>")) != NULL; at++) {
      found++;
    }
    assert_int_equal(found, rows);
    lumos_text_free(&text);
    report_table_free(&table);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(means_over_the_steps), cmocka_unit_test(bubbles_stand_beside_theory),
      cmocka_unit_test(what_kernels_reach),   cmocka_unit_test(who_waits_and_who_is_late),
      cmocka_unit_test(all_ranks_are_there),  cmocka_unit_test(all_rows_are_there),
      cmocka_unit_test(per_step_and_rank),    cmocka_unit_test(long_tables_are_folded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
