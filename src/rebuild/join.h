/* Communication that is built, joined as communicators do: the n-th operations of all members belong together. */
#ifndef LUMOS_REBUILD_JOIN_H
#define LUMOS_REBUILD_JOIN_H

#include "job/builder.h"

struct rebuild_joining;
struct rebuild_joining *rebuild_joining_new(const struct lumos_job *from);
void rebuild_joining_free(struct rebuild_joining *joining);

/* A task that is built like task `like` of `from`, in the order in which its rank launches them. What is a member of no
 * collective there is none here. */
void rebuild_join(struct rebuild_joining *joining, uint32_t like, struct lumos_built_task task);

/* Build the collectives. False where the members of a communicator have not equally many operations. */
bool rebuild_join_all(struct rebuild_joining *joining, struct lumos_builder *builder,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
