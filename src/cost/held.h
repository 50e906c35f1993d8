/* SMs that collectives hold: each of their blocks has one to itself, from when it starts, waiting included. */
#ifndef LUMOS_COST_HELD_H
#define LUMOS_COST_HELD_H

#include "cost/nccl.h"
#include "cost/placing.h"

/* By task: the SMs that a collective's kernel holds, by NCCL's model of what it chooses on these links; 0: of other
 * tasks, and where bytes or members are not known. The caller frees it. O(members). */
double *lumos_held_sms(const struct lumos_placing *placing, const struct lumos_links *links);

/* By task of those that compute: SMs held on its rank while it runs, times ns. The caller frees it. O(tasks log
 * tasks). */
double *lumos_held_beside(const struct lumos_job *job, const struct lumos_run *runs, const double *sms);

#endif
