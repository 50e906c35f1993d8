/* The tokenizer: plain loops over bytes that a sentinel ends. Most strings in a trace are three bytes long, so wide
 * loads would cost more than they save (and would read beyond the sentinel); a table of byte classes is the whole
 * trick.
 */
#include "base/json.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include <string.h>

static inline const char *after_blank(const char *place) {
  while (*place == ' ' || *place == '\n' || *place == '\r' || *place == '\t') {
    place++;
  }
  return place;
}

const char *lumos_json_blank(const char *cursor) { return after_blank(cursor); }

/* In this order a comparison tells what a walk passes by (up to SEPARATOR) and what may stand behind a string (BLANK to
 * CLOSING). */
enum byte_class { PLAIN, BLANK, SEPARATOR, CLOSING, QUOTE, OPENING, ESCAPE, FORBIDDEN };

#define EIGHT(value) value, value, value, value, value, value, value, value

static const unsigned char class_of[256] = {
    EIGHT(FORBIDDEN),
    FORBIDDEN,
    BLANK,
    BLANK,
    FORBIDDEN,
    FORBIDDEN,
    BLANK,
    FORBIDDEN,
    FORBIDDEN,
    EIGHT(FORBIDDEN),
    EIGHT(FORBIDDEN),
    [' '] = BLANK,
    [','] = SEPARATOR,
    [':'] = SEPARATOR,
    ['"'] = QUOTE,
    ['\\'] = ESCAPE,
    ['['] = OPENING,
    ['{'] = OPENING,
    [']'] = CLOSING,
    ['}'] = CLOSING,
};

/* What ends the inner loop over a string: quote, backslash, control bytes, and all beyond ASCII. */
#define THIRTY_TWO(value) EIGHT(value), EIGHT(value), EIGHT(value), EIGHT(value)
static const bool ends_string_run[256] = {
    THIRTY_TWO(true), ['"'] = true,     ['\\'] = true,    [128] = THIRTY_TWO(true),
    THIRTY_TWO(true), THIRTY_TWO(true), THIRTY_TWO(true),
};

/* The closing quote of the string whose first byte is `place`; NULL at a fault, with *fault set. */
static inline const char *string_end(const char *place, struct lumos_slice *out, const char **fault) {
  out->escaped = false;
  out->wide = false;
  for (;;) {
    while (!ends_string_run[(unsigned char)*place]) {
      place++;
    }
    if (*place == '"') {
      return place;
    }
    if ((unsigned char)*place >= 0x80) {
      out->wide = true;
      place++;
      continue;
    }
    if (*place != '\\' || (unsigned char)place[1] < 0x20) {
      *fault = *place == '\\' ? place + 1 : place;
      return NULL;
    }
    out->escaped = true;
    place += 2;
  }
}

static inline bool read_string(const char **cursor, struct lumos_slice *out) {
  if (**cursor != '"') {
    return false;
  }
  const char *start = *cursor + 1;
  const char *end = string_end(start, out, cursor);
  if (end == NULL) {
    return false;
  }
  out->bytes = start;
  out->length = (size_t)(end - start);
  *cursor = end + 1;
  return true;
}

bool lumos_json_string(const char **cursor, struct lumos_slice *out) { return read_string(cursor, out); }

