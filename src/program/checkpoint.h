/* Checkpoints of activations whose backward op goes back by autograd itself, through what it has computed again:
 * PyTorch's with reentrant autograd (torch/utils/checkpoint.py), and Megatron-LM's
 * (megatron/core/tensor_parallel/random.py). */
#ifndef LUMOS_PROGRAM_CHECKPOINT_H
#define LUMOS_PROGRAM_CHECKPOINT_H

#include <lumos/job.h>

#define PROGRAM_ACCUMULATES "torch::autograd::AccumulateGrad"

/* Is a span an op of that name for an input of the checkpoint around it, which autograd treats as a parameter there? By
 * its shape, which is one of those that the checkpoint's forward op has. O(depth of spans). */
bool program_accumulates_input(const struct lumos_job *job, uint32_t span);

#endif
