/* The simulator: discrete events over lanes.
 *
 * It follows Algorithm 1 of the Lumos paper (Liang et al., MLSys 2025, arXiv 2504.09307): of what is ready the earliest
 * runs next on its lane, and what waits at run time is settled when what it waits for is. What the paper leaves open is
 * settled so: ties by measured start, then place (queue.h); all ranks and steps are one run; a call's wait is not
 * counted twice; a deadlock is reported as a cycle (deadlock.c).
 *
 * Of the tasks whose start is known the earliest starts next. Fixed rules bound starts before the run: thread order
 * with its lags, hand-overs, launches, boundaries. Run-time rules are found anew as the simulated calls happen, because
 * an edit may change what they find: the order on a stream, what an event recorded, what a wait waits for, when a
 * collective's last member comes. All ranks are one run.
 */
#include "sim/engine.h"

#include "graph/graph.h"
#include "graph/typical.h"
#include "sim/clock.h"
#include "sim/notes.h"
#include "sim/room.h"
#include <string.h>

static int64_t later(int64_t left, int64_t right) { return left > right ? left : right; }

static const struct lumos_node *node_at(const struct lumos_engine *engine, uint32_t n) { return &engine->facts[n]; }

static const struct lumos_task *task_at(const struct lumos_engine *engine, uint32_t n) {
  return &engine->job->tasks.items[engine->facts[n].task];
}

/* Of a call of which its traits say that it has one: details lie far apart, so no others are looked at. */
static const struct lumos_detail *detail_at(const struct lumos_engine *engine, uint32_t n) {
  return &engine->job->details.items[task_at(engine, n)->detail];
}

static struct lumos_task_state *state_of(const struct lumos_engine *engine, uint32_t n) { return &engine->states[n]; }

static struct lumos_bindings *binding_of(const struct lumos_engine *engine, uint32_t n) { return &engine->bound[n]; }

/* As notes tell it, by task. */
static uint32_t instant_of(const struct lumos_engine *engine, uint32_t n, enum lumos_end end) {
  return lumos_instant_of(engine->facts[n].task, end);
}

static bool has_ended(const struct lumos_engine *engine, uint32_t n) {
  return state_of(engine, n)->progress == LUMOS_ENDED;
}

/* Has it any of these traits? */
static bool is(const struct lumos_engine *engine, uint32_t n, unsigned traits) {
  return (state_of(engine, n)->traits & traits) != 0;
}

/* Nothing outside its thread follows from it, and it waits for nothing else. */
static bool is_alone(const struct lumos_task_state *state) {
  return state->traits == 0 && state->special == LUMOS_NONE && state->holds == LUMOS_NONE;
}

static const struct lumos_special *special_of(const struct lumos_engine *engine, uint32_t n) {
  uint32_t special = state_of(engine, n)->special;
  return special == LUMOS_NONE ? NULL : &engine->specials.items[special];
}

static enum lumos_turn turn_of(const struct lumos_engine *engine, uint32_t n) {
  if (is(engine, n, LUMOS_COPIES)) {
    return LUMOS_TURN_COPY;
  }
  return is(engine, n, LUMOS_WAITS) ? LUMOS_TURN_LOOK : LUMOS_TURN_START;
}

/* Is there such a time? A task that would start or take effect at another ends the run. */
static bool in_range(struct lumos_engine *engine, int64_t time, uint32_t n) {
  bool in_range = time < LUMOS_TIME_LIMIT && time > -LUMOS_TIME_LIMIT;
  engine->beyond = in_range ? engine->beyond : n;
  return in_range;
}

static void push_event(struct lumos_engine *engine, int64_t time, uint32_t n, enum lumos_turn turn) {
  if (in_range(engine, time, n)) {
    lumos_queue_push(&engine->queue, (struct lumos_event){time, n, (uint8_t)turn, 0});
  }
}

/* A task that nothing holds: it keeps its measured start, or comes when the recording begins. */
static int64_t free_start(const struct lumos_engine *engine, uint32_t n) {
  int64_t measured = lumos_measured_start(engine->job, node_at(engine, n)->task);
  const struct lumos_rank *rank = &engine->job->ranks.items[lumos_rank_of(engine->job, task_at(engine, n))];
  return measured != LUMOS_ABSENT ? measured : lumos_host_job_time(rank, rank->window_start);
}

/* --- What holds a task, for those who ask why --- */

static int64_t wait_residual(const struct lumos_engine *engine, uint32_t n) {
  const struct lumos_task *task = task_at(engine, n);
  const struct lumos_wait *wait = &engine->job->details.items[task->detail].wait;
  int64_t residual = wait->residual;
  if (engine->variant.residual != NULL) {
    residual = engine->variant.residual(engine->variant.context, node_at(engine, n)->task, residual);
  }
  if (engine->variant.typical_residuals) {
    uint32_t group = lumos_typical_group(engine->typical, task->name, wait->on, 0);
    (void)lumos_typical_value(engine->typical, group, 1, &residual);
  }
  return residual;
}

/* What a member of a collective takes beyond the end that all have; without residuals what those of its name on its
 * stream typically take: half of them end later than the transfer's shortest time says. */
static int64_t end_residual(const struct lumos_engine *engine, uint32_t n) {
  int64_t residual = lumos_timing_of(engine->job, node_at(engine, n)->task)->end_residual;
  if (engine->variant.typical_residuals) {
    const struct lumos_task *task = task_at(engine, n);
    residual = LUMOS_ABSENT;
    (void)lumos_typical_value(engine->typical, lumos_typical_end_group(engine->typical, task), LUMOS_ENOUGH_SAMPLES,
                              &residual);
  }
  return residual == LUMOS_ABSENT ? 0 : residual;
}

/* What the task's own residual adds to every bound on this end of it. */
static int64_t carried_residual(const struct lumos_engine *engine, uint32_t n, enum lumos_end to) {
  if (to == LUMOS_END) {
    return is(engine, n, LUMOS_WAITS)  ? wait_residual(engine, n)
           : is(engine, n, LUMOS_TIED) ? end_residual(engine, n)
                                       : 0;
  }
  const struct lumos_special *special = special_of(engine, n);
  return (engine->variant.typical_residuals ? 0 : node_at(engine, n)->residual) +
         (special == NULL ? 0 : special->delay);
}

