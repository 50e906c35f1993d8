/* What the rules of the graph share.
 *
 * All rules but the joining of collectives look at one rank. Their times are that rank's own: the host's clock, with
 * device instants shifted by device_offset. Arrays run over the rank's tasks and are indexed by task - first.
 */
#ifndef LUMOS_GRAPH_GRAPH_H
#define LUMOS_GRAPH_GRAPH_H

#include <lumos/error.h>
#include <lumos/job.h>

/* Constants of rules say in every file where they come from. "Measured" is on traces of real training and inference;
 * "chosen" is what no source gives, with the reason. */

/* Times in nanoseconds. */
enum {
  /* A delay up to this needs no explanation. Measured on V100, A100 and H100: to an idle stream a launch takes 0 to
   * 2 us from its call's end (10th to 90th percentile). Kineto's rows were rounded to 1 us until March 2024. */
  LUMOS_TIMING_NOISE = 2000,
  /* A launch this long before the stream gets free surely lies in its queue by then. Chosen: five such delays. */
  LUMOS_QUEUED_AHEAD = 10000,
  /* What starts or returns within this time of another task's end may have waited for it. Measured: nine of ten event
   * edges that bind take up to 17 us on MI300X and 10 to 23 us on H100; with 5 us much stays unexplained (nanogpt 2.8 %
   * of the trace, with 20 us 0.05 %), and 50 us explains no more. */
  LUMOS_REACTION_WINDOW = 20000,
  /* A launch this long ago has no part in a late start. Chosen: 500 times a launch's delay. Measured on a GPU that two
   * processes share: waiting for a time slice made 2.3 ms. */
  LUMOS_LONG_AGO = 1000000,
};

/* Samples for a typical value of a group's own. Chosen: one that is off moves the mean of fewer by a quarter or
 * more. */
enum { LUMOS_ENOUGH_SAMPLES = 5 };

/* Inferred edges hold for a set of tasks (a place, a graph's stream, a backlog) where no more than one in so many is
 * violated, that is, its target starts before its source ends. Chosen: more than the rows that are wrong (clock.c takes
 * them for one in a hundred), and less than what edges that do not exist would show. */
enum { LUMOS_VIOLATED_ONE_IN = 50 };

/* A call that records an event. */
struct lumos_event_record {
  uint64_t event; /* what names it in its rank */
  int64_t effect; /* when */
  uint32_t task;
  uint32_t lane; /* on which stream, or LUMOS_NONE */
};
LUMOS_VECTOR_TYPE(lumos_event_records, struct lumos_event_record);

/* Tasks of a stream that come later than like ones of its backlog, all by the same distance. 0: the stream could not be
 * laid against itself. */
struct lumos_repeat {
  uint32_t first, count, distance; /* tasks */
};

enum lumos_handed {
  LUMOS_HANDED_OVER = 1,    /* another thread handed over to it */
  LUMOS_CALLED_ANOTHER = 2, /* it is the last that a thread did before another ran what it called for */
};

struct lumos_graph_note {
  const char *code, *text, *cure;
  int64_t count;
};

/* Of the job a rule may change what is its rank's alone: the rank's record, its lanes, and the timings and details
 * of its tasks. No rule may add strings. */
struct lumos_rank_graph {
  struct lumos_job *job;
  struct lumos_rank *rank;
  uint32_t first; /* the rank's first task */
  int64_t device_offset;
  bool shared;      /* another process seems to have the device for slices of time */
  bool calls_alone; /* no op was recorded: threads seem silent between their calls, and no span tells places */
  /* of device tasks */
  int64_t *enqueued; /* when the host put it on its stream; never falls along a lane; INT64_MIN: before the recording */
  int64_t *busy;     /* until when the device ran what started before it, at least the rank's base */
  uint8_t *beside;   /* 1: something that had started before it was running when it started */
  int64_t *held;     /* when the stream waits before it are over; LUMOS_ABSENT: none is known */
  /* of host tasks, LUMOS_NONE: none */
  uint32_t *launched;          /* of a call: the task launched by it that ends last */
  uint32_t *first_node;        /* of a call that launches several, a graph: the task launched by it that starts first */
  uint32_t *stream_wait;       /* of a launching call: the last stream wait before it on its thread */
  uint32_t *awaited;           /* of a waiting call: the task whose end it waits for */
  uint8_t *handed;             /* of enum lumos_handed, as bits */
  uint8_t *lost;               /* of a device task, 1: it waited for one that ran before the recording */
  uint32_t *by_start, *by_end; /* the device tasks in these orders */
  uint32_t device_count;
  struct lumos_repeat *repeats;
  struct lumos_event_records records_by_task, records_by_event; /* the latter by event, then effect */
  /* What the rules say, for the job: ranks are looked at side by side. */
  LUMOS_VECTOR(struct lumos_dep) deps;
  LUMOS_VECTOR(struct lumos_graph_note) notes;
};

