/* Times of variants of a job (variant.h), of several at once, without the engine.
 *
 * A run of the engine is read as rows: one instant comes no earlier than another and a lag. As long as calls that
 * touch the same stream or event, and kernels that wait for the same SMs, keep the run's order, a job with other lags
 * fulfils the same rows, and in the order in which the run found them each is read once. Followers (nodes.c), and
 * instants of other thread tasks from which nothing else follows, are no rows: the lags between their neighbours are
 * added up.
 *
 * Whether the order is kept is checked afterwards, and exactly: the engine takes of all events it knows of the
 * earliest. So it can only take Y before X, which comes first in the run, while it does not know of X; then something
 * from which X follows is still to come, and no earlier than Y. The latest of what an instant follows from is its
 * clock: with X's clock before Y the engine takes X first. Calls of one thread keep their order by themselves.
 *
 * In the run's order, whatever the times: nobody checks, all nodes' instants are rows' ends, and what waits for SMs
 * waits for the kernel for which it waited in the run.
 */
#ifndef LUMOS_SIM_RETIMING_H
#define LUMOS_SIM_RETIMING_H

#include "sim/engine.h"

enum { LUMOS_RETIMED = 4 }; /* how many at once, at most. Chosen: four int64_t fill a vector register of 256 bits */

struct lumos_row {
  uint32_t src, dst; /* numbers of instants */
  uint32_t occupant; /* with LUMOS_LINK_ROOM: who occupies the device: the number of its start */
  uint8_t of;        /* enum lumos_link_of */
  bool event;        /* the engine takes src in its turn */
};

struct lumos_row_part { /* something that can change is in the lag of a row */
  uint32_t row, of;     /* of: a task, or a collective */
};
LUMOS_VECTOR_TYPE(lumos_row_parts, struct lumos_row_part);

enum lumos_before { LUMOS_BEFORE_ON_THREAD, LUMOS_BEFORE_IN_TURN, LUMOS_BEFORE_BY_GAP };
struct lumos_row_pair { /* the first is to come before the other */
  uint32_t first, then; /* numbers of instants */
  enum lumos_before how;
};

struct lumos_row_followers { /* the lags and lengths of [first, end) are in the lag of a row */
  uint32_t row, first, end;
};

struct lumos_row_end { /* a task by which the end of a step is found */
  uint32_t task, instant;
};

struct lumos_retiming {
  const struct lumos_job *job;
  bool usable;       /* false: the engine has to be asked */
  bool ordered;      /* in the run's order, whatever the times */
  uint32_t instants; /* the first is that from which all time counts */
  int64_t latest;    /* how far from that the run's times are */
  LUMOS_VECTOR(struct lumos_row) rows;
  LUMOS_VECTOR(int64_t) lags;            /* of the rows, as in the run */
  LUMOS_VECTOR(struct lumos_room) rooms; /* of the rows of LUMOS_LINK_ROOM, one after the other */
  LUMOS_VECTOR(struct lumos_row_pair) pairs;
  LUMOS_VECTOR(struct lumos_row_end) ends;
  uint32_t *numbers; /* ordered: of nodes' instants, by node start and end */
  LUMOS_VECTOR(struct lumos_row_followers) followers;
  struct lumos_row_parts lengths[2]; /* of nodes on threads, on streams */
  struct lumos_row_parts thread_lags, handovers, launches, waits, transfers;
  unsigned width; /* how many at once now; 0: none */
  /* By row or instant, so many of each. */
  int64_t *new_lags, *times, *clocks; /* clocks may be NULL: nothing asks for them */
  int64_t changed[LUMOS_RETIMED];     /* all lags together, at most; beyond what adds up safely: LUMOS_ABSENT */
};

/* Run the engine in this order and read the run's rows; `ordered`: the same in the run's order, for variants that leave
 * hand-overs as they are. Either may be NULL. The engine rests afterwards. False: the run fails. */
bool lumos_retiming_make(struct lumos_retiming *retiming, struct lumos_retiming *ordered, struct lumos_engine *engine,
                         const struct lumos_engine_order *asked, struct lumos_run *runs,
                         struct lumos_error *error) LUMOS_MUST_CHECK;
/* What lumos_retiming_make does with the notes of a run. */
void lumos_retiming_read(struct lumos_retiming *retiming, const struct lumos_engine *engine,
                         const struct lumos_bounds *links, const struct lumos_order *order,
                         const struct lumos_run *runs, bool by_node);
void lumos_retiming_free(struct lumos_retiming *retiming);
/* To find times beside another, which has to outlive it: rows are shared. lumos_retiming_rest frees it. */
struct lumos_retiming lumos_retiming_beside(const struct lumos_retiming *retiming);

/* All as in the run, of `width` jobs, 1 or LUMOS_RETIMED, each 8 bytes a row and 16 an instant; then of one of them (w
 * < width) what a variant has in place of it. What a variant says of boundaries the engine has to be asked for. */
void lumos_retiming_begin(struct lumos_retiming *retiming, unsigned width);
void lumos_retiming_change(struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                           const struct lumos_variant *variant);
/* Give back what lumos_retiming_begin made, until it is called again. */
void lumos_retiming_rest(struct lumos_retiming *retiming);
/* The times of all; bit w of what it returns: they are those that the engine would find. In the run's order: they are
 * in range. */
unsigned lumos_retiming_run(struct lumos_retiming *retiming);
/* Of the runs by node those of all tasks that end steps, as of no length at the task's end. */
void lumos_retiming_ends(const struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                         struct lumos_run *runs);
/* In the run's order: the runs of all tasks, by task, under the variant that was changed to. */
void lumos_retiming_runs(const struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                         const struct lumos_variant *variant, struct lumos_run *runs);
/* The same of nodes, by node. */
void lumos_retiming_nodes(const struct lumos_retiming *retiming, const struct lumos_engine *engine, unsigned w,
                          struct lumos_run *runs);

#endif