static enum lumos_link_of link_kind(uint8_t kind) {
  switch ((enum lumos_constraint_kind)kind) {
    case LUMOS_HELD_BY_THREAD:
      return LUMOS_LINK_LAG;
    case LUMOS_HELD_BY_HANDOVER:
      return LUMOS_LINK_HANDOVER;
    case LUMOS_HELD_BY_LAUNCH:
      return LUMOS_LINK_LAUNCH;
    default:
      return LUMOS_LINK_FIXED;
  }
}

/* The task that binds: on a thread the one before, be it a follower. */
static uint32_t task_before(const struct lumos_engine *engine, uint32_t n, struct lumos_binding by) {
  return by.src == LUMOS_NONE              ? LUMOS_NONE
         : by.kind == LUMOS_HELD_BY_THREAD ? node_at(engine, n)->task - 1
                                           : node_at(engine, by.src)->task;
}

/* The members' starts bound the instant at which all have come, and that instant their ends: linear where each with
 * each is not. */
static void link_bound(struct lumos_engine *engine, uint32_t n, enum lumos_end to, int64_t bound,
                       struct lumos_binding by) {
  if (by.src != LUMOS_NONE && by.kind != LUMOS_HELD_BY_COLLECTIVE) {
    bool late = by.kind == LUMOS_HELD_BY_RESOURCE; /* found when the residual has passed */
    uint32_t src = engine->notes.order == NULL ? task_before(engine, n, by) : node_at(engine, by.src)->task;
    if (!late || engine->notes.order == NULL) {
      lumos_note_link(engine, lumos_instant_of(src, (enum lumos_end)by.from), instant_of(engine, n, to),
                      bound + (late ? 0 : carried_residual(engine, n, to)), link_kind(by.kind));
    }
  }
}

static void note(struct lumos_engine *engine, uint32_t n, enum lumos_end to, int64_t bound, struct lumos_binding by) {
  const struct lumos_engine_notes *notes = &engine->notes;
  struct lumos_bindings *bindings = binding_of(engine, n);
  struct lumos_binding told = by;
  uint32_t t = node_at(engine, n)->task;
  told.src = task_before(engine, n, by);
  if (to == LUMOS_START && bound > state_of(engine, n)->start) {
    bindings->start = told;
  } else if (to == LUMOS_END && bound > state_of(engine, n)->end) {
    bindings->end = told;
  }
  if (notes->watched != NULL && notes->watched[t]) {
    struct lumos_constraint constraint = {bound, told.src, t, by.kind, by.from, (uint8_t)to, by.evidence};
    lumos_vector_push(notes->constraints, constraint);
  }
  if (notes->links != NULL) {
    link_bound(engine, n, to, bound, by);
  }
}

/* `by`: of which node; notes tell it by task. */
static void bound_start(struct lumos_engine *engine, uint32_t n, int64_t bound, struct lumos_binding by) {
  if (engine->explain) {
    note(engine, n, LUMOS_START, bound, by);
  }
  state_of(engine, n)->start = later(state_of(engine, n)->start, bound);
}

static void bound_end(struct lumos_engine *engine, uint32_t n, int64_t bound, struct lumos_binding by) {
  if (engine->explain) {
    note(engine, n, LUMOS_END, bound, by);
  }
  state_of(engine, n)->end = later(state_of(engine, n)->end, bound);
}

/* Order on a lane. */
static struct lumos_binding by_order(uint32_t previous, enum lumos_constraint_kind kind) {
  return (struct lumos_binding){previous, (uint8_t)kind, LUMOS_END, LUMOS_RECORDED};
}

/* --- Starts that are known --- */

enum { TASKS_BETWEEN_LOOKS = 1 << 16 }; /* tasks. Chosen: seldom enough to cost nothing */

static void tell(const struct lumos_engine *engine) {
  if (engine->started % TASKS_BETWEEN_LOOKS == 0 && !engine->shares) {
    uint64_t tasks = engine->job->tasks.count; /* followers run with their nodes */
    uint64_t done = engine->node_count == 0 ? tasks : engine->started * tasks / engine->node_count;
    lumos_watch(&engine->job->watcher, "simulation", LUMOS_WATCH_TASKS, done, tasks);
  }
}

static void start_now(struct lumos_engine *engine, uint32_t n) {
  state_of(engine, n)->progress = LUMOS_STARTED;
  engine->started++;
  tell(engine);
}

static void start_alone(struct lumos_engine *engine, uint32_t n);

/* Until when what is outside of the recording holds a start: an instant, or so long behind all else that holds it. */
static int64_t outside_until(const struct lumos_engine *engine, uint32_t n, const struct lumos_special *special) {
  int64_t start = state_of(engine, n)->start;
  return special == NULL                               ? LUMOS_ABSENT
         : special->delay > 0 && start != LUMOS_ABSENT ? start + special->delay
                                                       : special->boundary;
}

static void hold_by_boundary(struct lumos_engine *engine, uint32_t n, int64_t until, uint8_t evidence) {
  if (engine->notes.holds != NULL && is(engine, n, LUMOS_DEVICE)) {
    struct lumos_hold hold = {node_at(engine, n)->task, LUMOS_BOUNDARY, state_of(engine, n)->start, until};
    lumos_vector_push(engine->notes.holds, hold);
  }
  bound_start(engine, n, until, (struct lumos_binding){LUMOS_NONE, LUMOS_HELD_BY_BOUNDARY, LUMOS_END, evidence});
}

/* With an order: what holds it, or would if all else came earlier, is nothing in the job. */
static void link_root(struct lumos_engine *engine, uint32_t n, const struct lumos_special *special) {
  bool nothing = state_of(engine, n)->start == LUMOS_ABSENT;
  if (special != NULL && special->boundary != LUMOS_ABSENT && (nothing || special->delay == 0)) {
    lumos_note_order(engine, LUMOS_NONE, instant_of(engine, n, LUMOS_START),
                     special->boundary + carried_residual(engine, n, LUMOS_START) - special->delay, LUMOS_LINK_ROOT);
  } else if (nothing && engine->notes.order != NULL) {
    lumos_note_order(engine, LUMOS_NONE, instant_of(engine, n, LUMOS_START), free_start(engine, n), LUMOS_LINK_ROOT);
  }
}

