/* On which nodes the ranks of a built job are. */
#ifndef LUMOS_REBUILD_HOSTS_H
#define LUMOS_REBUILD_HOSTS_H

#include <lumos/job.h>

/* A built rank has the host of the recorded one that it is like; now that of the node on which its number puts it.
 * Nodes are as large as those of the recording. O(ranks of both). */
void rebuild_place_ranks(struct lumos_job *built, const struct lumos_job *from);

#endif
