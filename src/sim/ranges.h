/* How sure a prediction is: the 90 % range of what a simulation says of a changed job's steps (ranges.c). */
#ifndef LUMOS_SIM_RANGES_H
#define LUMOS_SIM_RANGES_H

#include "sim/beside.h"
#include "sim/metrics.h"
#include "sim/retiming.h"

/* Where the metrics of the simulated timeline stand in job->metrics. */
struct lumos_metric_span {
  size_t first, end;
};

/* The runs of a changed job by which ranges are found, known before it runs: with other durations, in the order of the
 * job's own run. NULL: nothing in it has an error of its own. O(tasks). */
struct lumos_ranging;
struct lumos_ranging *lumos_ranging_open(const struct lumos_job *job);
void lumos_ranging_free(struct lumos_ranging *ranging); /* NULL is allowed */

/* low and high of the times of all steps in `span`, and of kernels; metrics prediction_error, and a note that names the
 * largest of these; or a note that says why there is no range. Of jobs that a transform changed, after their run:
 * job->runs; `ordered`: that run, read in its order, where there is a ranging. steps_alone: of the job's step_time
 * alone; stretches may then be for runs by node. */
void lumos_write_ranges(struct lumos_job *job, const struct lumos_ranging *ranging, const struct lumos_engine *engine,
                        const struct lumos_retiming *ordered, const struct lumos_stretches *stretches,
                        struct lumos_metric_span span, bool steps_alone);

/* How much of the step, as a share of it, is spent otherwise than it was measured. */
struct lumos_change {
  double moved;      /* time of all parts that grew, or of all that shrank */
  double come, gone; /* by how much more and less of kernels runs beside communication (beside.h) */
};
/* What the change leaves unsure, as shares of the step, one standard deviation each: delays that are carried over, of
 * which the replay shows how much they are off; durations of tasks that are not named; kernels beside communication,
 * which make the step longer or shorter. */
struct lumos_change_errors {
  double carried, moved, longer, shorter;
};
struct lumos_change_errors lumos_change_errors(struct lumos_change change, double replay, struct lumos_beside beside,
                                               bool rebuilt);

/* So many standard deviations to each side hold 90 %. */
#define LUMOS_WITHIN_90 1.645

/* The mean of a figure over the job's steps that count; NAN: it has none. */
double lumos_mean_step(const struct lumos_job *job, const char *name, enum lumos_source source);
/* Of a simulated job whose threads wait no more, or that was built of one step: how far its last step that counts lies
 * from their mean, as a share of it, beyond where it lay as measured. Of others 0. O(metrics). */
double lumos_unsettled(const struct lumos_job *job);

#endif
