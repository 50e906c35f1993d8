/* What is remembered of keys. When there is no room for one more, all are forgotten: that costs time, no more. */
#include "trace/keys.h"

void lumos_trace_see(struct trace_seen *seen, const char *bytes, size_t length) {
  static const unsigned char counted[2 * sizeof(uint64_t)] = {255, 255, 255, 255, 255, 255, 255, 255};
  length = length <= sizeof seen->bytes ? length : 0;
  *seen = (struct trace_seen){.length = (uint32_t)length, .last_at = length > 8 ? (uint32_t)length - 8 : 0};
  memcpy(seen->bytes, bytes, length);
  seen->first = trace_word(seen->bytes);
  seen->last = trace_word(seen->bytes + seen->last_at);
  seen->mask = trace_word(counted + (length < 8 ? 8 - length : 0));
}

static bool is_same(const struct trace_key *key, const char *bytes, size_t length) {
  return key->seen.length == length && memcmp(key->seen.bytes, bytes, length) == 0;
}

static void set(struct trace_key *key, const char *bytes, size_t length, uint8_t row) {
  lumos_trace_see(&key->seen, bytes, length);
  key->next = NULL;
  key->other = NULL;
  key->row = row;
}

/* The key that is written like this, behind another one; made when it is new. */
static struct trace_key *find(struct trace_keys *keys, const char *bytes, size_t length, uint8_t row) {
  for (size_t i = 0; i < keys->count; i++) {
    if (is_same(&keys->others[i], bytes, length)) {
      return &keys->others[i];
    }
  }
  if (length > TRACE_SEEN_BYTES) {
    return NULL;
  }
  if (keys->count == TRACE_KEYS) {
    keys->count = 0;
  }
  set(&keys->others[keys->count], bytes, length, row);
  return &keys->others[keys->count++];
}

void lumos_trace_forget_keys(struct trace_keys *keys) {
  keys->first.seen.length = 0;
  keys->first.next = NULL;
  keys->first.other = NULL;
  keys->count = 0;
}

/* What the key is to the caller, also where it is written with escapes. */
static uint8_t row_of(const struct trace_key_walk *walk, const struct lumos_slice *key) {
  char bytes[64];
  if (!key->escaped || key->length > sizeof bytes) {
    return walk->row_of(walk->rows, key);
  }
  struct lumos_slice decoded = {bytes, 0, false, false};
  decoded.length = lumos_json_decode(key, bytes, NULL);
  return walk->row_of(walk->rows, &decoded);
}

int lumos_trace_learn_key(struct trace_key_walk *walk, const char **cursor, uint8_t *row) {
  struct trace_key *other = walk->before != NULL ? walk->before->other : NULL;
  walk->learned = true;
  if (other != NULL && trace_stands(&other->seen, *cursor)) {
    walk->before->other = walk->before->next;
    walk->before->next = other;
    return trace_pass_key(walk, other, cursor, row);
  }
  struct lumos_json_members members = {walk->first};
  struct lumos_slice key = {NULL, 0, false, false};
  const char *start = *cursor;
  int more = lumos_json_key(cursor, &members, &key);
  if (more < 0) {
    return more;
  }
  *row = more == 0 ? TRACE_KEY_END : row_of(walk, &key);
  size_t length = (size_t)(*cursor - start);
  struct trace_key *found = &walk->keys->first;
  if (!walk->first) {
    found = find(walk->keys, start, length, *row);
  } else if (!is_same(found, start, length)) {
    set(found, start, length, *row);
  }
  if (walk->before != NULL && walk->before->next != found) {
    walk->before->other = walk->before->next;
    walk->before->next = found;
  }
  walk->first = false;
  walk->before = found;
  walk->expected = found == NULL ? NULL : found->next;
  return more;
}
