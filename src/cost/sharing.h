/* Transfers that share links: those that pass the same links of a GPU at once slow each other down, and a collective goes at the pace
 * of its slowest member. So the more members it has, the more of its time some other transfer holds it up. How much of that time is
 * lost is fitted to the trace's own transfers.
 */
#ifndef LUMOS_COST_SHARING_H
#define LUMOS_COST_SHARING_H

#include "cost/placing.h"

struct lumos_sharing {
  double part;      /* of the time in which a transfer shares links, what it loses; 0: the trace does not show it */
  double error;     /* of that, one standard deviation */
  int64_t evidence; /* transfers that show it */
};

/* By collective: the share of its transfer, from 0 to 1, in which another one passes the same links of any of its members. `runs`:
 * start and duration by task, on one clock for each rank. Members that are not in the job share as often as the others.
 * The caller frees it. O(members log tasks). */
double *lumos_shares_of_transfers(const struct lumos_placing *placing, const struct lumos_run *runs);

/* What transfers of one shape take, the more of them is shared. Without part where too few show it, or chance might. */
struct lumos_shared_transfer {
  uint64_t shape; /* key */
  double ns, share;
};
LUMOS_VECTOR_TYPE(lumos_shared_transfers, struct lumos_shared_transfer);
/* Moves the transfers. */
struct lumos_sharing lumos_sharing_fit(struct lumos_shared_transfers *transfers);

/* As the recording shows it. O(members log tasks). */
struct lumos_sharing lumos_sharing_of(const struct lumos_placing *placing);

#endif
