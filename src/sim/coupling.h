/* Which communication tasks end together: the collectives that the engine couples, seen from their members.
 *
 * A collective is coupled when its transfer is known and its rule is not `custom`; every other member keeps its own
 * duration. A coupled member is tied to those that it waits for: it ends when the latest of them has started and the
 * transfer is over.
 *   symmetric, pair, batched   everyone waits for everyone (a batched kernel has several pairs and ends with the last);
 *   rooted                     broadcast, scatter, a send that leaves at once: the others wait for the root, the root
 *                              for nobody; reduce, gather: the root waits for everyone, the others for nobody.
 */
#ifndef LUMOS_SIM_COUPLING_H
#define LUMOS_SIM_COUPLING_H

#include <lumos/job.h>

struct lumos_coupling {
  const struct lumos_job *job;
  uint32_t *first; /* coupled collectives of task t: of[first[t] .. first[t + 1]) */
  uint32_t *of;    /* collective indices */
};

/* O(tasks + members). */
void lumos_coupling_make(struct lumos_coupling *coupling, const struct lumos_job *job);
/* Nobody is tied to anybody. */
void lumos_coupling_none(struct lumos_coupling *coupling, const struct lumos_job *job);
void lumos_coupling_free(struct lumos_coupling *coupling);

/* Are its members tied together? Not a rooted collective whose root is not in the trace. */
bool lumos_is_coupled(const struct lumos_job *job, const struct lumos_collective *collective);

/* Does the end of this member wait for others, and do others wait for its start? */
bool lumos_member_waits(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t member);
bool lumos_member_awaited(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t member);

#endif
