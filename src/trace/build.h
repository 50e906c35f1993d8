/* From rows to records: what the files that make tasks and spans share. */
#ifndef LUMOS_TRACE_BUILD_H
#define LUMOS_TRACE_BUILD_H

#include "trace/classify.h"
#include "trace/clock.h"
#include "trace/raw.h"
#include "trace/steps.h"
#include <lumos/job.h>

/* A runtime or driver call with a correlation id: what device rows and sync rows point to. 32 bytes, because there are
 * millions. */
struct trace_call {
  int64_t correlation, start;
  int32_t mark;       /* the step that it starts in, see trace_mark_at */
  uint32_t task;      /* its last segment; LUMOS_NONE in a step that is not wanted */
  lumos_string_id op; /* the innermost op around it */
  uint32_t detail;    /* index in build->call_details or LUMOS_NONE */
};

/* What few calls have. */
struct trace_call_detail {
  uint32_t comm;              /* of the innermost op around it that has one; index in trace->comms or LUMOS_NONE */
  lumos_string_id collective; /* the innermost row around it that is called nccl:SOMETHING */
  uint32_t batch_first, batch_count; /* what it sends and receives, recorded by ops before it; in build->batched */
  bool other;                        /* of a category that nobody knows: those that are known come first */
};

/* An op that takes part in autograd. */
struct trace_gradient {
  int64_t sequence, start;
  uint32_t span;
  int32_t forward_thread; /* as in struct trace_host */
};

struct trace_known_rule {
  const struct trace_call_rule *rule; /* NULL while not asked for */
};

struct trace_known_group {
  uint32_t index; /* in job->groups, LUMOS_NONE while there is none */
  bool spaced;    /* the spacing of its ranks was given, so they are complete or never will be */
};

struct trace_build {
  struct trace *trace;
  struct trace_steps *steps;
  struct lumos_job *job; /* of one rank */
  struct lumos_rank *rank;
  uint32_t *job_lane; /* [trace lane]: index in job->lanes, LUMOS_NONE while it has neither task nor span */
  LUMOS_VECTOR(struct trace_call) calls; /* by correlation once the threads are done */
  LUMOS_VECTOR(struct trace_call_detail) call_details;
  LUMOS_VECTOR(uint32_t) batched; /* indices in trace->comms */
  LUMOS_VECTOR(struct trace_gradient) gradients;
  size_t first_device_task; /* in job->tasks: those before are of threads */
  int64_t outside_steps;    /* rows of work that no step holds */
  int64_t outside_host;     /* host rows that no step holds */
  int64_t left_host;        /* those, and those of steps that are not wanted */
  int64_t left_device;      /* the same of device rows */
  int64_t kept_calls;
  int64_t lost_groups; /* that name neither themselves nor their size */
  int64_t used_sync;   /* sync rows that told a call what it waits for */
  int64_t lost_calls;  /* device rows launched during the recording by a call that it lacks */
  int64_t first_work;  /* when the first op or call began; INT64_MAX: there is none */
  int64_t first_call;  /* when the first call began; INT64_MAX: there is none */
  int64_t backlog_end; /* when the work ends that streams had in hand then; INT64_MIN: they had none */
  LUMOS_VECTOR(struct trace_known_rule) call_rules; /* [name] */
  struct lumos_strings *kind_keys; /* id - 1 is the index in kinds: the kind of a class, a name and an op */
  LUMOS_VECTOR(uint8_t) kinds;
  LUMOS_VECTOR(struct trace_known_group) group_of; /* [recorded name] */
};

void lumos_trace_build_init(struct trace_build *build, struct trace *trace, struct trace_steps *steps,
                            struct lumos_job *job);
void lumos_trace_build_clear(struct trace_build *build);

/* Trace lanes in the order of the stream: threads first, then by number. The caller frees. */
uint32_t *lumos_trace_sorted_lanes(const struct trace *trace);
/* The job's lane of a trace lane, made when it is new. */
uint32_t lumos_trace_job_lane(struct trace_build *build, uint32_t lane);

/* Tasks and spans of every thread, calls and gradients. */
void lumos_trace_build_threads(struct trace_build *build, const uint32_t *sorted_lanes);
/* `forward` of backward ops. */
void lumos_trace_pair_gradients(struct trace_build *build);
/* What the allocator held in the wanted steps; the others count as instants that are left out. */
void lumos_trace_build_memory(struct trace_build *build);
/* Tasks of every stream. */
void lumos_trace_build_streams(struct trace_build *build, const uint32_t *sorted_lanes);
/* `event` and `wait` of host calls. */
void lumos_trace_mark_waits(struct trace_build *build);

/* The detail of a call; without one, and where `call` is NULL, there is nothing in it. */
struct trace_call_detail lumos_trace_detail_of_call(const struct trace_build *build, const struct trace_call *call);

/* What classify.c says, remembered by name. */
const struct trace_call_rule *lumos_trace_rule_of(struct trace_build *build, lumos_string_id name);
enum lumos_task_kind lumos_trace_device_kind(struct trace_build *build, const struct trace_device *row,
                                             lumos_string_id op);

/* The call of a correlation id; NULL: none has it, or several. Calls must be sorted. O(log calls). */
const struct trace_call *lumos_trace_find_call(const struct trace_build *build, int64_t correlation);
/* The same, or the call of the next lower id: ids rise with time. NULL when there is none. */
const struct trace_call *lumos_trace_call_up_to(const struct trace_build *build, int64_t correlation);

#endif
