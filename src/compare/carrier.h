/* The rank that alone makes the difference, if there is one: struct lumos_compared_rank. */
#ifndef LUMOS_COMPARE_CARRIER_H
#define LUMOS_COMPARE_CARRIER_H

#include "compare/side.h"

/* Once the parts by rank are known. */
void compare_find_carrier(struct lumos_comparison *comparison, const struct compare_side sides[2]);

#endif
