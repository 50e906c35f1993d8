/* Values read by words are what the tokenizer makes of them, and a fault is found at the same byte. */
#include "trace/values.h"

#include "trace/window.h"
#include "unit.h"

/* A text with a window's end behind it. */
struct padded {
  char bytes[128 + TRACE_WINDOW_SENTINEL];
};

static struct padded pad(const char *value, const char *behind) {
  struct padded padded = {{0}};
  (void)snprintf(padded.bytes, 128, "%s%s", value, behind);
  return padded;
}

static void expect_same_decimal(const char *text, unsigned scale) {
  const char *cursor = text;
  const char *reference = text;
  int64_t value = 77;
  int64_t expected = 77;
  bool good = trace_read_decimal(&cursor, scale, &value);
  assert_int_equal(good, lumos_json_scaled(&reference, (int)scale, &expected));
  assert_ptr_equal(cursor, reference);
  assert_int_equal(value, expected);
}

static void expect_same_skip(const char *text) {
  const char *cursor = text;
  const char *reference = text;
  assert_int_equal(trace_skip(&cursor), lumos_json_skip(&reference, NULL));
  assert_ptr_equal(cursor, reference);
}

static void expect_same_string(const char *text) {
  const char *cursor = text;
  const char *reference = text;
  struct lumos_slice slice = {NULL, 0, false, false};
  struct lumos_slice expected = slice;
  bool good = trace_read_string(&cursor, &slice);
  assert_int_equal(good, lumos_json_string(&reference, &expected));
  assert_ptr_equal(cursor, reference);
  if (good) {
    assert_ptr_equal(slice.bytes, expected.bytes);
    assert_int_equal(slice.length, expected.length);
    assert_int_equal(slice.escaped, expected.escaped);
    assert_int_equal(slice.wide, expected.wide);
  }
}

static const char *const behind[] = {"",  ",", "}", " ", "\n",   ".",    "e",  "e3", "E-2",
                                     "0", "5", "/", ":", "\x80", "\xff", "\"", "]",  "x"};
enum { BEHIND = sizeof behind / sizeof *behind };

static const char *const plain_numbers[] = {"0",
                                            "7",
                                            "12",
                                            "1234567",
                                            "12345678",
                                            "123456789",
                                            "123456789012345",
                                            "1234567890123456",
                                            "12345678901234567",
                                            "9223372036854775807",
                                            "9223372036854775808",
                                            "9223372036854775.807",
                                            "9223372036854775.808",
                                            "1712195495519703.772",
                                            "1234567890123456.78",
                                            "123456.7890",
                                            "0.5",
                                            "0.",
                                            ".5",
                                            "00",
                                            "01",
                                            "007.5",
                                            "1.",
                                            "1.2",
                                            "1.23",
                                            "1.234",
                                            "1.2345",
                                            "12345678.1",
                                            "12345678.12345678",
                                            "1234567.123456789",
                                            "-1",
                                            "-0",
                                            "-",
                                            "",
                                            "\"12.5\"",
                                            "NaN",
                                            "null",
                                            "18446744073709551615",
                                            "99999999999999999999",
                                            "9999999999999999",
                                            "9999999999999999.999",
                                            "1.00000000",
                                            "0.000",
                                            "1e5"};

static void numbers_are_those_of_the_tokenizer(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof plain_numbers / sizeof *plain_numbers; i++) {
    for (size_t j = 0; j < BEHIND; j++) {
      struct padded text = pad(plain_numbers[i], behind[j]);
      for (unsigned scale = 0; scale <= 8; scale++) {
        expect_same_decimal(text.bytes, scale);
      }
      expect_same_skip(text.bytes);
    }
  }
}

static void strings_are_those_of_the_tokenizer(void **state) {
  (void)state;
  static const char *const odd[] = {"",  "\"", "\\\"", "\\", "\x1f", "\x01", "\x7f", "\xc3\xa9",
                                    "!", "#",  "[",    "]",  "\x80", "\x9f", "\xa2", "\xdc"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    for (int length = 0; length < 20; length++) {
      for (int more = 0; more < 10; more++) {
        char value[64];
        (void)snprintf(value, sizeof value, "\"%.*s%s%.*s\"", length, "abcdefghijklmnopqrst", odd[i], more,
                       "uvwxyzuvwxyz");
        struct padded text = pad(value, ", ");
        expect_same_string(text.bytes);
        expect_same_skip(text.bytes);
        text = pad(value + 1, "");
        expect_same_string(text.bytes);
      }
    }
  }
}

static void other_values_are_left_to_the_tokenizer(void **state) {
  (void)state;
  static const char *const values[] = {"true", "nul", "[1, {\"a\": 2}], ", "{\"a\": [}", "", "NaN", "-Infinity,"};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    struct padded text = pad(values[i], "");
    expect_same_skip(text.bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_those_of_the_tokenizer),
      cmocka_unit_test(strings_are_those_of_the_tokenizer),
      cmocka_unit_test(other_values_are_left_to_the_tokenizer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
