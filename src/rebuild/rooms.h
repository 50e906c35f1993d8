/* Transfers between stages that come beside kernels which they did not come beside in the recording. */
#ifndef LUMOS_REBUILD_ROOMS_H
#define LUMOS_REBUILD_ROOMS_H

#include <lumos/job.h>

struct rebuild_rooms {
  bool awaited;  /* a transfer waits until the kernel that runs when it is ready leaves it SMs */
  int32_t share; /* of that kernel's time, in its last wave, when it does: millionths */
};

/* What a recording shows of that. */
struct rebuild_rooms rebuild_rooms_find(const struct lumos_job *recorded);

#endif
