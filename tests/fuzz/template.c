/* Fuzzer: any bytes as a template, over one model. The output is bounded by template times values, a fault is told, and
 * the same template gives the same bytes.
 */
#include "fuzz.h"

#include "report/text/template.h"

enum { ITEMS = 3, LONGEST_VALUE = 8, ESCAPED = 6 /* "&quot;" */ };

/* Sections in sections, each of ITEMS items; how many scopes there are is what a template can repeat. */
static int fill(struct report_scope *scope, int depth) {
  static const char *const sections[] = {"outer", "inner", "innermost"};
  report_set_text(scope, "value", depth % 2 == 0 ? "<&\"'>" : "plain");
  report_set_text(scope, "empty", "");
  report_section(scope, "none");
  report_section_if(scope, "shown", true);
  int scopes = 2;
  for (int i = 0; depth < 3 && i < ITEMS; i++) {
    scopes += fill(report_section_item(scope, sections[depth]), depth + 1);
  }
  return scopes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct report_model *model = report_model_new();
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_text again = LUMOS_TEXT_BUFFER;
  size_t scopes = (size_t)fill(report_model_root(model), 0);
  bool good = report_template_render("t", (const char *)data, size, model, lumos_text_html, &out, &error);
  if (!good) {
    fuzz_expect_reason(&error);
  }
  if (out.length > scopes * size * LONGEST_VALUE * ESCAPED) {
    fuzz_fail("a page is bounded by template times values", "it is longer");
  }
  if (report_template_render("t", (const char *)data, size, model, lumos_text_html, &again, &error) != good) {
    fuzz_fail("rendering twice is rendering once", "one of the two fails");
  }
  fuzz_expect_same(&out, &again, "rendering twice is rendering once");
  lumos_text_free(&again);
  lumos_text_free(&out);
  report_model_free(model);
  return 0;
}
