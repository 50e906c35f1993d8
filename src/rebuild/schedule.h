/* In which order a stage of a pipeline does its passes, and what it sends and receives between them. */
#ifndef LUMOS_REBUILD_SCHEDULE_H
#define LUMOS_REBUILD_SCHEDULE_H

#include <lumos/job.h>
#include <lumos/rebuild.h>

/* What a stage sends to its neighbors and receives from them, added up. With several chunks a stage the last stage's
 * next one is the first. */
enum rebuild_transfer {
  REBUILD_TO_NEXT = 1,
  REBUILD_FROM_NEXT = 2,
  REBUILD_TO_PREVIOUS = 4,
  REBUILD_FROM_PREVIOUS = 8
};

struct rebuild_slot { /* a pass, or with transfers what is between two */
  uint8_t
      phase; /* LUMOS_FORWARD, LUMOS_BACKWARD, LUMOS_WEIGHT: of the pass, or of the first one that a transfer serves */
  uint8_t transfers; /* 0: a pass */
  int32_t micro_batch, chunk;
};
LUMOS_VECTOR_TYPE(rebuild_slots, struct rebuild_slot);

struct rebuild_pipeline {
  enum lumos_schedule schedule;
  int32_t stages, chunks; /* chunks of layers on each stage: 1 but for LUMOS_INTERLEAVED */
  int32_t micro_batches;  /* of LUMOS_INTERLEAVED: a multiple of the stages */
  bool joint;             /* what comes together is sent and received in one kernel, as Megatron-LM does */
  bool inference;         /* passes go forward alone */
};

/* What a stage does in a step. `slots` begins as zeros, and the caller frees it. O(slots). */
void rebuild_schedule_make(struct rebuild_slots *slots, const struct rebuild_pipeline *pipeline, int32_t stage);

/* Does a pass of that phase have a neighbor that it receives from, or sends to? */
bool rebuild_receives(const struct rebuild_pipeline *pipeline, int32_t stage, uint8_t phase, int32_t chunk);
bool rebuild_sends(const struct rebuild_pipeline *pipeline, int32_t stage, uint8_t phase, int32_t chunk);

#endif
