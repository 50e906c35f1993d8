/* Who is together with a rank in a plan: those that differ from it along some axes of the cluster. */
#ifndef LUMOS_REBUILD_AXES_H
#define LUMOS_REBUILD_AXES_H

#include "rebuild/plan.h"

/* Added up. At the ends: the first and the last stage of a pipeline alone. */
enum rebuild_axis {
  REBUILD_TENSOR = 1,
  REBUILD_PIPELINE = 2,
  REBUILD_DATA = 4,
  REBUILD_ENDS = 8,
  REBUILD_CONTEXT = 16,
  /* Instead of those within a stage, which experts have nothing to do with: */
  REBUILD_EXPERT = 32, /* ranks of a stage in a row, which share experts */
  REBUILD_OWNERS = 64, /* those at the same place in such rows, which have the same experts */
  REBUILD_AXES = 128   /* sets of these */
};

/* Along which axes the ranks of a recorded group differ: as far as their places are known, by their numbers where they
 * were not recorded; and that of its role, where not all of them are, or it is one. A group without a role that has all
 * ranks: along all. */
unsigned rebuild_axes_of_group(const struct lumos_job *job, const struct lumos_group *group);

/* Along which those do that take part in a recorded collective, and whether that is of the ends alone. */
unsigned rebuild_axes_of_collective(const struct lumos_job *job, const struct lumos_collective *collective);

/* What those have in common that are together with a rank along such axes: equal for all of them, for others not. */
enum { REBUILD_PLACES = 4 };
void rebuild_axes_place(const struct lumos_parallel *sizes, const struct lumos_parallel *at, unsigned axes,
                        uint32_t place[REBUILD_PLACES]);

/* A send and what it is received by; a short one does not wait for that, and is rooted. */
static inline bool rebuild_is_pair(const struct lumos_collective *collective) {
  return collective->rule == LUMOS_PAIR || collective->rule == LUMOS_BATCHED ||
         collective->matched == LUMOS_BY_PAIR_ORDER;
}

/* Among ranks that differ along such axes, is that the gradient of what the first and the last stage share? */
static inline bool rebuild_shares_ends(unsigned axes, int64_t bytes) {
  enum { SCALARS = 65536 }; /* bytes; chosen: norms and losses, which all stages tell each other, are a few */
  return (axes & REBUILD_PIPELINE) != 0 && bytes > SCALARS;
}

/* How many ranks are together with a rank, itself included; 0: it is at no end, and these are. */
int32_t rebuild_axes_count(const struct rebuild_plan *plan, const struct lumos_parallel *at, unsigned axes);
/* Their numbers, ascending, as many as that. */
LUMOS_VECTOR_TYPE(rebuild_numbers, int32_t);
void rebuild_axes_list(const struct rebuild_plan *plan, const struct lumos_parallel *at, unsigned axes,
                       struct rebuild_numbers *numbers);

#endif
