/* What parts of both pages write. */
#include "report/forms/page_parts.h"
#include "compare/page.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

const char *compare_page_suffix(const struct compare_page *page, size_t comparison) {
  static const char suffixes[LUMOS_COMPARE_JOBS][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                                       "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"};
  return compare_page_of_several(page) ? suffixes[comparison + 1] : "";
}

void compare_add_contents(const struct compare_page *page, const char *id, const char *name) {
  struct report_scope *item = report_section_item(report_model_root(page->model), "contents");
  report_set_text(item, "id", id);
  report_set_text(item, "name", name);
}

struct report_scope *compare_add_tile(struct report_scope *root, const char *label, struct lumos_text *figure,
                                      struct lumos_text *evidence) {
  struct report_scope *item = report_section_item(root, "tiles");
  report_set_text(item, "label", label);
  report_set_take(item, "figure", figure);
  report_set_take(item, "evidence", evidence);
  return item;
}

void compare_put_signed(struct lumos_text *out, int64_t time) {
  lumos_text_put(out, time > 0 ? "+" : "");
  report_put_time(out, time);
}

void compare_put_difference_evidence(const struct lumos_comparison *comparison, struct lumos_text *out) {
  const struct lumos_compared_job *a = &comparison->jobs[0], *b = &comparison->jobs[1];
  if (a->step > 0 && b->step != a->step) {
    report_put_share(out, report_share(llabs(b->step - a->step), a->step));
    lumos_text_format(out, " %s than %s. ", b->step < a->step ? "less" : "more", comparison->names[0]);
  }
  if (comparison->one_recording) {
    lumos_text_put(out, "No noise: simulated from one recording");
  } else if (comparison->noise == LUMOS_ABSENT) {
    lumos_text_put(out, "Noise floor unknown");
  } else {
    lumos_text_put(out, "Noise floor ");
    report_put_time(out, comparison->noise);
  }
}

void compare_set_verdict(const struct compare_page *page, struct report_scope *root, struct lumos_text *verdict) {
  enum { LONGEST = 300 };
  const char *title = page->options->title;
  report_section_if(root, "has_title", title != NULL);
  report_set(root, "verdict", verdict->bytes, verdict->length);
  if (title != NULL) {
    verdict->length = 0;
    report_put_cut(verdict, title, strlen(title), LONGEST);
  }
  report_set_take(root, "title", verdict);
}
