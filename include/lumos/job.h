/* A job in memory: what the stream of records says, as arrays laid out for the loops that read them.
 *
 * One struct per record type of the stream (include/lumos/stream.h holds the schema and what each field means; here
 * stands only what memory adds). All times are int64_t nanoseconds that count from the job's epoch. References between
 * records are array indices (uint32_t, LUMOS_NONE: absent); ids are what the stream shows. Strings are ids of the job's
 * string table (0: absent). The job owns everything; lumos_job_free frees it at once.
 *
 * Order, an invariant that every function keeps (lumos_job_arrange restores it, lumos_job_check tests it):
 *   ranks  ascending by rank number;
 *   groups, lanes, spans: by rank; groups of a rank in natural order of id; lanes threads first, then streams, each in
 *   natural order
 *          of native, then of process, then of lane; spans by id;
 *   tasks  by lane in the order of lanes, then by seq: the tasks of a lane are one range, [lane.task_first, +
 *          task_count);
 *   collectives by id, their members by task index.
 * Natural order: absent first, then numbers (digits only) by value, then everything else by its bytes.
 */
#ifndef LUMOS_JOB_H
#define LUMOS_JOB_H

#include <lumos/error.h>
#include <lumos/memory.h>
#include <lumos/strings.h>
#include <lumos/watch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LUMOS_NONE UINT32_MAX      /* no index, no id */
#define LUMOS_ABSENT INT64_MIN     /* no time, no 64-bit value */
#define LUMOS_ABSENT_INT INT32_MIN /* no 32-bit value */

typedef uint32_t lumos_string_id; /* LUMOS_NO_STRING: absent */

/* Every enumeration below has a name table: lumos_stage_name(...) etc.; 0 is "absent" where the field is optional. */
enum lumos_stage { LUMOS_STAGE_PARSE = 1, LUMOS_STAGE_GRAPH, LUMOS_STAGE_TRANSFORM, LUMOS_STAGE_SIM };
enum lumos_lane_kind { LUMOS_THREAD = 1, LUMOS_STREAM };
enum lumos_span_kind {
  LUMOS_SPAN_OP = 1,
  LUMOS_SPAN_MODULE,
  LUMOS_SPAN_ANNOTATION,
  LUMOS_SPAN_STEP,
  LUMOS_SPAN_PYTHON
};
enum lumos_task_kind {
  /* on streams */
  LUMOS_GEMM = 1,
  LUMOS_ATTENTION,
  LUMOS_ELEMENTWISE,
  LUMOS_NORM,
  LUMOS_REDUCTION,
  LUMOS_OPTIMIZER,
  LUMOS_EMBEDDING,
  LUMOS_COPY,
  LUMOS_MEMSET,
  LUMOS_COLLECTIVE,
  LUMOS_P2P,
  LUMOS_OTHER_DEVICE, /* written "other" */
  /* on threads */
  LUMOS_OP,
  LUMOS_LAUNCH,
  LUMOS_SYNC,
  LUMOS_EVENT,
  LUMOS_ALLOC,
  LUMOS_OTHER_HOST, /* written "other" */
  LUMOS_TASK_KINDS
};
enum lumos_end { LUMOS_START = 1, LUMOS_END };
enum lumos_event_op { LUMOS_EVENT_RECORD = 1, LUMOS_EVENT_WAIT };
enum lumos_wait_on { LUMOS_WAIT_STREAM = 1, LUMOS_WAIT_DEVICE, LUMOS_WAIT_EVENT, LUMOS_WAIT_SELF };
enum lumos_phase { LUMOS_FORWARD = 1, LUMOS_BACKWARD, LUMOS_WEIGHT, LUMOS_OPTIMIZER_PHASE, LUMOS_OTHER_PHASE };
enum lumos_part { LUMOS_PART_EMBEDDING = 1, LUMOS_PART_LAYER, LUMOS_PART_HEAD, LUMOS_PART_OPTIMIZER };
enum lumos_dur_source { LUMOS_MEASURED = 1, LUMOS_SCALED, LUMOS_MODELLED }; /* 0: absent, means measured */
enum lumos_role { LUMOS_TENSOR = 1, LUMOS_PIPELINE, LUMOS_DATA, LUMOS_EXPERT, LUMOS_CONTEXT, LUMOS_OTHER_ROLE };
enum lumos_task_origin { LUMOS_LAUNCHED = 1, LUMOS_BEFORE_RECORDING, LUMOS_NOT_RECORDED, LUMOS_FREE };
enum lumos_dep_kind {
  LUMOS_HANDOVER = 1,
  LUMOS_DEP_EVENT,
  LUMOS_HOST_WAIT,
  LUMOS_QUEUE,
  LUMOS_RESOURCE,
  LUMOS_BOUNDARY,
  LUMOS_OTHER_DEP
};
enum lumos_evidence { LUMOS_RECORDED = 1, LUMOS_ORDERED, LUMOS_INFERRED, LUMOS_UNEXPLAINED };
enum lumos_mode { LUMOS_FIXED = 1, LUMOS_RUN_TIME };
enum lumos_rule { LUMOS_SYMMETRIC = 1, LUMOS_PAIR, LUMOS_BATCHED, LUMOS_ROOTED, LUMOS_CUSTOM };
enum lumos_matched { LUMOS_BY_COMMS_ID = 1, LUMOS_BY_SEQ, LUMOS_BY_ORDER, LUMOS_BY_PAIR_ORDER };
enum lumos_label { LUMOS_TRANSFERS = 1, LUMOS_ARRIVAL_SKEW, LUMOS_MIXED, LUMOS_INCONCLUSIVE };
enum lumos_level { LUMOS_INFO = 1, LUMOS_WARNING, LUMOS_SERIOUS }; /* written info, warning, error */
enum lumos_source { LUMOS_METRIC_MEASURED = 1, LUMOS_METRIC_SIMULATED, LUMOS_METRIC_PREDICTED };

