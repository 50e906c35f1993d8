/* How sure a prediction is: the 90 % range of what a simulation says of a changed job's steps (ranges.c). */
#ifndef LUMOS_SIM_RANGES_H
#define LUMOS_SIM_RANGES_H

#include "sim/metrics.h"

/* Where the metrics of the simulated timeline stand in job->metrics. */
struct lumos_metric_span {
  size_t first, end;
};

/* low and high of the times of all steps in `span`, metrics prediction_error, and a note that names the largest of
 * these; or a note that says why there is no range. Of jobs that a transform changed, after their run: job->runs. */
void lumos_write_ranges(struct lumos_job *job, const struct lumos_engine *engine,
                        const struct lumos_stretches *stretches, struct lumos_metric_span span);

#endif
