/* Verdicts: gate.h has the rules. */
#include "compare/student.h"
#include "gate/gate.h"
#include <math.h>

#define GATE_LEVEL 0.05 /* how likely noise alone is beyond its interval, on either side. Chosen: the usual one */

const char *lumos_gate_verdict_name(enum lumos_gate_verdict verdict) {
  static const char *const names[] = {"neutral", "improvement", "inconclusive", "regression"};
  return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : NULL;
}

/* Of one report against another, from how steps vary; negative: not known. */
static double noise_of_steps(const struct gate_mean *tested, const struct gate_mean *base) {
  const struct compare_sample a = {(double)base->count, base->variance}, b = {(double)tested->count, tested->variance};
  return compare_noise(a.count, b.count, compare_pooled(&a, &b), GATE_LEVEL);
}

/* Of one report against several: of a further one like them. */
static double noise_of_history(const struct gate_means *baseline, double base) {
  double squares = 0, count = (double)baseline->count;
  for (size_t i = 0; i < baseline->count; i++) {
    squares += (baseline->items[i].mean - base) * (baseline->items[i].mean - base);
  }
  return compare_noise(count, 1, (struct compare_variance){squares / (count - 1), count - 1}, GATE_LEVEL);
}

/* Both are halves of intervals of independent errors; a negative one is not known. */
static double together(double noise, double range) {
  return noise < 0 ? (range > 0 ? range : -1) : sqrt(noise * noise + range * range);
}

static void find_change(struct gate_metric *metric) {
  const struct gate_means *baseline = &metric->baseline;
  double half = metric->tested.half * metric->tested.half;
  for (size_t i = 0; i < baseline->count; i++) {
    metric->base += baseline->items[i].mean / (double)baseline->count;
  }
  if (baseline->count == 1) {
    half += baseline->items[0].half * baseline->items[0].half;
    metric->noise = together(noise_of_steps(&metric->tested, &baseline->items[0]), sqrt(half));
  } else {
    metric->noise = together(noise_of_history(baseline, metric->base), sqrt(half));
  }
  double whole = metric->relative ? fabs(metric->base) : 1;
  metric->allowed = metric->limit * whole;
  metric->change = metric->tested.mean - metric->base;
  metric->noise = metric->floor >= 0 ? fmax(metric->noise, metric->floor * whole) : metric->noise;
}

static void decide(struct gate_metric *metric, bool damaged) {
  metric->verdict = LUMOS_GATE_INCONCLUSIVE;
  metric->base = metric->change = metric->allowed = 0;
  metric->noise = -1;
  if (metric->tested.count == 0 || metric->baseline.count == 0) {
    metric->reason = metric->tested.count == 0 ? GATE_NO_VALUE : GATE_NO_BASELINE;
    return;
  }
  find_change(metric);
  double worse = metric->lower_is_worse ? -metric->change : metric->change;
  bool beyond = fabs(worse) > metric->allowed;
  if (damaged) {
    metric->reason = GATE_DAMAGED;
  } else if (metric->noise < 0) {
    metric->reason = GATE_NOISE_UNKNOWN;
  } else if (beyond ? fabs(worse) <= metric->noise : metric->noise > metric->allowed) {
    metric->reason = GATE_NOISE_LARGE;
  } else {
    metric->reason = GATE_DECIDED;
    metric->verdict = !beyond ? LUMOS_GATE_NEUTRAL : worse > 0 ? LUMOS_GATE_REGRESSION : LUMOS_GATE_IMPROVEMENT;
  }
}

enum lumos_gate_verdict lumos_gate_decide(struct lumos_gate *gate) {
  enum lumos_gate_verdict worst = LUMOS_GATE_NEUTRAL;
  for (size_t i = 0; i < gate->metrics.count; i++) {
    decide(&gate->metrics.items[i], gate->damage[0] != '\0');
    worst = gate->metrics.items[i].verdict > worst ? gate->metrics.items[i].verdict : worst;
  }
  return worst;
}
