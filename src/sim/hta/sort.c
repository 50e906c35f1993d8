/* In which order equal times come. HTA's tables come out of numpy's default sort, which is not stable, and its figures
 * show what that makes of equal times: quicksort around the median of three, which leaves short parts to insertion,
 * and to a heap what it splits badly.
 */
#include "sim/hta/rows.h"

/* Ends of a part that are further apart than this are split: numpy's kQuickSmall (quicksort.hpp). */
enum { SHORT = 15 };

struct part {
  int64_t first, last;
  int splits; /* that it may still take */
};

static void swap(struct hta_placed *a, struct hta_placed *b) {
  struct hta_placed kept = *a;
  *a = *b;
  *b = kept;
}

static void order_pair(struct hta_placed *low, struct hta_placed *high) {
  if (high->time < low->time) {
    swap(low, high);
  }
}

/* The place of the median of three, with nothing above it before and nothing below it behind. */
static int64_t split(struct hta_placed *items, int64_t first, int64_t last) {
  int64_t middle = first + (last - first) / 2;
  order_pair(&items[first], &items[middle]);
  order_pair(&items[middle], &items[last]);
  order_pair(&items[first], &items[middle]);
  int64_t median = items[middle].time;
  int64_t low = first;
  int64_t high = last - 1;
  swap(&items[middle], &items[high]);
  for (;;) {
    do {
      low++;
    } while (items[low].time < median);
    do {
      high--;
    } while (median < items[high].time);
    if (low >= high) {
      break;
    }
    swap(&items[low], &items[high]);
  }
  swap(&items[low], &items[last - 1]);
  return low;
}

static void insert(struct hta_placed *items, int64_t first, int64_t last) {
  for (int64_t i = first + 1; i <= last; i++) {
    struct hta_placed item = items[i];
    int64_t place = i;
    for (; place > first && item.time < items[place - 1].time; place--) {
      items[place] = items[place - 1];
    }
    items[place] = item;
  }
}

/* Put `item` where it belongs on the way from `place` to the leaves of a heap of `count`, counted from 1. */
static void sift(struct hta_placed *heap, int64_t place, int64_t count, struct hta_placed item) {
  for (int64_t child = 2 * place; child <= count; child = 2 * place) {
    child += child < count && heap[child].time < heap[child + 1].time;
    if (item.time >= heap[child].time) {
      break;
    }
    heap[place] = heap[child];
    place = child;
  }
  heap[place] = item;
}

static void sort_by_heap(struct hta_placed *items, int64_t count) {
  struct hta_placed *heap = items - 1;
  for (int64_t place = count / 2; place > 0; place--) {
    sift(heap, place, count, heap[place]);
  }
  for (; count > 1; count--) {
    struct hta_placed last = heap[count];
    heap[count] = heap[1];
    sift(heap, 1, count - 1, last);
  }
}

/* Of times that rise there is one order only. */
static bool rises(const struct hta_placed *items, size_t count) {
  size_t i = 1;
  while (i < count && items[i - 1].time < items[i].time) {
    i++;
  }
  return i >= count;
}

void hta_sort(struct hta_placed *items, size_t count) {
  if (rises(items, count)) {
    return;
  }
  struct part waiting[128]; /* the larger part waits, so as many as there are bits would do */
  size_t depth = 0;
  struct part part = {0, (int64_t)count - 1, 0};
  for (size_t rest = count; rest > 1; rest /= 2) {
    part.splits += 2;
  }
  for (;;) {
    bool bad = part.splits < 0;
    if (bad) {
      sort_by_heap(items + part.first, part.last - part.first + 1);
    }
    while (!bad && part.last - part.first > SHORT) {
      int64_t place = split(items, part.first, part.last);
      bool right_waits = place - part.first < part.last - place;
      part.splits--;
      waiting[depth++] = right_waits ? (struct part){place + 1, part.last, part.splits}
                                     : (struct part){part.first, place - 1, part.splits};
      *(right_waits ? &part.last : &part.first) = right_waits ? place - 1 : place + 1;
    }
    if (!bad) {
      insert(items, part.first, part.last);
    }
    if (depth == 0) {
      return;
    }
    part = waiting[--depth];
  }
}
