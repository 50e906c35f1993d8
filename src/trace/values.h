/* Values of the kinds that nearly all are of (plain strings, unsigned integers, decimals without exponent), read eight
 * bytes at a time; everything else is left to the tokenizer, which says what is right. The text must lie in a window,
 * which can be read beyond its end (see window.h).
 */
#ifndef LUMOS_TRACE_VALUES_H
#define LUMOS_TRACE_VALUES_H

#include "base/digits.h"
#include "base/json.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TRACE_ALL_BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Where the lowest byte with its high bit set lies; `marks` is not 0. */
static inline unsigned trace_first_mark(uint64_t marks) { return (unsigned)__builtin_ctzll(marks) / 8; }

/* As lumos_json_string. */
static inline bool trace_read_string(const char **cursor, struct lumos_slice *out) {
  const char *start = *cursor + 1;
  const char *place = start;
  uint64_t marks = 0;
  for (;;) {
    /* Marked are control bytes, quotes, backslashes and all beyond ASCII (twice or thrice); others only above one of
     * these. */
    uint64_t word = lumos_load_eight(place);
    uint64_t quotes = (word ^ TRACE_ALL_BYTES('"')) - TRACE_ALL_BYTES(1);
    uint64_t escapes = (word ^ TRACE_ALL_BYTES('\\')) - TRACE_ALL_BYTES(1);
    marks = ((word - TRACE_ALL_BYTES(' ')) | quotes | escapes) & TRACE_ALL_BYTES(0x80);
    if (marks != 0) {
      break;
    }
    place += sizeof word;
  }
  place += trace_first_mark(marks);
  if (*place != '"' || **cursor != '"') {
    return lumos_json_string(cursor, out);
  }
  *out = (struct lumos_slice){start, (size_t)(place - start), false, false};
  *cursor = place + 1;
  return true;
}

/* How many digits begin eight bytes that were xored with zeros. */
static inline unsigned trace_count_digits(uint64_t digits) {
  uint64_t marks = ((digits + TRACE_ALL_BYTES(0x80 - 10)) | digits) & TRACE_ALL_BYTES(0x80);
  return marks == 0 ? 8 : trace_first_mark(marks);
}

static inline bool trace_ends_integer(const char *end) { return *end != '.' && (*end | 0x20) != 'e'; }

/* Behind the integer without a sign at `place`; NULL: something else stands there. */
static inline const char *trace_integer_end(const char *place) {
  const char *end = place;
  unsigned count = 0;
  do {
    count = trace_count_digits(lumos_load_eight(end) ^ TRACE_ALL_BYTES('0'));
    end += count;
  } while (count == 8);
  bool good = end != place && (*place != '0' || end == place + 1) && trace_ends_integer(end);
  return good ? end : NULL;
}

/* An integer of less than 16 digits and no sign; false where anything else stands, and nothing is read. */
static inline bool trace_read_natural(const char **cursor, int64_t *out) {
  uint64_t value = 0;
  unsigned count = lumos_digits_read(*cursor, &value);
  if (count == LUMOS_DIGITS_READ) {
    return false;
  }
  const char *end = *cursor + count;
  if (count == 0 || (**cursor == '0' && count > 1) || !trace_ends_integer(end)) {
    return false;
  }
  *out = (int64_t)value;
  *cursor = end;
  return true;
}

/* As lumos_json_scaled; `scale` is at most 8. */
static inline bool trace_read_decimal(const char **cursor, unsigned scale, int64_t *out) {
  static const uint64_t power_of_ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const char *place = *cursor;
  uint64_t value = 0;
  uint64_t more = 0;
  unsigned count = lumos_digits_read(place, &value);
  place += count;
  unsigned decimals = 0;
  if (*place == '.') {
    decimals = lumos_digits_of_eight(lumos_load_eight(place + 1), &more);
    value = value * power_of_ten[decimals] + more;
    place += 1 + decimals;
    count = count == 0 || decimals == 0 || decimals > scale ? 0 : count + decimals;
  }
  /* Of 19 digits none was lost; one more may follow those that were read. */
  bool digit_follows = *place >= '0' && *place <= '9';
  uint64_t scaled = 0;
  if (count == 0 || count > 19 || digit_follows || !trace_ends_integer(place) ||
      (**cursor == '0' && place != *cursor + 1 && (*cursor)[1] != '.') ||
      __builtin_mul_overflow(value, power_of_ten[scale - decimals], &scaled) || scaled > INT64_MAX) {
    return lumos_json_scaled(cursor, (int)scale, out);
  }
  *out = (int64_t)scaled;
  *cursor = place;
  return true;
}

/* As lumos_json_skip. */
static inline bool trace_skip(const char **cursor) {
  struct lumos_slice string;
  const char *end = **cursor == '"' ? NULL : trace_integer_end(*cursor);
  if (end != NULL) {
    *cursor = end;
    return true;
  }
  return **cursor == '"' ? trace_read_string(cursor, &string) : lumos_json_skip(cursor, NULL);
}

#endif
