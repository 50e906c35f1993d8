/* What would help, asked of a run that is at hand. */
#ifndef LUMOS_SIM_OPPORTUNITY_H
#define LUMOS_SIM_OPPORTUNITY_H

#include "sim/metrics.h"
#include "sim/retiming.h"
#include "sim/steps.h"

/* Metrics opportunity_free and opportunity_half, or a note that nothing would help (sim.h: lumos_find_opportunities).
 * The engine's last run is job->runs; `retiming` was read from that run, `bindings` are what bound it. Ranges
 * are written where errors.replay is known. */
void lumos_write_opportunities(struct lumos_job *job, const struct lumos_engine *engine,
                               struct lumos_retiming *retiming, const struct lumos_held *bindings,
                               const struct lumos_stretches *stretches, struct lumos_model_errors errors);

#endif
