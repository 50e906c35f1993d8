/* Lists of numbers, numbered: equal lists have the same number. */
#ifndef LUMOS_REBUILD_LABEL_H
#define LUMOS_REBUILD_LABEL_H

#include "base/numbering.h"

/* All lists of a numbering are equally long. Every number stands for the beginning of a list, so that lists with
 * different numbers differ. O(count). */
static inline uint32_t rebuild_label(struct lumos_numbering *numbering, const uint32_t *values, int count) {
  uint32_t label = LUMOS_NO_NUMBER;
  for (int i = 0; i < count; i++) {
    label = lumos_number_of(numbering, lumos_key_pair(label, values[i]));
  }
  return label;
}

#endif
