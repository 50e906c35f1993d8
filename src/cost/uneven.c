#include "cost/uneven.h"

#include "base/hash.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static int by_share(const void *left, const void *right) {
  const struct lumos_uneven_loss *a = left, *b = right;
  double one = a->lost / a->alone, other = b->lost / b->alone;
  return one != other ? (one > other) - (one < other) : (a->alone > b->alone) - (a->alone < b->alone);
}

/* What each part loses, all parts as long alone. */
static void cut(double *lost, const struct lumos_uneven_loss *kernels, size_t count, double part) {
  size_t at = 0;
  double room = part;
  for (size_t i = 0; i < count; i++) {
    double left = kernels[i].alone;
    while (left > 0) {
      bool last = at + 1 == LUMOS_UNEVEN; /* takes what sums of fractions leave */
      double taken = last ? left : fmin(left, room);
      lost[at] += kernels[i].lost * (taken / kernels[i].alone);
      left -= taken;
      room -= taken;
      if (!last && room <= 0) {
        at++;
        room = part;
      }
    }
  }
}

void lumos_uneven_find(struct lumos_uneven *uneven, struct lumos_uneven_loss *kernels, size_t count) {
  enum { LEAST_KERNELS = 12 }; /* chosen: less is chance */
  double lost[LUMOS_UNEVEN] = {0}, alone = 0, sum = 0, owed = 0;
  for (size_t i = 0; i < count; i++) {
    alone += kernels[i].alone;
    sum += kernels[i].lost;
  }
  bool known = count >= LEAST_KERNELS && sum > 0;
  if (known) {
    qsort(kernels, count, sizeof *kernels, by_share);
    cut(lost, kernels, count, alone / LUMOS_UNEVEN);
  }
  for (int i = 0; i < LUMOS_UNEVEN; i++) {
    /* None is faster beside communication: what chance made so, those that come next lose less. */
    double least = known ? lost[i] + owed : 0;
    owed = fmin(least, 0);
    uneven->ratios[i] = known ? fmax(least, 0) / sum * LUMOS_UNEVEN : 1;
  }
}

size_t lumos_uneven_draw(uint64_t rank, uint64_t name, uint64_t nth) {
  uint64_t round = lumos_hash_mix(lumos_hash_mix(lumos_hash_mix(1, rank), name), nth / LUMOS_UNEVEN);
  uint64_t first = round, stride = round >> 32 | 1; /* odd: it comes to all of them */
  return (size_t)((first + stride * (nth % LUMOS_UNEVEN)) % LUMOS_UNEVEN);
}
