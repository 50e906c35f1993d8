/* Process groups of a configuration that was not recorded.
 *
 * Recorded groups of one name and role whose ranks differ along the same axes are a class. A plan has the groups of a
 * class again, of the ranks that differ along these axes there.
 */
#ifndef LUMOS_REBUILD_GROUPS_H
#define LUMOS_REBUILD_GROUPS_H

#include "job/builder.h"
#include "rebuild/plan.h"

struct rebuild_groups;
struct rebuild_groups *rebuild_groups_new(const struct lumos_job *from, const struct rebuild_plan *plan);
void rebuild_groups_free(struct rebuild_groups *groups); /* NULL is allowed */

/* Build those of a rank that no rank has yet. Ranks come in the order of the plan. */
void rebuild_groups_build(struct rebuild_groups *groups, const struct rebuild_rank *rank, struct lumos_built_rank built,
                          struct lumos_builder *builder);

/* Of that rank the one that is like recorded group `group` (its id); absent where there is none. */
lumos_string_id rebuild_group_of(const struct rebuild_groups *groups, lumos_string_id group);

#endif
