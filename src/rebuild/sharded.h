/* Fully sharded replicas: each has a share of every parameter, which all gather for each pass of a layer, and of its gradient, which
 * is scattered behind the backward pass. As PyTorch does so, version 1 and 2 (torch/distributed/fsdp), whose hooks name themselves in the
 * recording.
 */
#ifndef LUMOS_REBUILD_SHARDED_H
#define LUMOS_REBUILD_SHARDED_H

#include <lumos/job.h>

/* Does a forward pass gather parameters from replicas? O(tasks x groups). */
bool rebuild_is_fully_sharded(const struct lumos_job *job);

/* Is a task on a thread part of what gathers parameters before a module's forward pass, or before its backward one? O(depth of spans). */
bool rebuild_gathers_before(const struct lumos_job *job, uint32_t task);
bool rebuild_gathers_before_back(const struct lumos_job *job, uint32_t task);

/* By task on a stream, but for communication: does it go through a replica's own share alone: before that is gathered with all others', or
 * behind the sum of gradients of which it is a part? The caller frees it. O(tasks x depth of spans). */
uint8_t *rebuild_find_shares(const struct lumos_job *job);

#endif
