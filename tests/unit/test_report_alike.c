/* Rows that look alike are one group, those that stand out are seen. */
#include "report/content/alike.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WHOLE = 1000 };

/* Groups as text: "1 | 0, 2-7". */
static void expect_groups(const int64_t *values, size_t rows, size_t columns, const char *expected) {
  const struct report_matrix matrix = {values, rows, columns};
  struct report_groups groups;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_groups_find(&matrix, WHOLE, &groups);
  for (size_t group = 0; group < groups.count; group++) {
    int32_t numbers[512];
    size_t count = 0;
    for (size_t i = groups.first[group]; i < groups.first[group + 1]; i++) {
      numbers[count++] = (int32_t)groups.members.items[i];
    }
    lumos_text_put(&text, group == 0 ? "" : " | ");
    report_put_runs(&text, numbers, count);
  }
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, expected);
  lumos_text_free(&text);
  report_groups_free(&groups);
}

/* 5 % of the whole is 50: rank 2 is within that of all but rank 1, though rank 0 is not of rank 7. */
static void most_ranks_are_one_group(void **state) {
  (void)state;
  const int64_t waits[] = {165, 29, 176, 213, 215, 215, 217, 217};
  expect_groups(waits, 8, 1, "1 | 0, 2-7");
  const int64_t even[] = {100, 150, 200};
  expect_groups(even, 3, 1, "0-2");
}

static void the_farthest_comes_first(void **state) {
  (void)state;
  const int64_t rows[] = {0, 10, 200, 10, 900, 10, 0, 20, 0, 30};
  expect_groups(rows, 5, 2, "2 | 1 | 0, 3, 4");
}

/* Two that differ keep their order: neither is what is usual. */
static void without_a_usual_one_the_order_stays(void **state) {
  (void)state;
  const int64_t rows[] = {300, 100};
  expect_groups(rows, 2, 1, "0 | 1");
}

/* Of ten that lie 60 apart neighbours become alike at 100; of 500 in steps of 2 there are never more than eight
 * groups. */
static void too_many_groups_are_fewer(void **state) {
  (void)state;
  int64_t rows[500];
  for (int i = 0; i < 10; i++) {
    rows[i] = 60 * i;
  }
  const struct report_matrix ten = {rows, 10, 1};
  struct report_groups groups;
  report_groups_find(&ten, WHOLE, &groups);
  assert_int_equal(groups.count, 4);
  assert_int_equal(groups.members.count, 10);
  report_groups_free(&groups);
  for (int i = 0; i < 500; i++) {
    rows[i] = 2 * i;
  }
  const struct report_matrix many = {rows, 500, 1};
  report_groups_find(&many, WHOLE, &groups);
  assert_in_range(groups.count, 2, REPORT_GROUPS);
  assert_int_equal(groups.members.count, 500);
  report_groups_free(&groups);
}

/* Numbers that no job has. */
static void hostile_numbers_end(void **state) {
  (void)state;
  int64_t rows[64];
  for (int i = 0; i < 64; i++) {
    rows[i] = i % 2 == 0 ? INT64_MAX - i : INT64_MIN + i;
  }
  const struct report_matrix matrix = {rows, 64, 1};
  struct report_groups groups;
  report_groups_find(&matrix, 0, &groups);
  assert_int_equal(groups.members.count, 64);
  report_groups_free(&groups);
  const struct report_matrix none = {rows, 0, 1};
  report_groups_find(&none, WHOLE, &groups);
  assert_int_equal(groups.count, 0);
  report_groups_free(&groups);
}

static void runs(void **state) {
  (void)state;
  const int32_t numbers[] = {0, 1, 3, 4, 5, 9, 11, 13};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_runs(&text, numbers, 8);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "0, 1, 3-5, 9, 11 and more");
  lumos_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(most_ranks_are_one_group),
      cmocka_unit_test(the_farthest_comes_first),
      cmocka_unit_test(without_a_usual_one_the_order_stays),
      cmocka_unit_test(too_many_groups_are_fewer),
      cmocka_unit_test(hostile_numbers_end),
      cmocka_unit_test(runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
