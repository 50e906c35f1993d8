/* All configurations of a sweep, predicted in processes of their own. */
#ifndef LUMOS_SWEEP_PREDICT_ALL_H
#define LUMOS_SWEEP_PREDICT_ALL_H

#include "sweep/grid.h"
#include "sweep/predict.h"
#include "sweep/rows.h"

#include <lumos/sweep.h>

struct sweeping {
  const struct lumos_job *job;
  const struct lumos_sweep *sweep;
  struct sweep_configurations all;
  struct sweep_plan *plans;      /* by configuration, as are: */
  struct sweep_figures *figures; /* `why` says why one that cannot be planned has none */
  int64_t *least;                /* ns of a step; LUMOS_ABSENT: not known */
};

/* The figures of configuration `at`, and the least that it takes, without axes. */
struct sweep_row sweep_figures_row(const struct sweeping *sweeping, uint32_t at);

/* Parts are dealt out one by one, so that each has some of all kinds. */
bool sweep_is_of_part(const struct lumos_sweep *sweep, uint32_t at);

/* Fill in plans, figures and least of those of the sweep's part, which are allocated and zeroed but for `least`, which
 * is LUMOS_ABSENT. Unless all are asked for, those that cannot be the best any more are skipped. False: no process
 * could be started. */
bool sweep_predict_all(struct sweeping *sweeping, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
