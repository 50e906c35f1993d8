/* A lane seen from far away: its tasks gathered into the columns of a picture, so that a picture's size does not grow with the trace.
 *
 * A column is `per_column` nanoseconds wide. Its kind is the one that ran longest in it (ties: the lower number), its height how much
 * of it was busy, in quarters, rounded up. Neighbours that look the same are one cell. Adding costs O(1) a task, whatever its length.
 */
#ifndef LUMOS_REPORT_COLUMNS_H
#define LUMOS_REPORT_COLUMNS_H

#include <lumos/job.h>
#include <lumos/memory.h>

enum { REPORT_LEVELS = 4 };

struct report_columns {
  int64_t from, per_column;
  int32_t count;
  int64_t *time;  /* [kind][column]: ns that began or ended there */
  int32_t *whole; /* [kind][column]: change in the number of tasks that fill the column whole */
};

struct report_cell_run {
  int32_t x, width; /* columns */
  uint8_t kind, level;
};
LUMOS_VECTOR_TYPE(report_cell_runs, struct report_cell_run);

/* At most `most` columns from `from` to `until`, both within 2^58 of 0. */
void report_columns_begin(struct report_columns *columns, int64_t from, int64_t until, int32_t most);
void report_columns_free(struct report_columns *columns);
/* Forget the tasks. */
void report_columns_clear(struct report_columns *columns);
/* Parts outside the picture are left out. kind < LUMOS_TASK_KINDS. */
void report_columns_add(struct report_columns *columns, uint8_t kind, int64_t start, int64_t duration);
/* Appends the cells, from left to right. */
void report_columns_cells(const struct report_columns *columns, struct report_cell_runs *cells);

#endif