/* Note something of level info; `text` and `cure`, which may be NULL, have to last. */
static inline void lumos_graph_note(struct lumos_rank_graph *graph, const char *code, int64_t count, const char *text,
                                    const char *cure) {
  lumos_vector_push(&graph->notes, ((struct lumos_graph_note){code, text, cure, count}));
}

/* order.c: fill enqueued, launched, first_node and stream_wait; the rest is set to absent. */
void lumos_graph_order(struct lumos_rank_graph *graph);
/* How many tasks of the lane were enqueued no later than `at`: the next one's place, counted from the lane's first.
 * O(log tasks). */
uint32_t lumos_graph_enqueued(const struct lumos_rank_graph *graph, uint32_t lane, int64_t at);
/* The last of them, or LUMOS_NONE. */
uint32_t lumos_graph_last_enqueued(const struct lumos_rank_graph *graph, uint32_t lane, int64_t at);
/* Of the last tasks enqueued on every stream by `at` and over by `done` the one that ended last; LUMOS_NONE: none. */
uint32_t lumos_graph_last_over(const struct lumos_rank_graph *graph, int64_t at, int64_t done);
/* Does its call launch more than it, a graph? */
bool lumos_graph_is_node(const struct lumos_rank_graph *graph, uint32_t task);
/* Was it launched in the recording, by a call that the trace lacks? Then it is not known when it was ready. */
bool lumos_graph_lacks_launch(const struct lumos_rank_graph *graph, uint32_t task);
/* Is the task before it on its stream a node of the same graph? Then no launch comes between them. */
bool lumos_graph_follows_node(const struct lumos_rank_graph *graph, uint32_t task);
/* Did the host make this task's lane, or an unknown one, wait for something between the launch of the task before and
 * its own? */
bool lumos_graph_after_stream_wait(const struct lumos_rank_graph *graph, uint32_t task);

/* timeline.c: fill busy, beside and both orders of device tasks; needs the device offset. */
void lumos_graph_timeline(struct lumos_rank_graph *graph);
/* How many device tasks had started before an instant of the host's clock, and how many had ended by then: the first so
 * many of by_start and by_end. O(log tasks). */
uint32_t lumos_graph_begun(const struct lumos_rank_graph *graph, int64_t at);
uint32_t lumos_graph_over(const struct lumos_rank_graph *graph, int64_t at);
/* How many tasks of a stream had started before an instant of the host's clock. O(log tasks). */
uint32_t lumos_graph_started(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t at);
/* record.c: fill both lists of records. */
void lumos_graph_find_records(struct lumos_rank_graph *graph);
/* The latest record of the event on which this call waits that took effect no later than `at`; NULL: none is known. */
const struct lumos_event_record *lumos_graph_seen_record(const struct lumos_rank_graph *graph, uint32_t wait,
                                                         int64_t at);

/* wait.c: awaited, where the trace says on what a call waits. */
void lumos_graph_recorded_waits(struct lumos_rank_graph *graph);
/* wait.c: infer lanes that the trace does not name, then the residual of every host wait. */
void lumos_graph_host_waits(struct lumos_rank_graph *graph);
/* clock.c: the shift of device rows against the host's; needs awaited. */
int64_t lumos_graph_device_offset(const struct lumos_rank_graph *graph);
/* backlog.c: fill repeats. */
void lumos_graph_backlog(struct lumos_rank_graph *graph);
/* events.c: recorded event edges; fills held. */
void lumos_graph_events(struct lumos_rank_graph *graph);
/* launch.c: launch_lag and launch_from of every device task; sets shared. */
void lumos_graph_launches(struct lumos_rank_graph *graph);
/* gap.c: gap of every device task; needs held and launch lags. */
void lumos_graph_gaps(struct lumos_rank_graph *graph);
/* residual.c: residual of every device task that something known precedes. */
void lumos_graph_residuals(struct lumos_rank_graph *graph);
/* resource.c: late starts that waited for another stream's SMs; takes over their residuals. */
void lumos_graph_resources(struct lumos_rank_graph *graph);
/* The same of what started right behind an end, and waits for no event. */
void lumos_graph_resources_behind(struct lumos_rank_graph *graph);
/* unseen.c: event edges that timing alone shows; takes over residuals that they explain. */
void lumos_graph_unseen_waits(struct lumos_rank_graph *graph);
/* full_queue.c: calls that return only when their stream has room. */
void lumos_graph_full_queues(struct lumos_rank_graph *graph);
/* backward.c: from thread to thread, where sequence numbers tell; fills handed. */
void lumos_graph_backward_calls(struct lumos_rank_graph *graph);
/* handover.c: the others, from times; fills handed. */
void lumos_graph_handovers(struct lumos_rank_graph *graph);
/* freed.c: waits that no row tells of, before memory is freed; needs handed. */
void lumos_graph_freed(struct lumos_rank_graph *graph);
/* boundary.c: what the recording does not show; takes over residuals that it explains. */
void lumos_graph_boundaries(struct lumos_rank_graph *graph);
/* unexplained.c: note why starts stay unexplained, where that can be told. */
void lumos_graph_unexplained(struct lumos_rank_graph *graph);
/* profiler.c: what recording takes on the host. */
void lumos_graph_profiler(struct lumos_rank_graph *graph);

