/* A lane gathered into columns, against columns filled by hand. */
#include "report/draw/raster.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct report_raster_runs cells_of(struct report_raster *raster) {
  struct report_raster_runs cells = {0};
  report_raster_read(raster, &cells);
  return cells;
}

static void assert_cell(const struct report_raster_run *cell, int32_t x, int32_t width, uint8_t kind, uint8_t level) {
  assert_int_equal(cell->x, x);
  assert_int_equal(cell->width, width);
  assert_int_equal(cell->kind, kind);
  assert_int_equal(cell->level, level);
}

/* Ten columns of 100 ns from 1000 to 2000.
 *   gemm       1050-1400: half of column 0, all of 1 to 3
 *   norm       1410-1430 and 1440-1480: 60 of column 4
 *   gemm       1485-1500: 15 of column 4, so the norm wins it; 75 busy: three quarters
 *   memset     1999-2100: 1 of column 9, the rest outside */
static void by_hand(void **state) {
  (void)state;
  struct report_raster raster;
  report_raster_begin(&raster, 1000, 2000, 10);
  assert_int_equal(raster.per_column, 100);
  assert_int_equal(raster.count, 10);
  report_raster_add(&raster, LUMOS_GEMM, 1050, 350);
  report_raster_add(&raster, LUMOS_NORM, 1410, 20);
  report_raster_add(&raster, LUMOS_NORM, 1440, 40);
  report_raster_add(&raster, LUMOS_GEMM, 1485, 15);
  report_raster_add(&raster, LUMOS_MEMSET, 1999, 101);
  struct report_raster_runs cells = cells_of(&raster);
  assert_int_equal(cells.count, 4);
  assert_cell(&cells.items[0], 0, 1, LUMOS_GEMM, 2);
  assert_cell(&cells.items[1], 1, 3, LUMOS_GEMM, 4);
  assert_cell(&cells.items[2], 4, 1, LUMOS_NORM, 3);
  assert_cell(&cells.items[3], 9, 1, LUMOS_MEMSET, 1);
  lumos_vector_free(&cells);

  report_raster_clear(&raster);
  cells = cells_of(&raster);
  assert_int_equal(cells.count, 0);
  lumos_vector_free(&cells);
  report_raster_free(&raster);
}

/* A tie goes to the lower kind; overlapping tasks never fill more than the column. */
static void ties_and_overlaps(void **state) {
  (void)state;
  struct report_raster raster;
  report_raster_begin(&raster, 0, 400, 4);
  report_raster_add(&raster, LUMOS_NORM, 0, 30);
  report_raster_add(&raster, LUMOS_GEMM, 50, 30);
  for (int i = 0; i < 5; i++) {
    report_raster_add(&raster, LUMOS_COPY, 150, 200);
  }
  struct report_raster_runs cells = cells_of(&raster);
  assert_int_equal(cells.count, 2);
  assert_cell(&cells.items[0], 0, 1, LUMOS_GEMM, 3);
  assert_cell(&cells.items[1], 1, 3, LUMOS_COPY, 4);
  lumos_vector_free(&cells);
  report_raster_free(&raster);
}

/* Spans that do not divide, are shorter than the columns, or empty. */
static void odd_spans(void **state) {
  (void)state;
  struct report_raster raster;
  report_raster_begin(&raster, -5, 1000, 100);
  assert_int_equal(raster.per_column, 11); /* 1005 / 100, rounded up */
  assert_int_equal(raster.count, 92);      /* 1005 / 11, rounded up */
  report_raster_add(&raster, LUMOS_GEMM, INT64_MIN / 2, INT64_MAX);
  report_raster_add(&raster, LUMOS_GEMM, 10, 0);
  struct report_raster_runs cells = cells_of(&raster);
  assert_int_equal(cells.count, 1);
  assert_cell(&cells.items[0], 0, 92, LUMOS_GEMM, 4);
  lumos_vector_free(&cells);
  report_raster_free(&raster);

  report_raster_begin(&raster, 7, 10, 1000);
  assert_int_equal(raster.per_column, 1);
  assert_int_equal(raster.count, 3);
  report_raster_free(&raster);

  report_raster_begin(&raster, 7, 7, 1000);
  assert_int_equal(raster.count, 1);
  report_raster_free(&raster);
}

/* However the time of a lane is cut into tasks, the columns hold the same. */
static void cutting_changes_nothing(void **state) {
  (void)state;
  struct report_raster whole;
  struct report_raster cut;
  report_raster_begin(&whole, 0, 1000, 64);
  report_raster_begin(&cut, 0, 1000, 64);
  report_raster_add(&whole, LUMOS_GEMM, 13, 870);
  for (int64_t at = 13, length = 1; at < 883; at += length, length = length % 37 + 1) {
    report_raster_add(&cut, LUMOS_GEMM, at, at + length > 883 ? 883 - at : length);
  }
  struct report_raster_runs left = cells_of(&whole);
  struct report_raster_runs right = cells_of(&cut);
  assert_int_equal(left.count, right.count);
  for (size_t i = 0; i < left.count; i++) {
    assert_cell(&right.items[i], left.items[i].x, left.items[i].width, left.items[i].kind, left.items[i].level);
  }
  lumos_vector_free(&left);
  lumos_vector_free(&right);
  report_raster_free(&whole);
  report_raster_free(&cut);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(ties_and_overlaps),
                                     cmocka_unit_test(odd_spans), cmocka_unit_test(cutting_changes_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
