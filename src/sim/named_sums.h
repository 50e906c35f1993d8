/* Sums by step and name, for metrics of scope {step, name}: calls, copies, annotations. */
#ifndef LUMOS_SIM_NAMED_SUMS_H
#define LUMOS_SIM_NAMED_SUMS_H

#include "base/numbering.h"
#include "sim/steps.h"

enum { LUMOS_NAMED_FIGURES = 4 };

struct lumos_named_row {
  uint32_t step; /* index of the job's */
  lumos_string_id name;
  int64_t of[LUMOS_NAMED_FIGURES];
};

struct lumos_named_sums {
  struct lumos_job *job;
  const struct lumos_timeline *timeline;
  LUMOS_VECTOR(struct lumos_named_row) rows;
  struct lumos_numbering numbering;
  uint64_t last_key; /* what was added to last, mostly several figures of one row */
  uint32_t last;
};

void lumos_named_begin(struct lumos_named_sums *sums, struct lumos_job *job, const struct lumos_timeline *timeline);
void lumos_named_free(struct lumos_named_sums *sums);

/* Add `weight` times `value`; sums stop at INT64_MAX. Amortised O(1). */
void lumos_named_add(struct lumos_named_sums *sums, uint32_t step, lumos_string_id name, int figure, int64_t value,
                     int64_t weight);
/* By step, the largest first figure first; of a step at most 200 rows stay. No row can be added afterwards. */
void lumos_named_sort(struct lumos_named_sums *sums);
/* Does a step of the job count for figures over all of them (lumos_first_step_is_left_out)? */
bool lumos_named_counts(const struct lumos_named_sums *sums, uint32_t step);
/* A figure of a row as a metric {step, name}. */
void lumos_named_write(const struct lumos_named_sums *sums, const struct lumos_named_row *row, const char *metric,
                       int figure);

#endif
