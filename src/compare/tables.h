/* A comparison as tables, the same in every form. */
#ifndef LUMOS_COMPARE_TABLES_H
#define LUMOS_COMPARE_TABLES_H

#include "report/content/table.h"
#include <lumos/compare.h>

enum compare_table_number {
  COMPARE_CLASSES,
  COMPARE_KINDS,
  COMPARE_LAYERS,
  COMPARE_RANKS,
  COMPARE_CHANGED,
  COMPARE_ONLY_A,
  COMPARE_ONLY_B,
  COMPARE_CALLS,
  COMPARE_TABLES
};

enum { COMPARE_FIRST_ROWS = 12 }; /* of a table, where not all are asked for */

/* At most so many rows, and the step behind parts of it: without rows there is nothing to show. Free the table in any
 * case. */
void compare_make_table(const struct lumos_comparison *comparison, enum compare_table_number number, size_t most,
                        struct report_table *table);

/* Layers and ranks only where there are several: one part and idle time say nothing. */
bool compare_table_says(const struct lumos_comparison *comparison, enum compare_table_number number);

/* Parts of the step, what changed most first. All that are more than `most`, which is at least 1, are one that is
 * called "all others", so that they still add up. */
struct compare_listed_part {
  const char *label; /* of the comparison, or literal */
  int32_t key;       /* as in struct lumos_compared_part */
  bool others;
  int64_t time[2];
};
LUMOS_VECTOR_TYPE(compare_parts_list, struct compare_listed_part);
void compare_list_parts(const struct lumos_comparison *comparison, const struct lumos_compared_parts *parts,
                        size_t most, struct compare_parts_list *list);

#endif
