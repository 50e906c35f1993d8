/* Values read by words or known from before are what the tokenizer makes of them, and a fault is found at the same
 * byte. */
#include "trace/lists.h"
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

static void natural_numbers_are_those_of_the_tokenizer(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof plain_numbers / sizeof *plain_numbers; i++) {
    for (size_t j = 0; j < BEHIND; j++) {
      struct padded text = pad(plain_numbers[i], behind[j]);
      const char *cursor = text.bytes;
      const char *reference = text.bytes;
      int64_t value = 77;
      int64_t expected = 77;
      if (trace_read_natural(&cursor, &value)) {
        assert_true(lumos_json_integer(&reference, &expected));
      }
      assert_ptr_equal(cursor, reference); /* where nothing was read it has not moved */
      assert_int_equal(value, expected);
    }
  }
  struct padded text = pad("123456789012345", "}");
  const char *cursor = text.bytes;
  int64_t value = 0;
  assert_true(trace_read_natural(&cursor, &value));
  assert_int_equal(value, 123456789012345);
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

static void expect_same_list(struct trace_lists *lists, const char *text) {
  const char *cursor = text;
  const char *reference = text;
  struct lumos_slice slice = {NULL, 0, false, false};
  struct lumos_slice expected = slice;
  bool good = trace_read_list(lists, &cursor, &slice);
  assert_int_equal(good, lumos_json_skip(&reference, &expected));
  assert_ptr_equal(cursor, reference);
  assert_ptr_equal(slice.bytes, expected.bytes);
  assert_int_equal(slice.length, expected.length);
  bool wide = false;
  for (size_t i = 0; i < slice.length; i++) {
    wide |= (unsigned char)slice.bytes[i] >= 0x80;
  }
  assert_int_equal(slice.wide, wide);
  assert_false(slice.escaped);
}

/* Lists of every length up to beyond what is remembered, with any one byte another one, whatever lies behind them. */
static void lists_are_those_of_the_tokenizer(void **state) {
  (void)state;
  static const char changes[] = "]\"[, 7\x80\x01";
  struct trace_lists *lists = lumos_allocate_zeroed(1, sizeof *lists);
  for (int length = 2; length < 126; length++) {
    char list[128];
    (void)snprintf(
        list, sizeof list, "[%.*s]", length - 2,
        "[16, 1024, 768], [768, 768], [\"c10::BFloat16\", \"Scalar\"], [[1, 2], [3]], [16, 1024, 768], [768], 12, "
        "34, 56, 78, 90, 12, 34, 56");
    for (int times = 0; times < 2; times++) { /* new, and known */
      for (size_t i = 0; i < BEHIND; i++) {
        struct padded text = pad(list, behind[i]);
        expect_same_list(lists, text.bytes);
      }
      for (int i = 1; i < length; i++) {
        struct padded text = pad(list, "");
        text.bytes[i] = changes[(size_t)(i + times) % (sizeof changes - 1)];
        expect_same_list(lists, text.bytes);
        text.bytes[i] = '\0';
        expect_same_list(lists, text.bytes);
      }
    }
  }
  struct padded text = pad("[16, 1024]", "");
  const char *cursor = text.bytes;
  expect_same_list(lists, cursor);
  assert_true(trace_list_stands(trace_list_place(lists, cursor), cursor)); /* it is remembered */
  free(lists);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_those_of_the_tokenizer),
      cmocka_unit_test(natural_numbers_are_those_of_the_tokenizer),
      cmocka_unit_test(strings_are_those_of_the_tokenizer),
      cmocka_unit_test(other_values_are_left_to_the_tokenizer),
      cmocka_unit_test(lists_are_those_of_the_tokenizer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
