/* The word that a misspelled one was meant to be. */
#ifndef LUMOS_BASE_NEAREST_H
#define LUMOS_BASE_NEAREST_H

#include <stddef.h>

/* Start with {.word = WORD}, offer every candidate, read `best`. */
struct lumos_nearest {
  const char *word;
  const char *best; /* NULL: no candidate has half of the word's letters right */
  size_t distance;  /* of the best: letters to add, drop, change or swap with their neighbor */
};

/* A candidate that begins with the whole word beats every other; of equals the first wins. Words of more than 32
 * letters are near to none. O(letters of both, multiplied). */
void lumos_nearest_offer(struct lumos_nearest *nearest, const char *candidate);

#endif
