/* Sorting the moments of intervals. */
#include "base/moments.h"

#include <string.h>

/* A place or two before the last ones is looked for: work of one stream overlaps by no more. */
static void push(struct lumos_moments *moments, struct lumos_moment moment) {
  enum { NEAR = 4 };
  lumos_vector_push(&moments->list, moment);
  struct lumos_moment *items = moments->list.items;
  size_t last = moments->list.count - 1;
  size_t place = last;
  while (place > 0 && last - place < NEAR && items[place - 1].time > moment.time) {
    place--;
  }
  if (place < last && (place == 0 || items[place - 1].time <= moment.time)) {
    memmove(items + place + 1, items + place, (last - place) * sizeof *items);
    items[place] = moment;
  }
}

void lumos_moments_add(struct lumos_moments *moments, int32_t what, int64_t start, int64_t end) {
  if (start < end) {
    push(moments, (struct lumos_moment){start, 1, what});
    push(moments, (struct lumos_moment){end, -1, what});
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
    struct lumos_moment *list = moments->list.items;
    for (size_t first = 0, end = 0; first < count; first = end) {
      size_t middle = end_of_run(list, first, count);
      end = middle < count ? end_of_run(list, middle, count) : count;
      merge_runs(list, first, middle, end, moments->merged.items + first);
    }
    moments->list.items = moments->merged.items;
    moments->merged.items = list;
    size_t room = moments->list.capacity;
    moments->list.capacity = moments->merged.capacity;
    moments->merged.capacity = room;
  }
}

void lumos_moments_free(struct lumos_moments *moments) {
  lumos_vector_free(&moments->list);
  lumos_vector_free(&moments->merged);
}
