/* How sure an opportunity is: the range of the step with less of a kind of work, or with a change. */
#ifndef LUMOS_SIM_OPPORTUNITY_RANGE_H
#define LUMOS_SIM_OPPORTUNITY_RANGE_H

#include "sim/beside.h"
#include "sim/improvements.h"
#include "sim/metrics.h"
#include "sim/work.h"

struct lumos_opportunity_range {
  struct lumos_model_errors errors;
  struct lumos_beside beside;
  double step, compute, overlapped, communication, copy; /* of the job's mean step, ns */
  double *groups;                                        /* by string: the share that the group has of communication */
  double kinds[LUMOS_TASK_KINDS];                        /* the share that the kind has of kernels that compute */
};

/* Of an unchanged job with the metrics of its run. O(device tasks). */
void lumos_opportunity_range_make(struct lumos_opportunity_range *range, const struct lumos_job *job,
                                  struct lumos_model_errors errors);
void lumos_opportunity_range_free(struct lumos_opportunity_range *range);

/* How far the 90 % range of a step reaches below it and above, as shares of it. NAN: not known. */
struct lumos_width {
  double below, above;
};

/* With so many millionths of the work left, where the job's mean step is then `step` ns; and with a change of which
 * that much is in doubt. */
struct lumos_width lumos_opportunity_width(const struct lumos_opportunity_range *range, const struct lumos_work *work,
                                           int64_t millionths, double step);
struct lumos_width lumos_improvement_width(const struct lumos_opportunity_range *range,
                                           const struct lumos_assumed *assumed, double step);

/* No mean step can be shorter, in ns. */
static inline double lumos_improvement_least(const struct lumos_opportunity_range *range,
                                             const struct lumos_assumed *assumed) {
  return assumed->keeps_kernels ? range->compute : 0;
}

#endif
