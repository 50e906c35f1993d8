/* Both are one line of printable text at the end: control bytes become spaces, what is no UTF-8 becomes U+FFFD. */
#include "report/text/escape.h"

#include "base/utf8.h"
#include <ctype.h>
#include <string.h>

#define REPLACEMENT_CHARACTER "\xEF\xBF\xBD"

/* Adds the character at `bytes` if it is beyond ASCII or a control; returns its length, or 0 where it is neither. */
static size_t put_special(struct lumos_text *out, const char *bytes, size_t length) {
  unsigned char lead = (unsigned char)*bytes;
  if (lead >= ' ' && lead < 0x7F) {
    return 0;
  }
  uint32_t point = 0;
  size_t count = lumos_utf8_character(bytes, length, &point);
  if (count == 0 || lumos_utf8_reorders(point)) {
    lumos_text_put(out, REPLACEMENT_CHARACTER);
  } else if (point < ' ' || (point >= 0x7F && point < 0xA0)) {
    lumos_text_char(out, ' ');
  } else {
    lumos_text_add(out, bytes, count);
  }
  return count == 0 ? 1 : count;
}

static bool begins_with(const char *bytes, size_t length, const char *text) {
  size_t wanted = strlen(text);
  return length >= wanted && strncasecmp(bytes, text, wanted) == 0;
}

/* Between letters and digits an underline is no mark-up. */
static bool inside_word(const char *bytes, size_t length, size_t at) {
  return at > 0 && at + 1 < length && isalnum((unsigned char)bytes[at - 1]) && isalnum((unsigned char)bytes[at + 1]);
}

/* GitHub links addresses and tells people and issues by their mention, escaped or not: a comment inside breaks them
 * up. */
void report_put_markdown(struct lumos_text *out, const char *bytes, size_t length) {
  for (size_t i = 0; i < length;) {
    size_t special = put_special(out, bytes + i, length - i);
    if (special > 0) {
      i += special;
      continue;
    }
    char byte = bytes[i];
    bool before_word = i + 1 < length && isalnum((unsigned char)bytes[i + 1]);
    if (byte == '<' || byte == '>' || byte == '&') {
      lumos_text_html(out, &byte, 1);
    } else if ((byte == '@' || byte == '#') && before_word) {
      lumos_text_char(out, byte);
      lumos_text_put(out, "<!-- -->");
    } else if (begins_with(bytes + i, length - i, "://")) {
      lumos_text_put(out, "&#58;");
    } else if (byte == '.' && i >= 3 && begins_with(bytes + i - 3, 3, "www")) {
      lumos_text_put(out, "&#46;");
    } else {
      bool marks_up = strchr("\\`*_[]|~$", byte) != NULL && !(byte == '_' && inside_word(bytes, length, i));
      lumos_text_put(out, marks_up ? "\\" : "");
      lumos_text_char(out, byte);
    }
    i++;
  }
}

/* A spreadsheet takes what begins so for a formula; behind an apostrophe it is a text. */
static bool is_formula(const struct lumos_text *cell) {
  size_t first = 0;
  while (first < cell->length && cell->bytes[first] == ' ') {
    first++;
  }
  return first < cell->length && strchr("=+-@", cell->bytes[first]) != NULL;
}

void report_put_csv(struct lumos_text *out, const char *bytes, size_t length) {
  struct lumos_text cell = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < length;) {
    size_t special = put_special(&cell, bytes + i, length - i);
    if (special == 0) {
      lumos_text_char(&cell, bytes[i]);
    }
    i += special > 0 ? special : 1;
  }
  bool formula = is_formula(&cell);
  bool quoted = false;
  for (size_t i = 0; i < cell.length; i++) {
    quoted |= cell.bytes[i] == ',' || cell.bytes[i] == '"';
  }
  lumos_text_put(out, quoted ? "\"" : "");
  lumos_text_put(out, formula ? "'" : "");
  for (size_t i = 0; i < cell.length; i++) {
    lumos_text_put(out, cell.bytes[i] == '"' ? "\"" : "");
    lumos_text_char(out, cell.bytes[i]);
  }
  lumos_text_put(out, quoted ? "\"" : "");
  lumos_text_free(&cell);
}