const char *lumos_stage_name(enum lumos_stage);
const char *lumos_lane_kind_name(enum lumos_lane_kind);
const char *lumos_span_kind_name(enum lumos_span_kind);
const char *lumos_task_kind_name(enum lumos_task_kind); /* "other" for both others: the lane says which */
const char *lumos_end_name(enum lumos_end);
const char *lumos_event_op_name(enum lumos_event_op);
const char *lumos_wait_on_name(enum lumos_wait_on);
const char *lumos_phase_name(enum lumos_phase);
const char *lumos_part_name(enum lumos_part);
const char *lumos_dur_source_name(enum lumos_dur_source);
const char *lumos_role_name(enum lumos_role);
const char *lumos_task_origin_name(enum lumos_task_origin);
const char *lumos_dep_kind_name(enum lumos_dep_kind);
const char *lumos_evidence_name(enum lumos_evidence);
const char *lumos_mode_name(enum lumos_mode);
const char *lumos_rule_name(enum lumos_rule);
const char *lumos_matched_name(enum lumos_matched);
const char *lumos_label_name(enum lumos_label); /* "transfer" "arrival_skew" "mixed" "inconclusive" */
const char *lumos_level_name(enum lumos_level);
const char *lumos_source_name(enum lumos_source);

/* A number with at most 6 decimals: units / 10^decimals. The only non-integers of the stream; never used for times. */
struct lumos_decimal {
  int64_t units; /* LUMOS_ABSENT: absent */
  int decimals;  /* 0..6 */
};

double lumos_decimal_value(struct lumos_decimal); /* of one that is not absent */

struct lumos_history {
  lumos_string_id tool, version, args;
  uint32_t input_first, input_count; /* in job->inputs (string ids), sorted by bytes */
};

struct lumos_parallel {
  int32_t tp, pp, dp, cp, ep; /* tensor, pipeline, data, context, expert; LUMOS_ABSENT_INT: absent */
};

struct lumos_clock {
  bool known;                                      /* the record has the field */
  int64_t device_offset, offset, drift_ppb, error; /* error LUMOS_ABSENT: unknown */
  bool from_collectives;                           /* evidence: collectives, else none */
};

/* What recording takes on the CPU, at most, in ns: before an op starts, after it ends, after a call ends; and how much
 * of that at least, in millionths. LUMOS_ABSENT: not known. */
