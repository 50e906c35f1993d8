/* Communication that is built, joined as communicators do: the n-th operations of all members belong together, and
 * between stages of a pipeline what a stage sends n-th to a neighbor is what that receives n-th from it.
 *
 * Who takes part is, in the recorded configuration, who did in the recording. In another one the axes tell along which
 * the recorded members differ: the ranks that differ along those from the rank at hand; between stages the plan says
 * whom a rank sends to and receives from.
 */
#ifndef LUMOS_REBUILD_JOIN_H
#define LUMOS_REBUILD_JOIN_H

#include "job/builder.h"
#include "rebuild/plan.h"

struct rebuild_joining;
struct rebuild_joining *rebuild_joining_new(const struct lumos_job *from, const struct rebuild_plan *plan);
void rebuild_joining_free(struct rebuild_joining *joining);

/* Does a rank of the plan do what the recorded task did, or is nobody left whom it would do it with? True of what does
 * not communicate. */
bool rebuild_takes_part(const struct rebuild_joining *joining, const struct rebuild_rank *rank, uint32_t like);

/* A task of that rank that is built like task `like` of `from`, for that item, in the order in which the rank launches
 * them. What is a member of no collective there is none here. */
void rebuild_join(struct rebuild_joining *joining, const struct rebuild_rank *rank, uint32_t like,
                  struct lumos_built_task task, const struct rebuild_item *item);

/* Build the collectives. False where the members of a communicator have not equally many operations, or a stage does
 * not receive what a neighbor sends. */
bool rebuild_join_all(struct rebuild_joining *joining, struct lumos_builder *builder,
                      struct lumos_error *error) LUMOS_MUST_CHECK;
/* After that: does communication go over nodes that nothing tells the size of? */
bool rebuild_assumed_nodes(const struct rebuild_joining *joining);

#endif
