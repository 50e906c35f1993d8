/* The engine's state, shared by its parts: the loop (engine.c), what is fixed before it starts (prepare.c), and the
 * report of a deadlock (deadlock.c).
 *
 * A task goes through four stages. It *waits* while something that bounds its start is not known; then it is *ready*,
 * its start known and queued; it has *started* when the queue comes to it; it has *ended* when its end is known, which
 * for a call that waits, or a member of a collective, is later. Whatever ends or starts passes a bound on to those that
 * it holds, and counts down what they still wait for.
 *
 * Only some tasks, the *nodes*, go through these; the others, *followers*, start a lag behind the task before them on
 * their thread, and nothing follows from them but what that thread does next (nodes.c).
 */
#ifndef LUMOS_SIM_ENGINE_H
#define LUMOS_SIM_ENGINE_H

#include "sim/clock.h"
#include "sim/coupling.h"
#include "sim/events.h"
#include "sim/model.h"
#include "sim/queue.h"
#include "sim/variant.h"
#include <lumos/path.h>
#include <lumos/sim.h>

enum lumos_task_progress { LUMOS_WAITING, LUMOS_READY, LUMOS_STARTED, LUMOS_ENDED };

/* What a task is to the loop, found before the first run, so that most tasks are seen to be nothing special at a
 * glance. */
enum lumos_trait {
  LUMOS_WAITS = 1,         /* a call whose end follows from what it waits for */
  LUMOS_COPIES = 2,        /* a blocking copy: takes effect when it starts, for it waits for its own work */
  LUMOS_LAUNCHES = 4,      /* a call that puts tasks on streams */
  LUMOS_RECORDS = 8,       /* a call that records an event */
  LUMOS_AWAITS = 16,       /* a call that makes a stream wait for an event */
  LUMOS_CUT = 32,          /* a call that nested ones cut into segments */
  LUMOS_MEETS = 64,        /* a member of coupled collectives */
  LUMOS_TIED = 128,        /* a member whose end follows from the others' */
  LUMOS_DEVICE = 256,      /* a task on a stream */
  LUMOS_DELAYED = 512,     /* its start has a residual */
  LUMOS_FREES = 1024,      /* a task behind whose end tasks come to their streams that no call launches */
  LUMOS_IS_FREE = 2048,    /* such a task */
  LUMOS_FROM_START = 4096, /* its launch lag counts from the start of its call */
  LUMOS_IS_INFERRED =
      8192,            /* it is the target of an inferred event edge, or a call whose awaited stream was inferred */
  LUMOS_BRINGS = 16384 /* on a stream: behind it stands one that no call launches, and comes with it */
};

/* What the loop asks of a node again and again, in one place: tasks, their details and timings lie far apart. What is
 * absent is 0. */
struct lumos_node {
  struct lumos_times own;
  int64_t residual, gap, launch_lag;
  int64_t lead;  /* how much earlier than its call's start it was measured to start, at most 0 */
  uint32_t task; /* behind the last node: LUMOS_NONE */
  uint32_t lane;
  uint32_t call;     /* a node, or LUMOS_NONE */
  uint32_t launched; /* it launches engine.launched[launched .. launched of the next node) */
};

struct lumos_task_state { /* by node; what it names are nodes */
  int64_t start;          /* the largest bound so far (LUMOS_ABSENT: none), then the start */
  int64_t end;            /* the same for the end */
  int64_t floor;          /* the start is never below this, whatever lags and residuals say */
  uint32_t holds;         /* first of the edges that leave this task, or LUMOS_NONE */
  uint32_t next;          /* on a stream: what was enqueued behind it while it had not ended, or LUMOS_NONE */
  uint32_t previous;      /* on a stream: what was enqueued before it, or LUMOS_NONE */
  uint32_t turn;          /* on a stream: how many were */
  uint32_t starts_after;  /* how much its start still waits for */
  uint32_t ends_after;    /* the same for its end */
  uint32_t special;       /* its place in engine.specials, or LUMOS_NONE */
  uint16_t traits;        /* of enum lumos_trait, added up */
  uint8_t progress;       /* enum lumos_task_progress */
  bool enqueued;          /* it is on its stream */
  bool had_room;          /* it has waited for free SMs */
};

struct lumos_edge { /* dst starts or ends no earlier than `lag` after its source has started or ended */
  int64_t lag;
  uint32_t dst, next; /* a node; next edge of the same source */
  uint8_t from, to;   /* enum lumos_end */
  uint8_t kind;       /* enum lumos_constraint_kind */
  uint8_t evidence;
};

