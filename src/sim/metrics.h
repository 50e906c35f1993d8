/* Metric records: the writers, and the parts of a simulation that write them.
 *
 * Scopes: {rank, step} for a rank's step, {step} for the job's, {rank} or none for what has no step; more fields for a
 * part of it. A job's figure is the mean over the ranks that have the step, but for step_time, which has a definition
 * of its own (steps.h). A rank that stands for several (lumos_rank_weight) counts as so many in every mean and sum over
 * ranks; its own figures are those of one.
 */
#ifndef LUMOS_SIM_METRICS_H
#define LUMOS_SIM_METRICS_H

#include "sim/engine.h"
#include "sim/steps.h"
#include "sim/unrecorded.h"

/* A start that is off by more than this is unexplained; below, clocks and rounding are. As LUMOS_TIMING_NOISE
 * (graph/graph.h). */
enum { LUMOS_UNEXPLAINED_NS = 2000 };

struct lumos_metric_place {
  enum lumos_source source;
  int32_t rank, step; /* rank number; LUMOS_ABSENT_INT: none */
};

/* Any metric that the catalogue has (metric.h), which says its unit and its denominator. */
void lumos_metric_add(struct lumos_job *job, const char *name, const struct lumos_scope *scope,
                      enum lumos_source source, struct lumos_decimal value);

/* For a figure whose parts must add up and, by a bug, do not: it is left out rather than told wrong. Takes back what
 * was written since there were `first` metrics, and leaves a note (sim.check_failed) that names the figure, `what`,
 * and counts how often. */
void lumos_metrics_drop(struct lumos_job *job, size_t first, const char *what);

struct lumos_metric_place lumos_place_of(const struct lumos_job *job, const struct lumos_timeline *timeline,
                                         const struct lumos_step *step);

/* A time in nanoseconds. */
void lumos_metric_time(struct lumos_job *job, const char *name, struct lumos_metric_place place, int64_t ns);
/* part / whole as a fraction with 6 decimals, rounded half away from zero; whole > 0. */
void lumos_metric_share(struct lumos_job *job, const char *name, struct lumos_metric_place place, int64_t part,
                        int64_t whole);
/* A sum over ranks, and what one of them adds that counts for `weight` of them; nothing is negative. A stream may claim
 * more than there is: the sum stays at 2^105, so that its millionfold has room. */
static inline __int128 lumos_weighted_sum(__int128 sum, __int128 part, int64_t weight) {
  const __int128 most = (__int128)1 << 105;
  sum += (part < most >> 31 ? part : most >> 31) * weight;
  return sum < most ? sum : most;
}
/* A time of every rank's step (values[i] of timeline->steps.items[i], none negative; LUMOS_ABSENT: not known, not
 * written), and its mean, rounded, over the ranks of every job step. */
void lumos_metric_by_step(struct lumos_job *job, const char *name, const struct lumos_timeline *timeline,
                          const int64_t *values);

/* Steps, and room for the partition of each. */
struct lumos_steps_parts {
  const struct lumos_steps_list *steps;
  struct lumos_partition *partitions;
};

/* lumos_partition_steps of several lists whose steps are of the same ranks, in the same order: what runs is looked at
 * once. What of their rests is not recorded is then found, by rank, then time; with NULL it is idle time. */
void lumos_partition_lists(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_coupling *coupling, const struct lumos_steps_parts *lists,
                           size_t list_count, struct lumos_unrecorded *unrecorded);

/* Idle time of a rank's step, and of the job's step on that rank, and what of them is not recorded; LUMOS_ABSENT: the
 * rank has no streams. */
struct lumos_idle {
  int64_t own, shared;
  int64_t own_unrecorded, shared_unrecorded;
};

/* A rank without device tasks has no breakdown: nothing is known of its device. */
bool lumos_has_device(const struct lumos_job *job, uint32_t rank);

