/* A raster: a lane seen from far away, its tasks gathered into the columns of a picture, so that the size of a picture
 * does not grow with the trace.
 *
 * A column is `per_column` nanoseconds wide. Its kind is the one that ran longest in it (ties: the lower number), its
 * height how much of it was busy, in quarters, rounded up. Neighbours that look the same are one cell. Adding costs
 * O(1) a task, whatever its length.
 */
#ifndef LUMOS_REPORT_RASTER_H
#define LUMOS_REPORT_RASTER_H

#include <lumos/job.h>
#include <lumos/memory.h>

enum { REPORT_LEVELS = 4 };

struct report_raster {
  int64_t from, per_column;
  int32_t count;
  int64_t *time;         /* [kind][column]: ns that began or ended there */
  int32_t *whole;        /* [kind][column]: change in the number of tasks that fill the column whole */
  uint32_t kinds;        /* that have tasks: bit k is of kind k; all other rows are zero */
  int64_t column, begin; /* the one that was asked for last, and where it begins: the next is mostly the same */
};

struct report_raster_run {
  int32_t x, width; /* columns */
  uint8_t kind, level;
};
LUMOS_VECTOR_TYPE(report_raster_runs, struct report_raster_run);

/* At most `most` columns from `from` to `until`, both within 2^58 of 0. */
void report_raster_begin(struct report_raster *raster, int64_t from, int64_t until, int32_t most);
/* The columns alone, without room for tasks; not to be freed. */
void report_raster_scale(struct report_raster *raster, int64_t from, int64_t until, int32_t most);
void report_raster_free(struct report_raster *raster);
/* Forget the tasks. */
void report_raster_clear(struct report_raster *raster);
/* Parts outside the picture are left out. kind < LUMOS_TASK_KINDS. */
void report_raster_add(struct report_raster *raster, uint8_t kind, int64_t start, int64_t duration);
/* Appends the cells, from left to right. */
void report_raster_read(const struct report_raster *raster, struct report_raster_runs *cells);

#endif
