/* What a rank of another configuration does in a step, out of what was recorded. */
#ifndef LUMOS_REBUILD_STEP_H
#define LUMOS_REBUILD_STEP_H

#include "rebuild/plan.h"
#include "rebuild/recorded.h"

struct rebuild_chunk { /* of layers */
  int32_t layers, first_layer;
  bool first, last; /* of the model */
};

struct rebuild_frame {        /* what a step begins and ends with */
  uint32_t like;              /* a recorded rank */
  int32_t kernels, transfers; /* of what is done by parameters, and there are other ones: as of items */
};

struct rebuild_writer {
  const struct rebuild_recorded *recorded;
  const struct rebuild_pipeline *to;
  const struct rebuild_chunk *chunks; /* that the rank has */
  struct rebuild_rank *rank;
  int32_t step;
  uint32_t turns;
  enum lumos_recompute again; /* layers are computed again before their backward pass; or their attention, in its
                                          midst; 0: as recorded */
  bool same_layers;           /* the model has as many as were recorded */
  struct rebuild_frame before, behind; /* passes */
  int64_t summed_elsewhere;            /* bytes that are no part of what replicas sum here; 0: all are */
};

/* Append a step that goes by these slots: the frame of the recorded rank that it is like, passes, and what is sent and
 * received between them. False, with what to record, where there is no example of something. O(items). */
bool rebuild_step_write(const struct rebuild_writer *writer, const struct rebuild_slots *slots,
                        struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