/* All that holds the start is known. */
static void become_ready(struct lumos_engine *engine, uint32_t n) {
  struct lumos_task_state *state = state_of(engine, n);
  const struct lumos_special *special = special_of(engine, n);
  struct lumos_binding otherwise = {.src = LUMOS_NONE};
  link_root(engine, n, special);
  int64_t until = outside_until(engine, n, special);
  if (until > state->start) {
    otherwise = engine->explain ? binding_of(engine, n)->start : otherwise;
    hold_by_boundary(engine, n, until, special->evidence);
  }
  if (state->start == LUMOS_ABSENT) {
    state->start = free_start(engine, n);
  } else {
    bool carried = is(engine, n, LUMOS_DELAYED) && !engine->variant.typical_residuals;
    state->start += carried ? node_at(engine, n)->residual : 0;
    if (engine->explain && state->floor > state->start) {
      binding_of(engine, n)->start = binding_of(engine, n)->behind;
    }
    state->start = later(state->start, state->floor);
  }
  if (engine->explain) {
    binding_of(engine, n)->behind = otherwise;
  }
  state->progress = LUMOS_READY;
  if (is_alone(state) && !engine->explain) { /* of equal bounds the first explains, in the order of time */
    start_alone(engine, n);
  } else {
    push_event(engine, state->start, n, turn_of(engine, n));
  }
}

/* A negative residual, or a launch lag that counts back from the call's end, says that a rule was too strict by so much
 * in the recording. Whichever rule binds in this run, a task stays behind the previous one on its stream and does not
 * start before the call that launches it. */
static void raise_floor(struct lumos_engine *engine, uint32_t n, int64_t floor, struct lumos_binding by) {
  if (engine->explain) {
    uint32_t src = node_at(engine, by.src)->task;
    lumos_note_link(engine, lumos_instant_of(src, (enum lumos_end)by.from), instant_of(engine, n, LUMOS_START), floor,
                    LUMOS_LINK_FIXED);
    by.src = src;
    binding_of(engine, n)->behind = floor > state_of(engine, n)->floor ? by : binding_of(engine, n)->behind;
  }
  state_of(engine, n)->floor = later(state_of(engine, n)->floor, floor);
}

static void release_start(struct lumos_engine *engine, uint32_t n) {
  if (--state_of(engine, n)->starts_after == 0) {
    become_ready(engine, n);
  }
}

/* --- Ends --- */

static int64_t own_length(const struct lumos_engine *engine, uint32_t n) {
  return lumos_node_length(engine, n, lumos_node_times(engine, n).dur);
}

/* The end of a started task once all that holds it is known. */
static int64_t end_of(const struct lumos_engine *engine, uint32_t n) {
  const struct lumos_task_state *state = state_of(engine, n);
  if (is(engine, n, LUMOS_TIED)) {
    return later(state->start, state->end + end_residual(engine, n));
  }
  if (is(engine, n, LUMOS_WAITS)) {
    return later(state->start, state->end) + wait_residual(engine, n);
  }
  return later(state->start + own_length(engine, n), state->end);
}

/* A task ends behind its own start. */
static void link_own(struct lumos_engine *engine, uint32_t n) {
  if (engine->notes.links != NULL) {
    int64_t least = is(engine, n, LUMOS_TIED)    ? 0
                    : is(engine, n, LUMOS_WAITS) ? wait_residual(engine, n)
                                                 : own_length(engine, n);
    bool length = !is(engine, n, LUMOS_TIED | LUMOS_WAITS);
    lumos_note_link(engine, instant_of(engine, n, LUMOS_START), instant_of(engine, n, LUMOS_END),
                    state_of(engine, n)->start + least, length ? LUMOS_LINK_LENGTH : LUMOS_LINK_FIXED);
  }
}

/* Does its end follow from `held`, the latest bound on it, rather than from its own start? */
static bool ends_when_held(const struct lumos_engine *engine, uint32_t n, int64_t held) {
  const struct lumos_task_state *state = state_of(engine, n);
  if (held == LUMOS_ABSENT) {
    return false;
  }
  if (is(engine, n, LUMOS_TIED)) {
    return state->end > state->start;
  }
  return is(engine, n, LUMOS_WAITS) ? held > state->start : held == state->end;
}

static void end_task(struct lumos_engine *engine, uint32_t n) {
  struct lumos_task_state *state = state_of(engine, n);
  int64_t held = state->end;
  link_own(engine, n);
  state->end = end_of(engine, n);
  if (engine->explain && !ends_when_held(engine, n, held)) {
    binding_of(engine, n)->end =
        (struct lumos_binding){node_at(engine, n)->task, LUMOS_HELD_BY_ITSELF, LUMOS_START, LUMOS_RECORDED};
  }
  state->progress = LUMOS_ENDED;
  if (state->end >= LUMOS_TIME_LIMIT || state->end - state->start >= LUMOS_TIME_LIMIT) {
    engine->beyond = n;
  }

  engine->ended++;
  lumos_vector_push(&engine->ending, n);
}

/* What comes to pass on other lanes until then cannot change what a task alone does, so it needs no turn in the
 * queue. */
static void start_alone(struct lumos_engine *engine, uint32_t n) {
  if (in_range(engine, state_of(engine, n)->start, n)) {
    start_now(engine, n);
    if (state_of(engine, n)->ends_after == 0) {
      end_task(engine, n);
    }
  }
}

static void release_end(struct lumos_engine *engine, uint32_t n) {
  if (--state_of(engine, n)->ends_after == 0 && state_of(engine, n)->progress == LUMOS_STARTED) {
    end_task(engine, n);
  }
}

/* --- Passing bounds on --- */

static void follow_edges(struct lumos_engine *engine, uint32_t n, enum lumos_end from, int64_t time) {
  for (uint32_t i = state_of(engine, n)->holds; i != LUMOS_NONE; i = engine->edges.items[i].next) {
    const struct lumos_edge edge = engine->edges.items[i];
    if (edge.from != from) {
      continue;
    }
    struct lumos_binding by = {n, edge.kind, edge.from, edge.evidence};
    if (edge.to == LUMOS_END) {
      bound_end(engine, edge.dst, time + edge.lag, by);
      release_end(engine, edge.dst);
    } else {
      bound_start(engine, edge.dst, time + edge.lag, by);
      release_start(engine, edge.dst);
    }
  }
}

