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

/* Rows at most an hour from the others are taken as they are. */
static const int64_t least_reach = INT64_C(3600) * 1000000000;

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
  return LUMOS_ORDER(left, right);
}

/* When all rows start, in the order of time; *count of them, at least one. */
static int64_t *sorted_starts(const struct trace *trace, size_t *count) {
  int64_t *starts = lumos_allocate((trace->host.count + trace->device.count + trace->sessions.count) * sizeof *starts);
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
  qsort(starts, filled, sizeof *starts, compare_times);
  *count = filled;
  return starts;
}

static int64_t median_start(const struct trace *trace) {
  size_t count = 0;
  int64_t *starts = sorted_starts(trace, &count);
  int64_t middle = starts[count / 2];
  free(starts);
  return middle;
}

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

static bool is_within(const struct extent *window, int64_t start, int64_t end) {
  return start >= window->first && end <= window->last;
}

#define COUNT_OUTSIDE(count, rows, window)                                                 \
  for (size_t i = 0; i < (rows)->count; i++) {                                             \
    (count) += !is_within(window, (rows)->items[i].start, (rows)->items[i].end) ? 1U : 0U; \
  }

static size_t count_outside(const struct trace *trace, const struct extent *window) {
  size_t count = 0;
  COUNT_OUTSIDE(count, &trace->host, window);
  COUNT_OUTSIDE(count, &trace->device, window);
  COUNT_OUTSIDE(count, &trace->sessions, window);
  return count;
}

#define KEEP_WITHIN(rows, window)                                            \
  do {                                                                       \
    size_t kept = 0;                                                         \
    for (size_t i = 0; i < (rows)->count; i++) {                             \
      if (is_within(window, (rows)->items[i].start, (rows)->items[i].end)) { \
        (rows)->items[kept++] = (rows)->items[i];                            \
      }                                                                      \
    }                                                                        \
    (rows)->count = kept;                                                    \
  } while (0)

static void keep_within(struct trace *trace, const struct extent *window) {
  KEEP_WITHIN(&trace->host, window);
  KEEP_WITHIN(&trace->device, window);
  KEEP_WITHIN(&trace->sessions, window);
}

/* What lies far from the middle half of the rows is no part of their recording, unless the profiler's own row, which is
 * as long as the recording, holds it. */
static struct extent plausible_window(const struct trace *trace) {
  size_t count = 0;
  int64_t *starts = sorted_starts(trace, &count);
  struct extent half = {starts[count / 4], starts[count - 1 - count / 4]};
  free(starts);
  int64_t reach = (half.last - half.first) * 10;
  reach = reach > least_reach ? reach : least_reach;
  struct extent window = half;
  for (size_t i = 0; i < trace->sessions.count; i++) {
    const struct trace_interval *session = &trace->sessions.items[i];
    if (session->start <= half.last && session->end >= half.first) {
      window.first = session->start < window.first ? session->start : window.first;
      window.last = session->end > window.last ? session->end : window.last;
    }
  }
  return (struct extent){window.first - reach, window.last + reach};
}

/* A few rows whose times are damaged must not stretch the recording. Many that are far from the others are no such
 * thing. */
static void drop_outliers(struct trace *trace) {
  struct extent window = plausible_window(trace);
  size_t rows = trace->host.count + trace->device.count + trace->sessions.count;
  if (count_outside(trace, &window) <= rows / 100) {
    keep_within(trace, &window);
  }
}

#define MOVE(rows, by)                         \
  for (size_t i = 0; i < (rows)->count; i++) { \
    (rows)->items[i].start -= (by);            \
    (rows)->items[i].end -= (by);              \
  }

/* May some rows be too far from others? */
static bool is_wider(const struct extent *extent, int64_t limit) {
  int64_t width = 0;
  return extent->first <= extent->last &&
         (__builtin_sub_overflow(extent->last, extent->first, &width) || width > limit);
}

/* Drop rows at absurd times; the extent of the others ({0, 0} when there are none). */
static struct extent drop_absurd(struct trace *trace, int64_t *dropped) {
  size_t rows = trace->host.count + trace->device.count + trace->sessions.count;
  struct extent extent = extent_of(trace);
  if (is_wider(&extent, farthest)) {
    int64_t middle = median_start(trace);
    struct extent window = {middle < INT64_MIN + farthest ? INT64_MIN : middle - farthest,
                            middle > INT64_MAX - farthest ? INT64_MAX : middle + farthest};
    keep_within(trace, &window);
    extent = extent_of(trace);
  }
  if (is_wider(&extent, least_reach)) {
    drop_outliers(trace);
    extent = extent_of(trace);
  }
  *dropped = (int64_t)(rows - trace->host.count - trace->device.count - trace->sessions.count);
  return rows > 0 ? extent : (struct extent){0, 0};
}

static void move_rows(struct trace *trace, int64_t by) {
  if (by != 0) {
    MOVE(&trace->host, by);
    MOVE(&trace->device, by);
    MOVE(&trace->sessions, by);
  }
  size_t kept = 0;
  for (size_t i = 0; i < trace->memory.count; i++) {
    struct trace_memory memory = trace->memory.items[i];
    if (!is_far(memory.start, by)) {
      memory.start -= by;
      trace->memory.items[kept++] = memory;
    }
  }
  trace->others['i'] += (int64_t)(trace->memory.count - kept); /* as those that say nothing of memory */
  trace->memory.count = kept;
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
