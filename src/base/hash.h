/* Hashes of small numbers, for tables and for telling sequences apart. */
#ifndef LUMOS_BASE_HASH_H
#define LUMOS_BASE_HASH_H

#include <stdint.h>

/* The hash of what `hash` stands for with one more value behind it. The order counts. */
static inline uint64_t lumos_hash_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio: neighbours end far apart */
  return hash ^ hash >> 29U;
}

static inline uint64_t lumos_hash_text(const char *text) {
  uint64_t hash = 0;
  for (; *text != '\0'; text++) {
    hash = lumos_hash_mix(hash, (unsigned char)*text);
  }
  return hash;
}

#endif