/* Stream order: a measured overlap is a negative lag, but nothing starts before what it follows. */
static void follow_on_stream(struct lumos_engine *engine, uint32_t previous, uint32_t n) {
  const struct lumos_task_state *before = state_of(engine, previous);
  int64_t gap = node_at(engine, n)->gap, lag = node_at(engine, n)->own.lag;
  int64_t left = before->end + lag;
  int64_t vacant = later(left, before->start);
  struct lumos_binding by = by_order(previous, LUMOS_HELD_BY_STREAM);
  struct lumos_binding other = by;
  by.from = left < before->start ? LUMOS_START : LUMOS_END;
  other.from = left < before->start ? LUMOS_END : LUMOS_START;
  bound_start(engine, n, vacant + gap, by);
  raise_floor(engine, n, vacant, by);
  if (engine->notes.links != NULL && lag < 0) { /* what does not bind now may when it comes later */
    raise_floor(engine, n, left < before->start ? left : before->start, other);
    link_bound(engine, n, LUMOS_START, gap + (left < before->start ? left : before->start), other);
  }
}

/* Is any of [first, end) watched? */
static bool watches(const struct lumos_engine *engine, uint32_t first, uint32_t end) {
  return engine->notes.watched != NULL && memchr(engine->notes.watched + first, 1, end - first) != NULL;
}

/* What followers would have noted, had each had its turn. A retiming reads what they take off the job (retiming.h). */
static void note_followers(struct lumos_engine *engine, uint32_t before, uint32_t next) {
  int64_t end = state_of(engine, before)->end;
  for (uint32_t t = node_at(engine, before)->task + 1; t < node_at(engine, next)->task; t++) {
    struct lumos_times times = lumos_times_of(engine, t);
    int64_t start = end + lumos_engine_lag(engine, t, times.lag);
    if (engine->notes.watched != NULL && engine->notes.watched[t]) {
      struct lumos_constraint constraint = {start,       t - 1,         t, LUMOS_HELD_BY_THREAD, LUMOS_END,
                                            LUMOS_START, LUMOS_RECORDED};
      lumos_vector_push(engine->notes.constraints, constraint);
    }
    lumos_note_link(engine, lumos_instant_of(t - 1, LUMOS_END), lumos_instant_of(t, LUMOS_START), start,
                    LUMOS_LINK_LAG);
    end = start + lumos_engine_length(engine, t, times.dur);
    lumos_note_link(engine, lumos_instant_of(t, LUMOS_START), lumos_instant_of(t, LUMOS_END), end, LUMOS_LINK_LENGTH);
  }
}

/* Many threads and streams take turns, so what one needs next is seldom in a cache: it is asked for while others have
 * theirs. */
static inline void fetch(const struct lumos_engine *engine, uint32_t n) {
  __builtin_prefetch(&engine->facts[n]);
  __builtin_prefetch(&engine->states[n]);
}

/* Of a node to which its thread has come: what it launches, and the next one there. */
static inline void fetch_ahead(const struct lumos_engine *engine, uint32_t n) {
  if (is(engine, n, LUMOS_LAUNCHES)) {
    fetch(engine, engine->launched[node_at(engine, n)->launched]);
  }
  fetch(engine, n + 1);
  if (engine->explain && lumos_is_followed(engine, n)) { /* the last follower */
    __builtin_prefetch(&engine->job->tasks.items[node_at(engine, n + 1)->task - 1]);
  }
}

/* The thread comes to its next node, behind the followers before it. */
static void come_to(struct lumos_engine *engine, uint32_t next) {
  uint32_t before = next - 1;
  fetch_ahead(engine, next);
  if (engine->explain && (watches(engine, node_at(engine, before)->task + 1, node_at(engine, next)->task) ||
                          (engine->notes.links != NULL && engine->notes.order == NULL))) {
    note_followers(engine, before, next);
  }
  int64_t end = state_of(engine, before)->end + engine->ahead[next];
  int64_t lag = lumos_node_lag(engine, next, lumos_node_times(engine, next).lag);
  bound_start(engine, next, end + lag, by_order(before, LUMOS_HELD_BY_THREAD));
  release_start(engine, next);
}

/* Something else may hold the next node just as long. What explains it is then what came first, and for that the last
 * follower takes its turn in the queue. */
static void follow_on_thread(struct lumos_engine *engine, uint32_t n) {
  if (!lumos_is_followed(engine, n)) {
    return;
  }
  uint32_t last = node_at(engine, n + 1)->task - 1;
  if (engine->explain && node_at(engine, n)->task < last) {
    int64_t end = state_of(engine, n)->end + engine->ahead[n + 1];
    int64_t start = end - lumos_engine_length(engine, last, lumos_times_of(engine, last).dur);
    if (in_range(engine, start, n + 1)) {
      lumos_queue_push(&engine->queue, (struct lumos_event){start, n + 1, LUMOS_TURN_START, 1});
    }
  } else {
    come_to(engine, n + 1);
  }
}

/* Everything that hangs on the end of a task. */
static void draw_consequences(struct lumos_engine *engine, uint32_t n) {
  int64_t end = state_of(engine, n)->end;
  if (is(engine, n, LUMOS_DEVICE)) {
    uint32_t next = state_of(engine, n)->next;
    if (next != LUMOS_NONE) {
      follow_on_stream(engine, n, next);
      release_start(engine, next);
    }
  } else {
    if (is(engine, n, LUMOS_LAUNCHES | LUMOS_RECORDS | LUMOS_AWAITS) && !is(engine, n, LUMOS_COPIES)) {
      push_event(engine, end, n, is(engine, n, LUMOS_AWAITS) ? LUMOS_TURN_WAIT : LUMOS_TURN_EFFECT);
    }
    follow_on_thread(engine, n);
  }
  follow_edges(engine, n, LUMOS_END, end);
}

/* --- Effects of calls: what happens on streams --- */