/* Four hex digits at `place` as a number, -1 when they are not. */
static int32_t hex_number(const char *place, const char *end) {
  int32_t value = 0;
  if (end - place < 4) {
    return -1;
  }
  for (int i = 0; i < 4; i++) {
    char byte = place[i];
    char lower = (char)(byte | 0x20);
    int32_t digit = lumos_is_digit(byte) ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

/* Decode \uXXXX (and the second half of a pair) at `place`, which stands behind the u; returns the byte behind it. */
static const char *decode_unicode(const char *place, const char *end, char **out, bool *good) {
  int32_t first = hex_number(place, end);
  if (first < 0) {
    *(*out)++ = '?';
    *good = false;
    return place;
  }
  place += 4;
  uint32_t point = (uint32_t)first;
  if (point >= 0xD800 && point < 0xDC00 && end - place >= 6 && place[0] == '\\' && place[1] == 'u') {
    int32_t second = hex_number(place + 2, end);
    if (second >= 0xDC00 && second < 0xE000) {
      point = 0x10000 + ((point - 0xD800) << 10U) + ((uint32_t)second - 0xDC00);
      place += 6;
    }
  }
  if (point >= 0xD800 && point < 0xE000) {
    point = 0xFFFD;
    *good = false;
  }
  *out += lumos_utf8_encode(point, *out);
  return place;
}

/* The byte that a one-letter escape stands for; '?' for one that JSON does not know. */
static char decode_letter(char letter, bool *good) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case '"':
    case '\\':
    case '/':
      return letter;
    default:
      *good = false;
      return '?';
  }
}

size_t lumos_json_decode(const struct lumos_slice *slice, char *out, bool *good) {
  bool all_good = true;
  char *start = out;
  const char *place = slice->bytes;
  const char *end = place + slice->length;
  while (place < end) {
    if (*place != '\\') {
      *out++ = *place++;
      continue;
    }
    place++;
    if (place == end) {
      *out++ = '?';
      all_good = false;
    } else if (*place == 'u') {
      place = decode_unicode(place + 1, end, &out, &all_good);
    } else {
      *out++ = decode_letter(*place++, &all_good);
    }
  }
  if (good != NULL) {
    *good = all_good;
  }
  return (size_t)(out - start);
}

/* Where the parts of a number lie, and its digits as one integer (wrapped when there are more than 19). */
struct number {
  const char *whole;
  const char *end; /* behind the number */
  size_t whole_digits;
  size_t fraction_digits; /* they start at whole + whole_digits + 1 */
  uint64_t digits;
  int64_t exponent;
  bool has_exponent;
  bool negative;
};

/* Larger exponents give zero or overflow anyway; smaller ones cannot overflow the sums below. */
static const int64_t exponent_limit = INT64_C(1) << 40U;

static bool read_exponent(const char *place, struct number *number) {
  bool negative = *place == '-';
  if (*place == '-' || *place == '+') {
    place++;
  }
  if (!lumos_is_digit(*place)) {
    return false;
  }
  for (; lumos_is_digit(*place); place++) {
    if (number->exponent < exponent_limit) {
      number->exponent = number->exponent * 10 + (*place - '0');
    }
  }
  number->exponent = negative ? -number->exponent : number->exponent;
  number->has_exponent = true;
  number->end = place;
  return true;
}

static inline bool read_number(const char *place, struct number *number) {
  uint64_t digits = 0;
  number->negative = *place == '-';
  place += number->negative;
  number->whole = place;
  for (; lumos_is_digit(*place); place++) {
    digits = digits * 10 + (uint64_t)(*place - '0');
  }
  number->whole_digits = (size_t)(place - number->whole);
  number->fraction_digits = 0;
  number->exponent = 0;
  number->has_exponent = false;
  if (number->whole_digits == 0 || (*number->whole == '0' && number->whole_digits > 1)) {
    return false;
  }
  if (*place == '.') {
    const char *fraction = ++place;
    for (; lumos_is_digit(*place); place++) {
      digits = digits * 10 + (uint64_t)(*place - '0');
    }
    number->fraction_digits = (size_t)(place - fraction);
    if (number->fraction_digits == 0) {
      return false;
    }
  }
  number->digits = digits;
  number->end = place;
  return (*place | 0x20) != 'e' || read_exponent(place + 1, number);
}

static inline bool with_sign(uint64_t magnitude, bool negative, int64_t *out) {
  if (magnitude > (uint64_t)INT64_MAX + negative) {
    return false;
  }
  *out = (int64_t)(negative ? 0 - magnitude : magnitude);
  return true;
}