enum { LUMOS_WHOLE_SHARE = 1000000 };
struct lumos_profiler {
  int64_t before_op, after_op, after_call;
  int32_t least; /* known where steps were timed without the profiler; LUMOS_ABSENT_INT: not */
};

struct lumos_coverage { /* counts of this rank's recording; LUMOS_ABSENT where a later stage writes them */
  int64_t events, device_tasks, launched, opped, before_recording, crossing, skipped, repaired, collectives, joined;
  int64_t python, sync, graph_nodes; /* LUMOS_ABSENT: not counted */
};

/* What HTA reads of a recording; all LUMOS_NO_STRING and LUMOS_ABSENT where that is not known. */
struct lumos_hta_rows {
  lumos_string_id steps, classes, rows; /* lists as text; see stream.h */
  int64_t extent, cut_extent;
};

struct lumos_rank {
  int32_t rank, world;      /* world LUMOS_ABSENT_INT: absent */
  int32_t represents, from; /* LUMOS_ABSENT_INT: absent */
  bool has_parallel;
  struct lumos_parallel parallel; /* its coordinates, from 0 */
  lumos_string_id host, source;
  lumos_string_id device_name;
  int64_t device_sms, device_memory;                  /* LUMOS_ABSENT: absent */
  lumos_string_id cuda, hip, nccl, torch;             /* versions */
  lumos_string_id job_name, job_version, job_attempt; /* what whoever started the job calls it */
  int64_t window_start, window_end, base;
  int64_t base_lag; /* LUMOS_ABSENT: not known, or the job has not changed */
  struct lumos_coverage coverage;
  int64_t runtime_offset, runtime_doubt;    /* LUMOS_ABSENT: absent */
  int64_t unprofiled_steps, unprofiled_dur; /* LUMOS_ABSENT: not timed */
  struct lumos_hta_rows hta;
  struct lumos_profiler profiler;
  struct lumos_clock clock;
  /* Ranges in the job's arrays, kept by lumos_job_arrange. */
  uint32_t group_first, group_count, lane_first, lane_count, span_first, span_count, task_first, task_count;
  lumos_string_id unknown; /* members that this version does not know, as JSON text: "a":1,"b":2 */
};

struct lumos_group {
  uint32_t rank;            /* index of the lowest rank that has it */
  lumos_string_id id, name; /* name: a description */
  uint8_t role;             /* 0: absent */
  int32_t size;
  uint32_t member_first, member_count; /* rank numbers in job->group_ranks; count 0: absent */
  lumos_string_id unknown;
};

struct lumos_lane {
  uint32_t rank;
  lumos_string_id lane; /* "t1382", "p77.t1382", "s7", "d1.s7": unique in its rank */
  uint8_t kind;
  lumos_string_id native, process, name; /* native: thread id or stream number as recorded */
  int32_t queue_depth;                   /* LUMOS_ABSENT_INT: not known, as many launches as come */
  uint32_t task_first, task_count;
  lumos_string_id unknown;
};

struct lumos_span {
  int64_t start, dur;
  int64_t sequence;                         /* LUMOS_ABSENT */
  uint32_t id, rank, lane, parent, forward; /* lane, parent, forward: indices or LUMOS_NONE */
  lumos_string_id name, shapes, dtypes;     /* shapes, dtypes: as recorded (JSON text kept as a string) */
  lumos_string_id unknown;
  uint8_t kind;
};

/* What every task has; 80 bytes, because there are millions. */
struct lumos_task {
  int64_t start; /* LUMOS_ABSENT: never measured */
  int64_t dur;
  int64_t lag;
  uint32_t id, lane, seq;
  lumos_string_id name;
  uint32_t span, call;        /* indices or LUMOS_NONE */
  int32_t step;               /* LUMOS_ABSENT_INT: launched before the recording */
  int32_t micro_batch, layer; /* LUMOS_ABSENT_INT */
  uint32_t detail;            /* index in job->details or LUMOS_NONE */
  uint32_t timing;            /* index in job->timings or LUMOS_NONE */
  int32_t from_rank;          /* the original's rank number; with from_id */
  uint32_t from_id;           /* its N; LUMOS_NONE: not a copy */
  uint8_t kind, phase, part, dur_source;
};

