/* Myers, "An O(ND) difference algorithm and its variations", in stretches of bounded depth.
 *
 * With d differences the search has reached, on every diagonal k = x - y from -d to d, the furthest x: `reached[d][k]`.
 * The path back from the furthest point tells which items are pairs.
 */
#include "sim/align.h"

#include <lumos/memory.h>
#include <stdbool.h>
#include <stdlib.h>

enum { WIDTH = 2 * LUMOS_ALIGN_SPAN + 3, MIDDLE = LUMOS_ALIGN_SPAN + 1 };

struct alignment {
  const uint32_t *left, *right;
  size_t left_count, right_count;
  uint32_t *partners;
  size_t pairs;
  int64_t *reached; /* LUMOS_ALIGN_SPAN + 1 rows of WIDTH: x by diagonal, -1 where it is not reached */
};

static int64_t *row(const struct alignment *alignment, int depth) { return alignment->reached + (size_t)depth * WIDTH; }

static void pair(struct alignment *alignment, size_t x, size_t y) {
  alignment->partners[x] = (uint32_t)y;
  alignment->pairs++;
}

/* How a diagonal is reached with one more difference: from the right neighbour (an item of right is left out) or the
 * left one. */
static bool from_above(const int64_t *before, int depth, int k) {
  return k == -depth || (k != depth && before[MIDDLE + k - 1] < before[MIDDLE + k + 1]);
}

static int64_t first_x(const int64_t *before, int depth, int k) {
  return from_above(before, depth, k) ? before[MIDDLE + k + 1] : before[MIDDLE + k - 1] + 1;
}

/* The path that ends on diagonal k after `depth` differences, from its end to the origin (x0, y0). */
static void trace_back(struct alignment *alignment, int depth, int k, size_t x0, size_t y0) {
  for (; depth >= 0; depth--) {
    int64_t x = row(alignment, depth)[MIDDLE + k];
    int64_t start = depth == 0 ? 0 : first_x(row(alignment, depth - 1), depth, k);
    for (; x > start; x--) {
      pair(alignment, x0 + (size_t)x - 1, y0 + (size_t)(x - k) - 1);
    }
    if (depth > 0) {
      k += from_above(row(alignment, depth - 1), depth, k) ? 1 : -1;
    }
  }
}

/* One stretch from (x, y); moves it to where the stretch ends. */
static void align_stretch(struct alignment *alignment, size_t *x0, size_t *y0) {
  int64_t left = (int64_t)(alignment->left_count - *x0), right = (int64_t)(alignment->right_count - *y0);
  int64_t furthest = -1;
  int best_depth = 0, best_k = 0;
  bool over = false;
  for (int depth = 0; depth <= LUMOS_ALIGN_SPAN && !over; depth++) {
    int64_t *reached = row(alignment, depth);
    for (int k = -depth; k <= depth && !over; k += 2) {
      int64_t x = depth == 0 ? 0 : first_x(row(alignment, depth - 1), depth, k);
      while (x < left && x - k < right && alignment->left[*x0 + (size_t)x] == alignment->right[*y0 + (size_t)(x - k)]) {
        x++;
      }
      reached[MIDDLE + k] = x;
      bool inside = x <= left && x - k <= right; /* a path that has left the sequences never comes back */
      if (inside &&
          (2 * x - k > furthest || (2 * x - k == furthest && abs(k) < abs(best_k)))) { /* of equals the middle */
        furthest = 2 * x - k;
        best_depth = depth;
        best_k = k;
      }
      over = inside && x == left && x - k == right;
    }
  }
  trace_back(alignment, best_depth, best_k, *x0, *y0);
  int64_t x = row(alignment, best_depth)[MIDDLE + best_k];
  *x0 += (size_t)x;
  *y0 += (size_t)(x - best_k);
}

size_t lumos_align(const uint32_t *left, size_t left_count, const uint32_t *right, size_t right_count,
                   uint32_t *partners) {
  for (size_t i = 0; i < left_count; i++) {
    partners[i] = UINT32_MAX;
  }
  struct alignment alignment = {left, right, left_count, right_count, partners, 0, NULL};
  alignment.reached = lumos_allocate((size_t)(LUMOS_ALIGN_SPAN + 1) * WIDTH * sizeof *alignment.reached);
  for (size_t x = 0, y = 0; x < left_count && y < right_count;) {
    align_stretch(&alignment, &x, &y);
  }
  free(alignment.reached);
  return alignment.pairs;
}
