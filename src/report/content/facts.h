/* What the page's parts need to know of a job, read once from its metrics: figures by rank and step, and their sums.
 *
 * Sums and shares run over rank-steps: a share is the sum of a figure over the sum of the step times of the same rows.
 * Which steps count says lumos_first_step_is_left_out: of a recording not the first of three or more; of a changed job
 * not the first of two, which begins with what the unchanged job had left to do. An edit keeps the steps, so what was
 * measured before it is of the same ones. A rebuilt job has others: what was measured is the mean of its own
 * recording's steps.
 */
#ifndef LUMOS_REPORT_FACTS_H
#define LUMOS_REPORT_FACTS_H

#include <lumos/job.h>
#include <lumos/memory.h>

/* The metrics that the page reads; their names are in report_figure_name. Times in ns, errors and shares in
 * millionths. */
enum report_figure {
  FIGURE_STEP_TIME,
  FIGURE_HOST_STEP_TIME,
  FIGURE_EXPOSED_COMPUTE,
  FIGURE_OVERLAPPED,
  FIGURE_EXPOSED_COMMUNICATION,
  FIGURE_COMMUNICATION_TRANSFER,
  FIGURE_COMMUNICATION_WAIT,
  FIGURE_PIPELINE_BUBBLE,
  FIGURE_COMMUNICATION_UNSPLIT,
  FIGURE_EXPOSED_COPY,
  FIGURE_NOT_RECORDED,
  FIGURE_IDLE,
  FIGURE_IDLE_HOST,
  FIGURE_IDLE_SYNC,
  FIGURE_IDLE_LAUNCH,
  FIGURE_IDLE_DEPENDENCY,
  FIGURE_IDLE_UNEXPLAINED,
  FIGURE_GPU_BUSY,
  FIGURE_UNEXPLAINED_LAG,
  FIGURE_BOUNDARY,
  FIGURE_RESOURCE_WAIT,
  FIGURE_KEPT_WAIT,
  FIGURE_HOST_GAP,
  FIGURE_HOST_UNKNOWN,
  FIGURE_PROFILER_TIME,
  FIGURE_REPLAY_ERROR, /* from here on shares */
  FIGURE_HOST_REPLAY_ERROR,
  FIGURE_TRANSPLANT_ERROR,
  FIGURE_STEP_SPREAD,
  FIGURE_TRANSPLANT_MATCHED,
  FIGURE_COUNT
};

struct report_figures {
  int64_t of[FIGURE_COUNT]; /* LUMOS_ABSENT */
};

enum report_timeline { MEASURED, SIMULATED, TIMELINES };

/* One rank's step, or a job's step (rank LUMOS_NONE), or a sum over steps (step LUMOS_ABSENT_INT). */
struct report_row {
  uint32_t rank; /* index */
  int32_t step;
  int64_t steps;     /* that were added up */
  int64_t measured;  /* of the measured timeline, which may have other steps: a rebuilt job has new ones */
  bool left_out;     /* the first step, whose simulated figures are in no sum; only the worst errors are of all steps */
  bool left_out_too; /* nor in measured ones */
  struct report_figures figures[TIMELINES];
};
LUMOS_VECTOR_TYPE(report_rows, struct report_row);

/* Of a prediction, 90 %. */
struct report_range {
  int64_t low, high; /* ns; LUMOS_ABSENT both: unknown */
};

struct report_facts {
  const struct lumos_job *job;
  bool edited;                  /* a transform changed the job: measured is before, simulated after */
  bool has_streams;             /* some rank has device tasks */
  struct report_rows steps;     /* by rank, then step */
  struct report_rows ranks;     /* the sum of each rank's steps, those that are left out not counted, here and below */
  struct report_rows job_steps; /* the job's own, by step; may be none */
  struct report_row all;        /* the sum of `steps`, a rank's as often as it stands for one (lumos_rank_weight) */
  struct report_row job_all;    /* the sum of `job_steps` */
  int64_t unprofiled_step;      /* the mean time of a step without the profiler, ns; LUMOS_ABSENT */
  int64_t profiling_cost;       /* how much longer it took with it, in millionths of that; LUMOS_ABSENT */
  int64_t mean_error;    /* replay_error of the whole job: the mean of its steps' sizes, in millionths; LUMOS_ABSENT */
  int64_t rebuild_error; /* of a rebuilt job: how far its recorded configuration is off, signed; LUMOS_ABSENT */
  int64_t transplant_error, step_spread; /* the same, over steps that have a like one */
  struct report_range step_range;        /* of the job's mean simulated step, where every step in it has one */
  lumos_string_id doubt;                 /* what moves a prediction most, in words; LUMOS_NO_STRING: not known */
  int64_t doubt_share;                   /* by how much, one standard deviation, in millionths of the step */
};

