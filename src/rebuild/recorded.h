/* What a recorded step is, that others are planned from: how the job is spread, its passes, and in which order they
 * are. */
#ifndef LUMOS_REBUILD_RECORDED_H
#define LUMOS_REBUILD_RECORDED_H

#include "rebuild/passes.h"
#include "rebuild/schedule.h"
#include <lumos/error.h>

struct rebuild_recorded {
  const struct rebuild_blocks *blocks;
  const struct lumos_job *job;
  struct rebuild_steps steps;
  int32_t base;                                /* the number of that step */
  struct rebuild_passes *passes;               /* by rank */
  uint8_t *exchanges;                          /* by block of that step: enum rebuild_transfer, added up; 0: none */
  struct rebuild_pipeline pipeline;            /* schedule: 0 where the order of passes is that of none */
  int32_t replicas, contexts, experts, layers; /* experts: replicas in a row that share these */
  int64_t shared_bytes; /* of the gradient that the ends of the pipeline sum, for they share those weights; 0: none */
  bool sums;            /* the last micro-batch's pass back has collectives that the first one's lacks: over replicas */
  bool adds;            /* that pass takes long to add its gradients to those that are there */
  bool apart;           /* gradients of weights have passes of their own */
  bool parts;           /* they can be put off: every layer of a backward pass shows them */
  bool sharded;         /* every replica updates a part of the parameters, and gathers the others */
  bool gathers;         /* for each pass, as fully sharded replicas do */
  bool attends;         /* blocks were cut at attention, and each layer of each pass shows it */
};

/* Of the step at that place among those recorded. False, with what to record, where that does not show. O(blocks x
 * passes). */
bool rebuild_recorded_read(struct rebuild_recorded *recorded, const struct rebuild_blocks *blocks, size_t step,
                           struct lumos_error *error) LUMOS_MUST_CHECK;
/* Do they have as many layers, stages, chunks and micro-batches, in the same order of passes? */
bool rebuild_recorded_alike(const struct rebuild_recorded *recorded, const struct rebuild_recorded *other);
void rebuild_recorded_free(struct rebuild_recorded *recorded);

/* Coordinates of a rank; 0 where they are not known. */
struct lumos_parallel rebuild_coordinates(const struct lumos_rank *rank);

uint32_t rebuild_count_layers(const struct rebuild_passes *passes, const struct rebuild_pass *pass);

#endif
