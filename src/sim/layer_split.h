/* Whole layers handed out anew over the stages of a pipeline. */
#ifndef LUMOS_SIM_LAYER_SPLIT_H
#define LUMOS_SIM_LAYER_SPLIT_H

#include <lumos/job.h>

enum { LUMOS_SPLIT_STAGES = 32 };

struct lumos_layer_split {
  int32_t stages, heavy;                /* heavy: has most work */
  int32_t held[LUMOS_SPLIT_STAGES];     /* by stage: layers as recorded */
  int32_t given[LUMOS_SPLIT_STAGES];    /* and so that stages have as even work as whole layers allow */
  double optimizer[LUMOS_SPLIT_STAGES]; /* by stage: what its optimizer takes then, as a share of what it takes now */
};

/* Each layer goes to the stage that would then have least work, at least one to each; a layer takes the mean of all.
 * Work is what GPUs run, or, where the heavy stage's launches take longer, these by the mean of all stages. Layers stay
 * where they are if the other of these kinds would then take longer than the heavy stage does now. False: the stages do
 * not hold as many consecutive layers as the model has, or there are more than have room. O(tasks + layers x
 * stages). */
bool lumos_split_layers(const struct lumos_job *job, struct lumos_layer_split *split);

/* Does the heavy stage give layers away? */
static inline bool lumos_split_moves(const struct lumos_layer_split *split) {
  return split->held[split->heavy] > split->given[split->heavy];
}

/* Does the thread launch kernels? Others, such as those that watch over communication, delay none. O(its tasks). */
bool lumos_lane_launches(const struct lumos_job *job, const struct lumos_lane *lane);

#endif
