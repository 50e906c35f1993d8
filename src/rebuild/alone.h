/* A built job without collectives: those in which nobody else takes part any more, or those that others will
 * replace. */
#ifndef LUMOS_REBUILD_ALONE_H
#define LUMOS_REBUILD_ALONE_H

#include <lumos/job.h>

/* Take out of a job that is built like `from` collectives that were joined there and are not in what is built, and
 * those among replicas of which one is left, with all that threads do for them: the calls, the ops that wait for them
 * (PyTorch's ProcessGroupNCCL, record_param_comms, in the order in which they were asked for on the thread), and nodes
 * of autograd that go back through an op that was there for them alone. O(tasks x depth of ops). */
void rebuild_strip_alone(struct lumos_job *built, const struct lumos_job *from);

/* The same for what tensor-parallel ranks tell each other only because each has a part of the sequence between the
 * halves of layers: they gather activations, and sum the gradients of norms and biases, which each has of its part. */
void rebuild_strip_parts(struct lumos_job *built);

#endif
