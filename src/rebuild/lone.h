/* Communication among replicas of which one rank alone was recorded, in a job with more or fewer of them. */
#ifndef LUMOS_REBUILD_LONE_H
#define LUMOS_REBUILD_LONE_H

#include <lumos/error.h>
#include <lumos/job.h>

/* Is a task among replicas, of which no other rank shows it? By its group; where it names none, because ranks are
 * nothing but replicas. `joined`: by task, whether it is a member of a collective. O(groups). */
bool rebuild_is_lone(const struct lumos_job *job, size_t task, const uint8_t *joined);

/* By task: is it a member of a collective? The caller frees it. */
uint8_t *rebuild_find_joined(const struct lumos_job *job);

/* A job that is built like `from`: such kernels take what they would among as many replicas as there are now. What of
 * them is waiting stays, and how much that is counts as an error (lumos_transfer_changed_alone). O(tasks). */
bool rebuild_resize_lone(struct lumos_job *built, const struct lumos_job *from, struct lumos_error *error);

#endif
