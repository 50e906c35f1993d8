/* Sums run over deviations from the first value of a stretch, so that large values that hardly differ keep their
 * digits. */
#include "history/changes.h"

#include "compare/student.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bad nights ---- */

enum {
  WINDOW = 5,
  WIDE = 9, /* of what came and went: more than half of it is HISTORY_HILL */
};
#define SIGMAS 3.0        /* chosen: the usual limit of a Hampel filter */
#define MAD_SIGMAS 1.4826 /* a normal distribution's standard deviation by its median absolute deviation */

static int by_size(const void *left, const void *right) {
  const double *a = left, *b = right;
  return LUMOS_ORDER(*a, *b);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Of a night, from how neighbors differ: a shift of the mean is in one difference alone. */
static double spread_of(const double *values, size_t count, double *scratch) {
  for (size_t i = 0; i + 1 < count; i++) {
    scratch[i] = fabs(values[i + 1] - values[i]);
  }
  return MAD_SIGMAS * median(scratch, count - 1) / sqrt(2);
}

/* `window`: at most WIDE and `count`. */
static void draw_in(const double *values, size_t count, size_t window, double *drawn) {
  double spread = spread_of(values, count, drawn);
  for (size_t i = 0; i < count; i++) {
    size_t first = i < window / 2 ? 0 : i - window / 2;
    first = first + window > count ? count - window : first;
    double around[WIDE];
    memcpy(around, &values[first], window * sizeof *around);
    double middle = median(around, window), most = SIGMAS * spread;
    drawn[i] = fmin(fmax(values[i], middle - most), middle + most);
  }
}

/* Squares of how nights differ that are so far apart, but for the largest, among which shifts of the mean are. */
static double differences_of(const double *values, size_t count, size_t apart, double *scratch) {
  static const double KEPT = 0.85; /* chosen */
  size_t all = count - apart, kept = (size_t)(KEPT * (double)all);
  double sum = 0;
  for (size_t i = 0; i < all; i++) {
    scratch[i] = fabs(values[i + apart] - values[i]);
  }
  qsort(scratch, all, sizeof *scratch, by_size);
  for (size_t i = 0; i < kept; i++) {
    sum += scratch[i] * scratch[i];
  }
  return kept > 0 ? sum / (double)kept : 0;
}

/* How much a night is bound to the one before it, from 0: of a first-order autoregression, by how much more than
 * neighbors the nights differ that have one between them, as far as so many nights show it surely. They show it badly,
 * but a shift that is not found yet does not look like it, as it does about the means of two parts. So the smaller of
 * both counts. */
static double correlation_of(const double *values, size_t count, double *scratch) {
  static const double MOST = 0.9, SURE = 1.645; /* one side of 95 %, of about 1 / sqrt(count) each */
  double near = differences_of(values, count, 1, scratch), far = differences_of(values, count, 2, scratch);
  return near > 0 ? fmin(fmax(far / near - 1 - SURE / sqrt((double)count), 0), MOST) : 0;
}

/* ---- One shift, or two ---- */

struct stretch {
  const double *values;
  const double *steady; /* the same without spells of bad nights, for what came and went */
  double bound;         /* the correlation of neighbors, of all nights */
  size_t first, end;
};

/* Of a stretch, those from `from` on and before `until` against all others. */
struct split {
  size_t from, until;
  double others, these; /* means */
  double within;        /* squares about them */
};

struct sums {
  double origin, sum, squares; /* of what is off the origin */
};

static struct sums sums_of(const struct stretch *stretch, const double *values) {
  struct sums sums = {.origin = values[stretch->first]};
  for (size_t i = stretch->first; i < stretch->end; i++) {
    double off = values[i] - sums.origin;
    sums.sum += off;
    sums.squares += off * off;
  }
  return sums;
}

static size_t count_of(const struct stretch *stretch) { return stretch->end - stretch->first; }

/* The split whose values, from one place up to another, add up to `sum` off the origin. */
static struct split split_of(const struct stretch *stretch, const struct sums *all, size_t from, size_t until,
                             double sum) {
  double these = (double)(until - from), others = (double)count_of(stretch) - these, rest = all->sum - sum;
  struct split split = {.from = from, .until = until, .others = rest / others, .these = sum / these};
  split.within = all->squares - rest * split.others - sum * split.these;
  split.others += all->origin;
  split.these += all->origin;
  return split;
}

/* The same about the split's means. */
static double correlation_about(const struct stretch *stretch, const double *values, const struct split *split) {
  double before = 0, products = 0, squares = 0;
  for (size_t i = stretch->first; i < stretch->end; i++) {
    double off = values[i] - (i >= split->from && i < split->until ? split->these : split->others);
    products += i > stretch->first ? off * before : 0;
    squares += off * off;
    before = off;
  }
  return squares > 0 && products > 0 ? products / squares : 0;
}

/* The chance that the best of `splits` in a series without a shift is that good, at most. */
static double chance_of(const struct stretch *stretch, const double *values, const struct split *split, double splits) {
  double these = (double)(split->until - split->from), others = (double)count_of(stretch) - these;
  double freedom = these + others - 2, difference = split->these - split->others;
  if (difference == 0 || split->within <= 0) {
    return difference == 0 ? 1 : 0;
  }
  double bound = fmin(stretch->bound, correlation_about(stretch, values, split));
  double t = fabs(difference) / sqrt(split->within / freedom * (1 / these + 1 / others) * (1 + bound) / (1 - bound));
  return fmin(1, splits * compare_student_tails(t, freedom));
}

/* Into two parts; the chance of such, 1 where it is too short. */
static double find_shift(const struct stretch *stretch, struct split *best) {
  size_t count = count_of(stretch);
  struct sums all = sums_of(stretch, stretch->values);
  double sum = all.sum;
  if (count < 2 * HISTORY_PART) {
    return 1;
  }
  for (size_t left = 1; left + HISTORY_PART <= count; left++) {
    sum -= stretch->values[stretch->first + left - 1] - all.origin;
    struct split split = split_of(stretch, &all, stretch->first + left, stretch->end, sum);
    if (left == HISTORY_PART || (left > HISTORY_PART && split.within < best->within)) {
      *best = split;
    }
  }
  return chance_of(stretch, stretch->values, best, (double)(count - 2 * HISTORY_PART + 1));
}

/* Into one between two others that are alike. */
static double find_hill(const struct stretch *stretch, struct split *best) {
  size_t count = count_of(stretch), splits = 0;
  struct sums all = sums_of(stretch, stretch->steady);
  for (size_t from = HISTORY_PART; from + HISTORY_HILL + HISTORY_PART <= count; from++) {
    double sum = 0;
    for (size_t until = from + 1; until + HISTORY_PART <= count; until++) {
      sum += stretch->steady[stretch->first + until - 1] - all.origin;
      if (until - from >= HISTORY_HILL) {
        struct split split = split_of(stretch, &all, stretch->first + from, stretch->first + until, sum);
        *best = splits == 0 || split.within < best->within ? split : *best;
        splits++;
      }
    }
  }
  return splits == 0 ? 1 : chance_of(stretch, stretch->steady, best, (double)splits);
}

/* ---- When it was ---- */

/* Into `weights`, by the number of values before it, how likely each split is, up to a factor. */
static void weigh_splits(const struct stretch *stretch, double *weights) {
  size_t count = count_of(stretch);
  struct sums all = sums_of(stretch, stretch->values);
  double sum = all.sum, least = INFINITY, power = ((double)count - 2) / 2;
  for (size_t left = 1; left < count; left++) {
    sum -= stretch->values[stretch->first + left - 1] - all.origin;
    weights[left] = split_of(stretch, &all, stretch->first + left, stretch->end, sum).within;
    least = fmin(least, weights[left]);
  }
  for (size_t left = 1; left < count; left++) {
    double ratio = least > 0 ? least / weights[left] : weights[left] <= 0;
    weights[left] = pow(ratio, power) / sqrt((double)left * (double)(count - left));
  }
}

/* The likeliest splits that are 95 % of all together, and what lies between them. `weights` has twice as much room. */
static void find_interval(const struct stretch *stretch, double *weights, struct history_change *change) {
  const double enough = 0.95;
  size_t count = count_of(stretch);
  double *sorted = weights + count, whole = 0, taken = 0, least = 0;
  weigh_splits(stretch, weights);
  for (size_t left = 1; left < count; left++) {
    whole += weights[left];
  }
  memcpy(sorted, &weights[1], (count - 1) * sizeof *sorted);
  qsort(sorted, count - 1, sizeof *sorted, by_size);
  for (size_t i = count - 1; i > 0 && taken < enough * whole; i--) {
    least = sorted[i - 1];
    taken += least;
  }
  change->first = change->last = change->at;
  for (size_t left = 1; left < count; left++) {
    if (weights[left] >= least) {
      size_t at = stretch->first + left;
      change->first = at < change->first ? at : change->first;
      change->last = at > change->last ? at : change->last;
    }
  }
}

/* ---- All of them ---- */

static void add_change(struct history_changes *changes, size_t at) {
  size_t place = changes->count;
  lumos_vector_push(changes, ((struct history_change){.at = at}));
  for (; place > 0 && changes->items[place - 1].at > at; place--) {
    changes->items[place] = changes->items[place - 1];
  }
  changes->items[place] = (struct history_change){.at = at};
}

/* Where parts begin. */
static void segment(const struct stretch *whole, struct history_changes *changes) {
  LUMOS_VECTOR(struct stretch) open = {0};
  lumos_vector_push(&open, *whole);
  while (open.count > 0) {
    struct stretch stretch = open.items[--open.count];
    struct split split = {0};
    if (find_shift(&stretch, &split) > HISTORY_LEVEL / 2 && find_hill(&stretch, &split) > HISTORY_LEVEL / 2) {
      continue;
    }
    add_change(changes, split.from);
    lumos_vector_push(&open, ((struct stretch){whole->values, whole->steady, whole->bound, stretch.first, split.from}));
    lumos_vector_push(&open, ((struct stretch){whole->values, whole->steady, whole->bound, split.from, split.until}));
    if (split.until < stretch.end) {
      add_change(changes, split.until);
      lumos_vector_push(&open,
                        ((struct stretch){whole->values, whole->steady, whole->bound, split.until, stretch.end}));
    }
  }
  lumos_vector_free(&open);
}

static struct stretch stretch_around(const struct stretch *whole, const struct history_changes *changes, size_t i) {
  return (struct stretch){whole->values, whole->steady, whole->bound, i == 0 ? whole->first : changes->items[i - 1].at,
                          i + 1 == changes->count ? whole->end : changes->items[i + 1].at};
}

/* What is known of a change between its neighbors; the best place there is its own. */
static void describe(const struct stretch *around, struct history_change *change) {
  struct split split = {.from = change->at, .until = around->end};
  change->chance = find_shift(around, &split);
  double before = (double)(split.from - around->first), after = (double)(around->end - split.from);
  double freedom = before + after - 2;
  change->at = split.from;
  change->before = split.others;
  change->after = split.these;
  change->half = compare_noise(before, after, (struct compare_variance){split.within / freedom, freedom}, 0.05);
}

/* Those that their neighbors do not bear out go, the least sure first. */
static void prune(const struct stretch *whole, struct history_changes *changes) {
  for (;;) {
    size_t worst = 0;
    for (size_t i = 0; i < changes->count; i++) {
      struct stretch around = stretch_around(whole, changes, i);
      describe(&around, &changes->items[i]);
      worst = changes->items[i].chance > changes->items[worst].chance ? i : worst;
    }
    if (changes->count == 0 || changes->items[worst].chance <= HISTORY_LEVEL) {
      return;
    }
    memmove(&changes->items[worst], &changes->items[worst + 1], (changes->count - worst - 1) * sizeof *changes->items);
    changes->count--;
  }
}

void history_find_changes(const double *values, size_t count, struct history_changes *changes) {
  if (count < 2 * HISTORY_PART) {
    return;
  }
  double *drawn = lumos_allocate(4 * count * sizeof *drawn), *steady = drawn + count, *weights = steady + count;
  draw_in(values, count, WINDOW, drawn);
  draw_in(values, count, count < WIDE ? count : WIDE, steady);
  const struct stretch whole = {drawn, steady, correlation_of(drawn, count, weights), 0, count};
  segment(&whole, changes);
  prune(&whole, changes);
  for (size_t i = 0; i < changes->count; i++) {
    struct stretch around = stretch_around(&whole, changes, i);
    find_interval(&around, weights, &changes->items[i]);
  }
  free(drawn);
}
