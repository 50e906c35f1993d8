/* What a backward pass computes again, for the sake of memory (checkpoints of activations), and a job without that. */
#ifndef LUMOS_REBUILD_AGAIN_H
#define LUMOS_REBUILD_AGAIN_H

#include <lumos/job.h>
#include <lumos/rebuild.h>

/* By task: on a thread, forward work within a node of autograd, or what a checkpoint's own node does beside going back,
 * the gradients of its inputs included; on a stream, what such a task launches. Of PyTorch's checkpoints
 * (torch/utils/checkpoint.py), with and without reentrant autograd, and of Megatron-LM's. The caller frees it. O(tasks
 * x depth of ops). */
uint8_t *rebuild_find_again(const struct lumos_job *job);

/* What the backward pass computes again: products by weights, then it is LUMOS_RECOMPUTE_FULL; no more than attention;
 * or neither. O(tasks x depth of ops). */
enum lumos_recompute rebuild_computes_again(const struct lumos_job *job);

/* Does a compiled backward pass compute attention again, within a node that tells forward from backward work by no more
 * than the names of a few ops? O(tasks x depth of ops). */
bool rebuild_hides_again(const struct lumos_job *job);

/* Take it out of a job that is built like `from`. O(tasks). */
void rebuild_strip_again(struct lumos_job *built, const struct lumos_job *from);

/* Of a job in which forward blocks of `from` were put into the backward pass: PyTorch's own checkpoints stop where all
 * that was saved is there again (torch/utils/checkpoint.py, early_stop), so what begins with the last product of a
 * layer goes. O(tasks). */
void rebuild_stop_early(struct lumos_job *built, const struct lumos_job *from);

/* Of such a job, too: what PyTorch's fully sharded replicas do to gather a layer's parameters before its forward pass
 * goes, for they are there, for its backward pass. O(tasks x depth of ops). */
void rebuild_gather_once(struct lumos_job *built, const struct lumos_job *from);

#endif
