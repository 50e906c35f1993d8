/* Where a series of nights changed: shifts of its mean, each with what is not sure of it.
 *
 * A shift is found by its likelihood ratio: the split into two parts whose means differ most by Student's t with one
 * variance, by Bonferroni over all splits (K. J. Worsley, On the likelihood ratio test for a shift in location of
 * normal populations, JASA 74, 1979). Where there is none, two shifts of which the second undoes the first are looked
 * for alike, over all pairs; and all parts that are found are treated as the whole (circular binary segmentation: A. B.
 * Olshen et al., Biostatistics 5, 2004). Both together have the level HISTORY_LEVEL. Then each shift is tested once
 * more between its neighbors. When it was is a posterior of a flat prior over the splits there (A. F. M. Smith, A
 * Bayesian approach to inference about a change-point in a sequence of random variables, Biometrika 62, 1975).
 *
 * A single bad night is no change: values further than three standard deviations from the median of the five nights
 * around them count as that far (a Hampel filter), and each part has at least HISTORY_PART nights. What came and went
 * is looked for with nine nights around each, and lasted HISTORY_HILL nights: in a year of which one night in twenty is
 * bad, three of some five are.
 *
 * Nights that resemble the one before them vary less among neighbors than over weeks: where neighbors are correlated
 * about the means of both parts, t is that much smaller, as the variance of a mean of a first-order autoregressive
 * series is larger.
 *
 * tests/unit/test_history_changes.c measures how many series without a change have a false one: under 1 % where nights
 * are independent and normal; of 30 nights under 1 % with heavy tails (Student's t of 3 degrees), 1 % where one in
 * twenty is bad, and 3 % where each is bound to the one before it (a correlation of 0.3); of 300 nights of which one in
 * twenty is bad, 5 %.
 */
#ifndef LUMOS_HISTORY_CHANGES_H
#define LUMOS_HISTORY_CHANGES_H

#include <lumos/memory.h>
#include <stddef.h>

#define HISTORY_LEVEL 0.01 /* chosen: one false change in a hundred series */
enum {
  HISTORY_PART = 3,    /* nights. Chosen: of two, one bad night would be a half */
  HISTORY_HILL = 5,    /* nights of a change that came and went. Chosen: see above */
  HISTORY_MOST = 5000, /* nights: 13 years */
};

struct history_change {
  size_t at;            /* the first value of the new mean */
  size_t first, last;   /* with 95 %, it is one of these */
  double before, after; /* the means */
  double half;          /* of the 95 % interval of their difference, by Student's t */
  double chance;        /* how likely one that large is found in such a series without a change, at most */
};
LUMOS_VECTOR_TYPE(history_changes, struct history_change);

/* In order. The values are finite, and at most HISTORY_MOST. O(count^2). */
void history_find_changes(const double *values, size_t count, struct history_changes *changes);

#endif