/* n starts (or ends) no earlier than `edge.lag` after `src` has ended, be it over or still to come. */
static void bound_by_end(struct lumos_engine *engine, uint32_t n, uint32_t src, struct lumos_edge edge) {
  edge.dst = n;
  edge.from = LUMOS_END;
  edge.evidence = edge.evidence == 0 ? LUMOS_RECORDED : edge.evidence;
  if (!has_ended(engine, src)) {
    lumos_engine_hold(engine, src, edge);
    return;
  }
  struct lumos_binding by = {src, edge.kind, LUMOS_END, edge.evidence};
  if (edge.to == LUMOS_START) {
    bound_start(engine, n, state_of(engine, src)->end + edge.lag, by);
  } else {
    bound_end(engine, n, state_of(engine, src)->end + edge.lag, by);
  }
}

/* The call, or of a cut one the first segment. */
static uint32_t begin_of(const struct lumos_engine *engine, uint32_t call) {
  uint32_t first = is(engine, call, LUMOS_CUT) ? engine->node_of[detail_at(engine, call)->first_segment] : call;
  uint32_t begin = has_ended(engine, first) ? first : call;
  lumos_note_unclear(engine,
                     begin != first || first > call || node_at(engine, first)->lane != node_at(engine, call)->lane);
  return begin;
}

static void bound_by_launch(struct lumos_engine *engine, uint32_t n) {
  const struct lumos_node *node = node_at(engine, n);
  uint32_t call = node->call, begin = begin_of(engine, call);
  int64_t lag = node->launch_lag, lead = begin == call ? node->lead : lumos_measured_lead(engine, n, begin);
  lag = engine->variant.launch == NULL ? lag : engine->variant.launch(engine->variant.context, node->task, lag);
  struct lumos_binding by = {begin, LUMOS_HELD_BY_LAUNCH, LUMOS_START, LUMOS_RECORDED};
  raise_floor(engine, n, state_of(engine, begin)->start + lead, by);
  if (is(engine, n, LUMOS_FROM_START)) {
    bound_start(engine, n, state_of(engine, begin)->start + lag, by);
  } else {
    bound_by_end(engine, n, call, (struct lumos_edge){.lag = lag, .to = LUMOS_START, .kind = LUMOS_HELD_BY_LAUNCH});
  }
}

static const struct lumos_event_edge *no_more_edges(const struct lumos_engine *engine) {
  return engine->event_edges.count == 0 ? NULL : engine->event_edges.items + engine->event_edges.count;
}

/* What the stream waits for holds the first task behind the wait; the rest follows by stream order. */
static void bound_by_events(struct lumos_engine *engine, struct lumos_lane_state *lane, uint32_t n) {
  for (uint32_t i = lane->waits; i != LUMOS_NONE; i = engine->stream_waits.items[i].next) {
    uint32_t awaited = engine->stream_waits.items[i].awaited;
    uint32_t from = node_at(engine, awaited)->lane;
    const struct lumos_event_edge *stored = lumos_engine_event_edge(engine, n, from);
    struct lumos_edge edge = {.to = LUMOS_START, .kind = LUMOS_HELD_BY_EVENT, .evidence = LUMOS_ORDERED};
    if (stored != no_more_edges(engine) && stored->dst == n && stored->lane == from) {
      edge.lag = stored->lag;
      edge.evidence = stored->evidence;
    }
    bound_by_end(engine, n, awaited, edge);
  }
  lane->waits = LUMOS_NONE;
}

/* An inferred edge binds as the wait behind it would: to what is on its stream by now. */
static void bound_by_inferred_events(struct lumos_engine *engine, uint32_t n) {
  const struct lumos_event_edge *stored = lumos_engine_event_edge(engine, n, 0);
  for (; stored != no_more_edges(engine) && stored->dst == n; stored++) {
    lumos_note_touch(engine, engine->acting, stored->lane);
    if (stored->evidence != LUMOS_RECORDED && state_of(engine, stored->src)->enqueued) {
      bound_by_end(
          engine, n, stored->src,
          (struct lumos_edge){
              .lag = stored->lag, .to = LUMOS_START, .kind = LUMOS_HELD_BY_EVENT, .evidence = stored->evidence});
    }
  }
}

static void enqueue_one(struct lumos_engine *engine, uint32_t n) {
  struct lumos_lane_state *lane = &engine->lanes[node_at(engine, n)->lane];
  uint32_t previous = lane->last;
  lane->last = n;
  state_of(engine, n)->previous = previous;
  state_of(engine, n)->turn = previous == LUMOS_NONE ? 0 : state_of(engine, previous)->turn + 1;
  if (previous != LUMOS_NONE && has_ended(engine, previous)) {
    follow_on_stream(engine, previous, n);
  } else if (previous != LUMOS_NONE) {
    state_of(engine, previous)->next = n;
    state_of(engine, n)->starts_after++;
  }
  state_of(engine, n)->enqueued = true;
  if (lane->keeps_order) {
    lumos_vector_push(&lane->order, n);
  }
  bound_by_events(engine, lane, n);
  if (is(engine, n, LUMOS_IS_INFERRED)) {
    bound_by_inferred_events(engine, n);
  }
  if (node_at(engine, n)->call != LUMOS_NONE) {
    bound_by_launch(engine, n);
  }
  if (engine->acting != LUMOS_NONE) {
    lumos_note_order(engine, engine->acting, instant_of(engine, n, LUMOS_START), LUMOS_ABSENT, LUMOS_LINK_CAUSE);
  }
  release_start(engine, n);
}

/* Put a task on its stream, and behind it those whose launch the recording does not show: they keep their place. */
static void enqueue(struct lumos_engine *engine, uint32_t n) {
  for (enqueue_one(engine, n); is(engine, n, LUMOS_BRINGS); n++) {
    enqueue_one(engine, n + 1);
  }
}

/* What is put on its streams at once is there before any of it looks for what it waits for. */
static void announce(struct lumos_engine *engine, uint32_t n) {
  for (state_of(engine, n)->enqueued = true; is(engine, n, LUMOS_BRINGS); n++) {
    state_of(engine, n + 1)->enqueued = true;
  }
}

