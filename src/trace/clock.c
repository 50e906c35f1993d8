/* Three regimes of time (integer microseconds since 1970, the same with three decimals, microseconds since a written
 * base) become one: nanoseconds since the earliest row.
 */
#include "trace/clock.h"

#include "base/json.h"
#include "trace/order.h"
#include <stdlib.h>
#include <string.h>

/* Times of the stream stay below 2^53; half of that on either side of the median leaves room for sums. */
static const int64_t farthest = INT64_C(1) << 51U;

/* The integer that a fact holds, quoted or not; false when it is absent or none. */
static bool fact_integer(const struct trace *trace, enum trace_fact fact, int64_t *out) {
  const char *text = trace->facts[fact];
  return text != NULL && lumos_json_scaled(&text, 0, out);
}

static bool is_far(int64_t time, int64_t middle) {
  int64_t distance = 0;
  return __builtin_sub_overflow(time, middle, &distance) || distance > farthest || distance < -farthest;
}

static int compare_times(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static int64_t median_start(const struct trace *trace) {
  size_t count = trace->host.count + trace->device.count + trace->sessions.count;
  int64_t *starts = lumos_allocate(count * sizeof *starts);
  size_t filled = 0;
  for (size_t i = 0; i < trace->host.count; i++) {
    starts[filled++] = trace->host.items[i].start;
  }
  for (size_t i = 0; i < trace->device.count; i++) {
    starts[filled++] = trace->device.items[i].start;
  }
  for (size_t i = 0; i < trace->sessions.count; i++) {
    starts[filled++] = trace->sessions.items[i].start;
  }
  qsort(starts, count, sizeof *starts, compare_times);
  int64_t middle = starts[count / 2];
  free(starts);
  return middle;
}

/* Keep the rows that are near the middle. */
#define DROP_FAR(rows, middle)                                                                \
  do {                                                                                        \
    size_t kept = 0;                                                                          \
    for (size_t i = 0; i < (rows)->count; i++) {                                              \
      if (!is_far((rows)->items[i].start, middle) && !is_far((rows)->items[i].end, middle)) { \
        (rows)->items[kept++] = (rows)->items[i];                                             \
      }                                                                                       \
    }                                                                                         \
    (rows)->count = kept;                                                                     \
  } while (0)

struct extent {
  int64_t first, last;
};

#define WIDEN(extent, rows)                                                                                \
  for (size_t i = 0; i < (rows)->count; i++) {                                                             \
    (extent)->first = (rows)->items[i].start < (extent)->first ? (rows)->items[i].start : (extent)->first; \
    (extent)->last = (rows)->items[i].end > (extent)->last ? (rows)->items[i].end : (extent)->last;        \
  }

static struct extent extent_of_rows(const struct trace *trace) {
  struct extent extent = {INT64_MAX, INT64_MIN};
  WIDEN(&extent, &trace->host);
  WIDEN(&extent, &trace->device);
  return extent;
}

static struct extent with_sessions(const struct trace *trace, struct extent extent) {
  WIDEN(&extent, &trace->sessions);
  return extent;
}

static struct extent extent_of(const struct trace *trace) { return with_sessions(trace, extent_of_rows(trace)); }

#define MOVE(rows, by)                         \
  for (size_t i = 0; i < (rows)->count; i++) { \
    (rows)->items[i].start -= (by);            \
    (rows)->items[i].end -= (by);              \
  }

/* Drop rows at absurd times; the extent of the others ({0, 0} when there are none). */
static struct extent drop_absurd(struct trace *trace, int64_t *dropped) {
  size_t rows = trace->host.count + trace->device.count + trace->sessions.count;
  struct extent extent = extent_of(trace);
  int64_t width = 0;
  if (rows > 0 && (__builtin_sub_overflow(extent.last, extent.first, &width) || width > farthest)) {
    int64_t middle = median_start(trace);
    DROP_FAR(&trace->host, middle);
    DROP_FAR(&trace->device, middle);
    DROP_FAR(&trace->sessions, middle);
    *dropped = (int64_t)(rows - trace->host.count - trace->device.count - trace->sessions.count);
    extent = extent_of(trace);
  }
  return rows > 0 ? extent : (struct extent){0, 0};
}

static void move_rows(struct trace *trace, int64_t by) {
  if (by != 0) {
    MOVE(&trace->host, by);
    MOVE(&trace->device, by);
    MOVE(&trace->sessions, by);
  }
  if (trace->record_end != LUMOS_ABSENT) {
    trace->record_end = is_far(trace->record_end, by) ? LUMOS_ABSENT : trace->record_end - by;
  }
}

/* Rows that were shifted before they were written are not shifted again. */
static void shift_calls(struct trace *trace, struct trace_shift *shift) {
  if (trace->runtime_offset == LUMOS_ABSENT) {
    lumos_trace_shift_calls(trace, shift);
    return;
  }
  lumos_trace_order_host(trace);
  *shift = (struct trace_shift){.known = true, .offset = trace->runtime_offset, .doubt = trace->runtime_doubt};
}

void lumos_trace_settle_clock(struct trace *trace, struct trace_clock *clock) {
  *clock = (struct trace_clock){.absurd = 0};
  struct extent extent = drop_absurd(trace, &clock->absurd);
  move_rows(trace, extent.first);
  shift_calls(trace, &clock->shift);
  struct extent rows = extent_of_rows(trace);
  struct extent shifted = with_sessions(trace, rows);
  clock->rows_end = rows.last;
  if (shifted.first <= shifted.last) {
    move_rows(trace, shifted.first);
    clock->rows_end -= rows.first <= rows.last ? shifted.first : 0;
    clock->window_end = shifted.last - shifted.first;
    if (__builtin_add_overflow(extent.first, shifted.first, &clock->epoch)) {
      clock->epoch = extent.first;
    }
  }
  int64_t base = 0;
  clock->base_known = fact_integer(trace, TRACE_FACT_BASE, &base) && !__builtin_add_overflow(clock->epoch, base, &base);
  clock->epoch = clock->base_known ? base : clock->epoch;
}
