/* Cutting, folding and hiding names. */
#include "report/names.h"

#include "base/utf8.h"
#include <lumos/memory.h>
#include <string.h>

enum { PRIVATE_LEAST = 3 };

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

LUMOS_VECTOR_TYPE(string_ids, lumos_string_id);

static void add_private(struct string_ids *found, const struct lumos_job *job, lumos_string_id id) {
  if (lumos_string_length(job->strings, id) >= PRIVATE_LEAST) {
    lumos_vector_push(found, id);
  }
}

static bool is_word(const char *bytes, size_t length, size_t at) {
  if (at >= length) {
    return false;
  }
  char byte = bytes[at];
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

/* The longest private string that stands at `at` as whole words; 0: none. */
static size_t private_at(const struct string_ids *found, const struct lumos_job *job, const char *bytes, size_t length,
                         size_t at) {
  size_t longest = 0;
  if (at > 0 && is_word(bytes, length, at - 1) && is_word(bytes, length, at)) {
    return 0;
  }
  for (size_t i = 0; i < found->count; i++) {
    size_t size = lumos_string_length(job->strings, found->items[i]);
    bool stands = size > longest && size <= length - at &&
                  memcmp(bytes + at, lumos_string(job->strings, found->items[i]), size) == 0 &&
                  !(is_word(bytes, length, at + size - 1) && is_word(bytes, length, at + size));
    longest = stands ? size : longest;
  }
  return longest;
}

void report_put_private(struct lumos_text *out, const struct lumos_job *job, const char *bytes, size_t length) {
  struct string_ids found = {0};
  for (size_t i = 0; i < job->ranks.count; i++) {
    add_private(&found, job, job->ranks.items[i].host);
    add_private(&found, job, job->ranks.items[i].source);
  }
  for (size_t i = 0; i < job->inputs.count; i++) {
    add_private(&found, job, job->inputs.items[i]);
  }
  /* A name that the end cuts in two is not recognised: what is read reaches twice as far as what is shown. */
  size_t read = length < 2 * (size_t)REPORT_LONG ? length : 2 * (size_t)REPORT_LONG;
  struct lumos_text shown = LUMOS_TEXT_BUFFER;
  size_t copied = 0;
  for (size_t at = 0; at < read;) {
    size_t hidden = private_at(&found, job, bytes, length, at);
    if (hidden == 0) {
      at++;
      continue;
    }
    lumos_text_add(&shown, bytes + copied, at - copied);
    lumos_text_put(&shown, "(input)");
    at += hidden;
    copied = at;
  }
  lumos_text_add(&shown, bytes + copied, copied < length ? length - copied : 0);
  report_put_cut(out, shown.bytes == NULL ? "" : shown.bytes, shown.length, REPORT_LONG);
  lumos_text_free(&shown);
  lumos_vector_free(&found);
}
