/* Arrays that grow, pools of things that are alike, and the order of rows. Correlations and frame numbers are dense, so
 * that a table orders them without sorting.
 */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

void *grown(void *items, size_t *room, size_t size) {
  *room = *room == 0 ? 64 : 2 * *room;
  return memory_grown(items, *room, size);
}

/* ---- pools ---- */

static uint64_t hash_of(const char *bytes, size_t size) {
  uint64_t hash = size;
  while (size > 0) {
    uint64_t word = 0;
    size_t part = size < sizeof word ? size : sizeof word;
    memcpy(&word, bytes, part);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    bytes += part;
    size -= part;
  }
  return hash;
}

static size_t size_at(const struct pool *pool, uint32_t index) {
  return (index + 1 < pool->starts.count ? pool->starts.items[index + 1] : pool->bytes.count) -
         pool->starts.items[index];
}

const void *pool_at(const struct pool *pool, uint32_t index) { return pool->bytes.items + pool->starts.items[index]; }

/* The slot with this item, or the empty one where it belongs. */
static size_t slot_of(const struct pool *pool, const void *item, size_t size) {
  size_t slot = hash_of(item, size) & (pool->slot_count - 1);
  for (; pool->slots[slot] != 0; slot = (slot + 1) & (pool->slot_count - 1)) {
    uint32_t index = pool->slots[slot] - 1;
    if (size_at(pool, index) == size && memcmp(pool_at(pool, index), item, size) == 0) {
      break;
    }
  }
  return slot;
}

static void widen(struct pool *pool) {
  free(pool->slots);
  pool->slot_count = pool->slot_count == 0 ? 256 : 2 * pool->slot_count;
  pool->slots = memory_new(pool->slot_count, sizeof *pool->slots);
  for (uint32_t i = 0; i < pool->starts.count; i++) {
    pool->slots[slot_of(pool, pool_at(pool, i), size_at(pool, i))] = i + 1;
  }
}

uint32_t pool_add(struct pool *pool, const void *item, size_t size) {
  if (2 * pool->starts.count >= pool->slot_count) {
    widen(pool);
  }
  size_t slot = slot_of(pool, item, size);
  if (pool->slots[slot] == 0) {
    PUSH(pool->starts, pool->bytes.count);
    while (pool->bytes.room < pool->bytes.count + size) {
      pool->bytes.items = grown(pool->bytes.items, &pool->bytes.room, 1);
    }
    memcpy(pool->bytes.items + pool->bytes.count, item, size);
    pool->bytes.count += size;
    pool->slots[slot] = (uint32_t)pool->starts.count;
  }
  return pool->slots[slot] - 1;
}

void pool_free(struct pool *pool) {
  free(pool->bytes.items);
  free(pool->starts.items);
  free(pool->slots);
}

/* ---- order ---- */

static struct table table_new(uint32_t first, uint32_t last) {
  uint32_t count = first > last ? 0 : last - first + 1;
  struct table table = {first, count, memory_new(count, sizeof *table.rows)};
  for (uint32_t i = 0; i < count; i++) {
    table.rows[i] = NONE;
  }
  return table;
}

static void widen_range(uint32_t key, uint32_t *first, uint32_t *last) {
  *first = key < *first ? key : *first;
  *last = key > *last ? key : *last;
}

uint32_t table_find(const struct table *table, uint32_t key) {
  return key >= table->first && key - table->first < table->count ? table->rows[key - table->first] : NONE;
}

bool is_shown(const struct rank_rows *rows, int64_t start, int64_t end) {
  const struct clock *clock = &rows->clock;
  return rows->start != INT64_MAX && clock_device(clock, start) >= clock_host(clock, rows->start) &&
         (rows->stop == INT64_MAX || clock_device(clock, end) <= clock_host(clock, rows->stop));
}

static void fill_device(struct table *table, const struct rank_rows *rows) {
  for (uint32_t i = 0; i < rows->device.count; i++) {
    const struct device_row *row = &rows->device.items[i];
    if (is_shown(rows, row->start, row->end)) {
      table->rows[row->correlation - table->first] = i;
    }
  }
}

struct table device_table(const struct rank_rows *rows) {
  uint32_t first = UINT32_MAX, last = 0;
  for (size_t i = 0; i < rows->device.count; i++) {
    widen_range(rows->device.items[i].correlation, &first, &last);
  }
  struct table table = table_new(first, last);
  fill_device(&table, rows);
  return table;
}

struct order order_of(const struct rank_rows *rows) {
  uint32_t first = UINT32_MAX, last = 0, first_number = UINT32_MAX, last_number = 0;
  for (size_t i = 0; i < rows->device.count; i++) {
    widen_range(rows->device.items[i].correlation, &first, &last);
  }
  for (size_t i = 0; i < rows->calls.count; i++) {
    widen_range(rows->calls.items[i].correlation, &first, &last);
  }
  for (size_t i = 0; i < rows->reaches.count; i++) {
    widen_range(rows->reaches.items[i].correlation, &first, &last);
  }
  for (size_t i = 0; i < rows->frames.count; i++) {
    widen_range(rows->frames.items[i].number, &first_number, &last_number);
  }
  struct order order = {table_new(first, last), table_new(first, last), table_new(first, last),
                        table_new(first_number, last_number)};
  fill_device(&order.device, rows);
  for (uint32_t i = 0; i < rows->calls.count; i++) {
    order.calls.rows[rows->calls.items[i].correlation - first] = i;
  }
  for (uint32_t i = 0; i < rows->reaches.count; i++) {
    const struct reach_row *row = &rows->reaches.items[i];
    if (is_shown(rows, row->time, row->time + 1)) {
      order.reaches.rows[row->correlation - first] = i;
    }
  }
  for (uint32_t i = 0; i < rows->frames.count; i++) {
    order.frames.rows[rows->frames.items[i].number - first_number] = i;
  }
  return order;
}

void order_free(struct order *order) {
  free(order->device.rows);
  free(order->calls.rows);
  free(order->reaches.rows);
  free(order->frames.rows);
}
