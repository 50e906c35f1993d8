/* What kernels lose to communication that runs beside them, where that is new. */
#ifndef LUMOS_REBUILD_BESIDE_H
#define LUMOS_REBUILD_BESIDE_H

#include "cost/contention.h"

#include <lumos/error.h>
#include <lumos/job.h>

/* By task of a recorded job: how much longer it took because this communication (a byte a task) ran beside it, by
 * what the recording shows of that.
 * The caller frees it. O(tasks log tasks). */
int64_t *rebuild_find_losses(const struct lumos_job *job, const uint8_t *communication);

/* Run the job, and give kernels on other streams as much more time, as contention is fitted, while this communication (a byte a task) is
 * there. False: the job cannot be run. Runs the engine. O(tasks log tasks). */
bool rebuild_slow_down(struct lumos_job *job, const uint8_t *communication, const struct lumos_contention *contention,
                       struct lumos_error *error) LUMOS_MUST_CHECK;

/* A task takes that much longer (ns; below 0: shorter), as is modelled. */
void rebuild_change_length(struct lumos_job *job, uint32_t task, int64_t by);

#endif
