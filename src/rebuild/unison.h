/* Do ranks that a plan lets communicate do so in the same way? */
#ifndef LUMOS_REBUILD_UNISON_H
#define LUMOS_REBUILD_UNISON_H

#include "rebuild/plan.h"
#include <lumos/error.h>

/* Shards of a layer, replicas of a stage, the ends of a pipeline and whoever else has a collective in common take part
 * in the same ones, of as many bytes, in the same order; and every rank stands at a place of its own, on which as many
 * replicas and shards are there as on those of the other stages. Transfers between stages: legal.h. O(items +
 * collectives x ranks). */
bool rebuild_check_unison(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
