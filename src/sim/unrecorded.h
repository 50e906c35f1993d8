/* When a GPU shows nothing because what it waits for lies outside the recording. */
#ifndef LUMOS_SIM_UNRECORDED_H
#define LUMOS_SIM_UNRECORDED_H

#include <lumos/sim.h>

/* [from, to) in job time, on a rank by its index. */
struct lumos_unrecorded_interval {
  int64_t from, to;
  uint32_t rank;
};
LUMOS_VECTOR_TYPE(lumos_unrecorded_intervals, struct lumos_unrecorded_interval);

struct lumos_unrecorded;

/* What all timelines of a job need. O(tasks). */
struct lumos_unrecorded *lumos_unrecorded_open(const struct lumos_job *job);
void lumos_unrecorded_close(struct lumos_unrecorded *unrecorded);
/* The same for a thread beside, which leaves it before it is closed. */
struct lumos_unrecorded *lumos_unrecorded_beside(const struct lumos_unrecorded *unrecorded);
void lumos_unrecorded_leave(struct lumos_unrecorded *beside); /* NULL is allowed */

/* The timeline of `runs`, NULL: as measured; then a rank, and then its rests, in order: nothing runs on its streams in
 * [from, to), and work starts at `to`, or none does any more. O(tasks) for all rests of a rank. */
void lumos_unrecorded_on(struct lumos_unrecorded *unrecorded, const struct lumos_run *runs);
void lumos_unrecorded_begin(struct lumos_unrecorded *unrecorded, uint32_t rank);
void lumos_unrecorded_find(struct lumos_unrecorded *unrecorded, int64_t from, int64_t to);

/* What was found on the timeline, in order. It stays the owner's, until the next timeline. */
const struct lumos_unrecorded_intervals *lumos_unrecorded_found(const struct lumos_unrecorded *unrecorded);

/* Does a call wait for work that is not recorded, and how long, up to its return? 0: it does not. */
int64_t lumos_waits_unrecorded(const struct lumos_job *job, uint32_t call);

#endif
