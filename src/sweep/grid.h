/* The configurations that a sweep is asked for. */
#ifndef LUMOS_SWEEP_GRID_H
#define LUMOS_SWEEP_GRID_H

#include "base/text.h"

#include <lumos/error.h>
#include <lumos/job.h>
#include <lumos/memory.h>

enum sweep_axis {
  SWEEP_TP, /* the rebuild */
  SWEEP_CP,
  SWEEP_EP,
  SWEEP_PP,
  SWEEP_DP,
  SWEEP_SCHEDULE,
  SWEEP_VP,
  SWEEP_LAYERS,
  SWEEP_MICRO_BATCHES,
  SWEEP_BUCKET_MB,
  SWEEP_OVERLAP_GRADIENTS,
  SWEEP_DISTRIBUTED_OPTIMIZER,
  SWEEP_RECOMPUTE,
  SWEEP_SEQUENCE_PARALLEL,
  SWEEP_MICRO_BATCH, /* sizes of the model */
  SWEEP_SEQ,
  SWEEP_HIDDEN,
  SWEEP_FFN,
  SWEEP_HEADS,
  SWEEP_KV_HEADS,
  SWEEP_HEAD_DIM,
  SWEEP_VOCAB,
  SWEEP_GLOBAL_BATCH, /* of the sweep alone */
  SWEEP_AXES
};
enum { SWEEP_FIRST_SIZE = SWEEP_MICRO_BATCH, SWEEP_LAST_SIZE = SWEEP_VOCAB };
const char *sweep_axis_name(enum sweep_axis axis); /* the option of lumos-transform */

struct sweep_values {
  const char *of[64]; /* of the grid's text */
  int count;          /* 0: the axis is not there */
};

struct sweep_grid {
  char *text; /* owned */
  struct sweep_values axes[SWEEP_AXES];
};

/* What is asked of one configuration: values as texts; NULL: as recorded. */
struct sweep_configuration {
  const char *values[SWEEP_AXES];
};
LUMOS_VECTOR_TYPE(sweep_configurations, struct sweep_configuration);

/* False: it does not read NAME=VALUE,..., a name is unknown or comes twice, or there would be too many. */
bool sweep_grid_read(struct sweep_grid *grid, const char *text, struct lumos_error *error) LUMOS_MUST_CHECK;
void sweep_grid_free(struct sweep_grid *grid);

/* A grid for the job, as its text, with the axes that `given`, another one, has. */
void sweep_grid_for(const struct lumos_job *job, int32_t gpus, const char *given, struct lumos_text *out);

/* All combinations, in the order of the axes, the last one changing first. one_stage: what the recorded job has. */
void sweep_list(const struct sweep_grid *grid, bool one_stage, struct sweep_configurations *all);

#endif
