/* How replicas of a built job reduce their gradients, where the recording has one replica, or does it in another
 * way. */
#ifndef LUMOS_REBUILD_REDUCE_H
#define LUMOS_REBUILD_REDUCE_H

#include <lumos/error.h>
#include <lumos/job.h>
#include <lumos/rebuild.h>

/* Weave into a built job what it does not do because the recording had nothing like it: how new replicas reduce their
 * gradients (in each step, in what its last micro-batch does backward, a program of the library for each bucket; the
 * waits behind the last pass; the gathering of parameters behind the optimizer), how the ends of a pipeline that was
 * recorded as one stage sum the gradient of the embedding that they share, and how ranks that are new to each other sum
 * the gradients' norm. What `asked` leaves open is as recorded, or else as PyTorch or Megatron-LM do it by themselves.
 * A note says what was assumed. False where sizes of gradients are not known. O(tasks log tasks). */
bool rebuild_reduce(struct lumos_job *built, const struct lumos_job *from, const struct lumos_rebuild *asked,
                    struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
