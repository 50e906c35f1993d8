/* Durations as people write them. */
#include "unit/unit.h"

#include "base/duration.h"

static void read_well(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t nanoseconds;
    const char *rest;
  } rows[] = {
      {"0s", 0, ""},
      {"10ms", 10000000, ""},
      {"10ms-25ms", 10000000, "-25ms"},
      {"1.5us", 1500, ""},
      {"1.5\xC2\xB5s", 1500, ""},
      {"0.000000001s", 1, ""},
      {"7ns", 7, ""},
      {"007.250ms", 7250000, ""},
      {"9223372036.854775807s", INT64_MAX, ""},
      {"3seconds", 3000000000, "econds"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char *at = rows[i].text;
    int64_t nanoseconds = -1;
    if (!lumos_duration_read(&at, &nanoseconds)) {
      fail_msg("%s is refused", rows[i].text);
    }
    assert_int_equal(nanoseconds, rows[i].nanoseconds);
    assert_string_equal(at, rows[i].rest);
  }
}

static void refused(void **state) {
  (void)state;
  static const char *const rows[] = {"",
                                     "s",
                                     "10",
                                     "10 ms",
                                     "-1ms",
                                     "+1ms",
                                     ".5s",
                                     "1.s",
                                     "1.5ns",
                                     "1.0001us",
                                     "0x1ms",
                                     "1e3ns",
                                     "1,5ms",
                                     "1m",
                                     "1..5s",
                                     "9223372036.854775808s",
                                     "99999999999999999999ns"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char *at = rows[i];
    int64_t nanoseconds = -1;
    if (lumos_duration_read(&at, &nanoseconds)) {
      fail_msg("%s is read as %lld ns", rows[i], (long long)nanoseconds);
    }
    assert_ptr_equal(at, rows[i]);
    assert_int_equal(nanoseconds, -1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(read_well), cmocka_unit_test(refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
