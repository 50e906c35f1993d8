/* The critical path of every step of the job: the chain of binding constraints, from the end of the task that ends the
 * step back to where the step begins. */
#ifndef LUMOS_SIM_CRITICAL_H
#define LUMOS_SIM_CRITICAL_H

#include "sim/engine.h"
#include "sim/origin.h"
#include "sim/steps.h"

/* The task that ends each of the job's steps, by index in timeline->job: of those that count for it (device tasks; of
 * ranks whose step has none the host's) the first with the latest end. LUMOS_NONE: none ends when the step does, for
 * that ends with the step before, or, a rank's first, where its recording begins. O(tasks). */
void lumos_find_last_tasks(const struct lumos_job *job, const struct lumos_timeline *timeline,
                           const struct lumos_stretches *stretches, uint32_t *last);

/* Which index in timeline->job a rank's step, timeline->steps, belongs to; the caller frees the array. */
uint32_t *lumos_job_steps_of(const struct lumos_timeline *timeline);
/* By index in timeline->steps: do device tasks count for it, rather than the host's? The caller frees the array. */
uint8_t *lumos_steps_with_streams(const struct lumos_job *job, const struct lumos_timeline *timeline,
                                  const struct lumos_stretches *stretches);

/* What a part of the path goes to: the kind of the task that runs, or what passes between two: host_gap,
 * launch_latency, ... */
const char *lumos_path_part_kind(const struct lumos_job *job, const struct lumos_path_part *part);

/* The path of a step of the job, in place of what `parts` holds; `last` as lumos_find_last_tasks tells it. Crossings
 * are added. */
void lumos_path_of_step(const struct lumos_job *job, const struct lumos_held *bindings, const struct lumos_step *step,
                        uint32_t last, struct lumos_path_parts *parts, struct lumos_crossings *crossings);

/* critical_path of every step of the job, and what it consists of by kind, phase, op, module, layer and rank;
 * critical_path_crossings and critical_path_crossing_time. */
void lumos_write_critical_path(struct lumos_job *job, const struct lumos_held *bindings,
                               const struct lumos_timeline *simulated, const struct lumos_stretches *stretches,
                               struct lumos_origins *origins);

#endif
