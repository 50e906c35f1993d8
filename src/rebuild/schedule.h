/* In which order a stage of a pipeline does its passes, and what it sends and receives between them. */
#ifndef LUMOS_REBUILD_SCHEDULE_H
#define LUMOS_REBUILD_SCHEDULE_H

#include <lumos/rebuild.h>

/* What a stage tells its neighbours, added up. */
enum rebuild_transfer {
  REBUILD_TO_NEXT = 1,
  REBUILD_FROM_NEXT = 2,
  REBUILD_TO_PREVIOUS = 4,
  REBUILD_FROM_PREVIOUS = 8
};

struct rebuild_slot { /* a pass, or with transfers what is between two */
  uint8_t phase;      /* LUMOS_FORWARD, LUMOS_BACKWARD: of the pass, or that the transfer comes before or behind */
  uint8_t transfers;  /* 0: a pass */
  int32_t micro_batch;
};
LUMOS_VECTOR_TYPE(rebuild_slots, struct rebuild_slot);

/* As Megatron-LM does: 1F1B after as many forward passes as there are stages behind; with `joint` a stage sends to a
 * neighbour and receives from it in one where both come together. `slots` begins as zeros, and
 * the caller frees it. */
void rebuild_schedule_make(struct rebuild_slots *slots, enum lumos_schedule schedule, int32_t stages, int32_t stage,
                           int32_t micro_batches, bool joint);

#endif