/* What only a few nodes have. */
struct lumos_special {
  uint32_t node;
  int64_t boundary;  /* its start's outside bound in job time, or LUMOS_ABSENT */
  int64_t delay;     /* of a job that was edited: so long behind all else, where anything else holds it; or 0 */
  int64_t room_lag;  /* from the occupant's end, when SMs become free: below 0, or within LUMOS_QUEUE_GAP above it, */
  int64_t room_of;   /* where it takes so long */
  uint32_t occupant; /* a node: the kernel of another stream for whose SMs it was seen to wait, or LUMOS_NONE */
  /* For how long it was seen to wait; LUMOS_ABSENT: it waits for all that come before the occupant. */
  int64_t room_wait;
  int64_t queue_lag; /* of a call that a full queue blocks: from the start of what makes room to its own end */
  uint8_t evidence;  /* of the boundary */
};

/* A stored event edge. What was recorded is found anew by the run, by event and record, and takes its lag from here, by
 * lane; what was inferred names no event, and binds when its source is on its stream before its target is. */
struct lumos_event_edge {
  uint32_t dst, src, lane; /* nodes; lane: of src */
  int64_t lag;
  uint8_t evidence;
};

struct lumos_stream_wait { /* what a stream waits for before it goes on */
  uint32_t awaited, next;  /* awaited: a node */
};

struct lumos_lane_state {
  uint32_t last;                /* the last node enqueued, or LUMOS_NONE */
  uint32_t waits;               /* stream waits since then, one for each stream, or LUMOS_NONE */
  bool drifts;                  /* its clock does not run as job time does */
  uint32_t depth;               /* how many launches that have not started it holds; 0: not known, as many as come */
  bool keeps_order;             /* it has a depth, or another stream's tasks wait for its SMs: */
  LUMOS_VECTOR(uint32_t) order; /* its nodes as they were enqueued */
  uint32_t started;             /* how many of its tasks have started: they do in that order */
};

struct lumos_meeting { /* a collective that runs */
  int64_t latest;      /* start of those awaited that have started */
  uint32_t last;       /* the node that started then */
  uint32_t missing;    /* awaited members that have not */
};

/* One instant of a run keeps another from coming before `bound`. Instants are the start (2t) and the end (2t + 1) of
 * task t, and that (2 tasks + i) at which the last member of collective i has come. A run notes them in the order in
 * which it passes bounds on: all that lead to an instant stand before all that leave it. */
struct lumos_bound {
  int64_t bound;
  uint32_t src, dst;
  uint8_t of; /* enum lumos_link_of */
};
LUMOS_VECTOR_TYPE(lumos_bounds, struct lumos_bound);

/* What a change can make longer or shorter: what the time from src to bound is, besides residuals. */
enum lumos_link_of {
  LUMOS_LINK_FIXED,
  LUMOS_LINK_LENGTH,   /* from a task's start to its end: what it takes */
  LUMOS_LINK_LAG,      /* on a thread, before dst's task */
  LUMOS_LINK_HANDOVER, /* between threads */
  LUMOS_LINK_LAUNCH,   /* to the device */
  LUMOS_LINK_TRANSFER, /* to dst's end, of a collective that the note tells beside src */
  /* Of interest only with an order: */
  LUMOS_LINK_ROOT,    /* src is LUMOS_NONE: bound by nothing in the job */
  LUMOS_LINK_CAUSE,   /* bounds nothing, but dst was not looked at before src had come */
  LUMOS_LINK_ROOM,    /* from the end of what occupies the device; binds where that runs when dst is ready */
  LUMOS_LINK_NEXT,    /* from the start of what is about to, within LUMOS_QUEUE_GAP of when dst is ready */
  LUMOS_LINK_OVER,    /* does not bind: src is over when dst is ready */
  LUMOS_LINK_NO_ROOM, /* does not bind: dst comes more than LUMOS_QUEUE_GAP before the task starts whose end src is */
};

/* What a run reads or changes in the order of time, and what would be another if two calls changed places. */
struct lumos_touch {
  uint32_t what;    /* a lane, or behind them an event's slot */
  uint32_t instant; /* of the call, as in links */
};

/* When what occupies the device makes room: `lag` from its end, if it takes `of`. */
struct lumos_room {
  int64_t lag, of;
};

/* How far a run follows from the order of its events rather than from times. */
struct lumos_order {
  LUMOS_VECTOR(struct lumos_touch) touches; /* in the run's order */
  LUMOS_VECTOR(uint32_t) transfers;         /* the collective of each link of a transfer */
  LUMOS_VECTOR(struct lumos_room) rooms;    /* of each LUMOS_LINK_ROOM */
  bool unclear;                             /* the order of events is not all */
};

/* What a run is to note besides its times; all of it may be NULL. */
struct lumos_engine_notes {
  struct lumos_holds *holds;   /* on streams */
  struct lumos_held *bindings; /* empty before: what bound the start and the end of every task */
  struct lumos_bounds *links;  /* all that bounds anything, the binding and the others */
  struct lumos_order *order;   /* with links, whose instants are then of nodes, numbered as they are */
  const uint8_t *watched;      /* tasks of which every constraint is noted, in */
  struct lumos_constraints *constraints;
};

