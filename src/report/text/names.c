/* Cutting and folding names. */
#include "report/text/names.h"

#include "base/utf8.h"
#include <string.h>

#define ELLIPSIS "\xE2\x80\xA6"

/* The bytes of whole characters in the first `limit` bytes. */
static size_t whole_characters(const char *bytes, size_t length, size_t limit) {
  size_t end = 0;
  while (end < length) {
    uint32_t point = 0;
    size_t step = lumos_utf8_character(bytes + end, length - end, &point);
    step = step == 0 ? 1 : step;
    if (end + step > limit) {
      break;
    }
    end += step;
  }
  return end;
}

void report_put_cut(struct lumos_text *out, const char *bytes, size_t length, size_t limit) {
  size_t kept = whole_characters(bytes, length, limit);
  lumos_text_add(out, bytes, kept);
  if (kept < length) {
    lumos_text_put(out, ELLIPSIS);
  }
}

/* The return type says nothing: void at::native::... */
static size_t uninformative(const char *bytes, size_t length) {
  static const char prefix[] = "void ";
  size_t skipped = sizeof prefix - 1;
  return length > skipped && memcmp(bytes, prefix, skipped) == 0 ? skipped : 0;
}

void report_put_name(struct lumos_text *out, const char *bytes, size_t length) {
  size_t skipped = uninformative(bytes, length);
  if (length - skipped <= REPORT_SHORT) {
    lumos_text_html(out, bytes + skipped, length - skipped);
    return;
  }
  struct lumos_text cut = LUMOS_TEXT_BUFFER;
  lumos_text_put(out, "<details><summary>");
  report_put_cut(&cut, bytes + skipped, length - skipped, REPORT_SHORT);
  lumos_text_html(out, cut.bytes, cut.length);
  lumos_text_put(out, "</summary>");
  cut.length = 0;
  report_put_cut(&cut, bytes, length, REPORT_LONG);
  lumos_text_html(out, cut.bytes, cut.length);
  lumos_text_put(out, "</details>");
  lumos_text_free(&cut);
}
