/* Communication kernels wait for the last member before they transfer: waiting, they hold their SMs, but pass nothing over links or through
 * memory. */
#ifndef LUMOS_COST_PASSAGES_H
#define LUMOS_COST_PASSAGES_H

#include "cost/placing.h"

/* By task: how long its communication kernel transfers, ns; 0: it is none, or it is not known. Of a kernel whose members have no trace it is
 * the median duration of those with its operation, bytes and members. `runs`: as of lumos_transferring_runs. The caller frees it.
 * O(tasks log tasks). */
int64_t *lumos_transfer_lengths(const struct lumos_placing *placing, const struct lumos_run *runs);

/* Runs, start and duration by task, in which a communication kernel is there only while it transfers, which is its end; all of it where that
 * is not known. The caller frees them. O(tasks log tasks). */
struct lumos_run *lumos_transferring_runs(const struct lumos_placing *placing, const struct lumos_run *runs);

#endif
