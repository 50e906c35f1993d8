/* Gathering: the two columns where a task begins and ends get their nanoseconds, those between are counted by differences. */
#include "report/columns.h"

#include "report/numbers.h"
#include <stdlib.h>
#include <string.h>

void report_columns_begin(struct report_columns *columns, int64_t from, int64_t until, int32_t most) {
  uint64_t span = until > from ? (uint64_t)until - (uint64_t)from : 1;
  uint64_t per_column = span / (uint64_t)most + (span % (uint64_t)most != 0);
  columns->from = from;
  columns->per_column = (int64_t)per_column;
  columns->count = (int32_t)(span / per_column + (span % per_column != 0));
  size_t cells = (size_t)LUMOS_TASK_KINDS * (size_t)(columns->count + 1);
  columns->time = lumos_allocate_zeroed(cells, sizeof columns->time[0]);
  columns->whole = lumos_allocate_zeroed(cells, sizeof columns->whole[0]);
}

void report_columns_free(struct report_columns *columns) {
  free(columns->time);
  free(columns->whole);
}

void report_columns_clear(struct report_columns *columns) {
  size_t cells = (size_t)LUMOS_TASK_KINDS * (size_t)(columns->count + 1);
  memset(columns->time, 0, cells * sizeof columns->time[0]);
  memset(columns->whole, 0, cells * sizeof columns->whole[0]);
}

static void add_time(struct report_columns *columns, size_t at, int64_t time) {
  columns->time[at] = report_sum(columns->time[at], time);
}

void report_columns_add(struct report_columns *columns, uint8_t kind, int64_t start, int64_t duration) {
  int64_t end = report_sum(start, duration);
  int64_t last = report_sum(columns->from, columns->per_column * columns->count);
  start = start < columns->from ? columns->from : start;
  end = end > last ? last : end;
  if (end <= start) {
    return;
  }
  size_t row = (size_t)kind * (size_t)(columns->count + 1);
  int64_t first = (start - columns->from) / columns->per_column;
  int64_t final = (end - columns->from) / columns->per_column; /* may be the one behind the last, with no time in it */
  if (first == final) {
    add_time(columns, row + (size_t)first, end - start);
    return;
  }
  add_time(columns, row + (size_t)first, columns->from + (first + 1) * columns->per_column - start);
  add_time(columns, row + (size_t) final, end - (columns->from + final * columns->per_column));
  columns->whole[row + (size_t)first + 1]++;
  columns->whole[row + (size_t) final]--;
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
static bool gather(const struct report_columns *columns, int32_t x, int64_t *filling, struct report_cell_run *cell) {
  int64_t busy = 0;
  int64_t most = 0;
  for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    size_t at = (size_t)kind * (size_t)(columns->count + 1) + (size_t)x;
    filling[kind] += columns->whole[at];
    int64_t time = columns->time[at];
    /* Tasks that overlap fill a column more than once: no kind needs more than the whole of it. */
    time = filling[kind] > 0 || time > columns->per_column ? columns->per_column : time;
    busy += time;
    if (time > most) {
      most = time;
      cell->kind = (uint8_t)kind;
    }
  }
  busy = busy > columns->per_column ? columns->per_column : busy;
  cell->level = level_of(busy, columns->per_column);
  return busy > 0;
}

void report_columns_cells(const struct report_columns *columns, struct report_cell_runs *cells) {
  int64_t filling[LUMOS_TASK_KINDS] = {0};
  struct report_cell_run run = {.width = 0};
  for (int32_t x = 0; x < columns->count; x++) {
    struct report_cell_run cell = {.x = x, .width = 1};
    bool busy = gather(columns, x, filling, &cell);
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