/* When a call takes effect: at its end, a blocking copy at its start. */
static int64_t effect_of(const struct lumos_engine *engine, uint32_t call) {
  return is(engine, call, LUMOS_COPIES) ? state_of(engine, call)->start : state_of(engine, call)->end;
}

/* The last task that is on a stream at an instant. The queue can be ahead of the instant, for a kernel may start before
 * the call that launches it ends, and so be late news to those who wait for it. */
static uint32_t last_enqueued(const struct lumos_engine *engine, uint32_t lane, int64_t instant) {
  uint32_t n = lane == LUMOS_NONE ? LUMOS_NONE : engine->lanes[lane].last;
  while (n != LUMOS_NONE && node_at(engine, n)->call != LUMOS_NONE &&
         effect_of(engine, node_at(engine, n)->call) > instant) {
    lumos_note_unclear(engine, true);
    n = state_of(engine, n)->previous;
  }
  return n;
}

/* A task that no call launches comes to its stream when one has ended, behind all that it does itself. */
static bool is_free(const struct lumos_engine *engine, uint32_t n) { return is(engine, n, LUMOS_IS_FREE); }

/* Put what a call launches on its streams, or what is free from then on. */
static void enqueue_all(struct lumos_engine *engine, uint32_t call, bool free) {
  bool mixed = is(engine, call, LUMOS_FREES);
  uint32_t first = node_at(engine, call)->launched, end = node_at(engine, call + 1)->launched;
  for (uint32_t i = first; i < end; i++) {
    if (!mixed || is_free(engine, engine->launched[i]) == free) {
      announce(engine, engine->launched[i]);
    }
  }
  for (uint32_t i = first; i < end; i++) {
    if (!mixed || is_free(engine, engine->launched[i]) == free) {
      lumos_note_touch(engine, engine->acting, node_at(engine, engine->launched[i])->lane);
      enqueue(engine, engine->launched[i]);
    }
  }
}

static void record_event(struct lumos_engine *engine, uint32_t call, uint32_t slot) {
  uint32_t lane = engine->events.lane[task_at(engine, call)->detail];
  uint32_t last = last_enqueued(engine, lane, effect_of(engine, call));
  bool waits = lane != LUMOS_NONE && engine->lanes[lane].last == last;
  engine->events.latest[slot] = last;
  engine->events.waits[slot] = waits ? engine->lanes[lane].waits : LUMOS_NONE;
}

/* A list without what it has of one stream. The former may be an event's, and stays. */
static uint32_t waits_without(struct lumos_engine *engine, uint32_t waits, uint32_t stream) {
  uint32_t kept = LUMOS_NONE;
  for (uint32_t i = waits; i != LUMOS_NONE; i = engine->stream_waits.items[i].next) {
    uint32_t awaited = engine->stream_waits.items[i].awaited;
    if (node_at(engine, awaited)->lane != stream) {
      struct lumos_stream_wait wait = {awaited, kept};
      kept = (uint32_t)engine->stream_waits.count;
      lumos_vector_push(&engine->stream_waits, wait);
    }
  }
  return kept;
}

/* Of a stream what comes last says all. */
static void await_on_stream(struct lumos_engine *engine, uint32_t stream, uint32_t awaited) {
  struct lumos_lane_state *lane = &engine->lanes[stream];
  uint32_t of = node_at(engine, awaited)->lane, i = lane->waits;
  while (i != LUMOS_NONE && node_at(engine, engine->stream_waits.items[i].awaited)->lane != of) {
    i = engine->stream_waits.items[i].next;
  }
  if (i != LUMOS_NONE &&
      state_of(engine, engine->stream_waits.items[i].awaited)->turn >= state_of(engine, awaited)->turn) {
    return;
  }
  struct lumos_stream_wait wait = {awaited, i == LUMOS_NONE ? lane->waits : waits_without(engine, lane->waits, of)};
  lane->waits = (uint32_t)engine->stream_waits.count;
  lumos_vector_push(&engine->stream_waits, wait);
}

static void await_event(struct lumos_engine *engine, uint32_t stream, uint32_t slot) {
  if (engine->events.latest[slot] != LUMOS_NONE) {
    await_on_stream(engine, stream, engine->events.latest[slot]);
  }
  for (uint32_t i = engine->events.waits[slot]; i != LUMOS_NONE; i = engine->stream_waits.items[i].next) {
    await_on_stream(engine, stream, engine->stream_waits.items[i].awaited);
  }
}

/* An event is recorded, or a stream waits for one. */
static void speak_of_event(struct lumos_engine *engine, uint32_t call) {
  uint32_t d = task_at(engine, call)->detail, slot = engine->events.slot[d];
  if (slot == LUMOS_NONE) {
    return;
  }
  uint32_t waiting = is(engine, call, LUMOS_AWAITS) ? detail_at(engine, call)->event_lane : LUMOS_NONE;
  lumos_note_event(engine, engine->acting, slot);
  lumos_note_touch(engine, engine->acting, is(engine, call, LUMOS_RECORDS) ? engine->events.lane[d] : waiting);
  if (is(engine, call, LUMOS_RECORDS)) {
    record_event(engine, call, slot);
  } else if (waiting != LUMOS_NONE && engine->rules->between_streams) {
    await_event(engine, waiting, slot);
  }
}

static void take_effect(struct lumos_engine *engine, uint32_t call) {
  engine->acting = instant_of(engine, call, is(engine, call, LUMOS_COPIES) ? LUMOS_START : LUMOS_END);
  if (is(engine, call, LUMOS_LAUNCHES)) {
    enqueue_all(engine, call, false);
  }
  if (is(engine, call, LUMOS_RECORDS | LUMOS_AWAITS)) {
    speak_of_event(engine, call);
  }
  if (is(engine, call, LUMOS_FREES)) {
    enqueue_all(engine, call, true);
  }
}

/* --- Starts --- */

static void await(struct lumos_engine *engine, uint32_t n, uint32_t awaited) {
  if (awaited != LUMOS_NONE) {
    uint8_t evidence = is(engine, n, LUMOS_IS_INFERRED) ? LUMOS_INFERRED : LUMOS_RECORDED;
    bound_by_end(engine, n, awaited,
                 (struct lumos_edge){.to = LUMOS_END, .kind = LUMOS_HELD_BY_WAIT, .evidence = evidence});
  }
}

