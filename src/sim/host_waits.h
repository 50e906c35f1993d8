/* How long the threads of ranks wait for their devices. */
#ifndef LUMOS_SIM_HOST_WAITS_H
#define LUMOS_SIM_HOST_WAITS_H

#include <lumos/sim.h>

/* Of any of a rank's threads: intervals in a row, and how long those before took. */
struct lumos_host_wait {
  int64_t start, end, before;
};

struct lumos_host_waits {
  const struct lumos_job *job;
  const struct lumos_run *runs;
  LUMOS_VECTOR(struct lumos_host_wait) all;
  uint32_t *first; /* by rank */
};

/* On the timeline of `runs`, NULL: as measured. O(tasks log tasks). */
void lumos_host_waits_find(struct lumos_host_waits *waits, const struct lumos_job *job, const struct lumos_run *runs);
void lumos_host_waits_free(struct lumos_host_waits *waits);

/* How long threads of a rank, by its index, have waited until an instant. */
int64_t lumos_host_waited(const struct lumos_host_waits *waits, uint32_t rank, int64_t time);

#endif
