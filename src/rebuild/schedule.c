#include "rebuild/schedule.h"

struct maker {
  struct rebuild_slots *slots;
  bool first, last; /* of the stages */
  bool joint;
};

static void pass(const struct maker *maker, uint8_t phase, int32_t micro_batch) {
  lumos_vector_push(maker->slots, ((struct rebuild_slot){phase, 0, micro_batch}));
}

/* What the stage has no neighbour for is left out. */
static void transfer(const struct maker *maker, uint8_t phase, int32_t micro_batch, unsigned transfers) {
  transfers &= maker->first ? ~(unsigned)(REBUILD_TO_PREVIOUS | REBUILD_FROM_PREVIOUS) : ~0U;
  transfers &= maker->last ? ~(unsigned)(REBUILD_TO_NEXT | REBUILD_FROM_NEXT) : ~0U;
  for (unsigned one = 1; one <= REBUILD_FROM_PREVIOUS && !maker->joint; one *= 2) {
    if ((transfers & one) != 0) {
      lumos_vector_push(maker->slots, ((struct rebuild_slot){phase, (uint8_t)one, micro_batch}));
    }
  }
  if (transfers != 0 && maker->joint) {
    lumos_vector_push(maker->slots, ((struct rebuild_slot){phase, (uint8_t)transfers, micro_batch}));
  }
}

static void forward(const struct maker *maker, int32_t micro_batch) {
  transfer(maker, LUMOS_FORWARD, micro_batch, REBUILD_FROM_PREVIOUS);
  pass(maker, LUMOS_FORWARD, micro_batch);
  transfer(maker, LUMOS_FORWARD, micro_batch, REBUILD_TO_NEXT);
}

static void backward(const struct maker *maker, int32_t micro_batch) {
  transfer(maker, LUMOS_BACKWARD, micro_batch, REBUILD_FROM_NEXT);
  pass(maker, LUMOS_BACKWARD, micro_batch);
  transfer(maker, LUMOS_BACKWARD, micro_batch, REBUILD_TO_PREVIOUS);
}

/* Forward and back in turn, the first forward's input being there: what goes to a neighbour goes with what comes from it. */
static void in_turn(const struct maker *maker, int32_t ahead, int32_t micro_batches) {
  for (int32_t i = 0; ahead + i < micro_batches; i++) {
    bool more = ahead + i + 1 < micro_batches;
    pass(maker, LUMOS_FORWARD, ahead + i);
    transfer(maker, LUMOS_FORWARD, ahead + i, REBUILD_TO_NEXT | REBUILD_FROM_NEXT);
    pass(maker, LUMOS_BACKWARD, i);
    transfer(maker, LUMOS_BACKWARD, i, REBUILD_TO_PREVIOUS | (more ? REBUILD_FROM_PREVIOUS : 0U));
  }
}

void rebuild_schedule_make(struct rebuild_slots *slots, enum lumos_schedule schedule, int32_t stages, int32_t stage,
                           int32_t micro_batches, bool joint) {
  const struct maker maker = {slots, stage == 0, stage == stages - 1, joint};
  int32_t behind = stages - 1 - stage;
  int32_t ahead = schedule == LUMOS_GPIPE || behind > micro_batches ? micro_batches : behind;
  slots->count = 0;
  for (int32_t i = 0; i < ahead; i++) {
    forward(&maker, i);
  }
  if (ahead < micro_batches) {
    transfer(&maker, LUMOS_FORWARD, ahead, REBUILD_FROM_PREVIOUS);
  }
  in_turn(&maker, ahead, micro_batches);
  for (int32_t i = micro_batches - ahead; i < micro_batches; i++) {
    backward(&maker, i);
  }
}
