/* Fuzzer: the tokenizer over any bytes. It must never read beyond the sentinel, and walking and skipping must agree on the end. */
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Walk one value with every function that fits; false at a fault. */
static bool walk(const char **cursor, int depth);

static void decode(const struct lumos_slice *slice) {
  char *out = malloc(slice->length + 1);
  if (out != NULL && lumos_json_decode(slice, out) > slice->length) {
    abort();
  }
  free(out);
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
    abort();
  }
  free(text);
  return 0;
}
