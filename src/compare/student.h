/* Do the means of two samples of steps differ by more than chance? Student's t-test, with what all rows show of how
 * much steps vary. */
#ifndef LUMOS_COMPARE_STUDENT_H
#define LUMOS_COMPARE_STUDENT_H

#include <stddef.h>

/* How likely a t of `freedom` degrees (above 0) is further from 0 than `t`, on either side. */
double compare_student_tails(double t, double freedom);

/* Values of steps: how many, and their variance, with count - 1 in the denominator; of one value 0. */
struct compare_sample {
  double count, variance;
};

/* The variance that both samples share, and its degrees of freedom; 0 of them where both have one value. */
struct compare_variance {
  double variance, freedom;
};
struct compare_variance compare_pooled(const struct compare_sample *a, const struct compare_sample *b);

/* What the variances of many rows, `count` of them, each of `freedom` degrees, have in common: they are taken for draws
 * from one scaled inverse chi-squared distribution, with this variance and degrees of freedom. No degrees where there
 * are too few rows to say so. */
struct compare_variance compare_prior(const double *variances, size_t count, double freedom);
/* A row's variance in the light of that. */
struct compare_variance compare_moderated(struct compare_variance own, struct compare_variance prior);

/* The difference of the means of `a` and `b` values of that variance from which on it is less likely than `level` by
 * chance; negative: nothing is known. */
double compare_noise(double a, double b, struct compare_variance variance, double level);

#endif
