/* Numbers as text, eight digits at a time: what is written is what printf writes, and what is read ends where it
 * does. */
#include "unit/unit.h"

#include "base/digits.h"
#include <inttypes.h>
#include <stdio.h>

static void expect_written(uint64_t value) {
  char expected[32];
  char got[32];
  (void)snprintf(expected, sizeof expected, "%" PRIu64, value);
  *lumos_digits_write(got, value) = '\0';
  assert_string_equal(got, expected);
}

/* All pairs of digits in all places, both sides of every power of ten, the largest. */
static void writes_as_printf_does(void **state) {
  (void)state;
  for (uint64_t low = 0; low < 10000; low++) {
    expect_written(low);
    expect_written(low * 10000);
    expect_written(UINT64_C(100000000) * low + 99990000 + low);
    expect_written(UINT64_C(1000000000000) * low + low);
  }
  uint64_t power = 1;
  for (int i = 0; i < 20; i++) {
    expect_written(power - 1);
    expect_written(power);
    expect_written(power + 1);
    power *= 10;
  }
  expect_written(UINT64_MAX);
}

static void writes_signs(void **state) {
  static const int64_t values[] = {0, -1, 7, -10, 123456789, -123456789, INT64_MAX, INT64_MIN};
  (void)state;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char expected[32];
    char got[32];
    (void)snprintf(expected, sizeof expected, "%" PRId64, values[i]);
    *lumos_integer_write(got, values[i]) = '\0';
    assert_string_equal(got, expected);
  }
}

/* However many digits there are, and whichever byte stands behind them. */
static void reads_up_to_what_is_no_digit(void **state) {
  static const char digits[] = "9081726354453627";
  (void)state;
  for (unsigned length = 0; length <= LUMOS_DIGITS_READ; length++) {
    for (int behind = 0; behind < 256; behind++) {
      char text[LUMOS_DIGITS_READ + 1];
      uint64_t expected = 0;
      uint64_t value = 0;
      memset(text, '7', sizeof text);
      memcpy(text, digits, length);
      text[length] = (char)behind;
      for (unsigned i = 0; i < length; i++) {
        expected = expected * 10 + (uint64_t)(digits[i] - '0');
      }
      if (length == LUMOS_DIGITS_READ || behind < '0' || behind > '9') {
        assert_int_equal(lumos_digits_read(text, &value), length);
        assert_true(value == expected);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_as_printf_does),
      cmocka_unit_test(writes_signs),
      cmocka_unit_test(reads_up_to_what_is_no_digit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