struct lumos_peer {
  int32_t rank;
  int64_t send, recv; /* bytes */
};

struct lumos_comm {
  lumos_string_id
      op; /* all_reduce all_gather reduce_scatter all_to_all broadcast reduce gather scatter barrier send recv
                                send_recv (batched) other; LUMOS_NO_STRING: the task has no comm */
  lumos_string_id group, id; /* group: id of a group record of this rank; id: recorded communicator id */
  int64_t seq;               /* LUMOS_ABSENT */
  int64_t bytes;             /* LUMOS_ABSENT: unknown */
  lumos_string_id dtype;
  uint32_t peer_first, peer_count; /* in job->peers */
};

struct lumos_wait {
  uint8_t on;       /* 0: the task has no wait */
  uint32_t lane;    /* index of the awaited lane or LUMOS_NONE */
  uint32_t record;  /* task index or LUMOS_NONE */
  int64_t residual; /* LUMOS_ABSENT */
};

/* What few tasks have. */
struct lumos_detail {
  int64_t bytes, was;             /* LUMOS_ABSENT */
  int64_t own_dur, own_lag;       /* LUMOS_ABSENT: all of dur, or of lag, is the task's own */
  struct lumos_decimal dur_error; /* of this task alone: relative, one sigma */
  lumos_string_id common_error;   /* id of the common error that it shares with others */
  uint32_t first_segment; /* task index: the call's first segment, where nested events cut the call; else LUMOS_NONE */
  uint8_t event_op;       /* 0: no event */
  uint32_t event_lane;    /* index or LUMOS_NONE */
  lumos_string_id event_id;
  struct lumos_wait wait;
  struct lumos_comm comm;
  lumos_string_id unknown;
};

/* What tasks on streams have, and few others: nine tasks of ten are on threads. */
struct lumos_timing {
  int64_t gap, launch_lag, residual, end_residual; /* LUMOS_ABSENT */
  int64_t flops;                                   /* LUMOS_ABSENT */
  int32_t occupancy;                               /* millionths of 1; LUMOS_ABSENT_INT */
  uint8_t launch_from;                             /* enum lumos_end; 0: absent, means end */
  uint8_t origin;                                  /* enum lumos_task_origin; of every task on a stream from graph on */
};

/* What sim adds: job->runs runs parallel to job->tasks once the stage is sim. */
struct lumos_run {
  int64_t start, dur; /* LUMOS_ABSENT */
};

struct lumos_dep {
  uint32_t src; /* task index; LUMOS_NONE for a boundary */
  int64_t at;   /* boundary; else LUMOS_ABSENT */
  uint32_t dst;
  int64_t lag;
  int64_t covers; /* LUMOS_ABSENT */
  uint8_t kind, from, to, evidence, mode;
  lumos_string_id unknown;
};

struct lumos_collective {
  uint32_t id; /* the N of "c:N" */
  lumos_string_id op, group;
  uint8_t rule, matched, dur_source;
  int32_t root, size;                           /* root LUMOS_ABSENT_INT */
  uint32_t member_first, member_count;          /* task indices in job->members */
  int64_t bytes, transfer, transfer_error, was; /* LUMOS_ABSENT (bytes too: unknown) */
  lumos_string_id common_error;                 /* id of the common error that it shares with others */
  /* What sim reads off its timeline. */
  int64_t wait;                                            /* LUMOS_ABSENT */
  int32_t waited_for;                                      /* rank number; LUMOS_ABSENT_INT */
  struct lumos_decimal algorithm_bandwidth, bus_bandwidth; /* GB/s */
  uint8_t label;                                           /* enum lumos_label; 0: absent */
  lumos_string_id unknown;
};

/* What the ranks train together and how it is spread, as far as it was recovered or given; a job has one such record or
 * none. Every number is LUMOS_ABSENT_INT where it is not known, else at least 1, and then its evidence says in words
 * where it comes from. */
struct lumos_model_evidence {
  lumos_string_id layers, hidden, heads, kv_heads, head_dim, ffn, ffn_matrices, sequence, vocabulary, micro_batch,
      micro_batches;
  lumos_string_id tp, pp, dp, cp, ep;
};

