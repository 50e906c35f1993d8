/* A library of small programs for what a recording has no example of: how a thread asks for communication and waits for
 * it, as PyTorch's ProcessGroupNCCL does, and what that costs its CPU.
 */
#ifndef LUMOS_REBUILD_LIBRARY_H
#define LUMOS_REBUILD_LIBRARY_H

#include "rebuild/weave.h"

/* What calls cost: means of the recording's own where it has them, else those of the library's host, scaled by how much
 * slower or faster the recorded one is. */
struct rebuild_costs {
  int64_t record, wait, launch, send; /* calls, in ns; send: that launches a collective */
  int64_t launch_lag, gap, event_lag; /* of GPU tasks, in ns */
  int64_t pace;                       /* of the recorded CPU, in millionths of what the library's takes */
  int64_t
      transfer_pace; /* of recorded collectives, in millionths of what NCCL's model says; or else of the library's */
  bool transfers_recorded; /* ... as recorded */
};
void rebuild_costs_find(struct rebuild_costs *costs, const struct lumos_job *job);

struct rebuild_library_writer {
  struct rebuild_weave *weave;
  const struct rebuild_costs *costs;
  uint32_t thread, after;   /* its lane; the task behind which the calls come */
  uint32_t compute, stream; /* lanes: where what is sent was computed, and where it is sent */
  int64_t before, behind;   /* what Python takes before it asks, and behind a wait, in ns on the library's host */
  uint32_t op;              /* span: of the calls that come next */
  struct lumos_task label;  /* step, phase, part, micro-batch and layer; start: LUMOS_ABSENT, or that of all tasks */
};

struct rebuild_operation {
  const char *op;        /* as of lumos_comm */
  const char *kernel;    /* its name */
  uint8_t kind;          /* LUMOS_COLLECTIVE, LUMOS_P2P; others are no communication */
  lumos_string_id group; /* of communication */
  int64_t bytes, dur;
  double common, own; /* of communication: errors of dur (cost/duration.h) */
};

/* Communication takes what is known of like transfers. */
struct lumos_transfers;
struct lumos_transfer_shape;
void rebuild_library_time(struct rebuild_operation *operation, const struct lumos_transfers *transfers,
                          const struct lumos_transfer_shape *shape);
/* The error that all of it has in common. */
#define REBUILD_LIBRARY_ERROR "rebuild.library"
#define REBUILD_LIBRARY_NAME "communication that was put in"
#define REBUILD_LIBRARY_SOURCE "like transfers of the trace; where there are none, NCCL's model and data sheets"

/* Launch it behind what the compute stream has been given so far, whose last task is `computed` (LUMOS_NONE: not
 * known). Returns the task on the stream; *done: the call that records its end. */
uint32_t rebuild_library_start(struct rebuild_library_writer *writer, const struct rebuild_operation *operation,
                               uint32_t computed, uint32_t *done);
/* Let the compute stream wait for that record. */
void rebuild_library_wait(struct rebuild_library_writer *writer, uint32_t done);
/* A kernel on the compute stream, where it stands behind task `behind`. */
uint32_t rebuild_library_run(struct rebuild_library_writer *writer, const struct rebuild_operation *operation,
                             uint32_t behind);
/* `awaiting` starts the latency of an event behind `awaited` at least. LUMOS_RECORDED: calls that are there make its
 * stream wait; else that is inferred. */
void rebuild_library_hold(const struct rebuild_library_writer *writer, uint32_t awaited, uint32_t awaiting,
                          enum lumos_evidence evidence);

/* A collective of the job; members are to be given in the order of tasks by who arranges the job. */
void rebuild_library_join(struct lumos_job *job, const struct rebuild_operation *operation, const uint32_t *members,
                          uint32_t count, int32_t size, enum lumos_rule rule);

#endif
