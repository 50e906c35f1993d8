/* What improvements (improvements.h) are made with. */
#ifndef LUMOS_SIM_IMPROVING_H
#define LUMOS_SIM_IMPROVING_H

#include "sim/improvements.h"

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
