/* What ranks come late by, as far as it is their own: found in collectives (stragglers.c), and between stages of a
 * pipeline. */
#ifndef LUMOS_SIM_STAGES_H
#define LUMOS_SIM_STAGES_H

#include "sim/host_waits.h"
#include "sim/steps.h"

/* What a rank came late to a collective by, and then to all of a set of ranks in a step, in ns; negative: early. */
struct lumos_delay {
  uint64_t set;
  uint32_t place;              /* index of the rank's step */
  uint32_t met, last;          /* how many collectives, and to how many nobody came later */
  uint32_t first;              /* of how many what was before is not recorded, */
  int64_t unknown;             /* and how late it came to these */
  int64_t late, compute, host; /* compute and host: what the rank took longer */
};
LUMOS_VECTOR_TYPE(lumos_delays, struct lumos_delay);

static inline int64_t lumos_within(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value < most ? value : most;
}

/* When a kernel was launched; LUMOS_ABSENT: that is not known. */
int64_t lumos_launched_at(const struct lumos_job *job, const struct lumos_run *runs, uint32_t task);

/* Add the delays of ranks whose stages do the same work as others. */
void lumos_compare_stages(const struct lumos_job *job, const struct lumos_timeline *timeline,
                          const struct lumos_host_waits *waits, struct lumos_delays *delays);

#endif
