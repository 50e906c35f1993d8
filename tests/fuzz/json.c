/* Fuzzer: the tokenizer over any bytes. It never reads beyond the sentinel, walking and skipping agree on the end, and
 * numbers are what the C library reads.
 */
#include "fuzz.h"

#include "base/json.h"
#include <errno.h>
#include <math.h>

/* Walk one value with every function that fits; false at a fault. */
static bool walk(const char **cursor, int depth);

/* Escapes give UTF-8; other bytes are left to the writers. */
static void decode(const struct lumos_slice *slice) {
  char *out = malloc(slice->length);
  size_t length = out == NULL ? 0 : lumos_json_decode(slice, out, NULL);
  if (length > slice->length) {
    fuzz_fail("a decoded string is no longer than its text", "it is");
  }
  bool ascii = true;
  for (size_t i = 0; i < slice->length; i++) {
    ascii &= (unsigned char)slice->bytes[i] < 0x80;
  }
  if (ascii) {
    fuzz_expect_utf8(out, length, "a decoded string");
  }
  free(out);
}

/* An integer to the last digit; a decimal times 1000 within what a long double holds of it. */
static void compare_numbers(const char *place) {
  const char *cursor = place;
  int64_t value = 0;
  errno = 0;
  if (lumos_json_integer(&cursor, &value) && (strtoll(place, NULL, 10) != value || errno != 0)) {
    fuzz_fail("an integer is what strtoll reads", place);
  }
  cursor = place;
  bool hexadecimal = strcspn(place, "xX") == strspn(place, "-0"); /* to strtold alone */
  if (*place != '"' && !hexadecimal && lumos_json_scaled(&cursor, 3, &value)) {
    long double expected = strtold(place, NULL) * 1000;
    if (fabsl(expected - (long double)value) > 0.5L + fabsl(expected) * 1e-18L) {
      fuzz_fail("a decimal is what strtold reads, rounded", place);
    }
  }
}

static bool walk_object(const char **cursor, int depth) {
  struct lumos_json_members members;
  struct lumos_slice key;
  int more = lumos_json_open(cursor, '{', &members) ? 1 : -1;
  while (more == 1 && (more = lumos_json_key(cursor, &members, &key)) == 1) {
    decode(&key);
    if (!walk(cursor, depth + 1)) {
      return false;
    }
  }
  return more == 0;
}

static bool walk_array(const char **cursor, int depth) {
  struct lumos_json_members members;
  int more = lumos_json_open(cursor, '[', &members) ? 1 : -1;
  while (more == 1 && (more = lumos_json_item(cursor, &members)) == 1) {
    if (!walk(cursor, depth + 1)) {
      return false;
    }
  }
  return more == 0;
}

static bool walk(const char **cursor, int depth) {
  struct lumos_slice slice;
  int64_t value = 0;
  if (depth == LUMOS_JSON_DEPTH) {
    return false;
  }
  switch (**cursor) {
    case '{':
      return walk_object(cursor, depth);
    case '[':
      return walk_array(cursor, depth);
    case '"':
      if (!lumos_json_string(cursor, &slice)) {
        return false;
      }
      decode(&slice);
      return true;
    default:
      compare_numbers(*cursor);
      return lumos_json_integer(cursor, &value) || lumos_json_scaled(cursor, 3, &value) ||
             lumos_json_skip(cursor, NULL);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (text == NULL) {
    return 0;
  }
  if (size > 0) {
    memcpy(text, data, size);
  }
  text[size] = '\0';
  const char *start = lumos_json_blank(text);
  const char *walked = start;
  const char *skipped = start;
  bool good = walk(&walked, 0);
  bool skippable = lumos_json_skip(&skipped, NULL);
  if (walked > text + size || skipped > text + size || (good && (!skippable || walked != skipped))) {
    fuzz_fail("walking and skipping agree on the end", text);
  }
  free(text);
  return 0;
}
