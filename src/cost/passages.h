/* Communication kernels wait for the last member before they transfer: waiting, they hold their SMs, but pass nothing
 * over links or through memory. */
#ifndef LUMOS_COST_PASSAGES_H
#define LUMOS_COST_PASSAGES_H

#include "cost/placing.h"

/* By task: how long its communication kernel transfers, ns; 0: it is none, or it is not known. Of a kernel whose
 * members have no trace it is the median duration of those with its operation, bytes and members. `runs`: of the job as
 * it was recorded, or as simulated. The caller frees it. O(tasks log tasks). */
int64_t *lumos_transfer_lengths(const struct lumos_placing *placing, const struct lumos_run *runs);

/* When a task transfers that takes so long for it: the end of its run; all of it where that is not known (0). */
static inline struct lumos_run lumos_passage(struct lumos_run run, int64_t length) {
  if (run.start != LUMOS_ABSENT && length > 0 && length < run.dur) {
    run.start += run.dur - length;
    run.dur = length;
  }
  return run;
}

#endif