/* One run. */
struct lumos_engine_order {
  const struct lumos_variant *variant; /* NULL: the job as it is */
  struct lumos_engine_notes notes;
  /* Runs of nodes are all that is asked for, by node: those of all on streams, and of the first and the last task of
   * every step on a thread, are all that steps' lengths need, but of unordered engines. */
  bool nodes_only;
  bool
      on_streams_only; /* runs of tasks on streams, and of collectives' members, by task; of others nothing is written */
};

struct lumos_typical;

struct lumos_engine {
  const struct lumos_job *job;
  const struct lumos_model_rules *rules;
  struct lumos_variant variant;
  struct lumos_engine_notes notes;
  bool explain; /* something of what binds is noted */
  struct lumos_bindings
      *bound;        /* by node, where it explains; `behind` of one that is not ready is what raised its floor */
  uint32_t *node_of; /* by task; LUMOS_NONE: a follower */
  uint32_t *nodes;   /* their tasks, ascending */
  uint32_t node_count;
  struct lumos_node *facts; /* by node, and one behind the last */
  uint16_t *traits;         /* by node: of enum lumos_trait, added up */
  bool unordered; /* a thread's task has a negative residual: it may start, and end, before the one before it */
  int64_t *ahead; /* by node: the time of the followers before it, at most twice LUMOS_TIME_LIMIT */
  bool measured;  /* `ahead` is that of the tasks' own times */
  bool shares;    /* what is the same in all runs is another engine's, beside which it runs and tells nobody how far */
  struct lumos_task_state *states; /* by node */
  struct lumos_lane_state *lanes;
  struct lumos_meeting *meetings;
  uint32_t *launched; /* nodes on streams by the call that launches them */
  struct lumos_coupling coupling;
  struct lumos_events events;
  uint32_t *ties; /* ties.h */
  struct lumos_queue queue;
  struct lumos_typical *typical; /* for typical_residuals: those of waits, by name and what they wait on, and of ends */
  LUMOS_VECTOR(struct lumos_edge) edges;
  LUMOS_VECTOR(struct lumos_special) specials; /* by node */
  bool has_rooms;                              /* some task waits for SMs */
  /* By node, and one more: what all before it took, before a change, ns; NULL: none waits for SMs. */
  double *lengths_before;
  LUMOS_VECTOR(struct lumos_event_edge) event_edges; /* by dst, then lane, then src */
  LUMOS_VECTOR(struct lumos_stream_wait) stream_waits;
  LUMOS_VECTOR(uint32_t) ending; /* ended nodes whose consequences are still to be drawn */

  uint64_t started, ended; /* how many nodes have */
  uint32_t acting;         /* the instant at which a call takes effect now; LUMOS_NONE before the first */
  uint32_t beyond;         /* a node whose simulated time left the range of the stream, or LUMOS_NONE */
};

/* Does a thread go on behind the node? The next one is then on it. */
static inline bool lumos_is_followed(const struct lumos_engine *engine, uint32_t node) {
  return engine->facts[node + 1].lane == engine->facts[node].lane && (engine->traits[node] & LUMOS_DEVICE) == 0;
}

/* What a task takes in this run, and its lag on a thread. */
static inline struct lumos_times lumos_times_of(const struct lumos_engine *engine, uint32_t task) {
  struct lumos_times own = lumos_own_times(engine->job, task);
  return engine->variant.times == NULL ? own : engine->variant.times(engine->variant.context, task, own);
}

/* Find the job's nodes, once the lengths of its arrays are known: O(tasks). Then, for every run: the time of the
 * followers before each node, and, when all nodes have run, the runs of all tasks, of nodes by node, or of tasks on
 * streams and members of collectives. */
void lumos_nodes_find(struct lumos_engine *engine);
void lumos_nodes_measure(struct lumos_engine *engine);
void lumos_nodes_fill(const struct lumos_engine *engine, struct lumos_run *runs);
void lumos_nodes_runs(const struct lumos_engine *engine, struct lumos_run *runs);
void lumos_nodes_fill_streams(const struct lumos_engine *engine, struct lumos_run *runs);
/* The runs of followers, from those of all nodes, which are there, by task. */
void lumos_followers_fill(const struct lumos_engine *engine, const struct lumos_variant *variant,
                          struct lumos_run *runs);
/* What bound the nodes, which the engine has no more afterwards. */
void lumos_nodes_bound(struct lumos_engine *engine, struct lumos_held *bindings);
void lumos_nodes_free(struct lumos_engine *engine);
/* Of `typical`: the group of the ends of collectives of the task's name on its stream. */
uint32_t lumos_typical_end_group(struct lumos_typical *typical, const struct lumos_task *task);

