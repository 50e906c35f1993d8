/* How long communication takes, between ranks that were not measured so: of other sizes and numbers, on more nodes,
 * over another network.
 *
 * NCCL's model of the links (nccl.h) is fitted to the transfers of the job itself: bandwidth and latency within nodes
 * and between them, of collectives and of messages between two. Then the transfers correct it, shape by shape
 * (calibration.h): an operation of some bytes among ranks on some nodes.
 */
#ifndef LUMOS_COST_TRANSFERS_H
#define LUMOS_COST_TRANSFERS_H

#include "cost/calibration.h"
#include "cost/nccl.h"
#include "cost/placing.h"

/* Fitted to what the transfers of a job of stage graph or later would take alone (sharing.h); where it has none, to its
 * shortest communication kernels. Links that neither shows are as a change of the network described them, else as the
 * data sheet has them. The job must outlive it. O(members + shapes squared). */
struct lumos_transfers *lumos_transfers_fit(const struct lumos_job *job, const struct lumos_hardware *hardware,
                                            const struct lumos_nodes *nodes);
void lumos_transfers_free(struct lumos_transfers *transfers); /* NULL is allowed */

/* What a transfer of this shape, of known bytes, takes. */
struct lumos_duration lumos_transfer_duration(const struct lumos_transfers *transfers,
                                              const struct lumos_transfer_shape *shape);

/* What a transfer that took `ns` in one shape takes in another, over `network` (NULL: as it was), among `device` (NULL:
 * the GPUs that it was). Where the bytes are unknown they are those that would take as long; `now` then has as many. */
struct lumos_duration lumos_transfer_changed(const struct lumos_transfers *transfers, int64_t ns,
                                             const struct lumos_transfer_shape *was,
                                             const struct lumos_transfer_shape *now,
                                             const struct lumos_network *network, const struct lumos_device *device);

/* The same of a kernel that is in no collective: it waits for members that have no trace, and then transfers. Where the
 * job has no other transfers, nobody knows which part of it is which: the transfer takes at least what links as on the
 * data sheet take, and at most what the shortest kernel of its shape takes. What is given lies between what either
 * would make of it: the longer one is `longer` than it, ns, the other `shorter`. Of `was` bytes may be unknown, `size`
 * may not. */
struct lumos_lone_duration {
  struct lumos_duration duration;
  double longer, shorter;
};
struct lumos_lone_duration lumos_transfer_changed_alone(const struct lumos_transfers *transfers, int64_t ns,
                                                        const struct lumos_transfer_shape *was,
                                                        const struct lumos_transfer_shape *now,
                                                        const struct lumos_network *network,
                                                        const struct lumos_device *device);

/* Were they fitted to kernels that wait and transfer, for want of transfers? */
bool lumos_transfers_are_alone(const struct lumos_transfers *transfers);

/* Of that job. */
const struct lumos_placing *lumos_transfers_placing(const struct lumos_transfers *transfers);

/* The links as fitted, and what is known of each shape; for whoever shows them. */
const struct lumos_links *lumos_transfers_links(const struct lumos_transfers *transfers);
const struct lumos_calibration *lumos_transfers_calibration(const struct lumos_transfers *transfers);

#endif
