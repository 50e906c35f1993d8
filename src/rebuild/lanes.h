/* Threads and streams of one rank that are like those of another. */
#ifndef LUMOS_REBUILD_LANES_H
#define LUMOS_REBUILD_LANES_H

#include <lumos/job.h>

/* The lane of a rank that is like a lane of any: threads by place, streams by number, or by place where they are for
 * the same communication and only numbered differently; LUMOS_NONE: there is none. O(lanes of the rank + groups). */
uint32_t rebuild_lane_of_rank(const struct lumos_job *job, uint32_t lane, const struct lumos_rank *rank);

#endif