/* Collectives over ranks. */
struct lumos_joined {
  uint32_t lowest;                     /* its first member */
  uint32_t member_first, member_count; /* in members: task indices, ascending, so by rank */
  uint8_t rule, matched;
  bool complete; /* all that decides when its members end is known */
  int32_t root;  /* rank number, or LUMOS_ABSENT_INT */
  uint32_t size; /* members, those of ranks without a trace included */
  int64_t bytes; /* of transfers between two ranks, or LUMOS_ABSENT: what the members say */
};
struct lumos_matches {
  LUMOS_VECTOR(struct lumos_joined) items; /* ascending by lowest */
  LUMOS_VECTOR(uint32_t) members;
  uint8_t *taken; /* by task: 1 when it is a member, and not to be matched again */
};

enum lumos_operation {
  LUMOS_OPERATION_OTHER,
  LUMOS_OPERATION_SYMMETRIC, /* everyone waits for everyone */
  LUMOS_OPERATION_FROM_ROOT, /* the others wait for the root */
  LUMOS_OPERATION_TO_ROOT,   /* the root waits for the others */
  LUMOS_OPERATION_SEND,
  LUMOS_OPERATION_RECEIVE,
  LUMOS_OPERATION_BATCH, /* sends and receives in one kernel */
};
/* match.c: what kind of operation a communication kernel carries out. */
enum lumos_operation lumos_graph_operation(const struct lumos_job *job, const struct lumos_comm *comm);
static inline bool lumos_graph_is_collective(enum lumos_operation operation) {
  return operation == LUMOS_OPERATION_SYMMETRIC || operation == LUMOS_OPERATION_FROM_ROOT ||
         operation == LUMOS_OPERATION_TO_ROOT;
}
static inline bool lumos_graph_is_transfer(enum lumos_operation operation) {
  return operation == LUMOS_OPERATION_SEND || operation == LUMOS_OPERATION_RECEIVE ||
         operation == LUMOS_OPERATION_BATCH;
}
static inline const struct lumos_comm *lumos_graph_comm(const struct lumos_job *job, uint32_t task) {
  return &lumos_detail_of(job, &job->tasks.items[task])->comm;
}
/* match.c: by string, the index of the group with that id, or LUMOS_NONE. The caller frees it. */
uint32_t *lumos_graph_group_index(const struct lumos_job *job);
/* match.c: of the group's ranks, how many are in the job; 0: it is not known which ranks they are. */
uint32_t lumos_graph_present(const struct lumos_job *job, const struct lumos_group *group);
/* match.c: add one and take its members, which are in ascending order. It is complete, has no root and no other
 * members; what is returned is valid until the next is added. */
struct lumos_joined *lumos_graph_add_match(struct lumos_matches *matches, const uint32_t *members, uint32_t count,
                                           uint8_t rule, enum lumos_matched matched);

/* match.c: by what numbers collectives. The caller frees what matches holds. */
void lumos_graph_match(const struct lumos_job *job, struct lumos_matches *matches);
/* pairs.c: sends with their receives, of what is not taken yet; then the matches are ascending. Needs the clocks. */
void lumos_graph_match_pairs(const struct lumos_job *job, struct lumos_matches *matches);
/* ends.c: of what is not taken yet, what the order of ends shows. */
void lumos_graph_match_by_ends(const struct lumos_job *job, struct lumos_matches *matches);
/* ends.c: is it a collective of NCCL, launched in the recording, of which nothing but its place in the order tells
 * which? */
bool lumos_graph_is_unnumbered(const struct lumos_job *job, uint32_t task);
/* ends.c: of what is not taken yet, other kernels that seem to end together: what can tell clocks, and no more. The
 * caller frees what meetings holds. */
void lumos_graph_meet_by_ends(const struct lumos_job *job, const struct lumos_matches *matches,
                              struct lumos_matches *meetings);
/* partners.c: sends with their receives, of what is not taken yet and where no trace says who talks to whom, by who
 * waits and when both end; needs device offsets. */
void lumos_graph_match_partners(const struct lumos_job *job, struct lumos_matches *matches);
/* rank_clock.c: every rank's offset and drift against the lowest rank that it shares collectives with, be it through
 * others; needs device offsets. */
