/* Kernels beside communication that a change moves, and transfers beside others on the same links: those that lose it get faster, those
 * that get it slower. */
#ifndef LUMOS_TRANSFORM_CONTEND_H
#define LUMOS_TRANSFORM_CONTEND_H

#include "sim/beside.h"

struct lumos_contend {
  struct lumos_beside beside;      /* before the change */
  double factors[LUMOS_CONTENDED]; /* by how much more of a kernel is lost after it; 1 but on another GPU */
  double
      *shares[LUMOS_CONTENDERS]; /* by task: how much of it runs beside communication, simulated; NULL: the job cannot
                                       run */
  int32_t node_size;             /* GPUs */
  double part;                   /* of what a transfer shares, what it loses (cost/sharing.h) */
  double *shared;          /* by collective: how much of its transfer is shared, simulated; NULL: the job cannot run */
  uint32_t *collective_of; /* by task, LUMOS_NONE: of none */
};

/* Before the change, then behind it: kernels take as much longer or shorter as more or less of them runs beside
 * communication, and transfers as more or less of them shares its links, as the recording shows what that costs
 * (cost/contention.h, cost/sharing.h). A change that moves nothing changes nothing.
 * `likes`: by task of the changed job, the one of the job before that it is like, or LUMOS_NONE, which ran beside none;
 * NULL: tasks are the same. The begin runs the engine, the end three times. */
void lumos_contend_begin(struct lumos_contend *contend, const struct lumos_job *job);
void lumos_contend_end(struct lumos_contend *contend, struct lumos_job *job, const uint32_t *likes);

#endif
