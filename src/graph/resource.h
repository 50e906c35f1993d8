/* Who occupies the device, for the rule that finds waits for its SMs and for runs that obey it. */
#ifndef LUMOS_GRAPH_RESOURCE_H
#define LUMOS_GRAPH_RESOURCE_H

#include <lumos/job.h>

/* ns. Kernels that follow each other on a stream by no more leave no time for another stream's to take the SMs; and of
 * two that come at about the same time this is too near to tell who was first. Measured on V100, A100 and H100: gaps of
 * a stream's queue are 1 to 3 us long. */
enum { LUMOS_QUEUE_GAP = 5000 };

/* A kernel whose end is its own: a collective's depends on its peers. */
static inline bool lumos_occupies(const struct lumos_task *task) {
  return !lumos_is_copy(task->kind) && !lumos_is_communication(task->kind);
}

#endif
