/* What replicas hold for each parameter, but fully sharded ones (shards.h), as a step's ops show it.
 *
 * Megatron-LM adds gradients up in a buffer for all of them, in float32, which is cleared before the first pass; what
 * autograd hands over is forgotten when it is added. There are as many parameters as the buffer has numbers. Parameters
 * have the format in which they are gathered behind the update; else float32 where forward passes copy them from that
 * into another one; else their gradients' own. Where they have fewer bytes than the buffer's numbers, the optimizer
 * keeps them once more, as it keeps its own numbers: in the buffer's format, of the replica's share.
 */
#ifndef LUMOS_MEMORY_HELD_H
#define LUMOS_MEMORY_HELD_H

#include "memory/walk.h"

/* Before the walk: fills `held` of its step. */
void memory_find_held(struct memory_walk *walk);
/* What the op at `place` has made here: where that is a weight's copy, it is held to the end of its micro-batch's backward
 * pass, or of all passes where only one micro-batch makes such. */
void memory_hold_copy(struct memory_walk *walk, uint32_t place, uint32_t piece);

#endif
