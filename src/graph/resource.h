/* Who occupies the device, for the rule that finds waits for its SMs and for runs that obey it. */
#ifndef LUMOS_GRAPH_RESOURCE_H
#define LUMOS_GRAPH_RESOURCE_H

#include <lumos/job.h>

/* ns. A kernel that comes within this time of when another stream's is ready is as good as there: the other one takes
 * as long to react to the event that it waited for (LUMOS_REACTION_WINDOW, graph.h). */
enum { LUMOS_QUEUE_GAP = 20000 };

/* A kernel whose end is its own: a collective's depends on its peers. */
static inline bool lumos_occupies(const struct lumos_task *task) {
  return !lumos_is_copy(task->kind) && !lumos_is_communication(task->kind);
}

#endif
