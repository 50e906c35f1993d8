/* Plans for configurations that were not recorded. */
#ifndef LUMOS_REBUILD_REPLAN_H
#define LUMOS_REBUILD_REPLAN_H

#include "rebuild/plan.h"
#include <lumos/error.h>
#include <lumos/rebuild.h>

/* Plan what `asked` asks for, out of one recorded step; what it leaves open stays as it was recorded. False, with what to do,
 * where the recording lacks what that needs. */
bool rebuild_replan(struct rebuild_plan *plan, const struct rebuild_templates *templates,
                    const struct lumos_rebuild *asked, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
