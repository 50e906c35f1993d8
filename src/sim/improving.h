/* What improvements (improvements.h) are made of and with. */
#ifndef LUMOS_SIM_IMPROVING_H
#define LUMOS_SIM_IMPROVING_H

#include "sim/steps.h"
#include "sim/variant.h"

/* What the variant assumes, in ns of a rank's step, one standard deviation each. */
struct lumos_assumed {
  double longer;       /* by what the step may be longer, for what is assumed need not come true in full */
  double of_gain;      /* the same as a share of what the change saves */
  double either;       /* by what it may be longer or shorter */
  double beside;       /* how much more of compute and communication overlaps */
  bool keeps_kernels;  /* GPUs compute for as long as before, so that no step is shorter than that */
  bool launches_alone; /* kernels become one, but nothing says what they then need not move */
  bool moves_layers;   /* whole ones, between stages */
};

struct lumos_improved {
  struct lumos_variant variant; /* its context is the whole, which therefore stays where it is */
  struct lumos_times *times;    /* by task; NULL: their own */
  int64_t *transfers;           /* by collective; NULL: their own */
  struct lumos_assumed assumed;
};

/* What is asked for more than once. */
struct lumos_improvements {
  const struct lumos_job *job;
  const struct lumos_steps_list *steps; /* of its ranks */
  const struct lumos_times *medians;    /* as of lumos_like_rank_medians; may be NULL */
  double overlapped, exposed;           /* compute with communication, and communication without, in ns of a step */
  uint8_t *slow;                        /* by rank: is it named as a straggler? */
};

struct lumos_improving {
  const struct lumos_improvements *of;
  const struct lumos_job *job; /* of->job */
  struct lumos_improved *improved;
};

/* What tasks, and transfers, of the variant take: their own, until they are changed. */
struct lumos_times *lumos_improve_times(struct lumos_improving *improving);
int64_t *lumos_improve_transfers(struct lumos_improving *improving);

/* Each returns whether the job has something that the change is for. */
bool lumos_improve_network(struct lumos_improving *improving);
bool lumos_improve_gradients(struct lumos_improving *improving);
bool lumos_improve_stages(struct lumos_improving *improving);

/* Anything between nothing and all of what is assumed may come true: the root mean square from 0 to 1. */
#define LUMOS_ANYTHING 0.577

static inline const struct lumos_task *lumos_improving_task(const struct lumos_improving *improving, uint32_t t) {
  return &improving->job->tasks.items[t];
}

static inline bool lumos_improving_computes(const struct lumos_improving *improving, uint32_t t) {
  const struct lumos_task *task = lumos_improving_task(improving, t);
  return lumos_on_stream(improving->job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
}

static inline bool lumos_improving_backward(const struct lumos_task *task) {
  return task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
}

/* How many steps of ranks there are, at least 1. */
static inline double lumos_improving_steps(const struct lumos_improving *improving) {
  return improving->of->steps->count > 0 ? (double)improving->of->steps->count : 1;
}

#endif