/* step_time and the partition of every step of a timeline. The job's parts are the mean over its ranks of the partition
 * of the job's step, rounded so that they add up. kept[i]: time of the ranks' step i in which communication runs that
 * is tied to no other rank's; idle[i]: its idle time; what is not recorded is then found, by rank, then time.
 * With a pipeline, its bubbles by stage. */
void lumos_write_timeline(struct lumos_job *job, const struct lumos_coupling *coupling,
                          const struct lumos_timeline *timeline, int64_t *kept, struct lumos_idle *idle,
                          struct lumos_unrecorded *unrecorded);

/* What timelines of a job are broken down with: room for the steps of one, or of several one after the other. */
struct lumos_breakdown {
  struct lumos_coupling coupling; /* an engine's follows the model, the breakdown does not */
  int64_t *kept;
  struct lumos_idle *idle;
  struct lumos_unrecorded *unrecorded;
};
void lumos_breakdown_open(struct lumos_breakdown *breakdown, const struct lumos_job *job, size_t steps);
void lumos_breakdown_close(struct lumos_breakdown *breakdown);

/* What communication costs, by group and operation, and who waits for whom; on the simulated timeline also what the
 * collectives' records say of it. */
void lumos_write_collectives(struct lumos_job *job, const struct lumos_timeline *timeline);

/* Which ranks come late to collectives, by what they did before, and which of them are stragglers. */
void lumos_write_stragglers(struct lumos_job *job, const struct lumos_coupling *coupling,
                            const struct lumos_timeline *timeline);

/* What the replay carries without an explanation: unexplained_lag, boundary, resource_wait, kept_wait, host_gap,
 * host_unknown; and what recording takes on the host: profiler_time. */
void lumos_write_trust(struct lumos_job *job, const struct lumos_timeline *measured,
                       const struct lumos_timeline *simulated, const struct lumos_holds *holds, const int64_t *kept);

/* The self replay, which carries no residual: its steps, and the host's side of them. The two
 * runs below may be done beside another one, on engines of their own. */
struct lumos_replay {
  struct lumos_timeline timeline; /* its runs are not kept */
  struct lumos_steps_list host;
};
bool lumos_replay(const struct lumos_job *job, struct lumos_engine *engine, const struct lumos_stretches *stretches,
                  const struct lumos_timeline *measured, struct lumos_replay *replay,
                  struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_replay_free(struct lumos_replay *replay);
/* Against what was measured: replay_error, host_replay_error. Not for edited jobs. */
void lumos_write_replay_error(struct lumos_job *job, const struct lumos_stretches *stretches,
                              const struct lumos_timeline *measured, const struct lumos_replay *replay);

/* Shares of the step, of one standard deviation; NAN: not known (model_error.c). `replayed` may be NULL. */
struct lumos_model_errors {
  double replay, steps;
};
struct lumos_model_errors lumos_model_errors_of(const struct lumos_timeline *measured,
                                                const struct lumos_timeline *replayed);

/* Of so many steps, of which these are the lengths: one standard deviation of how far the means of two such recordings
 * lie apart, as a share of the mean. NAN: there are no steps. */
double lumos_steps_error(const double *lengths, size_t count);

/* The transplant (transplant.c). */
struct lumos_transplant;
struct lumos_transplant *lumos_transplant_make(const struct lumos_job *job, struct lumos_engine *engine,
                                               const struct lumos_stretches *stretches,
                                               const struct lumos_timeline *measured);
void lumos_transplant_free(struct lumos_transplant *transplant); /* NULL is allowed */
/* Where there are like steps: transplant_error, step_spread, transplant_matched. Not for edited jobs. */
void lumos_write_transplant(struct lumos_job *job, const struct lumos_timeline *measured,
                            const struct lumos_transplant *transplant);

/* What the recording says by itself: lengths of the host's step marks, how much of the device's work has a known
 * launch, how ranks' clocks stand to each other, what recording has cost. */
void lumos_write_recording(struct lumos_job *job, const struct lumos_timeline *measured);

#endif
