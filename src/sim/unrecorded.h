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

/* On the timeline of `runs`, NULL: as measured. O(tasks). */
struct lumos_unrecorded *lumos_unrecorded_open(const struct lumos_job *job, const struct lumos_run *runs);
void lumos_unrecorded_close(struct lumos_unrecorded *unrecorded);

/* A rank, and then its rests, in order: nothing runs on its streams in [from, to), and work starts at `to`. What of it
 * is not recorded is added to `intervals`, in order. O(tasks) for all rests of a rank. */
void lumos_unrecorded_begin(struct lumos_unrecorded *unrecorded, uint32_t rank);
void lumos_unrecorded_find(struct lumos_unrecorded *unrecorded, int64_t from, int64_t to,
                           struct lumos_unrecorded_intervals *intervals);

/* Does a call wait for work that is not recorded, and how long, up to its return? 0: it does not. */
int64_t lumos_waits_unrecorded(const struct lumos_job *job, uint32_t call);

#endif
