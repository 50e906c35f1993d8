/* Rows united to intervals, and what runs at once. */
#include "sim/hta/rows.h"

#include <stdlib.h>

static bool some_start_at_once(const struct hta_intervals *intervals) {
  size_t i = 1;
  while (i < intervals->count && intervals->items[i - 1].start < intervals->items[i].start) {
    i++;
  }
  return i < intervals->count;
}

/* By their start they are sorted already; but where a row of -1 us ends before the next begins, two may have one, and
 * that tool sorts once more. */
static void sort_intervals(struct hta_intervals *intervals, struct hta_placed *placed) {
  if (!some_start_at_once(intervals)) {
    return;
  }
  struct hta_interval *unsorted = lumos_copied(intervals->items, intervals->count, sizeof *unsorted);
  for (size_t i = 0; i < intervals->count; i++) {
    placed[i] = (struct hta_placed){unsorted[i].start, (uint32_t)i};
  }
  hta_sort(placed, intervals->count);
  for (size_t i = 0; i < intervals->count; i++) {
    intervals->items[i] = unsorted[placed[i].item];
  }
  free(unsorted);
}

/* The rows that are placed; their places are room for other work after it. */
static void unite(const struct hta_rank *rank, struct hta_placed *placed, size_t count, struct hta_intervals *out) {
  int64_t reached = 0;
  for (size_t i = 0; i < count; i++) {
    const struct hta_row *row = &rank->rows.items[placed[i].item];
    if (i == 0 || row->start > reached) {
      lumos_vector_push(out, ((struct hta_interval){row->start, row->end}));
    }
    struct hta_interval *last = &out->items[out->count - 1];
    last->end = row->end > last->end ? row->end : last->end;
    reached = i == 0 || row->end > reached ? row->end : reached;
  }
  sort_intervals(out, placed);
}

void hta_unite(struct hta_rank *rank) {
  struct hta_placed *placed = lumos_allocate((rank->rows.count + 1) * sizeof *placed);
  for (int type = 0; type <= HTA_TYPES; type++) {
    size_t count = 0;
    for (size_t i = 0; i < rank->rows.count; i++) {
      const struct hta_row *row = &rank->rows.items[i];
      if (type == HTA_TYPES || rank->classes.items[row->class].type == type) {
        placed[count++] = (struct hta_placed){row->start, (uint32_t)i};
      }
    }
    hta_sort(placed, count);
    unite(rank, placed, count, &rank->united[type]);
  }
  free(placed);
}

int64_t hta_length(const struct hta_intervals *intervals) {
  int64_t length = 0;
  for (size_t i = 0; i < intervals->count; i++) {
    length += intervals->items[i].end - intervals->items[i].start;
  }
  return length;
}

/* Put in the starts of a type and then their ends: item 2 * type, and that + 1. */
static size_t put_changes(struct hta_placed *changes, size_t count, const struct hta_intervals *list, int type) {
  for (size_t i = 0; i < list->count; i++) {
    changes[count + i] = (struct hta_placed){list->items[i].start, (uint32_t)(2 * type)};
    changes[count + list->count + i] = (struct hta_placed){list->items[i].end, (uint32_t)(2 * type + 1)};
  }
  return count + 2 * list->count;
}

static void add_changes(const struct hta_placed *changes, size_t count, struct hta_levels *out) {
  int running = HTA_NONE;
  *out = (struct hta_levels){{0}, {false}};
  for (size_t i = 0; i + 1 < count; i++) {
    int level = 1 << (changes[i].item / 2);
    running += changes[i].item % 2 == 0 ? level : -level;
    out->time[running] += changes[i + 1].time - changes[i].time;
    out->seen[running] = true;
  }
}

void hta_sweep(const struct hta_rank *rank, struct hta_levels *without_memory, struct hta_levels *with_memory) {
  size_t most = 0;
  for (int type = HTA_COMPUTATION; type <= HTA_MEMORY; type++) {
    most += 2 * rank->united[type].count;
  }
  struct hta_placed *changes = lumos_allocate((most + 1) * sizeof *changes);
  size_t count = 0;
  for (int type = HTA_COMPUTATION; type <= HTA_MEMORY; type++) { /* that tool sorts anew with each type */
    count = put_changes(changes, count, &rank->united[type], type);
    hta_sort(changes, count);
    if (type != HTA_COMPUTATION) {
      add_changes(changes, count, type == HTA_COMMUNICATION ? without_memory : with_memory);
    }
  }
  free(changes);
}
