/* The pipeline's communication between two passes, on the thread that asks for it. */
#ifndef LUMOS_REBUILD_TRANSFERS_H
#define LUMOS_REBUILD_TRANSFERS_H

#include <lumos/job.h>

/* By task: the call that sends or receives, for whose sake a thread does this, from behind the launch before up to the
 * last call that speaks of the stream of that, before it launches anything else, or where streams were not recorded
 * behind the wait that follows; LUMOS_NONE: it is for something else. Nothing reaches across a task that `cuts` (a byte
 * a task) marks. The caller frees it. O(tasks). */
uint32_t *rebuild_find_transfers(const struct lumos_job *job, const uint8_t *cuts);

#endif
