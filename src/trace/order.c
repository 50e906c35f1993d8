/* Natural merge sort: find the runs, then merge neighbours until one is left. */
#include "trace/order.h"

#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

/* Merge [first, middle) and [middle, end) of `from` into the same places of `to`. */
static void merge(const uint32_t *from, uint32_t *to, const size_t bounds[3], trace_before before, const void *rows) {
  size_t left = bounds[0];
  size_t right = bounds[1];
  for (size_t place = bounds[0]; place < bounds[2]; place++) {
    bool take_right = left == bounds[1] || (right < bounds[2] && before(rows, from[right], from[left]));
    to[place] = from[take_right ? right++ : left++];
  }
}

void lumos_trace_sort(uint32_t *items, size_t count, trace_before before, const void *rows) {
  LUMOS_VECTOR(size_t) starts = {0}; /* where runs begin, and the end of the last */
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || before(rows, items[i], items[i - 1])) {
      lumos_vector_push(&starts, i);
    }
  }
  lumos_vector_push(&starts, count);
  uint32_t *room = starts.count > 2 ? lumos_allocate(count * sizeof *room) : NULL;
  uint32_t *from = items;
  uint32_t *to = room;
  while (starts.count > 2) {
    size_t kept = 0;
    size_t run = 0;
    for (; run + 2 < starts.count; run += 2) {
      merge(from, to, &starts.items[run], before, rows);
      starts.items[kept++] = starts.items[run];
    }
    if (run + 1 < starts.count) {
      memcpy(to + starts.items[run], from + starts.items[run], (count - starts.items[run]) * sizeof *to);
      starts.items[kept++] = starts.items[run];
    }
    starts.items[kept++] = count;
    starts.count = kept;
    uint32_t *swapped = from;
    from = to;
    to = swapped;
  }
  if (from != items) {
    memcpy(items, from, count * sizeof *items);
  }
  free(room);
  lumos_vector_free(&starts);
}

static bool nests_before(const void *rows, uint32_t a, uint32_t b) {
  const struct trace_host *left = (const struct trace_host *)rows + a;
  const struct trace_host *right = (const struct trace_host *)rows + b;
  if (left->start != right->start) {
    return left->start < right->start;
  }
  return left->end != right->end ? left->end > right->end : left->class < right->class;
}

static bool runs_before(const void *rows, uint32_t a, uint32_t b) {
  const struct trace_device *left = (const struct trace_device *)rows + a;
  const struct trace_device *right = (const struct trace_device *)rows + b;
  if (left->start != right->start) {
    return left->start < right->start;
  }
  return left->end != right->end ? left->end < right->end : left->correlation < right->correlation;
}

/* Put the rows of each lane side by side, in the order of the file. */
#define GROUP_ROWS(order, lanes, recorded)                                                              \
  do {                                                                                                  \
    lumos_trace_free_order(order);                                                                      \
    (order)->rows = lumos_allocate((recorded)->count * sizeof *(order)->rows);                          \
    (order)->first = lumos_allocate_zeroed((lanes) + 2, sizeof *(order)->first);                        \
    for (size_t i = 0; i < (recorded)->count; i++) {                                                    \
      (order)->first[(recorded)->items[i].lane + 2]++;                                                  \
    }                                                                                                   \
    for (size_t i = 2; i < (lanes) + 2; i++) {                                                          \
      (order)->first[i] += (order)->first[i - 1];                                                       \
    }                                                                                                   \
    /* first[lane + 1] walks from the lane's first place to its end, which is where the next begins. */ \
    for (size_t i = 0; i < (recorded)->count; i++) {                                                    \
      (order)->rows[(order)->first[(recorded)->items[i].lane + 1]++] = (uint32_t)i;                     \
    }                                                                                                   \
  } while (0)

static void sort_lanes(const struct trace_order *order, size_t lanes, trace_before before, const void *rows) {
  for (size_t lane = 0; lane < lanes; lane++) {
    size_t first = order->first[lane];
    lumos_trace_sort(order->rows + first, order->first[lane + 1] - first, before, rows);
  }
}

/* [row]: its place. The places' rows are freed. */
static uint32_t *take_places(struct trace_order *order, size_t count) {
  uint32_t *place_of = lumos_allocate(count * sizeof *place_of);
  for (size_t place = 0; place < count; place++) {
    place_of[order->rows[place]] = (uint32_t)place;
  }
  free(order->rows);
  order->rows = NULL;
  return place_of;
}

/* Rows go to their places in the order of the file: those of a lane nearly side by side, which costs few cache misses,
 * and what they leave behind is given back on the way, lest twice as much be in memory. */
#define SETTLE_ROWS(order, recorded, settled)                                                           \
  do {                                                                                                  \
    uint32_t *place_of = take_places(order, (recorded)->count);                                         \
    for (size_t i = 0; i < (recorded)->count; i++) {                                                    \
      (settled)[place_of[i]] = (recorded)->items[i];                                                    \
      if ((i + 1) % TRACE_GIVEN_BACK_AT_ONCE == 0) {                                                    \
        lumos_release(&(recorded)->items[i + 1 - TRACE_GIVEN_BACK_AT_ONCE], &(recorded)->items[i + 1]); \
      }                                                                                                 \
    }                                                                                                   \
    free(place_of);                                                                                     \
    lumos_vector_drop((recorded)->items);                                                               \
    (recorded)->items = (settled);                                                                      \
    (recorded)->capacity = (recorded)->count;                                                           \
  } while (0)

void lumos_trace_order_host(struct trace *trace) {
  GROUP_ROWS(&trace->host_order, trace->lanes.count, &trace->host);
  sort_lanes(&trace->host_order, trace->lanes.count, nests_before, trace->host.items);
}

void lumos_trace_settle_host(struct trace *trace) {
  struct trace_host *settled = lumos_allocate(trace->host.count * sizeof *settled);
  SETTLE_ROWS(&trace->host_order, &trace->host, settled);
}

void lumos_trace_settle_device(struct trace *trace) {
  struct trace_device *settled = lumos_allocate(trace->device.count * sizeof *settled);
  GROUP_ROWS(&trace->device_order, trace->lanes.count, &trace->device);
  sort_lanes(&trace->device_order, trace->lanes.count, runs_before, trace->device.items);
  SETTLE_ROWS(&trace->device_order, &trace->device, settled);
}

void lumos_trace_free_order(struct trace_order *order) {
  free(order->rows);
  free(order->first);
  *order = (struct trace_order){NULL, NULL};
}
