/* Fully sharded replicas, as PyTorch's fully_shard spreads a model over them: what is gathered, and for how long.
 *
 * torch/distributed/fsdp/_fully_shard gathers a unit's parameters into one tensor before a pass, and splits that into
 * parameters (fsdp::split_with_sizes_copy). The tensor stays until the next unit of a forward pass is split, so that
 * this may run while that is gathered; in a backward pass it goes at once. Parameters stay to the end of the unit's
 * pass; those of a unit that is not gathered again, to the end of its backward pass. Gradients are put into one tensor
 * (fsdp::chunk_cat), which stays until those of the next unit are, and each replica keeps its part of the sum.
 */
#ifndef LUMOS_MEMORY_SHARDS_H
#define LUMOS_MEMORY_SHARDS_H

#include "memory/walk.h"

/* Fills shards of the walk's step, where the rank's replicas are fully sharded. Before the walk. */
void memory_find_shards(struct memory_walk *walk);
/* Adds the pieces, and sets the share of the parameters: 0, where no op splits what is gathered. Behind it. */
void memory_add_shards(struct memory_walk *walk);

/* Where the gradient of a parameter is put into the tensor that is scattered, as seen from the place of the walk: in its
 * own micro-batch, or in a later one; LUMOS_NONE: nowhere. */
uint32_t memory_scattered_with(const struct memory_walk *walk);
uint32_t memory_scattered_later(const struct memory_walk *walk);

#endif