/* Of a rebuilt job: the configuration that was recorded. */
struct lumos_recorded_sizes {
  int32_t ranks, layers, micro_batches; /* LUMOS_ABSENT_INT: not known, or not rebuilt */
  struct lumos_parallel sizes;
};

struct lumos_model_description {
  int32_t layers, hidden, heads, kv_heads, head_dim, ffn, sequence, vocabulary; /* of the whole model, no shard of it */
  int32_t ffn_matrices;        /* weights of a feed-forward block: 2, or 3 with a gate */
  int32_t micro_batch;         /* sequences in a micro-batch */
  int32_t micro_batches;       /* of a replica in a step */
  struct lumos_parallel sizes; /* how many ranks there are along each axis; pp: pipeline stages */
  int64_t bucket_bytes;        /* of a rebuilt job: of gradients that replicas reduce at once; LUMOS_ABSENT */
  struct lumos_recorded_sizes recorded;
  struct lumos_model_evidence evidence;
  lumos_string_id unknown;
};

/* PyTorch's allocator has given memory of a GPU out, or taken it back ("[memory]" of a recording with profile_memory):
 * what it holds from then on. */
struct lumos_memory_event {
  int64_t t;                   /* on the clock of the rank's CPU rows, from the epoch */
  int64_t allocated, reserved; /* bytes: in tensors; taken from the driver, LUMOS_ABSENT */
  int32_t rank;                /* its number */
  int32_t device;              /* as recorded */
  int32_t step;                /* in which the CPU was then */
  lumos_string_id unknown;
};

/* An error that changed durations have in common, such as the one of a model of matrix products: they are all too long
 * together, or all too short. */
struct lumos_common_error {
  lumos_string_id id;         /* unique: "gpu.gemm" */
  lumos_string_id name;       /* in plain words, as in "matrix products on another GPU" */
  struct lumos_decimal sigma; /* relative, one sigma */
  struct lumos_decimal
      up; /* the same of how much longer they may be, where it differs: 0 where they can only be shorter */
  lumos_string_id source; /* where sigma comes from, as in "leave-one-out over 41 shapes" */
  lumos_string_id unknown;
};

/* Of a rebuilt job: what a stage did in one recorded step, which the built job has no tasks of. */
struct lumos_recorded_pass {
  int64_t start, dur;         /* start: from that of the step on */
  int32_t step, rank;         /* rank: its number in the recorded job */
  int32_t stage, micro_batch; /* LUMOS_ABSENT_INT */
  int32_t chunk, track;       /* of the stage's layers, and of its compute streams; from 0 */
  uint8_t phase;              /* enum lumos_phase; 0: exposed communication */
  lumos_string_id unknown;
};

/* All members optional. */
struct lumos_scope {
  int32_t rank;  /* rank NUMBER; LUMOS_ABSENT_INT */
  int32_t step;  /* LUMOS_ABSENT_INT */
  int32_t layer; /* LUMOS_ABSENT_INT */
  uint32_t lane; /* index of a lane of `rank`, or LUMOS_NONE */
  uint32_t task; /* index or LUMOS_NONE */
  lumos_string_id kind, group;
  /* Of metrics only. */
  int32_t stage;                    /* of the pipeline; LUMOS_ABSENT_INT */
  int32_t peer;                     /* number of the other rank: the one that `rank` waits for; LUMOS_ABSENT_INT */
  lumos_string_id op, module, name; /* name: of a kernel, a copy or a call */
  uint8_t phase;                    /* enum lumos_phase; 0: absent */
};
extern const struct lumos_scope lumos_everywhere; /* all absent */
/* Says a scope no more than rank and step? A figure of a part of them says more. */
bool lumos_scope_is_whole(const struct lumos_scope *scope);

struct lumos_metric {
  lumos_string_id name, unit, of;
  struct lumos_decimal value, low, high; /* low, high: absent unless source is predicted */
  struct lumos_scope scope;
  uint8_t source;
  lumos_string_id unknown;
};

