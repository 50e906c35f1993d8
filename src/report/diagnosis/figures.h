/* What the diagnosis reads off a job's metrics: the mean step in parts, and each rank's own. Times in ns of a mean
 * step.
 */
#ifndef LUMOS_REPORT_DIAGNOSIS_FIGURES_H
#define LUMOS_REPORT_DIAGNOSIS_FIGURES_H

#include "report/content/facts.h"

/* Parts of the mean step over all ranks, which add up to it. */
struct diagnosis_parts {
  int64_t compute; /* hidden communication included */
  int64_t transfer, wait, bubble, unsplit;
  int64_t copies, not_recorded;
  int64_t idle_host, idle_launch, idle_sync, idle_other; /* these add up to idle time */
};

struct diagnosis_rank {
  int64_t steps;                   /* that were added up; 0: the rank has none */
  int64_t step;                    /* its own */
  int64_t compute, not_recorded;   /* parts of that */
  int64_t waits;                   /* for other ranks or stages, exposed */
  int64_t late_compute, late_host; /* what it takes longer than like ranks before communication; less: negative */
  int64_t late_always;             /* both together, also in a first step that does not count: does it come again? */
  int64_t late_steps;              /* of how many steps that is */
  int64_t late_unknown;            /* late for what the recording does not show, such as that its own began late */
  int64_t pace;                    /* as diagnosis_read_paces has it */
  bool straggler;                  /* that is much, and comes again */
  bool last;                       /* others wait for it at some collective */
};

struct diagnosis_figures {
  const struct lumos_job *job;
  const struct report_facts *facts;
  enum report_timeline timeline; /* that is spoken of */
  int64_t step, steps;           /* the mean step, and how many there are */
  int64_t weight;                /* ranks of the job, those that one stands for included */
  struct diagnosis_parts parts;
  struct diagnosis_rank *ranks; /* by index in job->ranks */
  bool every; /* a first step that is left out counts, too: whether what ranks do comes again is asked */
};

/* How much longer a recorded step is than one without the profiler, ns; 0: not known, or the job was changed. */
int64_t diagnosis_recording_cost(const struct report_facts *facts);

/* All but the ranks' pace (pace.h). False: no step has a length, or no rank a GPU. Free in any case. */
bool diagnosis_figures_read(const struct report_facts *facts, struct diagnosis_figures *figures);
void diagnosis_figures_free(struct diagnosis_figures *figures);

/* report_step_counts, but that of a step which the job has not, none is; and with `every` all that it has. */
bool diagnosis_counts_step(const struct diagnosis_figures *figures, int32_t step);
/* The metric's source is that of the timeline that is spoken of. */
bool diagnosis_is_spoken(const struct diagnosis_figures *figures, const struct lumos_metric *metric);

#endif
