/* Rows of a comparison: what each takes in both jobs, and whether that differs by more than steps vary. */
#ifndef LUMOS_COMPARE_ROWS_H
#define LUMOS_COMPARE_ROWS_H

#include "compare/match.h"
#include "compare/student.h"

/* The rows of a matching, before anything is asked of them, and what their steps are like. */
struct compare_spread {
  struct compare_sample time, count; /* of what a step takes per rank, ns; of how many there are per rank */
  double parts;                      /* tasks that a step's time is summed up from and divided by, for its rounding */
};
struct compare_table {
  struct lumos_compared_rows *rows;
  struct compare_spread *spreads[2]; /* by row */
  bool exact;                        /* nothing is noise: both are of one recording */
};

void compare_rows_fill(struct compare_table *table, struct lumos_compared_rows *rows,
                       const struct compare_matching *matching, const struct compare_side sides[2],
                       const struct compare_items items[2]);
/* How many questions the rows are: times of those that both jobs have and that take long enough to matter, and
 * counts. `least`: GPU time from which on a row's time is asked, in either job. */
size_t compare_rows_questions(const struct compare_table *table, int64_t least);
/* Answer them, each at that level. `grains`: what durations are counted in. */
void compare_rows_test(struct compare_table *table, int64_t least, double level, const double grains[2]);
/* Of calls: name the op at which the number of each changed most. */
void compare_calls_name(struct lumos_compared_rows *rows, const struct compare_matching *matching,
                        const struct compare_side sides[2], const struct compare_items items[2]);
void compare_table_free(struct compare_table *table);

#endif
