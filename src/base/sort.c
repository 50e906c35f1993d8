#include "base/sort.h"

#include <lumos/memory.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 16 }; /* chosen: with more of them qsort compares no oftener */

struct runs {
  size_t first[MOST_RUNS + 1]; /* and where the last ends */
  size_t count;
};

/* False: there are more. */
static bool find_runs(const char *items, size_t count, size_t size, int (*compare)(const void *, const void *),
                      struct runs *runs) {
  runs->first[0] = 0;
  runs->count = 1;
  for (size_t i = 1; i < count; i++) {
    if (compare(items + (i - 1) * size, items + i * size) > 0) {
      if (runs->count == MOST_RUNS) {
        return false;
      }
      runs->first[runs->count++] = i;
    }
  }
  runs->first[runs->count] = count;
  return true;
}

/* Of two runs that follow each other one. */
static void merge(const char *from, char *to, size_t size, int (*compare)(const void *, const void *),
                  const size_t *first) {
  size_t left = first[0], right = first[1];
  for (size_t place = first[0]; place < first[2]; place++) {
    bool takes_left = right == first[2] || (left < first[1] && compare(from + left * size, from + right * size) <= 0);
    memcpy(to + place * size, from + (takes_left ? left++ : right++) * size, size);
  }
}

/* Two by two. */
static void merge_all(char *items, char *other, size_t size, int (*compare)(const void *, const void *),
                      struct runs *runs) {
  char *from = items, *to = other;
  while (runs->count > 1) {
    size_t count = 0, end = runs->first[runs->count];
    for (size_t i = 0; i < runs->count; i += 2) {
      const size_t alone[] = {runs->first[i], end, end};
      merge(from, to, size, compare, i + 1 < runs->count ? &runs->first[i] : alone);
      runs->first[count++] = runs->first[i];
    }
    runs->first[count] = end;
    runs->count = count;
    char *swapped = from;
    from = to;
    to = swapped;
  }
  if (from != items) {
    memcpy(items, from, runs->first[1] * size);
  }
}

void lumos_sort_runs(void *items, size_t count, size_t size, int (*compare)(const void *left, const void *right)) {
  struct runs runs;
  if (count < 2) {
    return;
  }
  if (!find_runs(items, count, size, compare, &runs)) {
    qsort(items, count, size, compare);
  } else if (runs.count > 1) {
    char *other = lumos_allocate(count * size);
    merge_all(items, other, size, compare, &runs);
    free(other);
  }
}
