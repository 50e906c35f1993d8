/* How fast the CPU, and the GPU, are without the profiler, where steps were timed without it.
 *
 * What recording takes lies only in part between rows (graph/profiler.h): tracing goes on inside calls and ops, too,
 * and slows down what runs beside it. Where the simulated steps are longer than those that were timed, all that threads
 * do is taken to have become longer by the same factor. Where kernels fill the step, the timed steps can only differ
 * because these took another time: GPUs lower their clock at their limit of power, and differ by several percent from
 * one stretch of steps to the next.
 */
#ifndef LUMOS_TRANSFORM_PACE_H
#define LUMOS_TRANSFORM_PACE_H

#include <lumos/job.h>

struct lumos_pace {
  double factor; /* for what threads take; at most 1 */
  double sigma;  /* one standard deviation of its logarithm; 0: timed steps show it */
  double device; /* for what computing kernels take; 1 unless they fill the step */
  double off;    /* how much longer the timed steps took than kernels and threads explain, as a share; 0: they do */
};

/* The largest factor with which the simulated steps take no more than the timed ones took, or than streams take by
 * themselves; 1 where none were timed. Where threads hold the job up by less than a thirtieth, timed steps do not show
 * what recording costs them: then it is what it usually is, and what kernels take shows in the timed steps. Runs the
 * engine up to a dozen times. */
struct lumos_pace lumos_pace_find(const struct lumos_job *job);

#endif
