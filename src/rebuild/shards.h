/* How tensor-parallel ranks of a built job sum what each has a part of, where the recording has one such rank. */
#ifndef LUMOS_REBUILD_SHARDS_H
#define LUMOS_REBUILD_SHARDS_H

#include <lumos/error.h>
#include <lumos/job.h>

/* From one to several: weave into the built job the all-reduces of Megatron-LM's tensor parallelism (megatron/core/
 * tensor_parallel/layers.py, mappings.py and cross_entropy.py), each a program of the library on a stream of its own. In the forward
 * pass they come behind the product that ends attention, behind the one that ends the feed-forward block, behind the look-up of the
 * embedding, and three small ones in the loss. In the backward pass they come behind the last gradient of an input in each
 * half of a layer, and in the head, beside the product for the gradient of the weight. A note says so.
 * Else nothing. False: the recording does not show where the halves of layers end, or how large activations are.
 * O(tasks log tasks). */
bool rebuild_shards(struct lumos_job *built, const struct lumos_job *from, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
