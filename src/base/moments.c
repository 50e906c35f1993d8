/* Sorting the moments of intervals. */
#include "base/moments.h"

#include <string.h>

void lumos_moments_add(struct lumos_moments *moments, int32_t what, int64_t start, int64_t end) {
  if (start < end) {
    struct lumos_moment begins = {start, 1, what};
    struct lumos_moment ends = {end, -1, what};
    lumos_vector_push(&moments->list, begins);
    lumos_vector_push(&moments->list, ends);
  }
}

/* The end of the moments from `first` on that are in order. */
static size_t end_of_run(const struct lumos_moment *moments, size_t first, size_t count) {
  size_t end = first + 1;
  while (end < count && moments[end - 1].time <= moments[end].time) {
    end++;
  }
  return end < count ? end : count;
}

static void merge_runs(const struct lumos_moment *moments, size_t first, size_t middle, size_t end,
                       struct lumos_moment *merged) {
  for (size_t left = first, right = middle; left < middle || right < end;) {
    bool from_left = right == end || (left < middle && moments[left].time <= moments[right].time);
    *merged++ = from_left ? moments[left++] : moments[right++];
  }
}

/* Streams run in order, so there are few runs: merged by two until one is left. */
void lumos_moments_sort(struct lumos_moments *moments) {
  size_t count = moments->list.count;
  moments->merged.count = 0;
  lumos_vector_reserve(&moments->merged, count);
  while (end_of_run(moments->list.items, 0, count) < count) {
    const struct lumos_moment *list = moments->list.items;
    for (size_t first = 0, end = 0; first < count; first = end) {
      size_t middle = end_of_run(list, first, count);
      end = middle < count ? end_of_run(list, middle, count) : count;
      merge_runs(list, first, middle, end, moments->merged.items + first);
    }
    memcpy(moments->list.items, moments->merged.items, count * sizeof *list);
  }
}

void lumos_moments_free(struct lumos_moments *moments) {
  lumos_vector_free(&moments->list);
  lumos_vector_free(&moments->merged);
}
