/* The keys of an object, foretold: one statement of the profiler writes all events of a kind, so what stood between two
 * values of the last one (comma, line end, indent, key, colon) stands between those of the next, byte for byte. Where
 * it does, a comparison of a few words tells the key; where not, the tokenizer reads it, and it is remembered as what
 * follows the key before.
 *
 * The text must lie in a window, which can be read beyond its end (see window.h).
 */
#ifndef LUMOS_TRACE_KEYS_H
#define LUMOS_TRACE_KEYS_H

#include "base/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TRACE_SEEN_BYTES = 40, TRACE_KEYS = 48 };

/* Bytes that may come again. */
struct trace_seen {
  uint64_t first, last; /* words of them, which overlap where there are fewer than 16 bytes */
  uint64_t mask;        /* which bytes of these count: all, but where there are fewer than 8 */
  uint32_t last_at;     /* where the last word begins */
  uint32_t length;      /* 0: none */
  char bytes[TRACE_SEEN_BYTES];
};

/* All that lies between two values, or between the last one and the closing brace, this included. */
struct trace_key {
  struct trace_seen seen;
  struct trace_key *next;  /* what came behind its value; NULL: not known */
  struct trace_key *other; /* the same before that, another one */
  uint8_t row;             /* what the key is to the caller, or TRACE_KEY_END */
};
enum { TRACE_KEY_END = UINT8_MAX };

/* The keys of one kind of object; zero-initialise, and do not move. */
struct trace_keys {
  struct trace_key first; /* apart from the others, because no comma stands before it */
  struct trace_key others[TRACE_KEYS];
  size_t count;
};

/* A walk over an object, from behind its opening brace. */
struct trace_key_walk {
  struct trace_keys *keys;
  uint8_t (*row_of)(const void *rows, const struct lumos_slice *key); /* not TRACE_KEY_END */
  const void *rows;
  struct trace_key *before, *expected; /* NULL: not known */
  bool first;                          /* no member has been passed */
  bool learned;                        /* some key was not the one foretold first */
};

static inline struct trace_key_walk trace_walk_keys(struct trace_keys *keys,
                                                    uint8_t (*row_of)(const void *, const struct lumos_slice *),
                                                    const void *rows) {
  return (struct trace_key_walk){keys, row_of, rows, NULL, &keys->first, true, false};
}

/* The same from behind a value. */
static inline struct trace_key_walk trace_walk_further(struct trace_keys *keys,
                                                       uint8_t (*row_of)(const void *, const struct lumos_slice *),
                                                       const void *rows) {
  return (struct trace_key_walk){keys, row_of, rows, &keys->first, keys->first.next, false, false};
}

/* What is longer than TRACE_SEEN_BYTES is not kept. */
void lumos_trace_see(struct trace_seen *seen, const char *bytes, size_t length);

static inline uint64_t trace_word(const void *bytes) {
  uint64_t word = 0;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* Do these bytes stand at `place`? Their first and last words tell most of them apart. Nothing stands anywhere when
 * there are none. */
static inline bool trace_stands(const struct trace_seen *seen, const char *place) {
  if ((((trace_word(place) ^ seen->first) | (trace_word(place + seen->last_at) ^ seen->last)) & seen->mask) != 0) {
    return false;
  }
  for (uint32_t at = 8; at < seen->last_at; at += 8) {
    if (trace_word(seen->bytes + at) != trace_word(place + at)) {
      return false;
    }
  }
  return seen->length != 0;
}

/* As if none had been seen. */
void lumos_trace_forget_keys(struct trace_keys *keys);

/* The key that stands at the cursor has come. */
static inline int trace_pass_key(struct trace_key_walk *walk, struct trace_key *key, const char **cursor,
                                 uint8_t *row) {
  walk->first = false;
  walk->before = key;
  walk->expected = key->next;
  *row = key->row;
  *cursor += key->seen.length;
  if (key->row == TRACE_KEY_END) {
    return 0;
  }
  if ((unsigned char)**cursor <= ' ') {
    *cursor = lumos_json_blank(*cursor); /* more of them than the last time */
  }
  return 1;
}

/* Any key but the one that is foretold first: as lumos_json_key reads it, and it is remembered. */
int lumos_trace_learn_key(struct trace_key_walk *walk, const char **cursor, uint8_t *row);

/* To the next member: 1 with its row and the cursor on its value, 0 behind the closing brace, -1 at a fault. */
static inline int trace_next_key(struct trace_key_walk *walk, const char **cursor, uint8_t *row) {
  struct trace_key *key = walk->expected;
  if (key == NULL || !trace_stands(&key->seen, *cursor)) {
    return lumos_trace_learn_key(walk, cursor, row);
  }
  return trace_pass_key(walk, key, cursor, row);
}

#endif