struct lumos_note {
  lumos_string_id code; /* "parse.skipped_events": the stage that wrote it, a point, a stable name */
  uint8_t level;
  lumos_string_id text, cure;
  int64_t count; /* LUMOS_ABSENT */
  struct lumos_scope scope;
  lumos_string_id unknown;
};

struct lumos_foreign {        /* a record of a type that this version does not know */
  lumos_string_id type, line; /* the whole line, without its end */
};

struct lumos_job {
  struct lumos_strings *strings;
  enum lumos_stage stage;
  int64_t epoch;  /* ns since 1970 */
  int32_t edited; /* changes that transform made; LUMOS_ABSENT_INT: it never looked at the job */
  LUMOS_VECTOR(struct lumos_history) history;
  LUMOS_VECTOR(lumos_string_id) inputs;
  LUMOS_VECTOR(struct lumos_rank) ranks;
  LUMOS_VECTOR(struct lumos_group) groups;
  LUMOS_VECTOR(int32_t) group_ranks;
  LUMOS_VECTOR(struct lumos_lane) lanes;
  LUMOS_VECTOR(struct lumos_span) spans;
  LUMOS_VECTOR(struct lumos_task) tasks;
  LUMOS_VECTOR(struct lumos_timing) timings; /* in no order that means anything */
  LUMOS_VECTOR(struct lumos_run) runs;       /* count 0 or tasks.count */
  LUMOS_VECTOR(struct lumos_detail) details;
  LUMOS_VECTOR(struct lumos_peer) peers;
  LUMOS_VECTOR(struct lumos_memory_event) memory; /* of a rank in the order of time */
  LUMOS_VECTOR(struct lumos_dep) deps;
  LUMOS_VECTOR(struct lumos_collective) collectives;
  LUMOS_VECTOR(uint32_t) members;
  LUMOS_VECTOR(struct lumos_model_description) models; /* at most one */
  LUMOS_VECTOR(struct lumos_common_error) common_errors;
  LUMOS_VECTOR(struct lumos_recorded_pass) recorded_passes;
  LUMOS_VECTOR(struct lumos_metric) metrics;
  LUMOS_VECTOR(struct lumos_note) notes;
  LUMOS_VECTOR(struct lumos_foreign) foreign;
  /* What sim noted of the run in `runs` (path.h), kept in memory alone, for whoever asks in the same process; NULL: the
   * run has to be made again. */
  struct lumos_held *bindings;
  struct lumos_hold *holds;
  size_t hold_count;
  lumos_string_id unknown;      /* unknown members of the header record */
  struct lumos_watcher watcher; /* hears what later stages do with the job; not part of its content */
  size_t threads;               /* that later stages work with, 0: one for every core; nothing else depends on it */
};

struct lumos_job *lumos_job_new(void);
void lumos_job_free(struct lumos_job *job); /* NULL is allowed */

/* Records with every optional field absent. */
extern const struct lumos_rank lumos_rank_empty;
extern const struct lumos_group lumos_group_empty;
extern const struct lumos_lane lumos_lane_empty;
extern const struct lumos_span lumos_span_empty;
extern const struct lumos_task lumos_task_empty;
extern const struct lumos_timing lumos_timing_empty;
extern const struct lumos_detail lumos_detail_empty;
extern const struct lumos_memory_event lumos_memory_event_empty;
extern const struct lumos_dep lumos_dep_empty;
extern const struct lumos_collective lumos_collective_empty;
extern const struct lumos_model_description lumos_model_description_empty;
extern const struct lumos_common_error lumos_common_error_empty;
extern const struct lumos_recorded_pass lumos_recorded_pass_empty;
extern const struct lumos_metric lumos_metric_empty;
extern const struct lumos_note lumos_note_empty;

/* The detail of a task, made when it has none. The pointer is valid until the next call. */
struct lumos_detail *lumos_task_detail(struct lumos_job *job, struct lumos_task *task);
/* The detail, or lumos_detail_empty. */
inline const struct lumos_detail *lumos_detail_of(const struct lumos_job *job, const struct lumos_task *task) {
  return task->detail == LUMOS_NONE ? &lumos_detail_empty : &job->details.items[task->detail];
}
/* The same of timings. */
struct lumos_timing *lumos_task_timing(struct lumos_job *job, struct lumos_task *task);

