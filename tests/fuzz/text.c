/* Fuzzer: any bytes as text that is written. Where it stands (a JSON string, HTML, JSON within a script, Markdown, a
 * field of CSV) nothing of it ends that place or steers a terminal, and JSON decodes to what was written.
 */
#include "fuzz.h"

#include "base/json.h"
#include "report/text/escape.h"

/* No control bytes, nothing of `forbidden`, valid UTF-8. */
static void expect_tame(const struct lumos_text *text, const char *forbidden, const char *where) {
  fuzz_expect_utf8(text->bytes, text->length, where);
  for (size_t i = 0; i < text->length; i++) {
    unsigned char byte = (unsigned char)text->bytes[i];
    bool control = byte < 0x20 && byte != '\t' && byte != '\n';
    if (control || byte == 0x7F || strchr(forbidden, byte) != NULL) {
      fuzz_fail("text is escaped for its place", where);
    }
    bool control_of_two = byte == 0xC2 && i + 1 < text->length && (unsigned char)text->bytes[i + 1] < 0xA0;
    if (control_of_two) {
      fuzz_fail("no control reaches a terminal", where);
    }
  }
}

/* What the string in `text` decodes to, written again, is the same. */
static void expect_fixed_point(const struct lumos_text *text) {
  struct lumos_text whole = LUMOS_TEXT_BUFFER;
  struct lumos_text again = LUMOS_TEXT_BUFFER;
  struct lumos_slice slice;
  lumos_text_add(&whole, text->bytes, text->length);
  lumos_text_char(&whole, '\0');
  const char *cursor = whole.bytes;
  if (!lumos_json_string(&cursor, &slice) || cursor != whole.bytes + text->length) {
    fuzz_fail("a string that is written is a string", whole.bytes);
  }
  char *decoded = malloc(slice.length > 0 ? slice.length : 1);
  size_t length = lumos_json_decode(&slice, decoded, NULL);
  lumos_text_json_string(&again, decoded, length);
  fuzz_expect_same(text, &again, "a string written, read and written is the same bytes");
  free(decoded);
  lumos_text_free(&again);
  lumos_text_free(&whole);
}

/* One field, no formula: as a spreadsheet takes it, and without the quotes around it and the spaces before it. */
static void expect_field(const struct lumos_text *text) {
  bool quoted = text->length > 0 && text->bytes[0] == '"';
  size_t quotes = 0;
  bool comma = false;
  for (size_t i = 0; i < text->length; i++) {
    quotes += text->bytes[i] == '"';
    comma |= text->bytes[i] == ',';
  }
  if ((!quoted && (comma || quotes > 0)) || quotes % 2 != 0) {
    fuzz_fail("a field of CSV is one field", "CSV");
  }
  size_t first = quoted ? 1 : 0;
  while (first < text->length && text->bytes[first] == ' ') {
    first++;
  }
  if (first < text->length && strchr("=+-@", text->bytes[first]) != NULL) {
    fuzz_fail("a field of CSV is no formula", "CSV");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_text json = LUMOS_TEXT_BUFFER;
  struct lumos_text html = LUMOS_TEXT_BUFFER;
  struct lumos_text script = LUMOS_TEXT_BUFFER;
  struct lumos_text markdown = LUMOS_TEXT_BUFFER;
  struct lumos_text csv = LUMOS_TEXT_BUFFER;
  lumos_text_json_string(&json, (const char *)data, size);
  lumos_text_html(&html, (const char *)data, size);
  lumos_text_script_string(&script, (const char *)data, size);
  report_put_markdown(&markdown, (const char *)data, size);
  report_put_csv(&csv, (const char *)data, size);
  expect_tame(&json, "\n\t", "a JSON string");
  expect_tame(&html, "<>\"'", "HTML");
  expect_tame(&script, "<>&\n\t", "JSON within a script");
  expect_tame(&markdown, "\n\t", "Markdown");
  expect_tame(&csv, "\n\t", "CSV");
  expect_fixed_point(&json);
  expect_field(&csv);
  lumos_text_free(&json);
  lumos_text_free(&html);
  lumos_text_free(&script);
  lumos_text_free(&markdown);
  lumos_text_free(&csv);
  return 0;
}
