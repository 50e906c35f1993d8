/* How tensor-parallel ranks of a built job sum what each has a part of, where the recording has one such rank, or they
 * did it in another way. */
#ifndef LUMOS_REBUILD_SHARDS_H
#define LUMOS_REBUILD_SHARDS_H

#include <lumos/error.h>
#include <lumos/job.h>
#include <lumos/rebuild.h>

/* From one to several: weave into the built job the all-reduces of Megatron-LM's tensor parallelism (megatron/core/
 * tensor_parallel/layers.py, mappings.py and cross_entropy.py), each a program of the library on a stream of its own.
 * In the forward pass they come behind the product that ends attention, behind the one that ends the feed-forward
 * block, behind the look-up of the embedding, and three small ones in the loss. In the backward pass they come behind
 * the last gradient of an input in each half of a layer, and in the head, beside the product for the gradient of the
 * weight. A note says so.
 *
 * Sequence parallelism (`sequence`; 0: as recorded) sums by a reduce-scatter, after which each rank has a part of the
 * sequence, and gathers it before each half, before the head, and backward in front of what ended each half; and the
 * input of each half once more, beside the product for its gradient. Where the recording has it and is to lose it, or
 * the other way round, what ranks told each other of activations is replaced.
 *
 * Else nothing. False: the recording does not show where the halves of layers end, or how large activations are.
 * O(tasks log tasks). */
bool rebuild_shards(struct lumos_job *built, const struct lumos_job *from, enum lumos_switch sequence,
                    struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
