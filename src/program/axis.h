/* The axes along which ranks are spread, and what the names of process groups say about them. */
#ifndef LUMOS_PROGRAM_AXIS_H
#define LUMOS_PROGRAM_AXIS_H

#include <lumos/job.h>

/* Data parallelism may have two groups of its own: ranks that share one copy of the weights (shards), and copies. */
enum program_axis {
  AXIS_TENSOR,
  AXIS_PIPELINE,
  AXIS_DATA,
  AXIS_CONTEXT,
  AXIS_EXPERT,
  AXIS_REPLICATE,
  AXIS_SHARD,
  AXES,
  AXIS_NONE = AXES
};
enum { AXES_IN_STREAM = AXIS_EXPERT + 1 }; /* those that rank and model records have */

/* The role of a group that varies along an axis. */
uint8_t program_role_of_axis(enum program_axis axis);
/* A slot of struct lumos_parallel, and its evidence. */
int32_t *program_axis_slot(struct lumos_parallel *parallel, enum program_axis axis);
lumos_string_id *program_axis_evidence(struct lumos_model_evidence *evidence, enum program_axis axis);
/* "tp" and so on. */
const char *program_axis_name(enum program_axis axis);

/* What the name of a group says: its role, 0 where it says nothing. *axis: the axis along which the ranks of the group
 * are counted, AXIS_NONE where they span several or parts of one. */
uint8_t program_role_of_name(const char *name, enum program_axis *axis);

/* What it says of experts, which roles do not: groups for tensors, or replicas, may have the same ranks. */
enum program_experts {
  PROGRAM_NO_EXPERTS,
  PROGRAM_SHARED_EXPERTS, /* its ranks have other experts of a layer each */
  PROGRAM_SAME_EXPERTS,   /* the same ones, of which they sum the gradients */
  PROGRAM_ALL_EXPERTS     /* those that share them, of all stages */
};
enum program_experts program_experts_of_name(const char *name);

#endif
