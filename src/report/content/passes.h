/* The passes of one step: when each stage of the pipeline works forward or backward on which micro-batch.
 *
 * A pass is what a rank's compute stream does for one phase of one micro-batch on one chunk of its layers. It is held as stretches, each from
 * the first start to the last end of tasks that nothing else interrupts, neither another pass nor a long wait; so a pass that is
 * interrupted has several. Communication is no part of a stretch, though a collective of the pass itself bridges the gap that it
 * leaves; where it runs within a stage while no pass does, it is a stretch of its own, as is work of no pass. Times are simulated.
 *
 * A rank stands for its stage: the first that has passes. Without a pipeline every rank stands for itself.
 */
#ifndef LUMOS_REPORT_PASSES_H
#define LUMOS_REPORT_PASSES_H

#include "report/content/timeline.h"
#include <lumos/report.h>

enum {
  REPORT_STAGES = 64, /* stages that are shown, at most */
  REPORT_ALIKE = 16,  /* ranks, where there is no pipeline */
  REPORT_TRACKS = 3   /* compute streams of a rank */
};

/* A stretch has the number of its phase, or: */
enum {
  REPORT_EXCHANGE = 0, /* communication within the stage while no pass runs, such as sums of gradients */
  REPORT_PHASES = LUMOS_OTHER_PHASE + 1 /* other: work of no pass on a stream of passes, while none runs */
};

/* A stretch. */
struct report_pass {
  int64_t start, end;
  int32_t step, micro_batch;       /* LUMOS_ABSENT_INT */
  int32_t chunk;                   /* of the stage's layers, from 0 */
  int32_t layer_first, layer_last; /* LUMOS_ABSENT_INT: none is known */
  uint8_t phase, track;
};
LUMOS_VECTOR_TYPE(report_pass_list, struct report_pass);

struct report_stage {
  uint32_t rank; /* index */
  int32_t stage; /* LUMOS_ABSENT_INT: there is no pipeline */
  uint32_t lanes[REPORT_TRACKS];
  int tracks;
  int32_t chunks;              /* at least 1 */
  int32_t micro_batches;       /* that it works on forward or backward */
  size_t first, count;         /* stretches, by start */
  int64_t busy[REPORT_PHASES]; /* on two streams at once once; two phases at once are in both */
  int64_t bubble; /* none of them: it waits for another stage, for a transfer from there, or for its host */
};
LUMOS_VECTOR_TYPE(report_stage_list, struct report_stage);

/* A layer, and whose it is. */
struct report_owner {
  int32_t layer;
  uint32_t stage; /* index in `stages` */
  int32_t chunk;
};
LUMOS_VECTOR_TYPE(report_owners, struct report_owner);

struct report_passes {
  const struct lumos_job *job;
  struct report_boundary step;
  int32_t pipeline;      /* stages; LUMOS_ABSENT_INT: not known */
  int32_t micro_batches; /* of a step */
  struct report_stage_list stages;
  struct report_pass_list list;
  struct report_owners owners; /* by layer */
  size_t left_out;             /* stages (without a pipeline: ranks) with passes that are not shown */
  int64_t elsewhere;           /* time of passes on streams that are not shown, over the shown ranks */
};

/* No stages: nothing was recovered, or there is no step. */
void report_passes_read(const struct lumos_job *job, const struct report_boundaries *steps,
                        const struct lumos_report_options *options, struct report_passes *passes);
void report_passes_free(struct report_passes *passes);

/* Forward, backward, weight gradients. */
static inline bool report_is_pass(uint8_t phase) { return phase >= LUMOS_FORWARD && phase <= LUMOS_WEIGHT; }

static inline int64_t report_passes_window(const struct report_passes *passes) {
  return passes->step.end - passes->step.start;
}

#endif