/* A waiting call looks at what is there to wait for. */
static void look(struct lumos_engine *engine, uint32_t n) {
  const struct lumos_task *task = task_at(engine, n);
  const struct lumos_wait *wait = &engine->job->details.items[task->detail].wait;
  const struct lumos_rank *rank = &engine->job->ranks.items[lumos_rank_of(engine->job, task)];
  uint32_t slot = engine->events.slot[task->detail], now = instant_of(engine, n, LUMOS_START);
  switch ((enum lumos_wait_on)wait->on) {
    case LUMOS_WAIT_STREAM:
      lumos_note_touch(engine, now, wait->lane);
      await(engine, n, last_enqueued(engine, wait->lane, state_of(engine, n)->start));
      break;
    case LUMOS_WAIT_DEVICE:
      for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
        lumos_note_touch(engine, now, lane);
        await(engine, n, last_enqueued(engine, lane, state_of(engine, n)->start));
      }
      break;
    case LUMOS_WAIT_EVENT:
      lumos_note_event(engine, now, slot);
      await(engine, n, slot == LUMOS_NONE ? LUMOS_NONE : engine->events.latest[slot]);
      break;
    case LUMOS_WAIT_SELF:
      for (uint32_t i = node_at(engine, n)->launched; i < node_at(engine, n + 1)->launched; i++) {
        await(engine, n, is_free(engine, engine->launched[i]) ? LUMOS_NONE : engine->launched[i]);
      }
      break;
  }
}

/* A call that launches on a full stream returns when a task there has started and made room. */
static void wait_for_place(struct lumos_engine *engine, uint32_t n) {
  uint32_t first = engine->launched[node_at(engine, n)->launched], l = node_at(engine, first)->lane;
  const struct lumos_lane_state *lane = &engine->lanes[l];
  if (lane->depth == 0 || is_free(engine, first)) {
    return;
  }
  lumos_note_touch(engine, instant_of(engine, n, LUMOS_START), l);
  if (lane->order.count <= lane->depth) {
    return;
  }
  uint32_t makes_room = lane->order.items[lane->order.count - lane->depth - 1];
  const struct lumos_special *special = special_of(engine, n);
  struct lumos_edge edge = {.lag = special == NULL || special->queue_lag == LUMOS_ABSENT ? 0 : special->queue_lag,
                            .dst = n,
                            .from = LUMOS_START,
                            .to = LUMOS_END,
                            .kind = LUMOS_HELD_BY_QUEUE,
                            .evidence = LUMOS_INFERRED};
  if (state_of(engine, makes_room)->progress < LUMOS_STARTED) {
    lumos_engine_hold(engine, makes_room, edge);
  } else {
    bound_end(engine, n, state_of(engine, makes_room)->start + edge.lag,
              (struct lumos_binding){makes_room, edge.kind, edge.from, edge.evidence});
  }
}

/* How surely the members belong together. */
static uint8_t evidence_of(const struct lumos_collective *collective) {
  return collective->matched == LUMOS_BY_COMMS_ID || collective->matched == LUMOS_BY_SEQ ? LUMOS_RECORDED
                                                                                         : LUMOS_ORDERED;
}

/* The instant at which the last member awaited has come. */
static uint32_t instant_met(const struct lumos_engine *engine, const struct lumos_collective *collective) {
  return (uint32_t)(2 * engine->job->tasks.count + (size_t)(collective - engine->job->collectives.items));
}

/* A member ends no earlier than the transfer after the last one awaited, and after itself. */
static void bound_by_meeting(struct lumos_engine *engine, const struct lumos_collective *collective,
                             const struct lumos_meeting *meeting, uint32_t member) {
  int64_t start = state_of(engine, member)->start;
  uint32_t met = instant_met(engine, collective);
  int64_t residual = carried_residual(engine, member, LUMOS_END);
  uint32_t c = met - (uint32_t)(2 * engine->job->tasks.count);
  int64_t transfer = collective->transfer;
  if (engine->variant.transfer != NULL) {
    transfer = engine->variant.transfer(engine->variant.context, c, transfer);
  }
  lumos_note_transfer(engine, met, instant_of(engine, member, LUMOS_END), meeting->latest + transfer + residual, c);
  lumos_note_transfer(engine, instant_of(engine, member, LUMOS_START), instant_of(engine, member, LUMOS_END),
                      start + transfer + residual, c);
  struct lumos_binding by = {start > meeting->latest ? member : meeting->last, LUMOS_HELD_BY_COLLECTIVE, LUMOS_START,
                             evidence_of(collective)};
  bound_end(engine, member, later(meeting->latest, start) + transfer, by);
}

/* The last one awaited has come: those who were there before know their ends. */
static void complete_meeting(struct lumos_engine *engine, const struct lumos_collective *collective,
                             const struct lumos_meeting *meeting, uint32_t arriving) {
  for (uint32_t i = 0; i < collective->member_count; i++) {
    uint32_t task = engine->job->members.items[collective->member_first + i], member = engine->node_of[task];
    const struct lumos_task_state *state = state_of(engine, member);
    if (member != arriving && state->progress == LUMOS_STARTED && lumos_member_waits(engine->job, collective, task)) {
      bound_by_meeting(engine, collective, meeting, member);
      release_end(engine, member);
    }
  }
}

/* A member arrives at its collectives. */
static void meet(struct lumos_engine *engine, uint32_t n) {
  const struct lumos_coupling *coupling = &engine->coupling;
  struct lumos_task_state *state = state_of(engine, n);
  uint32_t task = node_at(engine, n)->task;
  for (uint32_t i = coupling->first[task]; i < coupling->first[task + 1]; i++) {
    const struct lumos_collective *collective = &engine->job->collectives.items[coupling->of[i]];
    struct lumos_meeting *meeting = &engine->meetings[coupling->of[i]];
    if (lumos_member_awaited(engine->job, collective, task)) {
      meeting->last = state->start >= meeting->latest ? n : meeting->last;
      meeting->latest = later(meeting->latest, state->start);
      lumos_note_link(engine, instant_of(engine, n, LUMOS_START), instant_met(engine, collective), state->start,
                      LUMOS_LINK_FIXED);
      if (--meeting->missing == 0) {
        complete_meeting(engine, collective, meeting, n);
      }
    }
    if (!lumos_member_waits(engine->job, collective, task)) {
      continue;
    }
    if (meeting->missing == 0) {
      bound_by_meeting(engine, collective, meeting, n);
    } else {
      state->ends_after++;
    }
  }
}

