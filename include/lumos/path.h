/* Why a simulated step takes as long as it does: what held every task, and the critical path, walked
 * back from the step's end to its start.
 *
 * A constraint says that its task starts (or ends) no earlier than `bound`; the one with the latest bound binds. The
 * engine names constraints while it runs, so that those that only exist at run time (stream order, events, waits,
 * collectives) are the ones of this run, edits included.
 */
#ifndef LUMOS_PATH_H
#define LUMOS_PATH_H

#include <lumos/error.h>
#include <lumos/job.h>
#include <lumos/memory.h>
#include <stdlib.h>

/* What a constraint comes from. */
enum lumos_constraint_kind {
  LUMOS_HELD_BY_NOTHING = 0, /* a start: nothing in the graph bounds it, and its measured time was kept */
  LUMOS_HELD_BY_ITSELF,      /* an end: the task's own duration */
  LUMOS_HELD_BY_THREAD,      /* the task before it on its thread; the lag is CPU time without an event */
  LUMOS_HELD_BY_STREAM,      /* the task before it on its stream */
  LUMOS_HELD_BY_LAUNCH,      /* the call that launched it */
  LUMOS_HELD_BY_WAIT,        /* an end: the work that the call waits for */
  LUMOS_HELD_BY_COLLECTIVE,  /* an end: the start of the collective's last member, and the transfer */
  LUMOS_HELD_BY_EVENT,       /* work of another stream that the stream waits for */
  LUMOS_HELD_BY_HANDOVER,    /* another thread */
  LUMOS_HELD_BY_BOUNDARY,    /* an instant: what is outside of the recording */
  LUMOS_HELD_BY_RESOURCE,    /* a kernel of another stream that leaves no SMs free */
  LUMOS_HELD_BY_QUEUE,       /* an end: the start of a task that makes room on a full stream */
  LUMOS_HELD_BY_OTHER,       /* a dependency of another kind */
  LUMOS_CONSTRAINT_KINDS
};
const char *lumos_constraint_kind_name(enum lumos_constraint_kind); /* "stream order", "launch": plain words */

struct lumos_constraint {
  int64_t bound; /* job time: the earliest start or end of dst that it allows */
  uint32_t src;  /* task, or LUMOS_NONE */
  uint32_t dst;
  uint8_t kind;     /* enum lumos_constraint_kind */
  uint8_t from, to; /* enum lumos_end, of src and of dst */
  uint8_t evidence; /* enum lumos_evidence; of lane order and a task's own duration LUMOS_RECORDED */
};
LUMOS_VECTOR_TYPE(lumos_constraints, struct lumos_constraint);

/* The binding constraint without its bound. */
struct lumos_binding {
  uint32_t src;
  uint8_t kind, from, evidence;
};

struct lumos_bindings {
  struct lumos_binding start, end;
  struct lumos_binding
      behind; /* of a start that a boundary holds: what would have held it otherwise; src LUMOS_NONE: nothing */
};

/* The critical constraint of every task of a run. Of nine in ten it is the one before them on their thread, so only
 * those of the others are kept. Zero-initialized it is empty; lumos_held_free makes it so again, and NULL is allowed
 * there. */
struct lumos_held {
  uint64_t *kept;               /* a bit a task, the lowest first */
  uint32_t *before;             /* how many are kept before each 64 of them, and at the end: of all */
  struct lumos_bindings *items; /* of those, in the order of tasks */
};
static inline void lumos_held_free(struct lumos_held *held) {
  if (held != NULL) {
    free(held->kept);
    free(held->before);
    free(held->items);
    *held = (struct lumos_held){0};
  }
}

/* O(1). */
static inline struct lumos_bindings lumos_held_of(const struct lumos_held *held, uint32_t task) {
  uint64_t kept = held->kept[task / 64], bit = UINT64_C(1) << task % 64;
  if ((kept & bit) != 0) {
    return held->items[held->before[task / 64] + (uint32_t)__builtin_popcountll(kept & (bit - 1))];
  }
  return (struct lumos_bindings){.start = {task - 1, LUMOS_HELD_BY_THREAD, LUMOS_END, LUMOS_RECORDED},
                                 .end = {task, LUMOS_HELD_BY_ITSELF, LUMOS_START, LUMOS_RECORDED},
                                 .behind = {LUMOS_NONE, LUMOS_HELD_BY_NOTHING, LUMOS_END, LUMOS_UNEXPLAINED}};
}

/* Boundaries that bound, and waits for free SMs: job time from what else held the start (LUMOS_ABSENT: nothing) to
 * it. */
struct lumos_hold {
  uint32_t task;
  enum lumos_dep_kind kind; /* LUMOS_BOUNDARY or LUMOS_RESOURCE */
  int64_t from, to;
};
LUMOS_VECTOR_TYPE(lumos_holds, struct lumos_hold);