/* One more decimal digit; false when the result leaves uint64_t. */
static bool append_digit(uint64_t *value, unsigned digit) {
  return !__builtin_mul_overflow(*value, (uint64_t)10, value) &&
         !__builtin_add_overflow(*value, (uint64_t)digit, value);
}

/* Any number, digit by digit: exact for whatever length and exponent. `kept` digits lie before the rounding place. */
static bool scale_slowly(const struct number *number, int scale, int64_t *out) {
  int64_t kept = (int64_t)number->whole_digits + number->exponent + scale;
  size_t count = number->whole_digits + number->fraction_digits;
  uint64_t value = 0;
  size_t index = 0;
  for (; index < count && (int64_t)index < kept; index++) {
    char byte = number->whole[index < number->whole_digits ? index : index + 1];
    if (!append_digit(&value, (unsigned)(byte - '0'))) {
      return false;
    }
  }
  for (int64_t i = (int64_t)index; i < kept && value != 0; i++) {
    if (!append_digit(&value, 0)) {
      return false;
    }
  }
  if (kept >= 0 && index < count) {
    char byte = number->whole[index < number->whole_digits ? index : index + 1];
    value += byte >= '5'; /* cannot wrap: value came from a product by ten or is small */
  }
  return with_sign(value, number->negative, out);
}

static inline bool scale_number(const struct number *number, int scale, int64_t *out) {
  static const uint64_t power_of_ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
  int64_t missing = scale - (int64_t)number->fraction_digits;
  uint64_t value = 0;
  if (!number->has_exponent && number->whole_digits + number->fraction_digits <= 18 && missing >= 0 && missing <= 9 &&
      !__builtin_mul_overflow(number->digits, power_of_ten[missing], &value)) {
    return with_sign(value, number->negative, out);
  }
  return scale_slowly(number, scale, out);
}

bool lumos_json_integer(const char **cursor, int64_t *out) {
  struct number number;
  if (!read_number(*cursor, &number) || number.fraction_digits != 0 || number.has_exponent) {
    return false;
  }
  if (!scale_number(&number, 0, out)) {
    return false;
  }
  *cursor = number.end;
  return true;
}

bool lumos_json_scaled(const char **cursor, int scale, int64_t *out) {
  struct number number;
  bool quoted = **cursor == '"';
  if (!read_number(*cursor + quoted, &number) || (quoted && *number.end != '"')) {
    return false;
  }
  if (!scale_number(&number, scale, out)) {
    return false;
  }
  *cursor = number.end + quoted;
  return true;
}

/* What stands before `place`, blanks aside; something that is no blank does. */
static inline char byte_before(const char *place) {
  do {
    place--;
  } while (class_of[(unsigned char)*place] == BLANK);
  return *place;
}

/* Can a value or a key stand between these two bytes, in an object or in a list? A blank behind it says nothing. */
static inline bool fits_between(char before, char behind, bool object) {
  if (object) {
    return before == ':' ? behind != ':' : behind != ',' && (before == ',' || before == '{');
  }
  return behind != ':' && (before == ',' || before == '[');
}

/* A string that stands where one can. */
static inline bool skip_string(const char **cursor, bool in_object) {
  struct lumos_slice string;
  if (!read_string(cursor, &string)) {
    return false;
  }
  if ((unsigned)class_of[(unsigned char)**cursor] - BLANK > CLOSING - BLANK) {
    return false; /* a quote too many, then: all behind it would be taken inside out */
  }
  return fits_between(byte_before(string.bytes - 1), **cursor, in_object); /* else what is left around a hole */
}

/* Walk from an opening bracket to its partner. One bit a level says which bracket must close it. */
static bool skip_nested(const char **cursor) {
  const char *place = *cursor;
  uint64_t braces = 0;
  int depth = 0;
  for (;;) {
    while (class_of[(unsigned char)*place] <= SEPARATOR) {
      place++;
    }
    *cursor = place;
    switch (class_of[(unsigned char)*place]) {
      case QUOTE:
        if (!skip_string(cursor, braces & 1U)) {
          return false;
        }
        place = *cursor;
        break;
      case OPENING:
        if (depth == LUMOS_JSON_DEPTH || (depth > 0 && !fits_between(byte_before(place), ',', braces & 1U))) {
          return false;
        }
        depth++;
        braces = braces << 1U | (*place == '{');
        place++;
        break;
      case CLOSING:
        if ((braces & 1U) != (*place == '}')) {
          return false;
        }
        depth--;
        braces >>= 1U;
        place++;
        if (depth == 0) {
          *cursor = place;
          return true;
        }
        break;
      default:
        return false;
    }
  }
}

