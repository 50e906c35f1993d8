/* In which order the stages of a pipeline make their passes, and what that order is called. */
#ifndef LUMOS_SIM_PIPELINE_SCHEDULE_H
#define LUMOS_SIM_PIPELINE_SCHEDULE_H

#include "sim/pipeline/passes.h"

enum lumos_recovered_schedule {
  LUMOS_SCHEDULE_NONE,    /* no pipeline, or its length is not known */
  LUMOS_SCHEDULE_UNNAMED, /* none of the following */
  LUMOS_SCHEDULE_GPIPE,   /* all forward, then all backward */
  LUMOS_SCHEDULE_1F1B,    /* stage s of p: p - 1 - s forward, then forward and backward by turns, then what is left */
  LUMOS_SCHEDULE_INTERLEAVED, /* the same over several chunks of layers a stage, in rounds of p micro-batches */
  LUMOS_SCHEDULE_ZERO_BUBBLE, /* the order of 1F1B, weight gradients apart to fill the bubbles: ZB-H1 */
};

/* A pass of a stage, whatever number of intervals it has. */
struct lumos_pass_turn {
  int64_t start;
  int32_t micro_batch, chunk;
  uint8_t phase;
};
LUMOS_VECTOR_TYPE(lumos_pass_turns, struct lumos_pass_turn);

/* Appends the stage's passes of the step, each once, in the order of their starts. */
void lumos_turns_read(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage,
                      struct lumos_pass_turns *turns);

/* Of a step of at least two micro-batches; with fewer all are alike. */
enum lumos_recovered_schedule lumos_schedule_of(const struct lumos_passes *passes);

/* As --schedule calls it: "1f1b"; NULL where there is no name. */
const char *lumos_schedule_option(enum lumos_recovered_schedule schedule);

/* The bubble that the schedule leaves where all forward passes take equally long, all backward passes too, and nothing
 * else takes time: its share of a step, in millionths. Of weight gradients apart: with the time that passes take.
 * LUMOS_ABSENT: no closed formula. */
int64_t lumos_schedule_bubble(enum lumos_recovered_schedule schedule, const struct lumos_passes *passes);

#endif
