/* How long communication takes, between ranks that were not measured so: of other sizes and numbers, on more nodes, over
 * another network.
 *
 * NCCL's model of the links (nccl.h) is fitted to the transfers of the job itself: bandwidth and latency within nodes and
 * between them, of collectives and of messages between two. Then the transfers correct it, shape by shape
 * (calibration.h): an operation of some bytes among ranks on some nodes.
 */
#ifndef LUMOS_COST_TRANSFERS_H
#define LUMOS_COST_TRANSFERS_H

#include "cost/calibration.h"
#include "cost/nccl.h"
#include "cost/network.h"

#include <lumos/job.h>

/* Where ranks are: those of a node have numbers in a row. */
struct lumos_nodes {
  int32_t size; /* GPUs in a node */
  bool assumed; /* no recording and no network file tells */
};
/* By the network, else by a change of the network before, else as the ranks' hosts tell where they are several; else 8 to a node, or as many as are seen on one. */
struct lumos_nodes lumos_nodes_of(const struct lumos_job *job, const struct lumos_network *network);
/* What changes of the network described goes with the job, as the text of this note: the last one for each member. */
#define LUMOS_NETWORK_NOTE "transform.network"
void lumos_tell_network(struct lumos_job *job, const struct lumos_network *network);
/* On how many nodes these ranks (numbers) are: at least 1. O(count log count). */
int32_t lumos_nodes_spanned(const struct lumos_nodes *nodes, const int32_t *ranks, uint32_t count);

struct lumos_transfer_shape {
  const char *op; /* as of lumos_comm */
  int64_t bytes;  /* as of lumos_collective; LUMOS_ABSENT: unknown */
  int32_t size;   /* ranks; at least 1 */
  int32_t nodes;  /* that they are on; at least 1 */
};

/* Of a collective, and of a communication kernel that is in none whose transfer is known; size 0: not known. O(members). */
struct lumos_transfers;
struct lumos_transfer_shape lumos_transfer_shape_of(const struct lumos_transfers *transfers,
                                                    const struct lumos_collective *collective);
struct lumos_transfer_shape lumos_transfer_shape_of_kernel(const struct lumos_transfers *transfers, uint32_t task);
/* On how many nodes their ranks would be, if nodes were others. */
int32_t lumos_transfer_nodes(const struct lumos_transfers *transfers, const struct lumos_collective *collective,
                             const struct lumos_nodes *nodes);
int32_t lumos_transfer_nodes_of_kernel(const struct lumos_transfers *transfers, uint32_t task,
                                       const struct lumos_nodes *nodes);

/* Fitted to what the transfers of a job of stage graph or later would take alone (sharing.h); where it has none, to its shortest communication kernels. Links
 * that neither shows are as a change of the network described them, else as the data sheet has them. The
 * job must outlive it. O(members + shapes squared). */
struct lumos_transfers *lumos_transfers_fit(const struct lumos_job *job, const struct lumos_hardware *hardware,
                                            const struct lumos_nodes *nodes);
/* Nothing is fitted: for the shapes of a job's transfers. */
struct lumos_transfers *lumos_transfers_of(const struct lumos_job *job, const struct lumos_nodes *nodes);
void lumos_transfers_free(struct lumos_transfers *transfers); /* NULL is allowed */

/* What a transfer of this shape, of known bytes, takes. */
struct lumos_duration lumos_transfer_duration(const struct lumos_transfers *transfers,
                                              const struct lumos_transfer_shape *shape);

/* What a transfer that took `ns` in one shape takes in another, over `network` (NULL: as it was), among `device` (NULL: the
 * GPUs that it was). Where the bytes are unknown they are those that would take as long; `now` then has as many. */
struct lumos_duration lumos_transfer_changed(const struct lumos_transfers *transfers, int64_t ns,
                                             const struct lumos_transfer_shape *was,
                                             const struct lumos_transfer_shape *now,
                                             const struct lumos_network *network, const struct lumos_device *device);

const struct lumos_job *lumos_transfers_job(const struct lumos_transfers *transfers);

/* The links as fitted, and what is known of each shape; for whoever shows them. */
const struct lumos_links *lumos_transfers_links(const struct lumos_transfers *transfers);
const struct lumos_calibration *lumos_transfers_calibration(const struct lumos_transfers *transfers);
uint64_t lumos_transfers_class(const char *op); /* of its shapes there */

#endif
