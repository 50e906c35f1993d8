/* The chain before a start: why a task did not start earlier. */
#ifndef LUMOS_SIM_WALK_H
#define LUMOS_SIM_WALK_H

#include <lumos/path.h>

/* heads[t]: the task with which a thread's run up to t begins, in which nothing but thread order holds anything; t
 * itself for all others. */
void lumos_find_heads(const struct lumos_job *job, const struct lumos_held *bindings, uint32_t *heads);

/* As lumos_path_walk_from, but from the start of `task`, and parts stand from late to early, those of no length among
 * them. So the return of a wait is seen even where it takes no time. With `heads`, if not NULL, a thread's run is one
 * part, for many walks over the same threads. */
void lumos_walk_before(const struct lumos_job *job, const struct lumos_held *bindings, const uint32_t *heads,
                       uint32_t task, int64_t from, struct lumos_path_parts *parts);

#endif