void lumos_graph_rank_clocks(struct lumos_job *job, const struct lumos_matches *matches);
/* moments.c: of what is not taken yet, collectives of no group, by when they end; needs the clocks. True: ranks share
 * some that shared nothing before, not even through others, so the clocks are to be found anew. */
bool lumos_graph_match_by_moments(struct lumos_job *job, struct lumos_matches *matches);
/* root.c: who is the root of rooted operations, as far as times show; needs the clocks. */
void lumos_graph_find_roots(const struct lumos_job *job, struct lumos_matches *matches);
/* collective.c: test what was matched, couple it, count. */
void lumos_graph_collectives(struct lumos_job *job, const struct lumos_matches *matches);

/* All rules, on a job at stage parse whose tasks all have a measured start. O(tasks log tasks). */
void lumos_graph_infer(struct lumos_job *job);

/* ns. Measured: members of NCCL's collectives end 1 to 45 us apart at the median in seven sets of V100 to H100, those
 * of DeepEP, which do not end together, 130 us. Of the shortest member one part in so many. Chosen, on emulated jobs:
 * long transfers end further apart. */
enum { LUMOS_MOST_SKEW = 50000, LUMOS_SKEW_ONE_IN = 4 };

/* How far apart the members of a collective end at most, of which the shortest takes so long. */
static inline int64_t lumos_graph_most_skew(int64_t shortest) {
  return shortest / LUMOS_SKEW_ONE_IN > LUMOS_MOST_SKEW ? shortest / LUMOS_SKEW_ONE_IN : LUMOS_MOST_SKEW;
}

/* Has every rank of the run a trace? */
static inline bool lumos_graph_all_traced(const struct lumos_job *job) {
  size_t rank = 0;
  while (rank < job->ranks.count && job->ranks.items[rank].world == (int64_t)job->ranks.count) {
    rank++;
  }
  return rank == job->ranks.count;
}

/* The rank's lanes; NULL: it has none. */
static inline const struct lumos_lane *lumos_graph_lanes(const struct lumos_rank_graph *graph) {
  return graph->rank->lane_count == 0 ? NULL : &graph->job->lanes.items[graph->rank->lane_first];
}
static inline const struct lumos_task *lumos_graph_task(const struct lumos_rank_graph *graph, uint32_t task) {
  return &graph->job->tasks.items[task];
}
static inline int64_t lumos_graph_device_start(const struct lumos_rank_graph *graph, uint32_t task) {
  return graph->job->tasks.items[task].start + graph->device_offset;
}
static inline int64_t lumos_graph_device_end(const struct lumos_rank_graph *graph, uint32_t task) {
  return lumos_graph_device_start(graph, task) + graph->job->tasks.items[task].dur;
}
/* A call ends with its last segment, which is the one that tasks name, and starts with its first. */
static inline int64_t lumos_graph_call_end(const struct lumos_job *job, uint32_t call) {
  return job->tasks.items[call].start + job->tasks.items[call].dur;
}
static inline int64_t lumos_graph_call_start(const struct lumos_job *job, uint32_t call) {
  uint32_t first = lumos_detail_of(job, &job->tasks.items[call])->first_segment;
  return job->tasks.items[first == LUMOS_NONE ? call : first].start;
}

/* A device task's start and end in job time. */
static inline int64_t lumos_graph_job_time(const struct lumos_job *job, uint32_t task, int64_t t) {
  return lumos_device_job_time(&job->ranks.items[lumos_rank_of(job, &job->tasks.items[task])], t);
}
static inline int64_t lumos_graph_job_start(const struct lumos_job *job, uint32_t task) {
  return lumos_graph_job_time(job, task, job->tasks.items[task].start);
}
static inline int64_t lumos_graph_job_end(const struct lumos_job *job, uint32_t task) {
  return lumos_graph_job_time(job, task, job->tasks.items[task].start + job->tasks.items[task].dur);
}

/* How far a rank's clock may be off the job's, as far as that is known. */
static inline int64_t lumos_graph_clock_doubt(const struct lumos_job *job, uint32_t task) {
  int64_t error = job->ranks.items[lumos_rank_of(job, &job->tasks.items[task])].clock.error;
  return error == LUMOS_ABSENT ? 0 : error;
}

/* Does the call return only when what it launched is done? */
static inline bool lumos_graph_blocks(const struct lumos_job *job, uint32_t call) {
  return lumos_detail_of(job, &job->tasks.items[call])->wait.on == LUMOS_WAIT_SELF;
}

/* Numbers of the stream stay below 2^53; only absurd input leads beyond. */
static inline int64_t lumos_graph_bounded(int64_t time) {
  const int64_t limit = (INT64_C(1) << 53) - 1;
  return time > limit ? limit : time < -limit ? -limit : time;
}

#endif
