/* How far the recorded configuration, built anew, is from what was measured. */
#ifndef LUMOS_REBUILD_ERROR_H
#define LUMOS_REBUILD_ERROR_H

#include "rebuild/plan.h"
#include <lumos/error.h>

/* (rebuilt - measured) / measured, over the steps that are built but the first; of a job that was changed before, its
 * simulated steps stand in for the measured ones. A built step is held against the recorded one that most of it was
 * drawn from; the first recorded step, of which the beginning is not known, counts only where it is the only one.
 * LUMOS_ABSENT units: nothing can be compared. Runs the engine. */
bool rebuild_error(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                   const struct lumos_job *built, struct lumos_decimal *deviation,
                   struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
