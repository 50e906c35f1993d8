/* Communication that comes beside kernels which it did not come beside in the recording. */
#ifndef LUMOS_REBUILD_ROOMS_H
#define LUMOS_REBUILD_ROOMS_H

#include <lumos/job.h>

struct rebuild_rooms {
  bool awaited;   /* it waits until the kernel that runs when it is ready leaves it SMs */
  int32_t share;  /* of that kernel's time, in its last wave, when it does: millionths */
  int64_t behind; /* ns, behind kernels that run before it, too */
};

/* What a recording shows of that for communication of this kind, LUMOS_P2P or LUMOS_COLLECTIVE; where it shows nothing
 * of it, for the other. */
struct rebuild_rooms rebuild_rooms_find(const struct lumos_job *recorded, enum lumos_task_kind kind);

/* Does no kernel of another stream run when it starts, nor come within LUMOS_QUEUE_GAP (graph/resource.h)? Then a
 * recording does not show whether it would wait for it. O(lanes of its rank x log tasks). */
bool rebuild_starts_alone(const struct lumos_job *recorded, uint32_t communication);

#endif
