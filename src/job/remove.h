/* Tasks taken out of a graph, so that what is left is the graph of a job that never had them. */
#ifndef LUMOS_JOB_REMOVE_H
#define LUMOS_JOB_REMOVE_H

#include <lumos/job.h>

/* What goes beside the chosen tasks: calls that launch nothing else; ops all of whose work on streams goes, with the
 * ops inside them; then what makes a stream wait for a record that goes, and ops that do nothing else there; and what
 * an op that stays does between the op inside it that goes and the one before. gone[t]: chosen; becomes all that goes.
 * A joined collective is chosen as a whole or not at all. O(tasks x depth of ops). */
void lumos_job_take_along(const struct lumos_job *job, uint8_t *gone);

/* Take tasks out of a job from stage graph on.
 *   On its lane the next task follows the one before, with its own lag: what is removed takes its own along, but for
 *   what a thread does between two steps.
 *   What waited for a removed task waits for what came before it on its lane; what that waited for, the next one does.
 *   A kernel whose call goes and which stays is on its stream when the task before the call ends (origin free), or from
 *   the beginning, where there is none.
 * The job is in order afterwards, and has no measured starts: it never ran. O(tasks + deps). */
void lumos_job_remove(struct lumos_job *job, const uint8_t *gone);

#endif
