/* The tokenizer: numbers to the edges of int64, strings, escapes, nesting, and where the cursor stands after a
 * fault. */
#include "base/json.h"
#include "unit.h"

static void expect_scaled(const char *text, int scale, int64_t expected) {
  const char *cursor = text;
  int64_t value = 0;
  if (!lumos_json_scaled(&cursor, scale, &value)) {
    fail_msg("'%s' was refused", text);
  }
  if (value != expected || *cursor != '\0') {
    fail_msg("'%s' times 10^%d gave %lld, '%s' left", text, scale, (long long)value, cursor);
  }
}

static void refuse_scaled(const char *text, int scale) {
  const char *cursor = text;
  int64_t value = 0;
  if (lumos_json_scaled(&cursor, scale, &value)) {
    fail_msg("'%s' was accepted as %lld", text, (long long)value);
  }
  assert_ptr_equal(cursor, text);
}

static void scaled_takes_times_as_traces_write_them(void **state) {
  (void)state;
  expect_scaled("6322354262176.916", 3, INT64_C(6322354262176916));
  expect_scaled("1669783687464611", 3, INT64_C(1669783687464611000));
  expect_scaled("0.001", 3, 1);
  expect_scaled("0.1", 3, 100);
  expect_scaled("12.5", 3, 12500);
  expect_scaled("-12.5", 3, -12500);
  expect_scaled("0", 3, 0);
  expect_scaled("-0", 3, 0);
  expect_scaled("-0.0", 3, 0);
  expect_scaled("\"12.5\"", 3, 12500);
  expect_scaled("\"7\"", 0, 7);
}

static void scaled_rounds_half_away_from_zero(void **state) {
  (void)state;
  expect_scaled("0.0004", 3, 0);
  expect_scaled("0.0005", 3, 1);
  expect_scaled("-0.0005", 3, -1);
  expect_scaled("-0.0004", 3, 0);
  expect_scaled("1.0014999999999999999999999999", 3, 1001);
  expect_scaled("1.0015000000000000000000000001", 3, 1002);
  expect_scaled("0.1000000000000000055511151231257827", 3, 100);
  expect_scaled("2.5", 0, 3);
  expect_scaled("0.00000000000000000000000000000000000000009", 3, 0);
}

static void scaled_reads_exponents(void **state) {
  (void)state;
  expect_scaled("1e3", 3, 1000000);
  expect_scaled("1E+3", 0, 1000);
  expect_scaled("1.5e-3", 3, 2);
  expect_scaled("1.4e-3", 3, 1);
  expect_scaled("1.6697836874646110e15", 3, INT64_C(1669783687464611000));
  expect_scaled("5e-400000000000000000000000", 3, 0);
  expect_scaled("0e400000000000000000000000", 3, 0);
  expect_scaled("0.0000001e7", 3, 1000);
  expect_scaled("123456789e-9", 9, 123456789);
  refuse_scaled("1e16", 3);
  refuse_scaled("1e400000000000000000000000", 3);
  refuse_scaled("1e", 3);
  refuse_scaled("1e+", 3);
}

static void scaled_keeps_to_int64(void **state) {
  (void)state;
  expect_scaled("9223372036854775807", 0, INT64_MAX);
  expect_scaled("-9223372036854775808", 0, INT64_MIN);
  expect_scaled("9223372036854775.807", 3, INT64_MAX);
  expect_scaled("-9223372036854775.808", 3, INT64_MIN);
  expect_scaled("9223372036854775.8074", 3, INT64_MAX);
  refuse_scaled("9223372036854775.8075", 3);
  refuse_scaled("9223372036854775808", 0);
  refuse_scaled("-9223372036854775809", 0);
  refuse_scaled("18446744073709551615", 0);
  refuse_scaled("18446744073709551616", 0);
  refuse_scaled("18446744073709551617.5", 0);
  refuse_scaled("99999999999999999999999999", 0);
  refuse_scaled("9223372036854775808", 3);
}

static void scaled_refuses_what_is_no_number(void **state) {
  (void)state;
  const char *const texts[] = {"",     "-",    ".5",  "1.",     "01",     "-01",    "+1",  "x",    "NaN", "Infinity",
                               "null", "\"\"", "\"1", "\"1x\"", "\" 1\"", "\"12.5", "-.5", "1.e3", "{",   "00"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    refuse_scaled(texts[i], 3);
  }
}

