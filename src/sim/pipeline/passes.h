/* The passes of one step: when each stage of the pipeline works forward or backward on which micro-batch.
 *
 * A pass is what a rank's compute stream does for one phase of one micro-batch on one chunk of its layers. It is held
 * as intervals, each from the first start to the last end of tasks that nothing else interrupts, neither another pass
 * nor a long wait; so a pass that is interrupted has several. Communication is no part of an interval, though a
 * collective of the pass itself bridges the gap that it leaves; where it runs within a stage while no pass does, it is
 * an interval of its own, as is work of no pass. Times are those of one timeline.
 *
 * A rank stands for its stage: the first that has passes. Without a pipeline every rank stands for itself.
 */
#ifndef LUMOS_SIM_PIPELINE_PASSES_H
#define LUMOS_SIM_PIPELINE_PASSES_H

#include <lumos/sim.h>

/* Compute streams of a rank. Chosen: it bounds a picture's height. */
enum { LUMOS_TRACKS = 3 };

/* An interval of a pass has the number of its phase, others: */
enum {
  LUMOS_EXCHANGE = 0, /* communication within the stage while no pass runs, such as sums of gradients */
  LUMOS_PASS_PHASES = LUMOS_OTHER_PHASE + 1 /* other: work of no pass on a stream of passes, while none runs */
};

/* An interval; of a pass up to what interrupts it. */
struct lumos_pass_interval {
  int64_t start, end;
  int32_t step, micro_batch;       /* LUMOS_ABSENT_INT */
  int32_t chunk;                   /* of the stage's layers, from 0 */
  int32_t layer_first, layer_last; /* LUMOS_ABSENT_INT: none is known */
  uint8_t phase, track;
};
LUMOS_VECTOR_TYPE(lumos_pass_intervals, struct lumos_pass_interval);

struct lumos_pipeline_stage {
  uint32_t rank;  /* index; LUMOS_NONE: of another job than the one at hand */
  int32_t number; /* of the rank */
  int32_t stage;  /* LUMOS_ABSENT_INT: there is no pipeline */
  uint32_t lanes[LUMOS_TRACKS];
  int tracks;
  int32_t chunks;                  /* at least 1 */
  int32_t micro_batches;           /* that it works on forward or backward */
  size_t first, count;             /* intervals, by start */
  int64_t busy[LUMOS_PASS_PHASES]; /* on two streams at once once; two phases at once are in both */
  int64_t bubble; /* none of them: it waits for another stage, for a transfer from there, or for its host */
};
LUMOS_VECTOR_TYPE(lumos_pipeline_stages, struct lumos_pipeline_stage);

/* A layer, and whose it is. */
struct lumos_layer_owner {
  int32_t layer;
  uint32_t stage; /* index in `stages` */
  int32_t chunk;
};
LUMOS_VECTOR_TYPE(lumos_layer_owners, struct lumos_layer_owner);

struct lumos_passes {
  const struct lumos_job *job;
  const struct lumos_run *runs;
  struct lumos_step step; /* the job's */
  int32_t pipeline;       /* stages; LUMOS_ABSENT_INT: not known */
  int32_t micro_batches;  /* of a step */
  struct lumos_pipeline_stages stages;
  struct lumos_pass_intervals list;
  struct lumos_layer_owners owners; /* by layer */
  size_t left_out;                  /* stages (without a pipeline: ranks) with passes that are not read */
  int64_t elsewhere;                /* time of passes on streams that are not read, over the ranks that are read */
};

/* How many rows are read at most. */
struct lumos_passes_limits {
  size_t stages; /* of a pipeline */
  size_t alike;  /* ranks, where there is none */
};

/* Of a step of the job, on the timeline of `runs` (NULL: as measured). No stages: nothing was recovered, or the step is
 * empty. O(tasks of the ranks that are read). */
void lumos_passes_read(const struct lumos_job *job, const struct lumos_run *runs, const struct lumos_step *step,
                       const struct lumos_passes_limits *limits, struct lumos_passes *passes);
void lumos_passes_free(struct lumos_passes *passes);

/* Forward, backward, weight gradients. */
static inline bool lumos_is_pass(uint8_t phase) { return phase >= LUMOS_FORWARD && phase <= LUMOS_WEIGHT; }

static inline int64_t lumos_passes_window(const struct lumos_passes *passes) {
  return passes->step.end - passes->step.start;
}

#endif
