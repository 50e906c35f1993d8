#include "sim/reference.h"

#include <stdlib.h>

static int compare_contenders(const void *left, const void *right) {
  const struct lumos_contender *a = left;
  const struct lumos_contender *b = right;
  if (a->time != b->time) {
    return a->time < b->time ? -1 : 1;
  }
  return a->number < b->number ? -1 : a->number > b->number;
}

size_t lumos_reference_of(struct lumos_contenders *contenders, int64_t count) {
  int64_t all = -count;
  for (size_t i = 0; i < contenders->count; i++) {
    all += contenders->items[i].weight;
  }
  if (contenders->count == 0) {
    return 0;
  }
  qsort(contenders->items, contenders->count, sizeof contenders->items[0], compare_contenders);
  size_t place = 0;
  int64_t before = contenders->items[0].weight;
  while (place + 1 < contenders->count && before <= all / 4) {
    before += contenders->items[++place].weight;
  }
  return contenders->items[place].number;
}
