/* Why a device is idle: every idle nanosecond of a rank, and of each of its streams, has a cause. */
#ifndef LUMOS_SIM_IDLE_H
#define LUMOS_SIM_IDLE_H

#include "sim/metrics.h"
#include "sim/origin.h"

/* idle_host, idle_sync, idle_launch, idle_dependency and idle_unexplained of every rank's step and of the job's, which
 * add up to idle; stream_idle of every stream, the same of it, and beside it stream_not_recorded; idle_at_op of the
 * job's steps. expected[i] is that of simulated->steps.items[i], and `unrecorded` what is not recorded, as the
 * partition has them. */
void lumos_write_idle(struct lumos_job *job, const struct lumos_held *bindings, const struct lumos_timeline *simulated,
                      const struct lumos_idle *expected, const struct lumos_unrecorded_intervals *unrecorded,
                      struct lumos_origins *origins);

#endif
