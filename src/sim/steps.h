/* A timeline's steps beyond sim.h: the job's own, and the host's.
 *
 * The job's step runs from the latest E_(k-1) to the latest E_k over the ranks that have step k; its first from the
 * earliest start.
 */
#ifndef LUMOS_SIM_STEPS_H
#define LUMOS_SIM_STEPS_H

#include <lumos/sim.h>

struct lumos_timeline {
  enum lumos_source source;
  const struct lumos_run *runs;  /* NULL: as measured */
  struct lumos_steps_list steps; /* the ranks' steps, by rank, then step */
  struct lumos_steps_list job;   /* the job's steps; their rank is LUMOS_NONE */
  uint32_t
      *sharers; /* steps that job step k consists of: steps.items[sharers[sharers_first[k] .. sharers_first[k + 1])] */
  uint32_t *sharers_first;
};

/* Tasks of one step in a row on one lane: there are few, so whoever asks for the steps of tasks asks for these. */
struct lumos_stretch {
  uint32_t lane, first, count;
  int32_t step;
};
struct lumos_stretches { /* a vector, and */
  struct lumos_stretch *items;
  size_t count, capacity;
  const uint32_t
      *places;  /* by task: where its run stands; of threads then only the first and the last task of each have
                             one: see nodes_only in engine.h. NULL: runs are by task */
  bool changed; /* runs are of the job with other times */
};

/* All of the job, in the order of the tasks; tasks without a step are in none. O(tasks); the caller frees the
 * vector. */
void lumos_find_stretches(const struct lumos_job *job, struct lumos_stretches *stretches);

/* How many tasks of a stream, the first ones, are of no step: launched before the recording. 0 on a thread. */
uint32_t lumos_tasks_before_steps(const struct lumos_job *job, uint32_t lane);

/* O(device tasks), and of the steps without any O(tasks). */
void lumos_timeline_make(struct lumos_timeline *timeline, const struct lumos_job *job, const struct lumos_run *runs,
                         const struct lumos_stretches *stretches);
void lumos_timeline_free(struct lumos_timeline *timeline);

/* The host's side of every step of `steps`: from the first start to the last end of the step's thread tasks; start
 * LUMOS_ABSENT where it has none. Parallel to `steps`; the caller frees the vector. */
void lumos_find_host_steps(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_stretches *stretches, const struct lumos_steps_list *steps,
                           struct lumos_steps_list *host_steps);

/* The index of a rank's step, or LUMOS_NONE. `guess` is kept between calls. O(log steps), O(1) when the guess is
 * right. */
uint32_t lumos_step_index(const struct lumos_steps_list *steps, uint32_t rank, int32_t step, uint32_t *guess);

/* The index of the job's step of that number, or LUMOS_NONE. O(log steps). */
uint32_t lumos_job_step(const struct lumos_timeline *timeline, int32_t step);

/* Is the first step in no mean? The recording begins in it, so of three or more its length is less sure than that of
 * others; a change begins in it, so there two are enough. Reports, comparisons and gates follow it. */
static inline bool lumos_first_step_is_left_out(size_t steps, bool changed) { return steps >= (changed ? 2U : 3U); }

/* Of the job's steps from `first` on, in order of time, the one whose time is nearest to their mean, the later of
 * equally near ones (the mean is rounded: a nanosecond is none); NULL: none takes time. `first`: of all steps 1 where
 * lumos_first_step_is_left_out. O(steps). */
const struct lumos_step *lumos_typical_step(const struct lumos_steps_list *steps, size_t first);

/* The first step of a rank that ends after an instant, or LUMOS_NONE. O(log steps). */
uint32_t lumos_step_after(const struct lumos_steps_list *steps, uint32_t rank, int64_t instant);

#endif