static inline const struct lumos_timing *lumos_timing_of(const struct lumos_job *job, uint32_t task) {
  uint32_t timing = job->tasks.items[task].timing;
  return timing == LUMOS_NONE ? &lumos_timing_empty : &job->timings.items[timing];
}

/* What a task takes, and the time before it on its thread, as far as they are its own: nothing in the graph explains
 * them. */
struct lumos_times {
  int64_t dur, lag;
};
static inline struct lumos_times lumos_own_times(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *of = &job->tasks.items[task];
  struct lumos_times times = {of->dur, of->lag};
  if (of->detail != LUMOS_NONE) {
    const struct lumos_detail *detail = &job->details.items[of->detail];
    times.dur = detail->own_dur == LUMOS_ABSENT ? times.dur : detail->own_dur;
    times.lag = detail->own_lag == LUMOS_ABSENT ? times.lag : detail->own_lag;
  }
  return times;
}

/* Other own times; what is explained of dur and lag stays beside them. */
void lumos_set_own_times(struct lumos_job *job, struct lumos_task *task, struct lumos_times times);

static inline bool lumos_on_stream(const struct lumos_job *job, const struct lumos_task *task) {
  return job->lanes.items[task->lane].kind == LUMOS_STREAM;
}
static inline uint32_t lumos_rank_of(const struct lumos_job *job, const struct lumos_task *task) {
  return job->lanes.items[task->lane].rank;
}
/* How many ranks of the job a record stands for, itself included: where they are counted, added up or averaged it
 * counts so often. */
static inline int64_t lumos_rank_weight(const struct lumos_rank *rank) {
  return rank->represents > 1 ? rank->represents : 1;
}
static inline int64_t lumos_task_weight(const struct lumos_job *job, const struct lumos_task *task) {
  return lumos_rank_weight(&job->ranks.items[lumos_rank_of(job, task)]);
}
/* Collectives, send and receive: what counts as communication everywhere. */
static inline bool lumos_is_communication(uint8_t kind) { return kind == LUMOS_COLLECTIVE || kind == LUMOS_P2P; }
/* Copies and memsets. */
static inline bool lumos_is_copy(uint8_t kind) { return kind == LUMOS_COPY || kind == LUMOS_MEMSET; }
/* Of what streams run, the rest. */
static inline bool lumos_is_compute(uint8_t kind) { return !lumos_is_communication(kind) && !lumos_is_copy(kind); }

/* Put the arrays into the order above and set every range, remapping all references, which must be valid indices.
 * Stable; O(n log n), O(n) when the order holds already. Fails when a rank, a lane's name, a seq on a lane, or a task's
 * or span's id appears twice. */
