/* When the members of a collective came together, on a timeline: who came last, and when. */
#ifndef LUMOS_SIM_ARRIVAL_H
#define LUMOS_SIM_ARRIVAL_H

#include "sim/coupling.h"

struct lumos_arrival {
  int64_t latest;  /* start of the last member that others wait for; LUMOS_ABSENT: no member has a time */
  uint32_t last;   /* that member, a task; LUMOS_NONE */
  bool comparable; /* every member has a time, and their clocks are known to agree */
};

/* `runs` NULL: as measured. */
struct lumos_arrival lumos_arrival_of(const struct lumos_job *job, const struct lumos_run *runs,
                                      const struct lumos_collective *collective);

#endif
