/* The simulator: discrete events over lanes, and the metrics read off its timeline. */
#ifndef LUMOS_SIM_H
#define LUMOS_SIM_H

#include <lumos/error.h>
#include <lumos/job.h>

/* What a run knows of. The rivals' models leave dependencies out, so that their errors show what these are worth:
 *   dpro      streams do not wait for each other, and host calls that synchronise take only their own time;
 *   daydream  streams do not wait for each other, and collectives are tied to no other rank: they keep their measured length.
 * Thread order, hand-overs, launches, stream order and boundaries are the same for all. */
enum lumos_model { LUMOS_MODEL_LUMOS, LUMOS_MODEL_DPRO, LUMOS_MODEL_DAYDREAM, LUMOS_MODELS };
const char *lumos_model_name(enum lumos_model model); /* "lumos", "dpro", "daydream" */
bool lumos_model_find(const char *name, enum lumos_model *model);

struct lumos_sim_options {
  bool drop_residuals; /* self replay: every residual 0, typical lags everywhere */
  enum lumos_model model;
};

/* Run the engine: fills runs[0..tasks.count) with start (job time) and dur. The job must be at stage graph or later; it is not changed.
 * A deadlock fails with the cycle of tasks that waits. O((tasks + deps) log tasks). */
bool lumos_engine_run(const struct lumos_job *job, const struct lumos_sim_options *options, struct lumos_run *runs,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

/* Bring the job to stage `sim`: run graph when it is missing, run the engine, keep the timeline in job->runs, run the self
 * replay, and write the metrics. The partition is asserted to the nanosecond.
 *
 * Metrics, in ns and `of` step_time unless said; scope {rank, step}, and {step} for the job: there the mean over the ranks
 * that have the step. Measured means as recorded, also of a job that was changed since.
 *   measured and simulated   step_time (of the job: its own step, see steps), the parts of struct lumos_partition (of ranks
 *                            with streams; of the job: of its own step, rounded so that they add up), gpu_busy
 *   measured                 host_step_time (the step mark), unexplained_lag, kept_wait, host_gap, host_unknown, profiler_time;
 *                            {rank}: coverage (a share, `of` device_tasks), clock_offset, clock_error; without a scope
 *                            unprofiled_step_time, the mean over the rank-steps of what the recorder timed before, and
 *                            profiling_cost, how much longer they took (a share of it, signed)
 *   simulated                boundary, resource_wait; replay_error and host_replay_error (shares, signed; without a scope the mean size
 *                            of the errors of all ranks' steps; not for changed jobs)
 * Where a step has a like one, for the step (the graph of which is asked), and without a scope the mean size over all ranks' such
 * steps; not for changed jobs:
 *   simulated                transplant_error: how far its graph, with the durations and host gaps of the like step, is from
 *                            that one's measured time (a share of it, signed)
 *   measured                 step_spread: how far its own measured time is from it; {rank, step} transplant_matched: the
 *                            share, `of` device_tasks of the larger of the two steps, that have a partner */
bool lumos_simulate(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;
/* The same by a model; the job's history says which. Fails where an edit is beyond the model: a collective's transfer in daydream's. */
bool lumos_simulate_by(struct lumos_job *job, enum lumos_model model, struct lumos_error *error) LUMOS_MUST_CHECK;

/* What would help: the job's steps, simulated anew, if a kind of work took no time (metric opportunity_free) or half of its time
 * (opportunity_half); ns, `of` step_time, source simulated, scope {step} and kind or group:
 *   kind host           all that threads do, lags between their tasks and hand-overs, but not what recording takes
 *   kind launch         from the end of a launch to where an idle stream starts
 *   kind gemm and so on kernels of that kind, copies, memsets
 *   kind communication  transfers; that of each group by group, where there are several
 *   kind stragglers     what tasks take longer than the median of the same tasks, at the same place of the same step, of all ranks that run
 *                       the same there; not where no two ranks do
 * Work is changed as --scale changes it. Compare with the simulated step_time of the same step. The job must be at stage sim (else
 * LUMOS_UNUSABLE). O(works x (tasks + deps) log tasks). */
bool lumos_find_opportunities(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Measured or simulated start and duration of a task in job time: the one place that applies clocks. LUMOS_ABSENT when it has none. */
int64_t lumos_measured_start(const struct lumos_job *job, uint32_t task);

/* A step on one rank: (start, end] in job time. Step k ends at E_k, the latest end of its device tasks (host tasks if it has none; never before
 * E_(k-1)), and starts at E_(k-1); the first selected step starts at rank.base (an instant of the device clock where the rank has streams, else of the
 * host clock). */
struct lumos_step {
  uint32_t rank; /* index */
  int32_t step;
  int64_t start, end;
};
LUMOS_VECTOR_TYPE(lumos_steps_list, struct lumos_step);

/* The same function for both timelines: runs NULL: measured times. Sorted by rank, then step. The caller frees the vector. */
void lumos_find_steps(const struct lumos_job *job, const struct lumos_run *runs, struct lumos_steps_list *steps);

/* Where a rank's step went, over all its streams; the first five add up to end - start exactly. */
struct lumos_partition {
  int64_t exposed_compute, overlapped, exposed_communication, exposed_copy, idle;
  int64_t communication_transfer, communication_wait, communication_unsplit; /* add up to exposed_communication */
  int64_t gpu_busy;                                                          /* at least one task runs on any stream */
  /* At least one communication task runs whose end is tied to no other rank's: waiting in it stays as measured. */
  int64_t communication_kept;
};

/* Partition every step of `steps` (count entries of partitions). O(tasks log tasks). False (LUMOS_UNUSABLE, "internal") when a sum is off: a
 * bug, never input. */
bool lumos_partition_steps(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_steps_list *steps, struct lumos_partition *partitions,
                           struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
