/* What tensor-parallel ranks tell each other where each comes to have a part of the sequence between the halves of
 * layers, which it had whole, or the other way round (Megatron-LM, megatron/core/tensor_parallel/mappings.py): what
 * they sum is scattered.
 */
#ifndef LUMOS_TRANSFORM_PARTS_H
#define LUMOS_TRANSFORM_PARTS_H

#include <lumos/job.h>
#include <lumos/rebuild.h>

/* Has each of the recorded ranks a part? They gather it in the forward pass of layers. 0: nothing of known size that
 * several such ranks exchange was recorded in layers, so that is not known. O(tasks). */
enum lumos_switch lumos_parts_recorded(const struct lumos_job *job);

/* Which sums there are: by task; LUMOS_NO_STRING: none, and elsewhere what it becomes, an all-reduce where it was a
 * reduce-scatter (on: the other way round). Of activations alone, in passes: what the loss sums is a number a token.
 * The caller frees it. O(tasks). */
lumos_string_id *lumos_parts_ops(struct lumos_job *job, bool on);

/* By span: is it there for what such ranks tell each other? That is whole, whatever each has a part of. The caller
 * frees it. O(tasks). */
uint8_t *lumos_parts_exchanged(const struct lumos_job *job);

/* Tasks and their kernels say what they do then. O(tasks). */
void lumos_parts_rename(struct lumos_job *job, const lumos_string_id *ops);

#endif