/* true, false, null, and what Python's json module and C's printf write for numbers that JSON lacks. */
static bool skip_word(const char **cursor) {
  static const char *const words[] = {"true",      "false", "null", "NaN", "Infinity",
                                      "-Infinity", "nan",   "-nan", "inf", "-inf"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i]);
    if (strncmp(*cursor, words[i], length) == 0) {
      *cursor += length;
      return true;
    }
  }
  return false;
}

bool lumos_json_skip(const char **cursor, struct lumos_slice *out) {
  const char *start = *cursor;
  struct lumos_slice string;
  struct number number;
  bool good = false;
  if (*start == '"') {
    good = read_string(cursor, &string);
  } else if (*start == '{' || *start == '[') {
    good = skip_nested(cursor);
  } else if (read_number(start, &number)) {
    *cursor = number.end;
    good = true;
  } else {
    good = skip_word(cursor);
  }
  if (good && out != NULL) {
    *out = (struct lumos_slice){start, (size_t)(*cursor - start), false, false};
  }
  return good;
}

static bool skip_valid(const char **cursor, int depth) {
  struct lumos_json_members members;
  struct lumos_slice key;
  char opening = **cursor;
  if (opening != '{' && opening != '[') {
    bool word_for_number = strchr("NIi", opening) != NULL || strncmp(*cursor, "na", 2) == 0 ||
                           (opening == '-' && !lumos_is_digit((*cursor)[1]));
    return !word_for_number && lumos_json_skip(cursor, NULL);
  }
  if (depth == LUMOS_JSON_DEPTH || !lumos_json_open(cursor, opening, &members)) {
    return false;
  }
  for (;;) {
    int more = opening == '{' ? lumos_json_key(cursor, &members, &key) : lumos_json_item(cursor, &members);
    if (more != 1) {
      return more == 0;
    }
    if (!skip_valid(cursor, depth + 1)) {
      return false;
    }
  }
}

bool lumos_json_skip_valid(const char **cursor) { return skip_valid(cursor, 0); }

bool lumos_json_open(const char **cursor, char bracket, struct lumos_json_members *members) {
  members->first = true;
  if (**cursor != bracket) {
    return false;
  }
  ++*cursor;
  return true;
}

/* To the next member or item: 1 in front of it, 0 behind the closing bracket, -1 at a fault. */
static inline int next_member(const char **cursor, struct lumos_json_members *members, char closing) {
  const char *place = after_blank(*cursor);
  if (*place == closing) {
    *cursor = place + 1;
    return 0;
  }
  if (!members->first) {
    if (*place != ',') {
      *cursor = place;
      return -1;
    }
    place = after_blank(place + 1);
  }
  members->first = false;
  *cursor = place;
  return 1;
}

int lumos_json_key(const char **cursor, struct lumos_json_members *members, struct lumos_slice *key) {
  int more = next_member(cursor, members, '}');
  if (more != 1) {
    return more;
  }
  if (!read_string(cursor, key)) {
    return -1;
  }
  const char *place = after_blank(*cursor);
  *cursor = place;
  if (*place != ':') {
    return -1;
  }
  *cursor = after_blank(place + 1);
  return 1;
}

int lumos_json_item(const char **cursor, struct lumos_json_members *members) {
  int more = next_member(cursor, members, ']');
  if (more == 1 && (**cursor == ']' || **cursor == '\0')) {
    return -1; /* a comma with nothing behind it */
  }
  return more;
}
