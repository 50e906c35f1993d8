/* A plan: what every rank of a job that is to be built does, in order, block by block. */
#ifndef LUMOS_REBUILD_PLAN_H
#define LUMOS_REBUILD_PLAN_H

#include "rebuild/templates.h"

struct rebuild_item {
  uint32_t like;                    /* a recorded block */
  uint32_t turns;                   /* which of its template is drawn: rebuild_draw */
  int32_t step, micro_batch, layer; /* of what is built */
};

struct rebuild_rank {
  uint32_t like;  /* a recorded rank: its lanes, its clock and all else that is said of ranks */
  int32_t number; /* of what is built */
  LUMOS_VECTOR(struct rebuild_item) items;
};

struct rebuild_plan {
  bool begins_as_recorded; /* with what was launched before the recording, and threads when they began in it */
  LUMOS_VECTOR(struct rebuild_rank) ranks;
};

/* What was recorded: all of its steps, in order and from the first again, one more than there are and three at least, so that
 * the first can settle. */
void rebuild_plan_recorded(struct rebuild_plan *plan, const struct rebuild_templates *templates);
void rebuild_plan_free(struct rebuild_plan *plan);

#endif
