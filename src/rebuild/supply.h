/* What a recorded job has no example of, put into it as if it had been recorded, so that blocks of it can be cut. */
#ifndef LUMOS_REBUILD_SUPPLY_H
#define LUMOS_REBUILD_SUPPLY_H

#include <lumos/error.h>
#include <lumos/job.h>

/* A job of one pipeline stage gets, in each rank's step `step`, one example of every way to send to the neighbours and
 * receive from them in one batch, as Megatron-LM does, on a stream of their own, and a note that says so. What is sent
 * is a micro-batch's activations, of which each of `parts` ranks has a part, and takes what NCCL's model says. Where
 * its size is not known nothing is put in. O(tasks). */
bool rebuild_supply_transfers(struct lumos_job *job, int32_t step, int32_t parts,
                              struct lumos_error *error) LUMOS_MUST_CHECK;

/* What all tensor-parallel ranks together hold of a micro-batch's activations between two layers, in bytes; 0: not
 * known. O(tasks). */
int64_t rebuild_activation_bytes(const struct lumos_job *job);

#endif
