/* Rows of numbers that look alike, as groups: a picture of hundreds of ranks has a bar for each group, and the ranks
 * that stand out are seen. */
#ifndef LUMOS_REPORT_ALIKE_H
#define LUMOS_REPORT_ALIKE_H

#include "base/text.h"
#include <lumos/memory.h>

enum { REPORT_GROUPS = 8 }; /* at most: as many bars as a first screen has room for */

/* Rows as a matrix, one behind the other. */
struct report_matrix {
  const int64_t *values;
  size_t rows, columns;
};

struct report_groups {
  LUMOS_VECTOR(size_t) members;    /* rows, group by group, each group's in order */
  size_t first[REPORT_GROUPS + 1]; /* of each group's members, and their end */
  size_t count;
};

/* Rows are alike where no value differs by more than 5 % of `whole` from that of the row that most are like; where that
 * gives too many groups, by twice that, and so on. The largest group comes last, as what is usual; the others before
 * it, the farthest from it first. Without a group of several all stay in their order. O(rows x columns). Free the
 * groups. */
void report_groups_find(const struct report_matrix *matrix, int64_t whole, struct report_groups *groups);
void report_groups_free(struct report_groups *groups);

/* "0, 2-7": numbers in order as runs, of many the first four and "and more". */
void report_put_runs(struct lumos_text *out, const int32_t *numbers, size_t count);

#endif