/* Is this a host call whose end follows from what it waits for? */
bool lumos_call_waits(const struct lumos_job *job, const struct lumos_task *task);

/* What is the same in all runs of a job by a model, then what starts anew with each; free is for both. */
void lumos_engine_prepare(struct lumos_engine *engine, const struct lumos_job *job, enum lumos_model model);
/* The job's tasks on streams take another time than when the engine was prepared. Transfers and residuals of ends are
 * read as the job has them in any case; nothing else may be another. */
void lumos_engine_take_lengths(struct lumos_engine *engine);
/* Another engine for the same job, to run beside the first, which has to outlive it: what is the same in all runs is
 * shared. */
void lumos_engine_copy(struct lumos_engine *copy, const struct lumos_engine *engine);
void lumos_engine_reset(struct lumos_engine *engine, const struct lumos_engine_order *order);
/* Give back what only a run needs, until the next one. */
void lumos_engine_rest(struct lumos_engine *engine);
void lumos_engine_free(struct lumos_engine *engine);

void lumos_engine_hold(struct lumos_engine *engine, uint32_t src, struct lumos_edge edge);
/* The first stored event edge to a node from that lane or a later one; the next one follows it. The end of the list:
 * there is none. */
const struct lumos_event_edge *lumos_engine_event_edge(const struct lumos_engine *engine, uint32_t dst, uint32_t lane);

/* A run of a prepared engine: fills runs[0..tasks.count) as lumos_engine_run does, with nodes_only
 * runs[0..node_count). It can be done again, in another order or in the same. */
bool lumos_engine_do(struct lumos_engine *engine, const struct lumos_engine_order *order, struct lumos_run *runs,
                     struct lumos_error *error) LUMOS_MUST_CHECK;
/* Room for the runs of all tasks, or of nodes. The caller frees it. */
struct lumos_run *lumos_engine_room(const struct lumos_engine *engine, bool nodes_only);
/* An engine's only run, with notes. */
bool lumos_engine_run_noting(const struct lumos_job *job, const struct lumos_sim_options *options,
                             struct lumos_run *runs, const struct lumos_engine_notes *notes,
                             struct lumos_error *error) LUMOS_MUST_CHECK;

/* A simulated job's run once more, by its own model, with notes; notes->bindings has room for all tasks, or is NULL.
 * False also where the run differs from job->runs. */
bool lumos_run_noting(const struct lumos_job *job, const struct lumos_engine_notes *notes,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

/* What a task takes where it waits for nothing, and the time before it on its thread, in job time, if those of the
 * recording were these. */
static inline int64_t lumos_engine_length(const struct lumos_engine *engine, uint32_t t, int64_t dur) {
  const struct lumos_task *task = &engine->job->tasks.items[t];
  bool drifts = engine->lanes[task->lane].drifts;
  int64_t length = drifts ? lumos_job_length(engine->job, task->lane, task->start, dur) : dur;
  return length > 0 ? length : 0;
}
static inline int64_t lumos_engine_lag(const struct lumos_engine *engine, uint32_t t, int64_t lag) {
  const struct lumos_task *task = &engine->job->tasks.items[t];
  bool drifts = engine->lanes[task->lane].drifts;
  int64_t from = task->start == LUMOS_ABSENT ? LUMOS_ABSENT : task->start - lag;
  int64_t length = drifts ? lumos_job_length(engine->job, task->lane, from, lag) : lag;
  return length > 0 ? length : 0;
}

/* The same of a node, with what it takes and its lag in this run. */
static inline struct lumos_times lumos_node_times(const struct lumos_engine *engine, uint32_t node) {
  const struct lumos_node *facts = &engine->facts[node];
  return engine->variant.times == NULL ? facts->own
                                       : engine->variant.times(engine->variant.context, facts->task, facts->own);
}
static inline int64_t lumos_node_length(const struct lumos_engine *engine, uint32_t node, int64_t dur) {
  const struct lumos_node *facts = &engine->facts[node];
  return engine->lanes[facts->lane].drifts ? lumos_engine_length(engine, facts->task, dur) : dur > 0 ? dur : 0;
}
static inline int64_t lumos_node_lag(const struct lumos_engine *engine, uint32_t node, int64_t lag) {
  const struct lumos_node *facts = &engine->facts[node];
  return engine->lanes[facts->lane].drifts ? lumos_engine_lag(engine, facts->task, lag) : lag > 0 ? lag : 0;
}

/* How much earlier than a call's start a node was measured to start, at most 0: what clocks leave. */
int64_t lumos_measured_lead(const struct lumos_engine *engine, uint32_t node, uint32_t call);

/* Tell the cycle of tasks that wait for each other; always false. */
bool lumos_deadlock(const struct lumos_engine *engine, struct lumos_error *error);

#endif
