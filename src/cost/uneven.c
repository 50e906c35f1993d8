#include "cost/uneven.h"

#include "base/hash.h"
#include <math.h>
#include <stdbool.h>

static int by_share(const void *left, const void *right) {
  const struct lumos_uneven_loss *a = left, *b = right;
  double one = a->lost / a->alone, other = b->lost / b->alone;
  return one != other ? (one > other) - (one < other) : (a->alone > b->alone) - (a->alone < b->alone);
}

/* Adds, `sign` times, what each part loses of its time alone, all parts as long. */
static void add_parts(double *shares, const struct lumos_uneven_losses *kernels, double sign) {
  size_t at = 0;
  double alone = 0;
  for (size_t i = 0; i < kernels->count; i++) {
    alone += kernels->items[i].alone;
  }
  double part = alone / LUMOS_UNEVEN, room = part;
  for (size_t i = 0; i < kernels->count; i++) {
    const struct lumos_uneven_loss *kernel = &kernels->items[i];
    double left = kernel->alone;
    while (left > 0) {
      bool last = at + 1 == LUMOS_UNEVEN; /* takes what sums of fractions leave */
      double taken = last ? left : fmin(left, room);
      shares[at] += sign * kernel->lost * (taken / kernel->alone) / part;
      left -= taken;
      room -= taken;
      if (!last && room <= 0) {
        at++;
        room = part;
      }
    }
  }
}

void lumos_uneven_find(struct lumos_uneven *uneven, struct lumos_uneven_losses *beside,
                       struct lumos_uneven_losses *alone) {
  enum { LEAST_KERNELS = 12 }; /* chosen: less is chance */
  double shares[LUMOS_UNEVEN] = {0}, sum = 0, owed = 0;
  if (beside->count >= LEAST_KERNELS) {
    lumos_vector_sort(beside, by_share);
    lumos_vector_sort(alone, by_share);
    add_parts(shares, beside, 1);
    add_parts(shares, alone, -1);
  }
  for (int i = 0; i < LUMOS_UNEVEN; i++) {
    sum += shares[i];
  }
  for (int i = 0; i < LUMOS_UNEVEN; i++) {
    /* None is faster beside communication: what chance made so, those that come next lose less. */
    double least = sum > 0 ? shares[i] + owed : 0;
    owed = fmin(least, 0);
    uneven->ratios[i] = sum > 0 ? fmax(least, 0) / sum * LUMOS_UNEVEN : 1;
  }
}

size_t lumos_uneven_draw(uint64_t rank, uint64_t name, uint64_t nth) {
  uint64_t round = lumos_hash_mix(lumos_hash_mix(lumos_hash_mix(1, rank), name), nth / LUMOS_UNEVEN);
  uint64_t first = round, stride = round >> 32 | 1; /* odd: it comes to all of them */
  return (size_t)((first + stride * (nth % LUMOS_UNEVEN)) % LUMOS_UNEVEN);
}
