/* Text out: integers and decimals, the three escapings, and what a sink does. */
#include "base/text.h"
#include "base/utf8.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

static void expect_text(struct lumos_text *text, const char *expected, size_t length) {
  if (text->length != length || memcmp(text->bytes, expected, length) != 0) {
    fail_msg("got '%.*s', expected '%s'", (int)text->length, text->bytes, expected);
  }
  lumos_text_free(text);
}

static void expect_integer(int64_t value, const char *expected) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_integer(&text, value);
  expect_text(&text, expected, strlen(expected));
}

static void expect_decimal(int64_t units, int decimals, const char *expected) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_decimal(&text, units, decimals);
  expect_text(&text, expected, strlen(expected));
}

static void integers_are_written_to_the_edges(void **state) {
  (void)state;
  expect_integer(0, "0");
  expect_integer(-1, "-1");
  expect_integer(1000000, "1000000");
  expect_integer(INT64_MAX, "9223372036854775807");
  expect_integer(INT64_MIN, "-9223372036854775808");
}

static void decimals_drop_trailing_zeros(void **state) {
  (void)state;
  expect_decimal(1500000, 6, "1.5");
  expect_decimal(0, 6, "0");
  expect_decimal(0, 0, "0");
  expect_decimal(1000, 3, "1");
  expect_decimal(1, 3, "0.001");
  expect_decimal(-1, 3, "-0.001");
  expect_decimal(-1500, 3, "-1.5");
  expect_decimal(120, 0, "120");
  expect_decimal(100, 1, "10");
  expect_decimal(INT64_MAX, 18, "9.223372036854775807");
  expect_decimal(INT64_MIN, 18, "-9.223372036854775808");
  expect_decimal(INT64_MIN, 0, "-9223372036854775808");
  expect_decimal(1, 18, "0.000000000000000001");
}

typedef void escape_function(struct lumos_text *, const char *, size_t);

static void expect_escaped(escape_function *escape, const char *bytes, size_t length, const char *expected) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  escape(&text, bytes, length);
  expect_text(&text, expected, strlen(expected));
}

