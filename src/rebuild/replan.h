/* Plans for configurations that were not recorded. */
#ifndef LUMOS_REBUILD_REPLAN_H
#define LUMOS_REBUILD_REPLAN_H

#include "rebuild/plan.h"
#include <lumos/error.h>
#include <lumos/rebuild.h>

/* Plan what `asked` asks for; what it leaves open stays as it was recorded. Every step is planned like one recorded
 * step; where recorded steps do not all do the same, each like its own. `untied`: the head has weights of its own, not
 * the embedding's. False, with what to do, where the recording lacks what that needs. */
bool rebuild_replan(struct rebuild_plan *plan, const struct rebuild_templates *templates,
                    const struct lumos_rebuild *asked, bool untied, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Are so many ranks what can be planned? Products of the sizes are numbers of 32 bits then. Of what is below 1 there is
 * one. */
bool rebuild_check_ranks(const struct lumos_parallel *sizes, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
