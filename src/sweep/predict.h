/* One configuration of a sweep, predicted. */
#ifndef LUMOS_SWEEP_PREDICT_H
#define LUMOS_SWEEP_PREDICT_H

#include "sweep/grid.h"

#include <lumos/rebuild.h>
#include <lumos/sweep.h>

/* What is known of a configuration before it is predicted: what it leaves open is filled in. */
struct sweep_plan {
  int64_t replicas, micro_batches; /* of a replica; 0: as recorded */
  int64_t gpus, global_batch;      /* LUMOS_ABSENT: not known */
};

/* Tokens a second and GPU with steps of so many ns, in thousandths; LUMOS_ABSENT: not known. */
int64_t sweep_rate(const struct lumos_job *job, const struct sweep_configuration *configuration,
                   const struct sweep_plan *plan, int64_t step);

struct sweep_figures {
  bool predicted, skipped; /* skipped: it was not wanted any more */
  int64_t step, low, high; /* ns; low, high: LUMOS_ABSENT both, where not known */
  int64_t rate;            /* tokens a second and GPU, in thousandths; LUMOS_ABSENT */
  int64_t mfu, bubble;     /* in millionths; LUMOS_ABSENT */
  int64_t memory,
      capacity; /* bytes that a rank allocates, of that whose GPU has least left, and that its GPU has; LUMOS_ABSENT */
  char why[LUMOS_ERROR_TEXT]; /* it is not predicted */
};

/* Micro-batches of a replica's step, as recorded: of an inference one pass; 0: not known. O(tasks). */
int64_t sweep_passes(const struct lumos_job *job);

/* False: so many GPUs, or so large a batch, cannot be divided so. `passes`: of the job. O(1). */
bool sweep_plan_make(struct sweep_plan *plan, const struct lumos_job *job, const struct lumos_sweep *sweep,
                     int64_t passes, const struct sweep_configuration *configuration,
                     struct lumos_error *error) LUMOS_MUST_CHECK;

/* The value of an axis: as asked, or as planned, written into `room`; NULL: as recorded. */
enum { SWEEP_NUMBER = 24 };
const char *sweep_value(const struct sweep_configuration *configuration, const struct sweep_plan *plan,
                        enum sweep_axis axis, char room[SWEEP_NUMBER]);

/* Those of a group ask for the same sizes, ranks that share tensors, sequences and experts, and all or none for several
 * stages where one was recorded, so that one job serves all. 0: both are of one group; else in some order. */
int sweep_compare_groups(const struct lumos_job *job, const struct sweep_configuration *one,
                         const struct sweep_configuration *other);

/* configurations[indices[i]] for i in [0, count), all of a group. */
struct sweep_group {
  const struct sweep_configuration *configurations;
  const struct sweep_plan *plans;
  const uint32_t *indices;
  size_t count;
};

/* What a group's predictions begin with; the job then has the sizes that it asks for. */
struct sweep_start {
  bool done;
  struct lumos_rebuild_base *base; /* NULL: nothing is prepared */
  struct lumos_error error;        /* why it is not done */
};
void sweep_start(struct sweep_start *start, struct lumos_job *job, const struct sweep_group *group);

/* Make it of the job, which is then another one: it is for a process of its own. */
struct sweep_figures sweep_predict(struct lumos_job *job, const struct sweep_start *start,
                                   const struct lumos_sweep *sweep, const struct sweep_configuration *configuration,
                                   const struct sweep_plan *plan);

/* least[i]: what a step of configurations[i] takes at least, in ns (lumos_rebuild_least), for each i of the group's
 * indices. The job is spoilt. */
void sweep_least(struct lumos_job *job, const struct sweep_group *group, int64_t *least);

#endif
