/* Figures as metrics of a rank, and how pandas rounds. */
#include "base/text.h"
#include "sim/hta/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lumos_decimal no_number = {LUMOS_ABSENT, 0};

struct lumos_decimal hta_rounded(double value, int decimals) {
  double scale = decimals == 1 ? 10 : 100;
  return isfinite(value) && fabs(value) < 1e12 ? (struct lumos_decimal){(int64_t)rint(value * scale), decimals}
                                               : no_number;
}

struct lumos_decimal hta_number(double value) {
  int decimals = 6;
  double scale = 1e6;
  while (decimals > 0 && fabs(value) * scale >= 0x1p53) {
    decimals--;
    scale /= 10;
  }
  return isfinite(value) && fabs(value) * scale < 0x1p53
             ? (struct lumos_decimal){(int64_t)llround(value * scale), decimals}
             : no_number;
}

double hta_quantile(const int64_t *sorted, size_t count, double q) {
  double place = (double)(count - 1) * q;
  size_t lower = (size_t)floor(place);
  size_t upper = lower + 1 < count ? lower + 1 : count - 1;
  double share = place - (double)lower;
  double distance = (double)(sorted[upper] - sorted[lower]);
  return share >= 0.5 ? (double)sorted[upper] - distance * (1 - share) : (double)sorted[lower] + distance * share;
}

struct lumos_scope hta_scope(const struct hta_rank *rank) {
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = rank->number;
  return scope;
}

/* By its number as a name: a lane of it is there only where the chosen steps have work on it, and of several devices
 * that share the number it would be none. */
struct lumos_scope hta_stream_scope(const struct hta_rank *rank, int64_t stream) {
  struct lumos_scope scope = hta_scope(rank);
  char number[24];
  (void)snprintf(number, sizeof number, "s%lld", (long long)stream);
  scope.name = lumos_intern_text(rank->job->strings, number);
  return scope;
}

void hta_put(struct lumos_job *job, const char *name, const struct lumos_scope *scope, struct lumos_decimal value) {
  if (value.units != LUMOS_ABSENT && llabs(value.units) < LUMOS_TIME_LIMIT) {
    lumos_metric_add(job, name, scope, LUMOS_METRIC_MEASURED, value);
  }
}

void hta_put_time(struct lumos_job *job, const char *name, const struct lumos_scope *scope, int64_t value) {
  hta_put(job, name, scope, (struct lumos_decimal){value, 0});
}
