/* Fully sharded replicas: each has a share of every parameter, which all gather for each pass of a layer, and of its
 * gradient, which is scattered behind the backward pass. As PyTorch does so, version 1 and 2 (torch/distributed/fsdp),
 * whose hooks name themselves in the recording, as annotations.
 */
#ifndef LUMOS_PROGRAM_SHARDED_H
#define LUMOS_PROGRAM_SHARDED_H

#include <lumos/job.h>

/* Do forward passes gather from replicas, and backward passes, too, or by such a hook? Others gather what a distributed
 * optimizer has updated, in forward passes alone. Of a rank, or of any. Needs groups and phases. O(tasks + collectives
 * x (groups + depth of spans)). */
bool program_rank_is_sharded(const struct lumos_job *job, uint32_t rank);
bool program_is_fully_sharded(const struct lumos_job *job);

/* The replicas between which a collective task does so; NULL: it does something else. O(groups). */
const struct lumos_group *program_replicas_of(const struct lumos_job *job, const struct lumos_task *task,
                                              const char *op);

/* Does any hook name itself? O(spans). */
bool program_names_hooks(const struct lumos_job *job);

/* Is a task on a thread part of what gathers parameters before a module's forward pass, or before its backward one?
 * O(depth of spans). */
bool program_gathers_before(const struct lumos_job *job, uint32_t task);
bool program_gathers_before_back(const struct lumos_job *job, uint32_t task);

/* By task on a stream, but for communication: does it go through a replica's own share alone: before that is gathered
 * with all others', or behind the sum of gradients of which it is a part? By the hooks' names. The caller frees it.
 * O(tasks x depth of spans + collectives x groups). */
uint8_t *program_find_shares(const struct lumos_job *job);

#endif
