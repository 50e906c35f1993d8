/* Gathering: the two columns where a task begins and ends get their nanoseconds, those between are counted by
 * differences. */
#include "report/draw/raster.h"

#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

void report_raster_scale(struct report_raster *raster, int64_t from, int64_t until, int32_t most) {
  uint64_t span = until > from ? (uint64_t)until - (uint64_t)from : 1;
  uint64_t per_column = span / (uint64_t)most + (span % (uint64_t)most != 0);
  *raster = (struct report_raster){.from = from,
                                   .begin = from,
                                   .per_column = (int64_t)per_column,
                                   .count = (int32_t)(span / per_column + (span % per_column != 0))};
}

void report_raster_begin(struct report_raster *raster, int64_t from, int64_t until, int32_t most) {
  report_raster_scale(raster, from, until, most);
  size_t cells = (size_t)LUMOS_TASK_KINDS * (size_t)(raster->count + 1);
  raster->time = lumos_allocate_zeroed(cells, sizeof raster->time[0]);
  raster->whole = lumos_allocate_zeroed(cells, sizeof raster->whole[0]);
}

void report_raster_free(struct report_raster *raster) {
  free(raster->time);
  free(raster->whole);
}

void report_raster_clear(struct report_raster *raster) {
  size_t row = (size_t)raster->count + 1;
  for (size_t kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    if ((raster->kinds >> kind & 1U) != 0) {
      memset(raster->time + kind * row, 0, row * sizeof raster->time[0]);
      memset(raster->whole + kind * row, 0, row * sizeof raster->whole[0]);
    }
  }
  raster->kinds = 0;
}

static void add_time(struct report_raster *raster, size_t at, int64_t time) {
  raster->time[at] = report_sum(raster->time[at], time);
}

static int64_t column_of(struct report_raster *raster, int64_t time) {
  if (time < raster->begin || time - raster->begin >= raster->per_column) {
    raster->column = (time - raster->from) / raster->per_column;
    raster->begin = raster->from + raster->column * raster->per_column;
  }
  return raster->column;
}

void report_raster_add(struct report_raster *raster, uint8_t kind, int64_t start, int64_t duration) {
  int64_t end = report_sum(start, duration);
  int64_t last = report_sum(raster->from, raster->per_column * raster->count);
  start = start < raster->from ? raster->from : start;
  end = end > last ? last : end;
  if (end <= start) {
    return;
  }
  raster->kinds |= UINT32_C(1) << kind;
  size_t row = (size_t)kind * (size_t)(raster->count + 1);
  int64_t first = column_of(raster, start);
  int64_t final = column_of(raster, end); /* may be the one behind the last, with no time in it */
  if (first == final) {
    add_time(raster, row + (size_t)first, end - start);
    return;
  }
  add_time(raster, row + (size_t)first, raster->from + (first + 1) * raster->per_column - start);
  add_time(raster, row + (size_t) final, end - (raster->from + final * raster->per_column));
  raster->whole[row + (size_t)first + 1]++;
  raster->whole[row + (size_t) final]--;
}

/* Busy time in quarters of a column, rounded up. */
static uint8_t level_of(int64_t busy, int64_t per_column) {
  int level = 1;
  while (level < REPORT_LEVELS && busy * REPORT_LEVELS > per_column * level) {
    level++;
  }
  return (uint8_t)level;
}

/* Column x of every kind: the kind with the most time, and the level of all. Returns false when nothing ran. */
static bool gather(const struct report_raster *raster, int32_t x, int64_t *filling, struct report_raster_run *cell) {
  int64_t busy = 0;
  int64_t most = 0;
  for (uint32_t left = raster->kinds; left != 0; left &= left - 1) {
    int kind = __builtin_ctz(left);
    size_t at = (size_t)kind * (size_t)(raster->count + 1) + (size_t)x;
    filling[kind] += raster->whole[at];
    int64_t time = raster->time[at];
    /* Tasks that overlap fill a column more than once: no kind needs more than the whole of it. */
    time = filling[kind] > 0 || time > raster->per_column ? raster->per_column : time;
    busy += time;
    if (time > most) {
      most = time;
      cell->kind = (uint8_t)kind;
    }
  }
  busy = busy > raster->per_column ? raster->per_column : busy;
  cell->level = level_of(busy, raster->per_column);
  return busy > 0;
}

void report_raster_read(const struct report_raster *raster, struct report_raster_runs *cells) {
  int64_t filling[LUMOS_TASK_KINDS] = {0};
  struct report_raster_run run = {.width = 0};
  for (int32_t x = 0; x < raster->count; x++) {
    struct report_raster_run cell = {.x = x, .width = 1};
    bool busy = gather(raster, x, filling, &cell);
    if (busy && run.width > 0 && run.kind == cell.kind && run.level == cell.level) {
      run.width++;
      continue;
    }
    if (run.width > 0) {
      lumos_vector_push(cells, run);
    }
    run = cell;
    run.width = busy ? 1 : 0;
  }
  if (run.width > 0) {
    lumos_vector_push(cells, run);
  }
}