static inline bool report_range_known(struct report_range range) { return range.low != LUMOS_ABSENT; }
/* Sums of ranges, of which a mean is made when all are read: unknown as soon as one is. */
void report_range_add(struct report_range *sum, const struct lumos_metric *metric);
struct report_range report_range_mean(struct report_range sum, int64_t count);

/* The decimal in units of 10^-decimals, rounded towards zero; LUMOS_ABSENT: it has no room. */
int64_t report_decimal_as(struct lumos_decimal value, int decimals);

const char *report_figure_name(enum report_figure figure);
/* Is it a share, in millionths, and no time? Such do not add up: a sum of rows keeps the worst. */
bool report_figure_is_share(enum report_figure figure);
const char *report_timeline_name(enum report_timeline timeline);

/* A row in which nothing is known, of no steps; and one more row in a sum, `weight` times. */
struct report_row report_row_empty(uint32_t rank, int32_t step);
void report_row_add(struct report_row *sum, const struct report_row *row, int64_t weight);

void report_facts_read(const struct lumos_job *job, struct report_facts *facts);
void report_facts_free(struct report_facts *facts);

/* Is the simulated timeline to be drawn beside the measured one? After a change; else where they differ so that it can
 * be seen, some part of a rank's steps by more than 1 % of the step. */
bool report_facts_differ(const struct report_facts *facts);

/* The job's steps, or its ranks' where the job has none of its own. */
const struct report_rows *report_facts_job_rows(const struct report_facts *facts);
/* Is the first step in no simulated mean (lumos_first_step_is_left_out)? */
bool report_leaves_out(const struct report_facts *facts);
/* Is the first step in no mean, measured or simulated? */
bool report_leaves_measured_out(const struct report_facts *facts);
/* Is the step in sums and means? Where the job has no steps of its own, all are; work of no step is in none. */
bool report_step_counts(const struct report_facts *facts, int32_t step);
/* Model FLOPs utilization, millionths, the mean over the steps that count: by the model's formula, which is the usual
 * definition, where the model is known, else by recorded shapes, which may lack kernels. LUMOS_ABSENT: neither is
 * known. Tiles, sweeps and histories show this one. O(metrics). */
struct report_mfu {
  int64_t share;
  bool by_model;
};
struct report_mfu report_mfu(const struct report_facts *facts, enum report_timeline timeline);
/* How many steps of ranks are in sums, at least 1: what makes a sum "per step and rank". */
int64_t report_rank_steps(const struct report_facts *facts);

/* The timeline that the verdict speaks of: measured, unless the job is edited or nothing was measured. */
enum report_timeline report_facts_spoken(const struct report_facts *facts);

/* What the whole job's shares are of: its own steps, over which each part is the mean over the ranks; where the stream
 * does not say how these are cut, the ranks' steps added up. */
const struct report_row *report_facts_whole(const struct report_facts *facts, enum report_timeline timeline);

/* The mean time of a step of the job, or of a rank's steps where the job has no metric of its own. */
int64_t report_facts_step_time(const struct report_facts *facts, enum report_timeline timeline);

/* Ranks of the whole job, as far as the first rank says; LUMOS_ABSENT. */
int64_t report_world(const struct lumos_job *job);

/* A figure's mean as a share of the job's mean step, in millionths: whatever the row is of, shares are of one time. */
int64_t report_row_share(const struct report_facts *facts, const struct report_row *row, enum report_timeline timeline,
                         enum report_figure figure);

/* A figure's mean over the steps that the row adds up. */
int64_t report_row_mean(const struct report_row *row, enum report_timeline timeline, enum report_figure figure);

/* A figure that says how much is carried, in millionths of the step (of an error: the worst); LUMOS_ABSENT. */
int64_t report_trust(const struct report_facts *facts, enum report_figure figure);

/* Sums of coverage over the ranks that have it. */
struct report_coverage {
  int64_t device_tasks, launched, collectives, joined; /* LUMOS_ABSENT */
};
struct report_coverage report_coverage_of(const struct lumos_job *job);

#endif
