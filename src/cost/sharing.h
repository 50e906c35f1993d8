/* What slows transfers down: others that pass the same links of a GPU, and kernels that compute beside them. A
 * collective goes at the pace of its slowest member, so that the more members it has, the more of its time some other
 * transfer holds it up. How much of that time is lost is fitted to the trace's own transfers.
 */
#ifndef LUMOS_COST_SHARING_H
#define LUMOS_COST_SHARING_H

#include "cost/nccl.h"
#include "cost/placing.h"

/* How much of a transfer, from 0 to 1, it is slowed down by what: of the part in which data pass. Its latency, by
 * NCCL's model of these links, is not. */
struct lumos_slowed {
  double shared;    /* another one passes the same links of any of its members */
  double computing; /* its members' GPUs compute, mean */
};

struct lumos_sharing {
  double part; /* of the time in which a transfer shares links, what it loses; 0: the trace does not show it */
  double computing_part; /* of that in which GPUs compute, likewise */
  double error;          /* of `part`, one standard deviation */
  int64_t evidence;      /* transfers that show it */
};

/* What is left of a transfer's speed. */
double lumos_slowed_speed(const struct lumos_sharing *sharing, struct lumos_slowed slowed);

/* By collective. `runs`: start and duration by task, on one clock for each rank. Members that are not in the job share
 * as often as the others. The caller frees it. O(members log tasks). */
struct lumos_slowed *lumos_slowed_transfers(const struct lumos_placing *placing, const struct lumos_links *links,
                                            const struct lumos_run *runs);

/* What transfers of one shape take, the more of them is slowed down. Without part where too few show it, or chance
 * might: kernels and shared links take turns in many jobs, and then show nothing of each other. */
struct lumos_shared_transfer {
  uint64_t shape; /* key */
  double ns;
  struct lumos_slowed slowed;
};
LUMOS_VECTOR_TYPE(lumos_shared_transfers, struct lumos_shared_transfer);
/* Moves the transfers. */
struct lumos_sharing lumos_sharing_fit(struct lumos_shared_transfers *transfers);

/* As the recording shows it. `slowed`: by collective, as measured (lumos_slowed_transfers, lumos_measured_runs).
 * O(collectives log collectives). */
struct lumos_sharing lumos_sharing_of(const struct lumos_placing *placing, const struct lumos_slowed *slowed);

#endif
