/* Keys of several numbers: every distinct one has a number, in the order in which they come. Nothing is hashed away:
 * two keys have one number only where all of their numbers agree. */
#ifndef LUMOS_COMPARE_KEYS_H
#define LUMOS_COMPARE_KEYS_H

#include "base/numbering.h"

enum { COMPARE_KEY_PARTS = 8 };

struct compare_keys { /* begins as zeros */
  struct lumos_numbering depths[COMPARE_KEY_PARTS];
};

/* The number of a key of `count` parts, from 1 to COMPARE_KEY_PARTS and the same for all of these keys. O(count). */
static inline uint32_t compare_key(struct compare_keys *keys, const uint32_t *parts, size_t count) {
  uint32_t number = 0;
  for (size_t i = 0; i < count; i++) {
    number = lumos_number_of(&keys->depths[i], lumos_key_pair(number, parts[i]));
  }
  return number;
}

static inline void compare_keys_free(struct compare_keys *keys) {
  for (size_t i = 0; i < COMPARE_KEY_PARTS; i++) {
    lumos_numbering_free(&keys->depths[i]);
  }
}

#endif
