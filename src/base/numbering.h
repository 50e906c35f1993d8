/* Keys of many bits, numbered: every distinct key has a number, in the order in which keys come. */
#ifndef LUMOS_BASE_NUMBERING_H
#define LUMOS_BASE_NUMBERING_H

#include <lumos/memory.h>

struct lumos_numbering { /* begins as zeros */
  LUMOS_VECTOR(uint64_t) keys;
  uint32_t *slots; /* open addressing: number + 1; 0: free */
  size_t mask;
};

/* The number of a key, given when it is new: then it is the highest. Amortised O(1). */
uint32_t lumos_number_of(struct lumos_numbering *numbering, uint64_t key);
/* The number that it has; LUMOS_NO_NUMBER when it has none. O(1). */
#define LUMOS_NO_NUMBER UINT32_MAX
uint32_t lumos_known_number(const struct lumos_numbering *numbering, uint64_t key);
void lumos_numbering_clear(struct lumos_numbering *numbering); /* keeps the room */
void lumos_numbering_free(struct lumos_numbering *numbering);

/* Two keys of half as many bits as one. */
static inline uint64_t lumos_key_pair(uint32_t high, uint32_t low) { return (uint64_t)high << 32U | low; }

#endif
