/* What the files of a gate share. */
#ifndef LUMOS_GATE_GATE_H
#define LUMOS_GATE_GATE_H

#include "base/text.h"
#include <lumos/gate.h>
#include <lumos/memory.h>
#include <lumos/metric.h>
#include <stdbool.h>
#include <stdint.h>

enum { GATE_SCOPE_MEMBERS = 12, GATE_STEP_NONE = -1, GATE_DAMAGE_BYTES = 160 };

/* A member of a metric's scope but its step: a string, or a whole number. */
struct gate_member {
  char *name, *text; /* text NULL: the number counts */
  int64_t number;
};

enum gate_source { GATE_MEASURED, GATE_SIMULATED, GATE_SOURCES };

/* Of a report, one value: of a step, or of the whole job. */
struct gate_value {
  int64_t step;       /* GATE_STEP_NONE */
  double value, half; /* half of its range; 0: it has none */
};
LUMOS_VECTOR_TYPE(gate_values, struct gate_value);

/* A metric in one report. */
struct gate_mean {
  double mean, variance, half; /* variance with count - 1 in the denominator; half: the mean of what its values have */
  size_t count;                /* of values; 0: the report has none */
};
LUMOS_VECTOR_TYPE(gate_means, struct gate_mean);

/* Why a verdict is inconclusive. */
enum gate_reason { GATE_DECIDED, GATE_DAMAGED, GATE_NO_VALUE, GATE_NO_BASELINE, GATE_NOISE_UNKNOWN, GATE_NOISE_LARGE };

struct gate_metric {
  const struct lumos_metric_definition *definition;
  struct gate_member scope[GATE_SCOPE_MEMBERS];
  size_t scope_count;
  double limit; /* at least 0: of the baseline where it is relative, else in the metric's unit */
  double floor; /* the least noise, in the same; negative: not given */
  bool relative, lower_is_worse, has_source;
  enum gate_source source;
  struct gate_mean tested;
  struct gate_means baseline; /* of the reports that have it */
  /* Decided: in the metric's unit. */
  double base, change, allowed, noise; /* noise negative: unknown */
  enum lumos_gate_verdict verdict;
  enum gate_reason reason;
};

/* What a recording is known by, whatever form its report has: the whole job's values by step. */
struct gate_fingerprint {
  uint64_t hash;
  size_t values; /* 0: nothing is known */
};

struct lumos_gate {
  LUMOS_VECTOR(struct gate_metric) metrics;
  size_t reports; /* of the baseline */
  struct gate_fingerprint tested;
  LUMOS_VECTOR(struct gate_fingerprint) known; /* of the baseline */
  size_t itself, copies;                       /* reports that are left out: the tested one, and copies of others, */
  size_t damaged;                              /* and those of traces that are cut or damaged */
  char damage[GATE_DAMAGE_BYTES];              /* of the tested report's traces: which is cut or damaged; "": none */
};

/* What a report says of itself. */
struct gate_origin {
  struct gate_fingerprint fingerprint;
  char damage[GATE_DAMAGE_BYTES]; /* as above, cut where it is longer */
};

/* What a report in JSON has of each metric, into `means`, an array of the caller's with an item for each. */
bool gate_read_means(const struct lumos_gate *gate, const char *report, struct gate_mean *means,
                     struct gate_origin *origin, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
