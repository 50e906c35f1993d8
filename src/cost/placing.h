/* Where ranks are, and so the shape of what they send each other: which operation, of how many bytes, among how many
 * ranks on how many nodes.
 */
#ifndef LUMOS_COST_PLACING_H
#define LUMOS_COST_PLACING_H

#include "cost/network.h"
#include <lumos/job.h>

/* Where ranks are: those of a node have numbers in a row. */
struct lumos_nodes {
  int32_t size; /* GPUs in a node */
  bool assumed; /* no recording and no network file tells */
};
/* By the network, else by a change of the network before, else as the ranks' hosts tell where they are several; else 8
 * to a node, or as many as are seen on one. */
struct lumos_nodes lumos_nodes_of(const struct lumos_job *job, const struct lumos_network *network);
/* What changes of the network described goes with the job, as the text of this note: the last one for each member. */
#define LUMOS_NETWORK_NOTE "transform.network"
/* As that note says; a stream may say anything. */
struct lumos_network lumos_told_network(const struct lumos_job *job);
void lumos_tell_network(struct lumos_job *job, const struct lumos_network *network);
/* On how many nodes these ranks (numbers) are: at least 1. O(count log count). */
int32_t lumos_nodes_spanned(const struct lumos_nodes *nodes, const int32_t *ranks, uint32_t count);

struct lumos_transfer_shape {
  const char *op; /* as of lumos_comm */
  int64_t bytes;  /* as of lumos_collective, but of a pair what goes one way; LUMOS_ABSENT: unknown */
  int32_t size;   /* ranks; at least 1 */
  int32_t nodes;  /* that they are on; at least 1 */
};

/* Where the ranks of a job's groups and collectives are. */
struct lumos_placing {
  const struct lumos_job *job; /* outlives it */
  struct lumos_nodes nodes;
  uint32_t *group_of; /* by string: the group whose id it is, + 1 */
};
struct lumos_placing lumos_placing_of(const struct lumos_job *job, const struct lumos_nodes *nodes);
void lumos_placing_free(struct lumos_placing *placing);

/* Of a collective, and of a communication kernel that is in none whose transfer is known; size 0: not known. A kernel
 * without a group, of a job whose ranks are replicas and nothing else, is among all of them. O(members). */
struct lumos_transfer_shape lumos_transfer_shape_of(const struct lumos_placing *placing,
                                                    const struct lumos_collective *collective);
struct lumos_transfer_shape lumos_transfer_shape_of_kernel(const struct lumos_placing *placing, uint32_t task);
/* On how many nodes their ranks would be, if nodes were others. */
int32_t lumos_transfer_nodes(const struct lumos_placing *placing, const struct lumos_collective *collective,
                             const struct lumos_nodes *nodes);
int32_t lumos_transfer_nodes_of_kernel(const struct lumos_placing *placing, uint32_t task,
                                       const struct lumos_nodes *nodes);

/* What stands for an operation in the keys of shapes. */
uint64_t lumos_transfer_class(const char *op);

#endif