static void json_strings_are_valid_json(void **state) {
  (void)state;
  expect_escaped(lumos_text_json_string, LITERAL(""), "\"\"");
  expect_escaped(lumos_text_json_string, LITERAL("aten::mm <&'>"), "\"aten::mm <&'>\"");
  expect_escaped(lumos_text_json_string, LITERAL("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
  expect_escaped(lumos_text_json_string, LITERAL("\n\r\t\b\x01\x1F"), "\"\\n\\r\\t\\u0008\\u0001\\u001f\"");
  expect_escaped(lumos_text_json_string, LITERAL("x\0y"), "\"x\\u0000y\"");
  expect_escaped(lumos_text_json_string, LITERAL("\xC3\xA9\xF0\x9F\x98\x80"), "\"\xC3\xA9\xF0\x9F\x98\x80\"");
}

#define REPLACED "\xEF\xBF\xBD"

static void invalid_utf8_is_replaced_everywhere(void **state) {
  (void)state;
  struct {
    const char *bytes;
    size_t length;
    const char *expected;
  } const cases[] = {
      {LITERAL("a\xFFz"), "a" REPLACED "z"},
      {LITERAL("\x80"), REPLACED},
      {LITERAL("\xC0\xAF"), REPLACED REPLACED},                           /* overlong '/' */
      {LITERAL("\xE0\x80\xAF"), REPLACED REPLACED REPLACED},              /* overlong again */
      {LITERAL("\xED\xA0\x80"), REPLACED REPLACED REPLACED},              /* a surrogate */
      {LITERAL("\xF4\x90\x80\x80"), REPLACED REPLACED REPLACED REPLACED}, /* above U+10FFFF */
      {LITERAL("\xE2\x82"), REPLACED REPLACED},                           /* cut */
      {LITERAL("\xC3"), REPLACED},
      {LITERAL("\xE2\x82\xAC"), "\xE2\x82\xAC"},
      {LITERAL("\xF4\x8F\xBF\xBD"), "\xF4\x8F\xBF\xBD"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char quoted[64];
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", cases[i].expected);
    expect_escaped(lumos_text_json_string, cases[i].bytes, cases[i].length, quoted);
    expect_escaped(lumos_text_script_string, cases[i].bytes, cases[i].length, quoted);
    expect_escaped(lumos_text_html, cases[i].bytes, cases[i].length, cases[i].expected);
  }
}

static void json_holds_nothing_that_a_terminal_obeys(void **state) {
  (void)state;
  expect_escaped(lumos_text_json_string, LITERAL("\x1b[0m\x7f\xC2\x9B"), "\"\\u001b[0m\\u007f\\u009b\"");
  expect_escaped(lumos_text_json_string, LITERAL("\xC2\xA0<&"), "\"\xC2\xA0<&\"");
}

static void what_is_printed_obeys_nothing_and_keeps_its_order(void **state) {
  (void)state;
  char text[] = "a\x1b[0m\xC2\x9B\xE2\x80\xAE\xE2\x80\xAC\xFF\xC2\xB5";
  lumos_utf8_make_printable(text, sizeof text - 1);
  assert_string_equal(text, "a?[0m??"
                            "???"
                            "???"
                            "?\xC2\xB5");
}

static void html_is_valid_in_text_and_attributes(void **state) {
  (void)state;
  expect_escaped(lumos_text_html, LITERAL("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  expect_escaped(lumos_text_html, LITERAL("a\tb\nc"), "a\tb\nc");
  expect_escaped(lumos_text_html, LITERAL("\x01\r\x7F"), REPLACED REPLACED REPLACED);
  expect_escaped(lumos_text_html, LITERAL("\0"), REPLACED);
  expect_escaped(lumos_text_html, LITERAL("\xC2\x9B\xEF\xBF\xBE"), REPLACED REPLACED); /* C1 CSI, U+FFFE */
  expect_escaped(lumos_text_html, LITERAL("\xC2\xA0\\"), "\xC2\xA0\\");
  /* U+202E turns what follows around up to U+202C, U+2066 begins an isolate that U+2069 ends, U+2028 a line */
  expect_escaped(lumos_text_html, LITERAL("\xE2\x80\xAE\xE2\x80\xAC\xE2\x81\xA6\xE2\x81\xA9\xE2\x80\xA8"),
                 REPLACED REPLACED REPLACED REPLACED REPLACED);
  /* U+2026 is an ellipsis, U+05D0 a Hebrew letter */
  expect_escaped(lumos_text_html, LITERAL("\xE2\x80\xA6\xD7\x90"), "\xE2\x80\xA6\xD7\x90");
}

static void script_strings_cannot_end_the_script(void **state) {
  (void)state;
  expect_escaped(lumos_text_script_string, LITERAL("</script>"), "\"\\u003c/script\\u003e\"");
  expect_escaped(lumos_text_script_string, LITERAL("<!--&"), "\"\\u003c!--\\u0026\"");
  expect_escaped(lumos_text_script_string, LITERAL("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xA7"),
                 "\"\\u2028\\u2029\xE2\x80\xA7\"");
  expect_escaped(lumos_text_script_string, LITERAL("a\"\\\n"), "\"a\\\"\\\\\\n\"");
  /* what HTML calls an error: DEL, a C1 control, noncharacters */
  expect_escaped(lumos_text_script_string, LITERAL("\x7f\xC2\x85\xEF\xBF\xBF\xF0\x9F\xBF\xBE"),
                 "\"\\u007f\\u0085\\uffff\\ud83f\\udffe\"");
}

static void format_appends(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "a");
  lumos_text_format(&text, "%d-%s", 7, "b");
  lumos_text_char(&text, 'c');
  expect_text(&text, LITERAL("a7-bc"));
  struct lumos_text wide = LUMOS_TEXT_BUFFER;
  lumos_text_format(&wide, "%5000d", 1);
  assert_int_equal(wide.length, 5000);
  lumos_text_free(&wide);
}

static void a_sink_gets_every_byte_in_bounded_memory(void **state) {
  (void)state;
  char *folder = unit_folder_new();
  char *path = unit_path(folder, "out");
  int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(descriptor >= 0);
  struct lumos_text text = LUMOS_TEXT_TO(descriptor);
  enum { LINES = 400000, LARGE = 3 << 20 };
  for (int i = 0; i < LINES; i++) {
    lumos_text_put(&text, "0123456789\n");
  }
  assert_true(text.capacity <= 1 << 20);
  char *large = malloc(LARGE);
  assert_non_null(large);
  memset(large, 'x', LARGE);
  lumos_text_add(&text, large, LARGE);
  free(large);
  lumos_text_put(&text, "end");
  assert_true(lumos_text_flush(&text));
  assert_true(text.capacity <= 1 << 20);
  off_t expected = (off_t)LINES * 11 + LARGE + 3;
  assert_int_equal(lseek(descriptor, 0, SEEK_END), expected);
  char tail[4] = "";
  assert_int_equal(pread(descriptor, tail, 4, expected - 4), 4);
  assert_memory_equal(tail, "xend", 4);
  lumos_text_free(&text);
  (void)close(descriptor);
  free(path);
  unit_folder_remove(folder);
}

static void a_sink_remembers_its_first_failure(void **state) {
  (void)state;
  int full = open("/dev/full", O_WRONLY);
  if (full < 0) {
    skip();
  }
  struct lumos_text text = LUMOS_TEXT_TO(full);
  lumos_text_put(&text, "x");
  assert_false(lumos_text_flush(&text));
  assert_int_equal(text.failure, ENOSPC);
  lumos_text_put(&text, "more");
  assert_int_equal(text.length, 0);
  assert_false(lumos_text_flush(&text));
  lumos_text_free(&text);
  (void)close(full);
}

static void a_closed_pipe_is_told_apart(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)close(ends[0]);
  struct lumos_text text = LUMOS_TEXT_TO(ends[1]);
  lumos_text_put(&text, "x");
  assert_false(lumos_text_flush(&text));
  assert_int_equal(text.failure, EPIPE);
  lumos_text_free(&text);
  (void)close(ends[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_are_written_to_the_edges),
      cmocka_unit_test(decimals_drop_trailing_zeros),
      cmocka_unit_test(json_strings_are_valid_json),
      cmocka_unit_test(invalid_utf8_is_replaced_everywhere),
      cmocka_unit_test(json_holds_nothing_that_a_terminal_obeys),
      cmocka_unit_test(what_is_printed_obeys_nothing_and_keeps_its_order),
      cmocka_unit_test(html_is_valid_in_text_and_attributes),
      cmocka_unit_test(script_strings_cannot_end_the_script),
      cmocka_unit_test(format_appends),
      cmocka_unit_test(a_sink_gets_every_byte_in_bounded_memory),
      cmocka_unit_test(a_sink_remembers_its_first_failure),
      cmocka_unit_test(a_closed_pipe_is_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
