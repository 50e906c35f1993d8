/* The template engine: escaping, sections, and every way to be wrong. */
#include "report/text/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct report_model *make_model(void) {
  struct report_model *model = report_model_new();
  struct report_scope *root = report_model_root(model);
  report_set_text(root, "title", "a<b & \"c\"");
  report_set_text(root, "mark", "{{title}}");
  report_section(root, "empty");
  for (int i = 0; i < 3; i++) {
    char digit[2] = {(char)('1' + i), '\0'};
    struct report_scope *item = report_section_item(root, "items");
    report_set_text(item, "n", digit);
    report_section_if(item, "odd", i % 2 == 0);
  }
  return model;
}

static void expect_page(const char *template, const char *wanted) {
  struct report_model *model = make_model();
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(report_template_render("t", template, strlen(template), model, lumos_text_html, &out, &error));
  lumos_text_char(&out, '\0');
  assert_string_equal(out.bytes, wanted);
  lumos_text_free(&out);
  report_model_free(model);
}

static void expect_failure(const char *template, const char *part) {
  struct report_model *model = make_model();
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_false(report_template_render("t", template, strlen(template), model, lumos_text_html, &out, &error));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  if (strstr(error.text, part) == NULL) {
    fail_msg("\"%s\" does not say \"%s\"", error.text, part);
  }
  lumos_text_free(&out);
  report_model_free(model);
}

static void values(void **state) {
  (void)state;
  expect_page("", "");
  expect_page("{ } } {", "{ } } {");
  expect_page("<h1>{{title}}</h1>", "<h1>a&lt;b &amp; &quot;c&quot;</h1>");
  expect_page("{{{title}}}", "a<b & \"c\"");
  expect_page("{{mark}}", "{{title}}"); /* what a value holds is not a template */
}

static void sections(void **state) {
  (void)state;
  expect_page("{{#items}}{{n}}{{#odd}}!{{/odd}},{{/items}}", "1!,2,3!,");
  expect_page("[{{#empty}}x{{/empty}}]", "[]");
  expect_page("{{#items}}{{{title}}}{{/items}}", "a<b & \"c\"a<b & \"c\"a<b & \"c\"");
}

static void faults(void **state) {
  (void)state;
  expect_failure("ab{{nothing}}", "t: byte 2: an unknown name \"nothing\"");
  expect_failure("{{items}}", "an unknown name \"items\"");
  expect_failure("{{#title}}{{/title}}", "an unknown section \"title\"");
  expect_failure("abc{{title", "t: byte 3: a tag that does not end");
  expect_failure("{{{title}}", "a tag that does not end");
  expect_failure("{{#items}}x", "t: byte 0: a section without an end: \"items\"");
  expect_failure("x{{/items}}", "t: byte 1: the end of a section that is not open: \"items\"");
  expect_failure("{{#items}}{{/empty}}", "the end of another section");
  expect_failure("{{#items}}{{#items}}{{/items}}{{/items}}",
                 "an unknown section \"items\""); /* no sections of outer scopes */
}

static void depth(void **state) {
  (void)state;
  struct report_model *model = report_model_new();
  struct report_scope *scope = report_model_root(model);
  for (int i = 0; i < 20; i++) {
    scope = report_section_item(scope, "deeper");
  }
  struct lumos_text template = LUMOS_TEXT_BUFFER;
  for (int i = 0; i < 20; i++) {
    lumos_text_put(&template, "{{#deeper}}");
  }
  for (int i = 0; i < 20; i++) {
    lumos_text_put(&template, "{{/deeper}}");
  }
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_false(report_template_render("t", template.bytes, template.length, model, lumos_text_html, &out, &error));
  assert_non_null(strstr(error.text, "nested too deep"));
  lumos_text_free(&template);
  lumos_text_free(&out);
  report_model_free(model);
}

static void files(void **state) {
  (void)state;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct report_source source;
  assert_false(report_template_load("/nowhere/at/all", "report.html", &source, &error));
  assert_non_null(strstr(error.text, "/nowhere/at/all: no such folder"));
  assert_false(report_template_load(NULL, "other.html", &source, &error));

  char folder[] = "/tmp/lumos-template-XXXXXX";
  assert_non_null(mkdtemp(folder));
  assert_true(report_template_load(folder, "style.css", &source, &error)); /* missing there: the one compiled in */
  assert_null(source.owned);
  assert_true(source.length > 0);
  char path[64];
  (void)snprintf(path, sizeof path, "%s/style.css", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  (void)fputs("body{}", file);
  assert_int_equal(fclose(file), 0);
  assert_true(report_template_load(folder, "style.css", &source, &error));
  assert_int_equal(source.length, 6);
  assert_memory_equal(source.bytes, "body{}", 6);
  report_template_release(&source);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(sections), cmocka_unit_test(faults),
                                     cmocka_unit_test(depth), cmocka_unit_test(files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
