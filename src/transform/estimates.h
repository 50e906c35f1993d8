/* Durations from models (src/cost) onto tasks and collectives, with their errors. */
#ifndef LUMOS_TRANSFORM_ESTIMATES_H
#define LUMOS_TRANSFORM_ESTIMATES_H

#include "cost/transfers.h"

#include <lumos/job.h>

/* Give a task another duration; `common`: the id of the error that it shares, or LUMOS_NO_STRING. */
void lumos_estimate_task(struct lumos_job *job, uint32_t task, struct lumos_duration duration, lumos_string_id common);

/* Durations by task, LUMOS_NO_DURATION where it stays. What tasks of a kind have in common is the error `id`.KIND, as
 * the mean by time of their common errors; `where`: "on another GPU"; `source`: where the errors come from. */
void lumos_estimate_kernels(struct lumos_job *job, const struct lumos_duration *durations, const char *id,
                            const char *where, const char *source);

/* Communication kernels that are in no collective, and what they take after a change. */
struct lumos_lone {
  uint32_t task;
  struct lumos_lone_duration of;
};
LUMOS_VECTOR_TYPE(lumos_lones, struct lumos_lone);

/* Give them these. Where nobody knows how much of them is transfer that is an error which they have in common; else
 * `common` is the id of the one that they share. O(lones). */
void lumos_estimate_lones(struct lumos_job *job, const struct lumos_lones *lones, lumos_string_id common);

/* What becomes other of communication; NULL: nothing. */
struct lumos_communication_change {
  const struct lumos_network *network;
  const struct lumos_device *device;
  const double *factors; /* by task: how many times as many bytes it moves */
  const lumos_string_id
      *ops; /* by task: what it does; LUMOS_NO_STRING: the same. What tasks say of it stays to be changed. */
};

/* Change everything that communicates: transfers, and, where members have no trace, their kernels by
 * the difference. `nodes`: where ranks are now. Returns how many kernels keep their time, because nothing tells what
 * they move. `id` and `name`: of the error that all have in common. */
int64_t lumos_estimate_communication(struct lumos_job *job, const struct lumos_transfers *transfers,
                                     const struct lumos_nodes *nodes, const struct lumos_communication_change *change,
                                     const char *id, const char *name);

#endif
