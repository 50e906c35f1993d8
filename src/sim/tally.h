/* Sums by a key, such as a string id, in the order in which they are read: the largest first. Small keys have a place
 * of their own, others are numbered. */
#ifndef LUMOS_SIM_TALLY_H
#define LUMOS_SIM_TALLY_H

#include "base/numbering.h"
#include <lumos/job.h>

struct lumos_tally_row {
  uint32_t key;
  int64_t sum;
  const char
      *text; /* what equal sums are ordered by, after the key's number where texts are NULL; see lumos_tally_sort */
};

/* Zero-initialise; free with lumos_tally_free. */
struct lumos_tally {
  LUMOS_VECTOR(struct lumos_tally_row) rows;
  LUMOS_VECTOR(uint32_t) places; /* by place: the number of its row and 1; 0: none. Until the rows are sorted */
  struct lumos_numbering large;  /* keys from 2^20 on, whose places are behind the others */
};

void lumos_tally_add(struct lumos_tally *tally, uint32_t key, int64_t value);
/* The largest sum first; of equal ones by text where the keys are string ids (`strings` not NULL), which do not depend
 * on the order of reading, else by key. Nothing can be added afterwards, until it is cleared. */
void lumos_tally_sort(struct lumos_tally *tally, const struct lumos_strings *strings);
void lumos_tally_clear(struct lumos_tally *tally);
void lumos_tally_free(struct lumos_tally *tally);

#endif
