/* What a sweep says of its configurations: rows in memory, and as lines of JSON, which can be read again. */
#ifndef LUMOS_SWEEP_ROWS_H
#define LUMOS_SWEEP_ROWS_H

#include "base/text.h"

#include <lumos/error.h>
#include <lumos/memory.h>

struct sweep_row {
  int64_t number;           /* in the grid, from 1 */
  char *axes;               /* what it is: JSON members, parted by commas; owned */
  bool predicted, skipped;  /* skipped: it takes too long at least to be the best. Neither: `why` is set */
  int64_t step, low, high;  /* ns; low, high: LUMOS_ABSENT both, where not known */
  int64_t rate;             /* tokens a second and GPU, in thousandths; LUMOS_ABSENT */
  int64_t least, most_rate; /* ns that a step takes at least, and the rate with that; LUMOS_ABSENT: not known */
  int64_t mfu, bubble;      /* in millionths; LUMOS_ABSENT */
  int64_t memory, capacity; /* bytes that a rank allocates, and that its GPU has; LUMOS_ABSENT */
  char *why;                /* owned; NULL */
};

struct sweep_rows {
  char *grid;                   /* owned */
  int64_t gpus, configurations; /* of the whole grid; gpus: LUMOS_ABSENT */
  int64_t part, parts;          /* which part of it these are, from 1; 1 of 1: all of it */
  LUMOS_VECTOR(struct sweep_row) items;
};
void sweep_rows_free(struct sweep_rows *rows);
char *sweep_copy(const char *text); /* owned by whoever asks */

/* Does it need more memory than a GPU has? Where either is not known, no. */
bool sweep_row_is_too_large(const struct sweep_row *row);

/* What a predicted row that is not too large takes at most, for comparison; INFINITY: nothing is known of that. */
double sweep_row_most(const struct sweep_row *row);
/* The least that a row takes, in the same units; -INFINITY: not known. */
double sweep_row_least(const struct sweep_row *row);
/* Is that more? */
bool sweep_row_exceeds(const struct sweep_row *row, double most);
/* Rows that take at least more than another one takes at most cannot be the best: they become skipped ones, refused
 * ones, too. So which ones are skipped does not depend on which were predicted, or refused, in vain. */
void sweep_rows_skip(struct sweep_rows *rows);

/* The predicted ones first, of them those that are not too large, the most tokens a second and GPU first, else the
 * shortest step; then those skipped, those first that take the least at least; the others by their number. */
void sweep_rows_sort(struct sweep_rows *rows);
/* How many. Of sorted rows. */
size_t sweep_rows_predicted(const struct sweep_rows *rows);
size_t sweep_rows_skipped(const struct sweep_rows *rows);
/* Does the range of a predicted row reach that of the first? */
bool sweep_row_could_be_best(const struct sweep_rows *rows, size_t at);

/* Lines, as include/lumos/sweep.h has them. */
void sweep_rows_put(const struct sweep_rows *rows, struct lumos_text *out);
/* Add what a file of such lines has. False: it is something else, or of another sweep. */
bool sweep_rows_read(struct sweep_rows *rows, const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
/* Are all configurations of the grid there, once? Puts them in the grid's order. */
bool sweep_rows_whole(struct sweep_rows *rows, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
