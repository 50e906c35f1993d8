/* The tails of t are an incomplete beta function, here by its continued fraction (Lentz's method); its limit is found
 * by halving, for tails fall as t grows.
 *
 * With two or three steps a row's own variance is known so badly that no change could be told from chance. Rows are
 * many, and vary alike: G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression
 * (2004), section 6.2, finds from the logarithms of their variances what they have in common, and how far each is bound
 * to it.
 */
#include "compare/student.h"

#include <math.h>

/* The continued fraction of I_x(a, b), which converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b) {
  enum { MOST_TERMS = 500 };
  const double tiny = 1e-300, enough = 1e-13;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double value = d;
  for (int m = 1; m <= MOST_TERMS; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + even * d;
    c = 1 + even / c;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    c = fabs(c) < tiny ? tiny : c;
    value *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + odd * d;
    c = 1 + odd / c;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    c = fabs(c) < tiny ? tiny : c;
    value *= d * c;
    if (fabs(d * c - 1) < enough) {
      break;
    }
  }
  return value;
}

static double incomplete_beta(double x, double a, double b) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double compare_student_tails(double t, double freedom) {
  return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

/* The t beyond which both tails together are as likely as `level`. */
static double student_limit(double level, double freedom) {
  enum { HALVINGS = 200 };
  double low = 0, high = 1;
  while (compare_student_tails(high, freedom) > level && high < 1e100) {
    high *= 2;
  }
  for (int i = 0; i < HALVINGS && high - low > 1e-9 * high; i++) {
    double middle = low + (high - low) / 2;
    if (compare_student_tails(middle, freedom) > level) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return high;
}

struct compare_variance compare_pooled(const struct compare_sample *a, const struct compare_sample *b) {
  double freedom = (a->count > 1 ? a->count - 1 : 0) + (b->count > 1 ? b->count - 1 : 0);
  double squares =
      (a->count > 1 ? (a->count - 1) * a->variance : 0) + (b->count > 1 ? (b->count - 1) * b->variance : 0);
  return (struct compare_variance){freedom > 0 ? squares / freedom : 0, freedom};
}

/* ---- What rows have in common ---- */

/* The first and second derivative of log gamma, x > 0: by their recurrence to where the asymptotic series is exact. */
static double digamma(double x) {
  enum { FAR = 10 };
  double value = 0;
  while (x < FAR) {
    value -= 1 / x;
    x += 1;
  }
  double y = 1 / (x * x);
  return value + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y / 252));
}

static double trigamma(double x) {
  enum { FAR = 10 };
  double value = 0;
  while (x < FAR) {
    value += 1 / (x * x);
    x += 1;
  }
  double y = 1 / (x * x);
  return value + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y / 42));
}

struct compare_variance compare_prior(const double *variances, size_t count, double freedom) {
  enum { ENOUGH = 10 };               /* rows. Chosen: fewer say little of how their variances spread */
  const double least = 1, most = 100; /* degrees. Chosen: rows are never all alike */
  double mean = 0, spread = 0;
  if (count < ENOUGH || freedom <= 0) {
    return (struct compare_variance){0, 0};
  }
  for (size_t i = 0; i < count; i++) {
    mean += log(variances[i]) / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    spread += (log(variances[i]) - mean) * (log(variances[i]) - mean) / (double)(count - 1);
  }
  double wanted = spread - trigamma(freedom / 2); /* is trigamma of half the degrees, and falls as they grow */
  double low = least / 2, high = most / 2;
  for (int i = 0; i < 100 && high - low > 1e-9; i++) {
    double middle = low + (high - low) / 2;
    if (trigamma(middle) > wanted) {
      low = middle;
    } else {
      high = middle;
    }
  }
  double centre = mean - digamma(freedom / 2) + log(freedom / 2) + digamma(high) - log(high);
  return (struct compare_variance){exp(centre), 2 * high};
}

struct compare_variance compare_moderated(struct compare_variance own, struct compare_variance prior) {
  double freedom = own.freedom + prior.freedom;
  double squares = own.freedom * own.variance + prior.freedom * prior.variance;
  return (struct compare_variance){freedom > 0 ? squares / freedom : 0, freedom};
}

double compare_noise(double a, double b, struct compare_variance variance, double level) {
  if (variance.freedom <= 0) {
    return -1;
  }
  return variance.variance <= 0 ? 0
                                : student_limit(level, variance.freedom) * sqrt(variance.variance * (1 / a + 1 / b));
}
