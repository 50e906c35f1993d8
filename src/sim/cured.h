/* What would limit the steps if late ranks were as fast as similar ones. */
#ifndef LUMOS_SIM_CURED_H
#define LUMOS_SIM_CURED_H

#include "sim/engine.h"
#include "sim/steps.h"

/* Metric straggler_free_path: where the critical path of all steps together lies in a run of the variant, by rank.
 * Nothing where the job cannot go on so. A run of its own: O(tasks log tasks). */
void lumos_write_cured_path(struct lumos_job *job, const struct lumos_engine *engine, const struct lumos_variant *cured,
                            const struct lumos_stretches *stretches);

#endif
