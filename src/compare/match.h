/* Who does the same in the other job: every item finds its row, level by level (enum lumos_match). */
#ifndef LUMOS_COMPARE_MATCH_H
#define LUMOS_COMPARE_MATCH_H

#include "compare/items.h"

struct compare_matching {
  uint8_t *match[2]; /* by item: enum lumos_match */
  uint32_t *row[2];  /* by item: the row that it is counted in */
  size_t rows;
};

/* Of the GPU's items: rows put together what is alike in all layers and modules. */
void compare_match_gpu(struct compare_matching *matching, const struct compare_items items[2]);
/* Of calls: a row is a name. */
void compare_match_calls(struct compare_matching *matching, const struct compare_items items[2]);
void compare_matching_free(struct compare_matching *matching);

#endif
