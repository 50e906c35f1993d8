/* Text out. Escaping works in runs: bytes that need nothing are found by a table and copied at once. */
#include "base/text.h"

#include "base/digits.h"
#include "base/utf8.h"
#include <errno.h>
#include <lumos/memory.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With a sink: flushed at this size. Large enough that a write costs little, small enough to stay in the cache. */
enum { FLUSH_AT = 256 * 1024 };

#define REPLACEMENT_CHARACTER "\xEF\xBF\xBD"

void lumos_text_free(struct lumos_text *text) {
  free(text->bytes);
  text->bytes = NULL;
  text->length = 0;
  text->capacity = 0;
}

static void write_all(struct lumos_text *text, const char *bytes, size_t length) {
  if (text->filter != NULL) {
    text->failure = text->failure != 0 ? text->failure : text->filter(text->filtering, bytes, length);
    return;
  }
  while (length > 0 && text->failure == 0) {
    ssize_t written = write(text->descriptor, bytes, length);
    if (written < 0) {
      if (errno != EINTR) {
        text->failure = errno;
      }
      continue;
    }
    bytes += written;
    length -= (size_t)written;
  }
}

static void flush(struct lumos_text *text) {
  if (text->descriptor >= 0) {
    write_all(text, text->bytes, text->length);
    text->length = 0;
  }
}

bool lumos_text_flush(struct lumos_text *text) {
  flush(text);
  return text->failure == 0;
}

/* Room for `extra` bytes behind text->length; with a sink the buffer is flushed when it is full. */
static void make_room(struct lumos_text *text, size_t extra) {
  if (text->descriptor >= 0 && text->length > 0 && text->length + extra > FLUSH_AT) {
    flush(text);
  }
  size_t needed = 0;
  if (__builtin_add_overflow(text->length, extra, &needed)) {
    needed = SIZE_MAX;
  }
  if (needed > text->capacity) {
    size_t larger = text->capacity < 512 ? 1024 : text->capacity * 2;
    text->capacity = larger < needed ? needed : larger;
    text->bytes = lumos_reallocate(text->bytes, text->capacity, 1);
  }
}

char *lumos_text_room(struct lumos_text *text, size_t extra) {
  if (text->capacity - text->length < extra || text->length >= FLUSH_AT) {
    make_room(text, extra);
  }
  return text->bytes + text->length;
}

void lumos_text_add(struct lumos_text *text, const char *bytes, size_t length) {
  if (text->failure != 0 || length == 0) {
    return;
  }
  if (text->descriptor >= 0 && length >= FLUSH_AT) {
    flush(text);
    write_all(text, bytes, length);
    return;
  }
  if (text->capacity - text->length < length || text->length >= FLUSH_AT) {
    make_room(text, length);
  }
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
}

void lumos_text_put(struct lumos_text *text, const char *nul_terminated) {
  lumos_text_add(text, nul_terminated, strlen(nul_terminated));
}

void lumos_text_char(struct lumos_text *text, char byte) { lumos_text_add(text, &byte, 1); }

void lumos_text_format(struct lumos_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length > 0 && text->failure == 0) {
    make_room(text, (size_t)length + 1);
    (void)vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
}

/* The decimal digits of `magnitude`, right-aligned before `end`; returns their start. At least one digit. */
static char *digits_before(char *end, uint64_t magnitude) {
  do {
    *--end = (char)('0' + magnitude % 10);
    magnitude /= 10;
  } while (magnitude > 0);
  return end;
}