/* Note, for every task of a job at stage sim, the critical constraints of its start and its end, in `bindings`, an
 * empty one that the caller frees, where it is not NULL. When `watched` is not NULL (a byte a task, 0 or 1), every
 * constraint on the start or end of a watched task is appended to `all`, in order of dst, then bound, then src; a
 * task's own duration is not among them. Ties: the constraint named first binds. False when the run differs from
 * job->runs (a stream whose simulated times were edited), or fails. Where sim ran in this process whoever changed
 * job->runs since must have called lumos_job_forget_run; then it is, without `watched`, O(tasks) from what sim kept.
 * Else as lumos_engine_run. */
bool lumos_bindings_find(const struct lumos_job *job, struct lumos_held *bindings, const uint8_t *watched,
                         struct lumos_constraints *all, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Waits of work on streams that the recording does not account for. */
enum lumos_doubt_kind {
  LUMOS_DOUBT_UNEXPLAINED, /* a start more than 2 us later than every rule allows */
  LUMOS_DOUBT_RESOURCE,    /* for a kernel of another stream that leaves no SMs free, as concluded from times */
  LUMOS_DOUBT_BOUNDARY,    /* for what the recording does not hold */
  LUMOS_DOUBT_KINDS
};

/* [from, to) in simulated job time, before the start of `task`; from LUMOS_ABSENT: nothing else held it. */
struct lumos_doubt {
  uint32_t task;
  uint8_t kind;
  int64_t from, to;
};
LUMOS_VECTOR_TYPE(lumos_doubts, struct lumos_doubt);

/* The critical constraints of every task, as lumos_bindings_find without `watched`, and of the same run the uncertain
 * waits, by task. `bindings` may be NULL. */
bool lumos_doubts_find(const struct lumos_job *job, struct lumos_held *bindings, struct lumos_doubts *doubts,
                       struct lumos_error *error) LUMOS_MUST_CHECK;

enum lumos_path_what {
  /* the task runs (of a collective: its transfer) */
  LUMOS_PATH_RUN = 1,
  /* between what held the task and its start or end, as the constraint says: CPU time without an event, launch lag, a
   * wait's return */
  LUMOS_PATH_LAG,
  /* a residual: later than the binding constraint allows, as recorded */
  LUMOS_PATH_UNEXPLAINED,
  /* before the task, nothing in the recording says why; the path goes on with what would have held it otherwise */
  LUMOS_PATH_OUTSIDE
};
const char *lumos_path_what_name(enum lumos_path_what);

/* A piece of the critical path, [from, to) in job time, for the sake of `task`. */
struct lumos_path_part {
  int64_t from, to;
  uint32_t task;
  uint8_t what;     /* enum lumos_path_what */
  uint8_t kind;     /* RUN: LUMOS_HELD_BY_ITSELF or _COLLECTIVE; else the constraint that held the task */
  uint8_t evidence; /* of that constraint */
};
LUMOS_VECTOR_TYPE(lumos_path_parts, struct lumos_path_part);

/* What a path has of dependencies between two tasks: how many it passes, and what time passes between their tasks. */
struct lumos_crossing {
  int64_t count, time;
};
struct lumos_crossings { /* by enum lumos_constraint_kind, then enum lumos_evidence */
  struct lumos_crossing of[LUMOS_CONSTRAINT_KINDS][LUMOS_UNEXPLAINED + 1];
};

/* The critical path from the last end at or before `until` back to `from` (job time), through all ranks,
 * threads and streams. Parts stand from early to late, each begins where the one before ends, the first begins at
 * `from`, the last ends at `until`: together exactly until - from. Parts of no length are left out, but for runs of
 * tasks (a task without duration can stand between two constraints). `bindings` are those of lumos_bindings_find.
 * O(parts + tasks). */
void lumos_path_walk(const struct lumos_job *job, const struct lumos_held *bindings, int64_t from, int64_t until,
                     struct lumos_path_parts *parts);

/* The same from the end of `last`, which must not be after `until`. O(parts). What it crosses is added to `crossings`,
 * if not NULL: an unexplained delay has a count and a time of its own, as unexplained. */
void lumos_path_walk_from(const struct lumos_job *job, const struct lumos_held *bindings, uint32_t last, int64_t from,
                          int64_t until, struct lumos_path_parts *parts, struct lumos_crossings *crossings);

/* How much later a task could start, and end, without a later end of any of the job's steps; LUMOS_ABSENT: no step's
 * end follows from it. */
struct lumos_slack {
  int64_t start, end;
};

/* Fill slacks[0..tasks.count): over all constraints of the simulated schedule, the binding and the others. What a path
 * of lumos_path_walk_from passes, of a task's start and end, has none, 0, from its last part that is outside on. What
 * follows of the schedule is taken as it is: who is launched, waits and meets in which order. While a later end changes
 * none of that it is exact: with d more than its slack some step ends d later, and none ends later than that. Runs the
 * engine once more, as lumos_bindings_find does, whose bindings it gives, too; 24 bytes a task for the engine, and some
 * 16 for every constraint. */
bool lumos_slack_find(const struct lumos_job *job, struct lumos_held *bindings, struct lumos_slack *slacks,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
