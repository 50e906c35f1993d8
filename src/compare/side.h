/* One of two jobs that are compared: its timeline, and which of its steps count.
 *
 * A step counts where as many ranks with a GPU have it as have any, so that every mean is over the same ranks. The
 * first recorded step begins where the recording does, all others where the step before ends, and the profiler starts
 * in it; it is left out where two others are there.
 */
#ifndef LUMOS_COMPARE_SIDE_H
#define LUMOS_COMPARE_SIDE_H

#include "sim/steps.h"
#include <lumos/compare.h>

struct compare_side {
  struct lumos_job *job;
  const char *name;             /* for messages: "A" */
  const struct lumos_run *runs; /* NULL: as measured */
  struct lumos_run *own_runs;   /* of an engine that ran for this alone */
  struct lumos_stretches stretches;
  struct lumos_timeline timeline;
  uint32_t *number;                /* by step of the job (index): which of the compared ones it is, or LUMOS_NONE */
  struct lumos_steps_list windows; /* the compared steps; their rank is LUMOS_NONE */
  uint8_t *has_gpu;                /* by rank: it counts */
  int64_t weight;                  /* of all of these ranks */
};

/* `changed`: one of both jobs is a changed one, so of both the first step is left out. `which`: 0, or 1 for the other
 * one. Free it also where this fails. */
bool compare_side_open(struct compare_side *side, struct lumos_job *job, const char *name, bool simulated, bool changed,
                       const struct lumos_compare_options *options, size_t which,
                       struct lumos_error *error) LUMOS_MUST_CHECK;
void compare_side_free(struct compare_side *side);

/* By what sums over steps and ranks are divided; at least 1. */
static inline __int128 compare_divisor(const struct compare_side *side) {
  __int128 all = (__int128)side->weight * (int64_t)side->windows.count;
  return all > 0 ? all : 1;
}

/* Parts of a sum in a row, each rounded so that they add up to the whole, rounded down. */
struct compare_rounding { /* begins as zeros */
  __int128 sum;
};
static inline int64_t compare_rounded(struct compare_rounding *rounding, const struct compare_side *side,
                                      __int128 part) {
  __int128 before = rounding->sum / compare_divisor(side);
  rounding->sum += part;
  return (int64_t)(rounding->sum / compare_divisor(side) - before);
}

#endif
