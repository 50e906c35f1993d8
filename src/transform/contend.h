/* Kernels beside communication that a change moves: those that lose it get faster, those that get it slower. */
#ifndef LUMOS_TRANSFORM_CONTEND_H
#define LUMOS_TRANSFORM_CONTEND_H

#include "cost/contention.h"

struct lumos_contend {
  struct lumos_contention contention;
  double *shares; /* by task: how much of it runs beside communication, simulated; NULL: the job cannot run */
};

/* Before the change, then behind it: kernels take as much longer or shorter as more or less of them runs beside
 * communication, as the recording shows what that costs (cost/contention.h). A change that moves nothing changes nothing.
 * Each runs the engine. */
void lumos_contend_begin(struct lumos_contend *contend, const struct lumos_job *job);
void lumos_contend_end(struct lumos_contend *contend, struct lumos_job *job);

#endif
