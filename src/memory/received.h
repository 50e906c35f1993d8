/* What a stage of a pipeline receives, and what tensor-parallel ranks gather: tensors that no op of the rank makes.
 *
 * A pass that begins with a layer has received what that takes in: in the forward pass an activation, which is kept as
 * any other, in the backward pass its gradient. Layers of Megatron-LM that gather the sequence (megatron/core/
 * tensor_parallel/layers.py) do so into one buffer that all of them use.
 */
#ifndef LUMOS_MEMORY_RECEIVED_H
#define LUMOS_MEMORY_RECEIVED_H

#include "memory/walk.h"

/* Before the op here is looked at: what it takes is there, where it is the first of a pass that has received. */
void memory_receive(struct memory_walk *walk);
/* The op here has gathered into a piece: where that is the common buffer, it is no piece of its own. */
void memory_share_buffer(struct memory_walk *walk, uint32_t piece);

#endif
