/* Names in Markdown and CSV: what cmark-gfm and a spreadsheet are given, worked out by hand. */
#include "unit/unit.h"

#include "report/text/escape.h"

typedef void escaper(struct lumos_text *out, const char *bytes, size_t length);

static void expect(escaper *escape, const char *name, size_t length, const char *wanted) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  escape(&out, name, length);
  lumos_text_char(&out, '\0');
  assert_string_equal(out.bytes, wanted);
  lumos_text_free(&out);
}

static void markdown(void **state) {
  (void)state;
  escaper *escape = report_put_markdown;
  expect(escape, LITERAL(""), "");
  expect(escape, LITERAL("aten::mm (2 of 3) + 4 - 5 = 6.5 %"), "aten::mm (2 of 3) + 4 - 5 = 6.5 %");
  expect(escape, LITERAL("f<int, 4>(a & b)"), "f&lt;int, 4&gt;(a &amp; b)");
  expect(escape, LITERAL("a|b\\|c"), "a\\|b\\\\\\|c");
  expect(escape, LITERAL("**b** `c` ~d~ [e](f) $g$"), "\\*\\*b\\*\\* \\`c\\` \\~d\\~ \\[e\\](f) \\$g\\$");
  expect(escape, LITERAL("all_reduce _x_ mul_ __init__"), "all_reduce \\_x\\_ mul\\_ \\_\\_init\\_\\_");
  expect(escape, LITERAL("@octocat me@host @ #12 # x"), "@<!-- -->octocat me@<!-- -->host @ #<!-- -->12 # x");
  expect(escape, LITERAL("https://a.b WWW.a.b std::x"), "https&#58;//a.b WWW&#46;a.b std::x");
  expect(escape, LITERAL("one\ntwo\r\n\tthree\x1b[31m\x7f\xC2\x9B"), "one two   three \\[31m  ");
  expect(escape,
         LITERAL("a\xE2\x80\xAE"
                 "b\xE2\x80\xA9"),
         "a\xEF\xBF\xBD"
         "b\xEF\xBF\xBD");
  expect(escape, LITERAL("\xff\xC3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  expect(escape, LITERAL("\xC2\xB5s\xC2\xA0\xE4\xB8\xAD"), "\xC2\xB5s\xC2\xA0\xE4\xB8\xAD");
}

static void csv(void **state) {
  (void)state;
  escaper *escape = report_put_csv;
  expect(escape, LITERAL(""), "");
  expect(escape, LITERAL("step_time"), "step_time");
  expect(escape, LITERAL("a,b"), "\"a,b\"");
  expect(escape, LITERAL("say \"x\""), "\"say \"\"x\"\"\"");
  expect(escape, LITERAL("=1+1"), "'=1+1");
  expect(escape, LITERAL("+1"), "'+1");
  expect(escape, LITERAL("-1"), "'-1");
  expect(escape, LITERAL("@SUM(A1)"), "'@SUM(A1)");
  expect(escape, LITERAL("\t=1"), "' =1"); /* a tab before it helps it past some */
  expect(escape, LITERAL("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
  expect(escape, LITERAL("a\nb\x1b"), "a b ");
  expect(escape, LITERAL("a=b"), "a=b");
  expect(escape, LITERAL("\xff"), "\xEF\xBF\xBD");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(markdown), cmocka_unit_test(csv)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
