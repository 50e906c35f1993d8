/* Which thread and which stream of a rank do what in a step. */
#ifndef LUMOS_REBUILD_ROLES_H
#define LUMOS_REBUILD_ROLES_H

#include <lumos/job.h>

struct rebuild_roles {
  uint32_t main;        /* lane: the thread of forward passes */
  uint32_t compute;     /* lane: the stream with most of their matrix products */
  uint32_t last_launch; /* the last task of the main thread that launches something in that step, with all of its op */
  uint32_t last_kernel; /* the last task on the compute stream of that step */
};

/* False: the step has no forward pass with matrix products. O(tasks of the rank). */
bool rebuild_roles_find(struct rebuild_roles *roles, const struct lumos_job *job, uint32_t rank, int32_t step);

/* The stream of a rank with most of its matrix products, or other kernels that communicate nothing; LUMOS_NONE: it has
 * no stream. O(tasks of the rank). */
uint32_t rebuild_compute_stream(const struct lumos_job *job, uint32_t rank);

/* enum lumos_role of the group in which a task communicates; 0: none, or not known. O(groups). */
/* Does it have a backward pass? An inference has none. O(tasks). */
bool rebuild_goes_back(const struct lumos_job *job);

uint8_t rebuild_role_of(const struct lumos_job *job, size_t task);

/* Is it a job of Megatron-LM? By names of what only that has. O(strings). */
bool rebuild_is_megatron(const struct lumos_job *job);

#endif