static void integer_reads_whole_numbers_only(void **state) {
  (void)state;
  const char *text = "9223372036854775807,";
  const char *cursor = text;
  int64_t value = 0;
  assert_true(lumos_json_integer(&cursor, &value));
  assert_true(value == INT64_MAX);
  assert_int_equal(*cursor, ',');
  cursor = "-9223372036854775808";
  assert_true(lumos_json_integer(&cursor, &value));
  assert_true(value == INT64_MIN);
  cursor = "1000000000000000000"; /* 19 digits */
  assert_true(lumos_json_integer(&cursor, &value));
  assert_true(value == INT64_C(1000000000000000000));
  const char *const refused[] = {"9223372036854775808",
                                 "-9223372036854775809",
                                 "99999999999999999999",
                                 "1.5",
                                 "1e3",
                                 "1.0",
                                 "\"1\"",
                                 "",
                                 "-",
                                 "01",
                                 "true"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    cursor = refused[i];
    if (lumos_json_integer(&cursor, &value)) {
      fail_msg("'%s' was accepted", refused[i]);
    }
    assert_ptr_equal(cursor, refused[i]);
  }
}

static void string_gives_a_slice(void **state) {
  (void)state;
  const char *text = "\"aten::mm\"}";
  const char *cursor = text;
  struct lumos_slice slice;
  assert_true(lumos_json_string(&cursor, &slice));
  assert_true(lumos_json_is(&slice, "aten::mm"));
  assert_false(lumos_json_is(&slice, "aten::m"));
  assert_false(slice.escaped);
  assert_ptr_equal(cursor, text + 10);
  cursor = "\"\"";
  assert_true(lumos_json_string(&cursor, &slice));
  assert_int_equal(slice.length, 0);
  cursor = "\"a\\\"b\"";
  assert_true(lumos_json_string(&cursor, &slice));
  assert_true(slice.escaped);
  assert_int_equal(slice.length, 4);
}

static void string_stops_at_the_offending_byte(void **state) {
  (void)state;
  struct lumos_slice slice;
  struct {
    const char *text;
    int at;
  } const cases[] = {{"\"ab", 3},     {"\"a\nb\"", 2}, {"\"a\x01\"", 2}, {"\"a\\", 3},
                     {"\"\\\n\"", 2}, {"ab\"", 0},     {"", 0},          {"\"\x1F\"", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *cursor = cases[i].text;
    assert_false(lumos_json_string(&cursor, &slice));
    assert_int_equal(cursor - cases[i].text, cases[i].at);
  }
  const char *cursor = "\"\x7F\x80\xFF \"";
  assert_true(lumos_json_string(&cursor, &slice));
  assert_int_equal(slice.length, 4);
}

static void expect_decoded(const char *inside, const char *expected, size_t expected_length) {
  struct lumos_slice slice = {inside, strlen(inside), true, false};
  char *out = malloc(slice.length + 1);
  assert_non_null(out);
  size_t length = lumos_json_decode(&slice, out, NULL);
  assert_true(length <= slice.length);
  assert_int_equal(length, expected_length);
  assert_memory_equal(out, expected, expected_length);
  free(out);
}

static void decode_reads_escapes(void **state) {
  (void)state;
  expect_decoded("a\\\"\\\\\\/\\b\\f\\n\\r\\tz", LITERAL("a\"\\/\b\f\n\r\tz"));
  expect_decoded("\\u0041\\u00e9\\u20AC", LITERAL("A\xC3\xA9\xE2\x82\xAC"));
  expect_decoded("\\ud83d\\ude00", LITERAL("\xF0\x9F\x98\x80"));
  expect_decoded("\\uDBFF\\uDFFF", LITERAL("\xF4\x8F\xBF\xBF"));
  expect_decoded("\\u0000x", LITERAL("\0x"));
  expect_decoded("plain", LITERAL("plain"));
}

static void decode_survives_bad_escapes(void **state) {
  (void)state;
  expect_decoded("\\ud83dx", LITERAL("\xEF\xBF\xBDx"));
  expect_decoded("\\ude00\\ud83d", LITERAL("\xEF\xBF\xBD\xEF\xBF\xBD"));
  expect_decoded("\\ud83d\\u0041", LITERAL("\xEF\xBF\xBD"
                                           "A"));
  expect_decoded("\\q", LITERAL("?"));
  expect_decoded("\\u12", LITERAL("?12"));
  expect_decoded("\\u12g4", LITERAL("?12g4"));
  expect_decoded("\\u", LITERAL("?"));
  expect_decoded("a\\", LITERAL("a?"));
  expect_decoded("\xFF", LITERAL("\xFF"));
}

static void skip_takes_any_value(void **state) {
  (void)state;
  const char *const values[] = {"1",
                                "-1.5e-7",
                                "\"a\\\"b\"",
                                "true",
                                "false",
                                "null",
                                "NaN",
                                "Infinity",
                                "-Infinity",
                                "{}",
                                "[]",
                                "{\"a\": [1, {\"b\": \"]}\"}], \"c\": null}",
                                "[\n[],\t[\"\\\\\"]\r\n]"};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char text[128];
    (void)snprintf(text, sizeof text, "%s, 1", values[i]);
    const char *cursor = text;
    struct lumos_slice slice;
    if (!lumos_json_skip(&cursor, &slice)) {
      fail_msg("'%s' was refused", values[i]);
    }
    assert_ptr_equal(slice.bytes, text);
    assert_int_equal(slice.length, strlen(values[i]));
    assert_ptr_equal(cursor, text + slice.length);
  }
}

