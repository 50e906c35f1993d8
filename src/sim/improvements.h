/* Changes that an engineer can make, each as a variant of a job (variant.h): what tasks and transfers then take. */
#ifndef LUMOS_SIM_IMPROVEMENTS_H
#define LUMOS_SIM_IMPROVEMENTS_H

#include "sim/improving.h"

enum lumos_improvement {
  LUMOS_IMPROVE_LAUNCHES,  /* each pass is a CUDA graph (captured.h) */
  LUMOS_IMPROVE_KERNELS,   /* neighboring elementwise kernels and norms are one (fused.h) */
  LUMOS_IMPROVE_NETWORK,   /* all links have twice the bandwidth, and their latency (cost/transfers.h) */
  LUMOS_IMPROVE_STRAGGLER, /* slow ranks are as fast as like ones at the median (work.h) */
  LUMOS_IMPROVE_GRADIENTS, /* gradients are reduced beside the backward pass, as far as they fit there */
  LUMOS_IMPROVE_STAGES,    /* layers move between stages (layer_split.h), or else all have the mean of their work */
  LUMOS_IMPROVEMENTS
};

/* As scopes of metrics name it: "cuda_graphs". */
const char *lumos_improvement_name(enum lumos_improvement improvement, const struct lumos_assumed *assumed);

/* Of a job with the metrics of its run; all of it outlives what is read. */
void lumos_improvements_open(struct lumos_improvements *improvements, const struct lumos_job *job,
                             const struct lumos_steps_list *steps, const struct lumos_times *medians);
void lumos_improvements_close(struct lumos_improvements *improvements);

/* False: the job has nothing that the change is for. Free it in any case. Several may be made side by side.
 * O(tasks + spans + shapes squared). */
bool lumos_improve(struct lumos_improved *improved, const struct lumos_improvements *improvements,
                   enum lumos_improvement improvement);
void lumos_improved_free(struct lumos_improved *improved);

#endif
