/* Communication by operation: what its label says is the time of its kernels. */
#include "unit/report_job.h"

#include "report/content/tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)

/* An all-reduce of ranks 0 and 1. */
static void add_collective(struct lumos_job *job, const uint32_t kernels[2], uint8_t label) {
  struct lumos_collective collective = lumos_collective_empty;
  collective.id = (uint32_t)job->collectives.count;
  collective.op = lumos_intern_text(job->strings, "all_reduce");
  collective.size = 2;
  collective.label = label;
  collective.member_first = (uint32_t)job->members.count;
  collective.member_count = 2;
  lumos_vector_push(&job->members, kernels[0]);
  lumos_vector_push(&job->members, kernels[1]);
  lumos_vector_push(&job->collectives, collective);
}

static void expect_label(const uint8_t labels[3], const char *label) {
  static const int64_t durations[2][3] = {{MS(20), MS(5), MS(4)}, {MS(10), MS(5), MS(6)}};
  struct lumos_job *job = lumos_job_new();
  uint32_t kernels[3][2];
  for (int32_t rank = 0; rank < 2; rank++) {
    uint32_t stream = add_lane(job, add_rank(job, rank), "s7", LUMOS_STREAM);
    for (int i = 0; i < 3; i++) {
      kernels[i][rank] = add_task(job, stream, LUMOS_COLLECTIVE, "sum", MS(100) * i, durations[rank][i]);
    }
  }
  for (int i = 0; i < 3; i++) {
    add_collective(job, kernels[i], labels[i]);
  }
  finish_job(job);
  struct report_table table;
  report_table_collectives(job, &table);
  assert_int_equal(report_table_rows(&table), 1);
  const struct report_cell *cell = &table.cells.items[table.column_count - 1];
  assert_string_equal(table.columns[table.column_count - 1].name, "label");
  assert_int_equal(cell->length, strlen(label));
  assert_memory_equal(cell->bytes, label, cell->length);
  report_table_free(&table);
  lumos_job_free(job);
}

/* 30, 10 and 10 ms of kernels: the first of 50 is three fifths; without a label it does not count. */
static void labels_are_weighed_by_time(void **state) {
  (void)state;
  expect_label((uint8_t[]){LUMOS_ARRIVAL_SKEW, LUMOS_TRANSFERS, LUMOS_TRANSFERS}, "arrival skew, 60.0\xC2\xA0%");
  expect_label((uint8_t[]){0, LUMOS_TRANSFERS, LUMOS_TRANSFERS}, "transfer, 100\xC2\xA0%");
  expect_label((uint8_t[]){0, LUMOS_INCONCLUSIVE, 0}, "inconclusive, 100\xC2\xA0%");
  expect_label((uint8_t[]){LUMOS_MIXED, 200, 0}, "mixed, 100\xC2\xA0%"); /* no label that there is */
  expect_label((uint8_t[]){0, 0, 0}, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(labels_are_weighed_by_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
