/* Numbers as the page writes them; every expectation is the value rounded by hand. */
#include "report/text/numbers.h"

#include <lumos/job.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NBSP "\xC2\xA0"
#define MINUS "\xE2\x88\x92"
#define DASH "\xE2\x80\x93"

static void expect(struct lumos_text *text, const char *wanted) {
  lumos_text_char(text, '\0');
  assert_string_equal(text->bytes, wanted);
  text->length = 0;
}

static void times(void **state) {
  (void)state;
  static const struct {
    int64_t ns;
    const char *wanted;
  } rows[] = {
      {0, "0" NBSP "ns"},
      {7, "7" NBSP "ns"},
      {999, "999" NBSP "ns"},
      {1000, "1.00" NBSP "\xC2\xB5s"},
      {9994, "9.99" NBSP "\xC2\xB5s"},
      {9995, "10.0" NBSP "\xC2\xB5s"}, /* half away from zero */
      {12345, "12.3" NBSP "\xC2\xB5s"},
      {99949, "99.9" NBSP "\xC2\xB5s"},
      {99950, "100" NBSP "\xC2\xB5s"},
      {123449, "123" NBSP "\xC2\xB5s"},
      {999499, "999" NBSP "\xC2\xB5s"},
      {999500, "1.00" NBSP "ms"},
      {41834567, "41.8" NBSP "ms"},
      {418345678, "418" NBSP "ms"},
      {-2500, MINUS "2.50" NBSP "\xC2\xB5s"},
      {61000000000, "61.0" NBSP "s"},
      {9000000000000000, "9,000,000" NBSP "s"},
      {LUMOS_ABSENT, DASH},
  };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    report_put_time(&text, rows[i].ns);
    expect(&text, rows[i].wanted);
  }
  lumos_text_free(&text);
}

static void two_times_that_differ_look_different(void **state) {
  (void)state;
  static const struct {
    int64_t ns, other;
    const char *wanted;
  } rows[] = {
      {1094400000, 1090000000, "1.094" NBSP "s"}, /* both 1.09 s */
      {1090000000, 1094400000, "1.090" NBSP "s"},
      {41834567, 41874501, "41.8" NBSP "ms"}, /* 41.9 */
      {41834567, 41839901, "41.83" NBSP "ms"} /* 41.84 */,
      {41834567, 41831901, "41.835" NBSP "ms"} /* 41.832 */,
      {41834567, 41834501, "41.8" NBSP "ms"}, /* the same to a reader */
      {41834567, 41834567, "41.8" NBSP "ms"},
      {41834567, 52000000, "41.8" NBSP "ms"},
      {9000000000000001, 9000000000000000, "9,000,000" NBSP "s"}, /* two more digits, and no further */
      {250, 251, "250" NBSP "ns"},
      {41834567, LUMOS_ABSENT, "41.8" NBSP "ms"},
  };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    report_put_time_beside(&text, rows[i].ns, rows[i].other);
    expect(&text, rows[i].wanted);
  }
  lumos_text_free(&text);
}

static void columns(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_fixed(&text, 1234567890, 6, 3);
  expect(&text, "1,234.568");
  report_put_fixed(&text, -1500, 3, 1);
  expect(&text, MINUS "1.5");
  report_put_fixed(&text, -1, 6, 3); /* rounds to nothing: no sign */
  expect(&text, "0.000");
  report_put_fixed(&text, INT64_MAX, 6, 3);
  expect(&text, "9,223,372,036,854.776");
  report_put_fixed(&text, LUMOS_ABSENT, 6, 3);
  expect(&text, DASH);
  lumos_text_free(&text);
}

static void shares(void **state) {
  (void)state;
  assert_int_equal(report_share(1, 3), 333333);
  assert_int_equal(report_share(2, 3), 666667);
  assert_int_equal(report_share(-2, 3), -666667);
  assert_int_equal(report_share(0, 5), 0);
  assert_true(report_share(1, 0) == LUMOS_ABSENT);
  assert_true(report_share(LUMOS_ABSENT, 5) == LUMOS_ABSENT);
  assert_int_equal(report_share(INT64_MAX / 4, INT64_MAX / 2), 500000);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_share(&text, 184321);
  expect(&text, "18.4" NBSP "%");
  report_put_share(&text, 400);
  expect(&text, "<0.1" NBSP "%");
  report_put_share(&text, 0);
  expect(&text, "0" NBSP "%");
  report_put_share(&text, -86000);
  expect(&text, MINUS "8.6" NBSP "%");
  report_put_fine_share(&text, 312);
  expect(&text, "0.03" NBSP "%");
  report_put_share(&text, LUMOS_ABSENT);
  expect(&text, DASH);
  lumos_text_free(&text);
}

static void counts(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_counted(&text, 1, "rank");
  expect(&text, "1" NBSP "rank");
  report_put_counted(&text, 12345, "task");
  expect(&text, "12,345" NBSP "tasks");
  report_put_bytes(&text, 1572864);
  expect(&text, "1.57" NBSP "MB");
  report_put_tick(&text, 1500000, 500000);
  expect(&text, "1,500" NBSP "\xC2\xB5s");
  report_put_tick(&text, 0, 500000);
  expect(&text, "0");
  assert_true(report_sum(INT64_MAX, 5) == INT64_MAX);
  assert_true(report_sum(-INT64_MAX, -5) == -INT64_MAX);
  assert_int_equal(report_sum(LUMOS_ABSENT, 5), 5);
  lumos_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(times), cmocka_unit_test(two_times_that_differ_look_different),
                                     cmocka_unit_test(columns), cmocka_unit_test(shares), cmocka_unit_test(counts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