bool lumos_job_arrange(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The index of a rank by number, or LUMOS_NONE. O(log ranks). */
uint32_t lumos_job_rank(const struct lumos_job *job, int32_t rank);

/* How many ranks all records of the job stand for. O(ranks). */
int64_t lumos_job_weight(const struct lumos_job *job);
/* Does every record stand for as many ranks as the others? Then means and medians over them need no weights.
 * O(ranks). */
bool lumos_ranks_weigh_alike(const struct lumos_job *job);
/* How many ranks the members of a collective stand for: of a complete one its size, or where others like it are left
 * out that times their number. O(members). */
int64_t lumos_collective_weight(const struct lumos_job *job, const struct lumos_collective *collective);

/* When a rank was recorded, as ns since 1970; false where the trace's clock does not say, and then its times compare
 * with no other's. */
bool lumos_rank_recorded(const struct lumos_job *job, const struct lumos_rank *rank, int64_t *start, int64_t *end);
/* Recordings that lie further apart than this, in ns, are of different runs: the clocks of a job's hosts differ by
 * less. */
#define LUMOS_RUN_GAP (60 * INT64_C(1000000000))

/* A host instant t, or a device instant, of a rank (index) in job time. */
int64_t lumos_host_job_time(const struct lumos_rank *rank, int64_t t);
int64_t lumos_device_job_time(const struct lumos_rank *rank, int64_t t);

/* Add a note. `count` LUMOS_ABSENT: none; cure may be NULL; scope NULL: everywhere. A note with the same code, text and
 * scope adds to the count of the first. */
void lumos_job_note(struct lumos_job *job, const char *code, enum lumos_level level, int64_t count,
                    const struct lumos_scope *scope, const char *text, const char *cure);
/* Is there a note with this code? O(notes). */
bool lumos_job_has_note(const struct lumos_job *job, const char *code);
/* Has whoever changed the job noted that its step time predicts nothing, for threads or communication do not follow the
 * change? O(notes). */
bool lumos_job_is_untied(const struct lumos_job *job);

/* The codes of the notes on what does not follow a change. */
#define LUMOS_NOTE_UNTIED_COMMUNICATION "transform.untied_communication"
#define LUMOS_NOTE_UNTIED_THREADS "transform.untied_threads"
/* The code of the note on calls that waited for the GPU and were removed. */
#define LUMOS_NOTE_WAITS_GONE "transform.waits_gone"

/* The code of graph's note on collectives of which it is inferred by timing alone which ranks take part. */
#define LUMOS_NOTE_GUESSED_MEMBERS "graph.guessed_members"

/* The code of parse's note on a trace that is cut or damaged in its midst. */
#define LUMOS_NOTE_CUT "parse.truncated"

/* What of the job's traces is missing, so that its steps may lack work. */
struct lumos_damage {
  size_t traces;        /* that are cut or damaged; 0: none */
  int32_t rank;         /* whose the first of them is; LUMOS_ABSENT_INT: not known */
  lumos_string_id text; /* what the note says of it, of the job's strings */
};
struct lumos_damage lumos_job_damage(const struct lumos_job *job);
struct lumos_text;
/* "rank 1: the trace is cut at byte 3017, and 2 more are cut or damaged"; nothing where none is. */
void lumos_job_put_damage(const struct lumos_job *job, struct lumos_text *out);

/* The id of a common error, for common_error of what has it; added where the job has none of that id yet. Of one
 * that is there the larger sigma stays: what is given twice must not look surer for it. sigma: relative, in millionths,
 * at least 0. O(common_errors). */
lumos_string_id lumos_job_common_error(struct lumos_job *job, const char *id, const char *name, int32_t sigma,
                                       const char *source);
/* They can only be shorter than they are, not longer: sets `up` of the common error of that id to 0.
 * O(common_errors). */
void lumos_job_only_shorter(struct lumos_job *job, lumos_string_id id);
/* The common error of that id; NULL: there is none. O(common_errors). */
const struct lumos_common_error *lumos_common_error_of(const struct lumos_job *job, lumos_string_id id);

/* Add a history entry for `tool` (inputs: base names, sorted here). args may be "". Called by the library function that
 * brings a job to a stage, not by the tool's main: lumos_trace_parse ("lumos-parse", with inputs), lumos_graph_build,
 * lumos_transform_scale (args "--scale SPECIFICATION"), lumos_transform_begin, lumos_simulate; so a job that went
 * through the library alone is the same. */
void lumos_job_history(struct lumos_job *job, const char *tool, const char *args, const char *const *inputs,
                       size_t input_count);

/* Has a transform changed the job? Then measured times no longer describe it. */
bool lumos_job_edited(const struct lumos_job *job);
/* Does the history have a line of this stage's tool? */
bool lumos_job_has_tool(const struct lumos_job *job, enum lumos_stage stage);

/* Set the ranges of ranks and lanes in arrays that are in order. O(records). */
void lumos_job_set_ranges(struct lumos_job *job);

/* Does any task have a measured start? A job that was built, or lost tasks, never ran. O(1) where the first has. */
bool lumos_job_measured(const struct lumos_job *job);

/* Drop what sim noted of its run: whoever changes `runs` or the order of tasks calls it. */
void lumos_job_forget_run(struct lumos_job *job);

/* Drop what stages after `stage` have written (fields, records, metrics and notes, and the history's lines of graph and
 * sim) and set the stage: rules of section "stages" in stream.h. Does nothing when the job is not beyond `stage`. What
 * a transform did to durations stays, and so does its line: ask lumos_job_edited first. */
void lumos_job_rewind(struct lumos_job *job, enum lumos_stage stage);

#endif