/* Do kernels of another stream leave it no SMs? Then it is looked at again when there may be room. */
static bool waits_for_room(struct lumos_engine *engine, uint32_t n) {
  struct lumos_task_state *state = state_of(engine, n);
  const struct lumos_special *special = special_of(engine, n);
  struct lumos_look look;
  if (special == NULL || special->occupant == LUMOS_NONE || state->had_room ||
      lumos_has_room(engine, n, special, &look)) {
    return false;
  }
  state->had_room = look.last;
  if (look.until <= state->start) {
    return false; /* the last wave has begun */
  }
  if (engine->notes.holds != NULL) {
    struct lumos_hold hold = {node_at(engine, n)->task, LUMOS_RESOURCE, state->start, look.until};
    lumos_vector_push(engine->notes.holds, hold);
  }
  bound_start(engine, n, look.until, look.by);
  push_event(engine, state->start, n, turn_of(engine, n));
  return true;
}

static void start_task(struct lumos_engine *engine, uint32_t n) {
  struct lumos_task_state *state = state_of(engine, n);
  start_now(engine, n);
  engine->lanes[node_at(engine, n)->lane].started++;
  follow_edges(engine, n, LUMOS_START, state->start);
  if (is(engine, n, LUMOS_COPIES)) {
    take_effect(engine, n);
  }
  if (engine->rules->host_waits && is(engine, n, LUMOS_WAITS)) {
    look(engine, n);
  }
  if (is(engine, n, LUMOS_MEETS)) {
    meet(engine, n);
  }
  if (is(engine, n, LUMOS_LAUNCHES) && !is(engine, n, LUMOS_COPIES)) {
    wait_for_place(engine, n);
  }
  if (state->ends_after == 0) {
    end_task(engine, n);
  }
}

/* --- The run --- */

/* Does the stream begin with work that was launched before the recording? */
static bool begins_before(const struct lumos_engine *engine, const struct lumos_lane *lane) {
  return lane->kind == LUMOS_STREAM && lane->task_count > 0 &&
         engine->job->tasks.items[lane->task_first].call == LUMOS_NONE;
}

static void begin(struct lumos_engine *engine) {
  for (size_t i = 0; i < engine->job->lanes.count; i++) {
    if (begins_before(engine, &engine->job->lanes.items[i])) {
      announce(engine, engine->node_of[engine->job->lanes.items[i].task_first]);
    }
  }
  for (size_t i = 0; i < engine->job->lanes.count; i++) {
    const struct lumos_lane *lane = &engine->job->lanes.items[i];
    if (lane->task_count == 0) {
      continue;
    }
    uint32_t first = engine->node_of[lane->task_first];
    if (begins_before(engine, lane)) {
      enqueue(engine, first);
    } else if (lane->kind == LUMOS_THREAD && state_of(engine, first)->starts_after == 0) {
      become_ready(engine, first);
    }
  }
}

/* Draw all consequences of what has ended, which end more. */
static void settle(struct lumos_engine *engine) {
  while (engine->ending.count > 0) {
    draw_consequences(engine, engine->ending.items[--engine->ending.count]);
  }
}

static void run(struct lumos_engine *engine) {
  tell(engine);
  begin(engine);
  settle(engine);
  struct lumos_event event;
  while (engine->beyond == LUMOS_NONE && lumos_queue_pop(&engine->queue, &event)) {
    uint32_t n = event.node;
    if (event.earlier > 0) { /* the last follower's turn */
      come_to(engine, n);
    } else if (state_of(engine, n)->progress != LUMOS_READY) {
      take_effect(engine, n);
    } else if (!waits_for_room(engine, n)) {
      start_task(engine, n);
    }
    settle(engine);
  }
}

static bool check_run(const struct lumos_engine *engine, struct lumos_error *error) {
  const struct lumos_job *job = engine->job;
  if (engine->beyond != LUMOS_NONE) {
    const struct lumos_task *task = task_at(engine, engine->beyond);
    return lumos_fail(
        error, "task %d:%u: its simulated time is beyond 2^53 ns (104 days); check the durations and lags before it",
        job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
  }
  return engine->ended == engine->node_count || lumos_deadlock(engine, error);
}

bool lumos_engine_do(struct lumos_engine *engine, const struct lumos_engine_order *order, struct lumos_run *runs,
                     struct lumos_error *error) {
  if (engine->job->stage < LUMOS_STAGE_GRAPH) {
    return lumos_fail(error, "the job has no execution graph yet; run lumos-graph first");
  }
  lumos_engine_reset(engine, order);
  run(engine);
  if (!check_run(engine, error)) {
    return false;
  }
  if (order->nodes_only) {
    lumos_nodes_runs(engine, runs);
  } else if (order->on_streams_only) {
    lumos_nodes_fill_streams(engine, runs);
  } else {
    lumos_nodes_fill(engine, runs);
  }
  if (order->notes.bindings != NULL) {
    lumos_nodes_bound(engine, order->notes.bindings);
  }
  return true;
}

bool lumos_engine_run_noting(const struct lumos_job *job, const struct lumos_sim_options *options,
                             struct lumos_run *runs, const struct lumos_engine_notes *notes,
                             struct lumos_error *error) {
  const struct lumos_variant variant = {.typical_residuals = options->drop_residuals};
  const struct lumos_engine_order order = {.variant = &variant, .notes = *notes};
  struct lumos_engine engine;
  lumos_engine_prepare(&engine, job, options->model);
  bool done = lumos_engine_do(&engine, &order, runs, error);
  lumos_engine_free(&engine);
  return done;
}

bool lumos_engine_run(const struct lumos_job *job, const struct lumos_sim_options *options, struct lumos_run *runs,
                      struct lumos_error *error) {
  const struct lumos_engine_notes none = {.holds = NULL};
  return lumos_engine_run_noting(job, options, runs, &none, error);
}
