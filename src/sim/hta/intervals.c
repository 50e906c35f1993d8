/* Rows united to intervals, and what runs at once. */
#include "sim/hta/rows.h"

#include <stdlib.h>

/* The intervals by their start: two may have one, where a row of -1 us ends before the next begins. */
static void sort_intervals(struct hta_intervals *intervals) {
  struct hta_placed *placed = lumos_allocate((intervals->count + 1) * sizeof *placed);
  struct hta_interval *sorted = lumos_allocate((intervals->count + 1) * sizeof *sorted);
  for (size_t i = 0; i < intervals->count; i++) {
    placed[i] = (struct hta_placed){intervals->items[i].start, (uint32_t)i};
  }
  hta_sort(placed, intervals->count);
  for (size_t i = 0; i < intervals->count; i++) {
    sorted[i] = intervals->items[placed[i].item];
  }
  for (size_t i = 0; i < intervals->count; i++) {
    intervals->items[i] = sorted[i];
  }
  free(placed);
  free(sorted);
}

static void unite(const struct hta_rank *rank, const struct hta_placed *placed, size_t count,
                  struct hta_intervals *out) {
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
  sort_intervals(out);
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

/* Put in the starts of a list and then its ends: item 2 * list, and that + 1. */
static size_t put_changes(struct hta_placed *changes, size_t count, const struct hta_intervals *list, size_t number) {
  for (size_t i = 0; i < list->count; i++) {
    changes[count + i] = (struct hta_placed){list->items[i].start, (uint32_t)(2 * number)};
    changes[count + list->count + i] = (struct hta_placed){list->items[i].end, (uint32_t)(2 * number + 1)};
  }
  return count + 2 * list->count;
}

void hta_sweep(const struct hta_intervals *const *lists, const int *levels, size_t count, bool each,
               struct hta_levels *out) {
  size_t most = 0;
  *out = (struct hta_levels){{0}, {false}};
  for (size_t list = 0; list < count; list++) {
    most += 2 * lists[list]->count;
  }
  struct hta_placed *changes = lumos_allocate((most + 1) * sizeof *changes);
  size_t placed = 0;
  for (size_t list = 0; list < count; list++) {
    placed = put_changes(changes, placed, lists[list], list);
    if (each || list + 1 == count) {
      hta_sort(changes, placed);
    }
  }
  int running = 0;
  for (size_t i = 0; i + 1 < placed; i++) {
    int level = levels[changes[i].item / 2];
    running += changes[i].item % 2 == 0 ? level : -level;
    out->time[running + HTA_NONE] += changes[i + 1].time - changes[i].time;
    out->seen[running + HTA_NONE] = true;
  }
  free(changes);
}