static void skip_refuses_broken_values(void **state) {
  (void)state;
  const char *const values[] = {"",  "{", "[", "[}", "{]", "[[]",    "{\"a}",          "[\"a\n\"]", "nul",  "tru",
                                "x", "]", "}", ",",  ":",  "[\x01]", "{\"a\": [1, 2}", "-",         "[\"\\"};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    const char *cursor = values[i];
    if (lumos_json_skip(&cursor, NULL)) {
      fail_msg("'%s' was accepted", values[i]);
    }
    assert_true(cursor >= values[i] && cursor <= values[i] + strlen(values[i]));
  }
}

static void skip_bounds_the_depth(void **state) {
  (void)state;
  char text[2 * LUMOS_JSON_DEPTH + 3];
  for (int depth = LUMOS_JSON_DEPTH; depth <= LUMOS_JSON_DEPTH + 1; depth++) {
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    text[2 * depth] = '\0';
    const char *cursor = text;
    assert_int_equal(lumos_json_skip(&cursor, NULL), depth == LUMOS_JSON_DEPTH);
    assert_int_equal(cursor - text, depth == LUMOS_JSON_DEPTH ? 2 * depth : depth - 1);
  }
}

/* Walk a document of numbers; the sum, or -1 at a fault. */
static int64_t sum_members(const char *text) {
  struct lumos_json_members members;
  struct lumos_slice key;
  int64_t sum = 0;
  int more = 0;
  if (!lumos_json_open(&text, '{', &members)) {
    return -1;
  }
  while ((more = lumos_json_key(&text, &members, &key)) == 1) {
    int64_t value = 0;
    if (!lumos_json_integer(&text, &value)) {
      return -1;
    }
    sum += value * (int64_t)key.length;
  }
  return more == 0 && *text == '\0' ? sum : -1;
}

static int64_t sum_items(const char *text) {
  struct lumos_json_members members;
  int64_t sum = 0;
  int more = 0;
  if (!lumos_json_open(&text, '[', &members)) {
    return -1;
  }
  while ((more = lumos_json_item(&text, &members)) == 1) {
    int64_t value = 0;
    if (!lumos_json_integer(&text, &value)) {
      return -1;
    }
    sum += value;
  }
  return more == 0 && *text == '\0' ? sum : -1;
}

static void objects_and_arrays_are_walked(void **state) {
  (void)state;
  assert_int_equal(sum_members("{}"), 0);
  assert_int_equal(sum_members("{ \r\n\t}"), 0);
  assert_int_equal(sum_members("{\"a\":1}"), 1);
  assert_int_equal(sum_members("{ \"a\" : 1 ,\n\t\"bcd\"\r\n: 20 }"), 61);
  assert_int_equal(sum_items("[]"), 0);
  assert_int_equal(sum_items("[ 1 , 2,3 ]"), 6);
}

static void faults_in_objects_and_arrays_are_seen(void **state) {
  (void)state;
  const char *const objects[] = {
      "",          "{",     "{\"a\"}",          "{\"a\":}",           "{\"a\":1,}", "{,}",       "{\"a\":1 2}",
      "{\"a\" 1}", "{a:1}", "{\"a\":1\"b\":2}", "{\"a\":1,,\"b\":2}", "[",          "{\"a\":1]", "{\"a\":1",
      "{\"a\":1,"};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
    if (sum_members(objects[i]) != -1) {
      fail_msg("'%s' was accepted", objects[i]);
    }
  }
  const char *const arrays[] = {"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1,,2]", "{", "[1}"};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    if (sum_items(arrays[i]) != -1) {
      fail_msg("'%s' was accepted", arrays[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scaled_takes_times_as_traces_write_them),
      cmocka_unit_test(scaled_rounds_half_away_from_zero),
      cmocka_unit_test(scaled_reads_exponents),
      cmocka_unit_test(scaled_keeps_to_int64),
      cmocka_unit_test(scaled_refuses_what_is_no_number),
      cmocka_unit_test(integer_reads_whole_numbers_only),
      cmocka_unit_test(string_gives_a_slice),
      cmocka_unit_test(string_stops_at_the_offending_byte),
      cmocka_unit_test(decode_reads_escapes),
      cmocka_unit_test(decode_survives_bad_escapes),
      cmocka_unit_test(skip_takes_any_value),
      cmocka_unit_test(skip_refuses_broken_values),
      cmocka_unit_test(skip_bounds_the_depth),
      cmocka_unit_test(objects_and_arrays_are_walked),
      cmocka_unit_test(faults_in_objects_and_arrays_are_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
