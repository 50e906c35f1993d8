/* A job with less of a kind of work (work.h), as a variant (variant.h): of what tasks do, what --scale would make of it
 * (sim/scaling.h); of launches their lags, but for those that count back from the call's end; of stragglers what
 * they take above the median of like ranks. */
#ifndef LUMOS_SIM_SCALED_WORK_H
#define LUMOS_SIM_SCALED_WORK_H

#include "sim/scaling.h"
#include "sim/variant.h"
#include "sim/work.h"

struct lumos_scaled_work {
  struct lumos_variant variant; /* its context is the whole, which therefore stays where it is; for one run at a time */
  struct lumos_scaling scaling;
  const struct lumos_times *medians;
  uint8_t *chosen; /* by task: is it of the work, or with others of its collective? */
};

/* So many millionths of the work; `medians` by task, for stragglers alone. O(tasks). */
void lumos_scaled_work_make(struct lumos_scaled_work *scaled, const struct lumos_job *job,
                            const struct lumos_work *work, int64_t millionths, const struct lumos_times *medians);
void lumos_scaled_work_free(struct lumos_scaled_work *scaled);

#endif