static uint64_t magnitude_of(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

void lumos_text_integer(struct lumos_text *text, int64_t value) {
  char *out = lumos_text_room(text, 1 + LUMOS_DIGITS_WRITTEN);
  text->length = (size_t)(lumos_integer_write(out, value) - text->bytes);
}

void lumos_text_decimal(struct lumos_text *text, int64_t units, int decimals) {
  char buffer[48];
  char *end = buffer + sizeof buffer;
  uint64_t magnitude = magnitude_of(units);
  while (decimals > 0 && magnitude % 10 == 0) {
    magnitude /= 10;
    decimals--;
  }
  char *start = end;
  if (decimals > 0) {
    for (int i = 0; i < decimals; i++) {
      *--start = (char)('0' + magnitude % 10);
      magnitude /= 10;
    }
    *--start = '.';
  }
  start = digits_before(start, magnitude);
  if (units < 0) {
    *--start = '-';
  }
  lumos_text_add(text, start, (size_t)(end - start));
}

/* Which bytes a form must look at; all others are copied as they are. */
enum { IN_JSON = 1, IN_HTML = 2, IN_SCRIPT = 4 };

#define CONTROL (IN_JSON | IN_HTML | IN_SCRIPT)

static bool needs_care(unsigned char byte, unsigned forms) {
  static const unsigned char care[128] = {
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      IN_JSON | IN_SCRIPT,
      IN_JSON | IN_SCRIPT,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      CONTROL,
      ['"'] = IN_JSON | IN_HTML | IN_SCRIPT,
      ['\\'] = IN_JSON | IN_SCRIPT,
      ['<'] = IN_HTML | IN_SCRIPT,
      ['>'] = IN_HTML | IN_SCRIPT,
      ['&'] = IN_HTML | IN_SCRIPT,
      ['\''] = IN_HTML,
      [0x7F] = CONTROL,
  };
  return byte >= 0x80 || (care[byte] & forms) != 0;
}

static void add_unicode_escape(struct lumos_text *text, uint32_t point) {
  if (point > 0xFFFF) { /* a surrogate pair */
    add_unicode_escape(text, 0xD7C0 + (point >> 10U));
    point = 0xDC00 + (point & 0x3FFU);
  }
  static const char hex[] = "0123456789abcdef";
  char escape[6] = {
      '\\', 'u', hex[point >> 12U & 15U], hex[point >> 8U & 15U], hex[point >> 4U & 15U], hex[point & 15U]};
  lumos_text_add(text, escape, sizeof escape);
}

static void add_json_ascii(struct lumos_text *text, unsigned char byte) {
  switch (byte) {
    case '"':
      lumos_text_put(text, "\\\"");
      break;
    case '\\':
      lumos_text_put(text, "\\\\");
      break;
    case '\n':
      lumos_text_put(text, "\\n");
      break;
    case '\r':
      lumos_text_put(text, "\\r");
      break;
    case '\t':
      lumos_text_put(text, "\\t");
      break;
    default: /* control bytes, and < > & in a script */
      add_unicode_escape(text, byte);
  }
}

static void add_html_ascii(struct lumos_text *text, unsigned char byte) {
  switch (byte) {
    case '&':
      lumos_text_put(text, "&amp;");
      break;
    case '<':
      lumos_text_put(text, "&lt;");
      break;
    case '>':
      lumos_text_put(text, "&gt;");
      break;
    case '"':
      lumos_text_put(text, "&quot;");
      break;
    case '\'':
      lumos_text_put(text, "&#39;");
      break;
    default:
      lumos_text_put(text, REPLACEMENT_CHARACTER);
  }
}

/* Characters that HTML calls errors and XML forbids: C1 controls and noncharacters; and those that make a text read as
 * another. */
static bool forbidden_in_html(uint32_t point) {
  return point < 0xA0 || lumos_utf8_reorders(point) || (point >= 0xFDD0 && point <= 0xFDEF) ||
         (point & 0xFFFEU) == 0xFFFEU;
}

/* One character that needs care; returns its length in bytes. */
static size_t add_escaped(struct lumos_text *text, const char *bytes, size_t length, unsigned form) {
  unsigned char lead = (unsigned char)*bytes;
  if (lead < 0x80) {
    if (form == IN_HTML) {
      add_html_ascii(text, lead);
    } else {
      add_json_ascii(text, lead);
    }
    return 1;
  }
  uint32_t point = 0;
  size_t count = lumos_utf8_character(bytes, length, &point);
  if (count == 0 || (form == IN_HTML && forbidden_in_html(point))) {
    lumos_text_put(text, REPLACEMENT_CHARACTER);
    return count == 0 ? 1 : count;
  }
  bool c1_control = point < 0xA0; /* a terminal may obey it */
  if (c1_control || (form == IN_SCRIPT && forbidden_in_html(point))) {
    add_unicode_escape(text, point);
  } else {
    lumos_text_add(text, bytes, count);
  }
  return count;
}

static void add_form(struct lumos_text *text, const char *bytes, size_t length, unsigned form) {
  size_t run = 0;
  size_t place = 0;
  while (place < length) {
    if (!needs_care((unsigned char)bytes[place], form)) {
      place++;
      continue;
    }
    lumos_text_add(text, bytes + run, place - run);
    place += add_escaped(text, bytes + place, length - place, form);
    run = place;
  }
  if (place > run) {
    lumos_text_add(text, bytes + run, place - run);
  }
}

void lumos_text_valid_utf8(struct lumos_text *text, const char *bytes, size_t length) {
  for (size_t i = 0; i < length;) {
    uint32_t point = 0;
    size_t count = lumos_utf8_character(bytes + i, length - i, &point);
    if (count == 0 || point == 0) {
      lumos_text_put(text, REPLACEMENT_CHARACTER);
    } else {
      lumos_text_add(text, bytes + i, count);
    }
    i += count == 0 ? 1 : count;
  }
}

void lumos_text_json_string(struct lumos_text *text, const char *bytes, size_t length) {
  lumos_text_char(text, '"');
  add_form(text, bytes, length, IN_JSON);
  lumos_text_char(text, '"');
}

void lumos_text_html(struct lumos_text *text, const char *bytes, size_t length) {
  add_form(text, bytes, length, IN_HTML);
}

void lumos_text_script_string(struct lumos_text *text, const char *bytes, size_t length) {
  lumos_text_char(text, '"');
  add_form(text, bytes, length, IN_SCRIPT);
  lumos_text_char(text, '"');
}
