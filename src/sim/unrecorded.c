/* What is not recorded is not idle: a GPU that shows nothing may run what the recording lacks.
 *
 * An instant belongs to the task whose start ends the rest of the rank's GPU: the first that starts on any of its
 * streams. It is not recorded where
 *   that start is held by a boundary (boundary.c), from its launch on;
 *   its thread, on the way to the launch, was in a call that waited over 1 ms longer than for the work that is
 *     recorded;
 *   its thread has no row or user annotation yet, and no other thread handed over to it;
 *   kernels have been launched whose rows are missing, in a recording that lacks those of more than one launch of 20;
 *   the rank has no row any more, and its GPU runs nothing until the step of the job ends, which is that of its last
 *     rank.
 * From one rest to the next nothing runs on the rank, so the way back leads along threads alone.
 */
#include "sim/unrecorded.h"

#include "graph/graph.h"
#include "sim/clock.h"
#include <stdlib.h>
#include <string.h>

enum {
  LOST_ONE_IN = 20, /* launches. Measured: whole recordings lack the rows of up to one in 200 */
  /* What is known of a task */
  HELD = 1,   /* a boundary holds its start */
  HANDED = 2, /* another thread holds its start or its end */
  LAUNCHES = 4,
  WAITS = 8 /* for more than is recorded */
};

struct unrecorded_hold { /* by task, then in the order of dependencies */
  uint32_t task, dep;
};

struct launches {
  uint32_t all, missing; /* the work of these is */
};

struct lumos_unrecorded {
  const struct lumos_job *job;
  const struct lumos_run *runs;
  uint8_t *flags; /* by task */
  uint32_t *turn; /* by task: itself or the last before it on its lane of which more is known, or which is the first */
  LUMOS_VECTOR(struct unrecorded_hold) holds;
  struct launches *launches; /* by rank */
  int64_t *annotated;        /* by lane: where its first annotation begins; INT64_MAX: it has none */
  uint32_t rank;
  int64_t last;               /* the end of all that the rank does */
  uint32_t *cursors;          /* by lane of the rank: the first task of a stream that has not started */
  LUMOS_VECTOR(int64_t) lost; /* when the rank launched what is missing, by time; none unless much is */
  struct lumos_unrecorded_intervals found;
};

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

static int compare_holds(const void *left, const void *right) {
  const struct unrecorded_hold *a = left;
  const struct unrecorded_hold *b = right;
  if (a->task != b->task) {
    return a->task < b->task ? -1 : 1;
  }
  return a->dep < b->dep ? -1 : a->dep > b->dep;
}

static void find_launches(struct lumos_unrecorded *unrecorded, const struct lumos_lane *stream) {
  const struct lumos_task *tasks = unrecorded->job->tasks.items;
  for (uint32_t t = stream->task_first; t < stream->task_first + stream->task_count; t++) {
    if (tasks[t].call != LUMOS_NONE) {
      unrecorded->flags[tasks[t].call] |= LAUNCHES;
    }
  }
}

static void find_turns(struct lumos_unrecorded *unrecorded, const struct lumos_lane *thread) {
  const struct lumos_task *tasks = unrecorded->job->tasks.items;
  struct launches *launches = &unrecorded->launches[thread->rank];
  uint32_t turn = thread->task_first;
  for (uint32_t t = thread->task_first; t < thread->task_first + thread->task_count; t++) {
    if (tasks[t].detail != LUMOS_NONE && lumos_waits_unrecorded(unrecorded->job, t) > 0) {
      unrecorded->flags[t] |= WAITS;
    }
    bool launch = tasks[t].kind == LUMOS_LAUNCH;
    launches->all += launch;
    launches->missing += launch && (unrecorded->flags[t] & LAUNCHES) == 0;
    turn = (unrecorded->flags[t] & (HANDED | WAITS)) != 0 ? t : turn;
    unrecorded->turn[t] = turn;
  }
}

/* What a thread does in one is recorded, such as waiting for data; a step mark says nothing of that. */
static void find_annotations(struct lumos_unrecorded *unrecorded) {
  const struct lumos_job *job = unrecorded->job;
  unrecorded->annotated = lumos_allocate((job->lanes.count + 1) * sizeof *unrecorded->annotated);
  for (size_t l = 0; l < job->lanes.count; l++) {
    unrecorded->annotated[l] = INT64_MAX;
  }
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    if (span->kind == LUMOS_SPAN_ANNOTATION && span->lane != LUMOS_NONE) {
      int64_t *first = &unrecorded->annotated[span->lane];
      *first = earlier(*first, lumos_job_time_on(job, span->lane, span->start));
    }
  }
}

static uint32_t *new_cursors(const struct lumos_job *job) {
  uint32_t lanes = 0;
  for (size_t r = 0; r < job->ranks.count; r++) {
    lanes = job->ranks.items[r].lane_count > lanes ? job->ranks.items[r].lane_count : lanes;
  }
  return lumos_allocate((lanes + 1) * sizeof(uint32_t));
}

struct lumos_unrecorded *lumos_unrecorded_open(const struct lumos_job *job) {
  struct lumos_unrecorded *unrecorded = lumos_allocate_zeroed(1, sizeof *unrecorded);
  unrecorded->job = job;
  unrecorded->flags = lumos_allocate_zeroed(job->tasks.count, 1);
  for (uint32_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_BOUNDARY || dep->kind == LUMOS_HANDOVER) {
      unrecorded->flags[dep->dst] |= dep->kind == LUMOS_BOUNDARY ? HELD : HANDED;
      lumos_vector_push(&unrecorded->holds, ((struct unrecorded_hold){dep->dst, i}));
    }
  }
  if (unrecorded->holds.count > 0) {
    qsort(unrecorded->holds.items, unrecorded->holds.count, sizeof unrecorded->holds.items[0], compare_holds);
  }
  unrecorded->turn = lumos_allocate(job->tasks.count * sizeof *unrecorded->turn);
  unrecorded->launches = lumos_allocate_zeroed(job->ranks.count, sizeof *unrecorded->launches);
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_STREAM) {
      find_launches(unrecorded, &job->lanes.items[l]);
    }
  }
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      find_turns(unrecorded, &job->lanes.items[l]);
    }
  }
  find_annotations(unrecorded);
  unrecorded->cursors = new_cursors(job);
  return unrecorded;
}

struct lumos_unrecorded *lumos_unrecorded_beside(const struct lumos_unrecorded *unrecorded) {
  struct lumos_unrecorded *beside = lumos_copied(unrecorded, 1, sizeof *beside);
  memset(&beside->lost, 0, sizeof beside->lost);
  memset(&beside->found, 0, sizeof beside->found);
  beside->cursors = new_cursors(beside->job);
  return beside;
}

void lumos_unrecorded_leave(struct lumos_unrecorded *beside) {
  if (beside != NULL) {
    free(beside->cursors);
    lumos_vector_free(&beside->lost);
    lumos_vector_free(&beside->found);
    free(beside);
  }
}

void lumos_unrecorded_close(struct lumos_unrecorded *unrecorded) {
  free(unrecorded->flags);
  free(unrecorded->turn);
  free(unrecorded->launches);
  free(unrecorded->annotated);
  lumos_vector_free(&unrecorded->holds);
  lumos_unrecorded_leave(unrecorded);
}

void lumos_unrecorded_on(struct lumos_unrecorded *unrecorded, const struct lumos_run *runs) {
  unrecorded->runs = runs;
  unrecorded->found.count = 0;
}

const struct lumos_unrecorded_intervals *lumos_unrecorded_found(const struct lumos_unrecorded *unrecorded) {
  return &unrecorded->found;
}

/* ---- Launches whose work is missing ---- */

static int by_time(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

static bool are_many(size_t lost, const struct launches *launches) { return lost * LOST_ONE_IN > launches->all; }

static void find_lost(struct lumos_unrecorded *unrecorded) {
  const struct lumos_job *job = unrecorded->job;
  const struct lumos_rank *rank = &job->ranks.items[unrecorded->rank];
  const struct launches *launches = &unrecorded->launches[unrecorded->rank];
  unrecorded->lost.count = 0;
  if (!are_many(launches->missing, launches)) {
    return;
  }
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    int64_t start = 0, end = 0;
    if (job->tasks.items[t].kind == LUMOS_LAUNCH && (unrecorded->flags[t] & LAUNCHES) == 0 &&
        lumos_task_interval(job, unrecorded->runs, t, &start, &end)) {
      lumos_vector_push(&unrecorded->lost, end);
    }
  }
  if (!are_many(unrecorded->lost.count, launches)) {
    unrecorded->lost.count = 0;
    return;
  }
  qsort(unrecorded->lost.items, unrecorded->lost.count, sizeof unrecorded->lost.items[0], by_time);
}

/* On the clock of the lane's rows, which runs as that of the job does: forward. */
static int64_t last_measured(const struct lumos_job *job, const struct lumos_lane *lane) {
  int64_t last = INT64_MIN;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t was = task->detail == LUMOS_NONE ? LUMOS_ABSENT : job->details.items[task->detail].was;
    if (task->start != LUMOS_ABSENT) {
      last = later(last, task->start + (was == LUMOS_ABSENT ? task->dur : was));
    }
  }
  return last;
}

static int64_t last_simulated(const struct lumos_run *runs, const struct lumos_lane *lane) {
  int64_t last = INT64_MIN;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    bool ran = runs[t].start != LUMOS_ABSENT && runs[t].dur != LUMOS_ABSENT;
    last = ran ? later(last, runs[t].start + runs[t].dur) : last;
  }
  return last;
}

static int64_t find_last(const struct lumos_unrecorded *unrecorded, const struct lumos_rank *rank) {
  const struct lumos_job *job = unrecorded->job;
  int64_t last = INT64_MIN;
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    int64_t own = unrecorded->runs == NULL ? last_measured(job, lane) : last_simulated(unrecorded->runs, lane);
    own = own != INT64_MIN && unrecorded->runs == NULL ? lumos_job_time_on(job, l, own) : own;
    last = later(last, own);
  }
  return last;
}

void lumos_unrecorded_begin(struct lumos_unrecorded *unrecorded, uint32_t rank) {
  const struct lumos_rank *record = &unrecorded->job->ranks.items[rank];
  unrecorded->rank = rank;
  unrecorded->last = find_last(unrecorded, record);
  for (uint32_t i = 0; i < record->lane_count; i++) {
    unrecorded->cursors[i] = unrecorded->job->lanes.items[record->lane_first + i].task_first;
  }
  find_lost(unrecorded);
}

/* The first that was launched at `instant` or later; INT64_MAX: none was. */
static int64_t lost_from(const struct lumos_unrecorded *unrecorded, int64_t instant) {
  size_t low = 0, high = unrecorded->lost.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (unrecorded->lost.items[middle] < instant) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < unrecorded->lost.count ? unrecorded->lost.items[low] : INT64_MAX;
}

/* ---- The way back ---- */

struct way {
  struct lumos_unrecorded *unrecorded;
  int64_t from, now;
};

/* From late to early. */
static void add(struct way *way, int64_t from, int64_t to) {
  from = later(from, way->from);
  to = earlier(to, way->now);
  if (from < to) {
    lumos_vector_push(&way->unrecorded->found, ((struct lumos_unrecorded_interval){from, to, way->unrecorded->rank}));
  }
}

static bool interval_of(const struct way *way, uint32_t task, int64_t *start, int64_t *end) {
  return lumos_task_interval(way->unrecorded->job, way->unrecorded->runs, task, start, end);
}

int64_t lumos_waits_unrecorded(const struct lumos_job *job, uint32_t call) {
  const struct lumos_task *task = &job->tasks.items[call];
  const struct lumos_detail *detail = lumos_detail_of(job, task);
  bool waits = detail->wait.on != 0 && detail->wait.on != LUMOS_WAIT_SELF && detail->event_op != LUMOS_EVENT_WAIT;
  int64_t time = detail->wait.residual != LUMOS_ABSENT ? detail->wait.residual : task->dur;
  return waits && time > LUMOS_LONG_AGO ? time : 0;
}

/* The first dependency of a kind on a task. */
static const struct lumos_dep *hold_of(const struct lumos_unrecorded *unrecorded, uint32_t task, uint8_t kind) {
  size_t low = 0, high = unrecorded->holds.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (unrecorded->holds.items[middle].task < task) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < unrecorded->holds.count && unrecorded->holds.items[low].task == task; low++) {
    const struct lumos_dep *dep = &unrecorded->job->deps.items[unrecorded->holds.items[low].dep];
    if (dep->kind == kind) {
      return dep;
    }
  }
  return NULL;
}

/* What the thread was at before the task: the task before it, or of another thread what handed over to it last;
 * LUMOS_NONE: it has none. */
static uint32_t before(const struct way *way, uint32_t task, int64_t start) {
  const struct lumos_unrecorded *unrecorded = way->unrecorded;
  const struct lumos_lane *lane = &unrecorded->job->lanes.items[unrecorded->job->tasks.items[task].lane];
  uint32_t previous = task > lane->task_first ? task - 1 : LUMOS_NONE;
  const struct lumos_dep *dep =
      (unrecorded->flags[task] & HANDED) != 0 ? hold_of(unrecorded, task, LUMOS_HANDOVER) : NULL;
  int64_t begin = 0, end = 0, other_begin = 0, other_end = 0;
  if (dep == NULL || dep->src == LUMOS_NONE || !interval_of(way, dep->src, &other_begin, &other_end)) {
    return previous;
  }
  int64_t handed = dep->from == LUMOS_END ? other_end : other_begin;
  bool last = dep->to == LUMOS_END
                  ? handed > start
                  : previous == LUMOS_NONE || !interval_of(way, previous, &begin, &end) || handed >= end;
  return last && handed <= way->now ? dep->src : previous;
}

/* From the end of a call back to where the rest begins. Each task is passed once at most, for time only goes back; in
 * those between turns a thread only goes on. */
static void follow_thread(struct way *way, uint32_t task) {
  const struct lumos_unrecorded *unrecorded = way->unrecorded;
  uint32_t left = unrecorded->job->ranks.items[unrecorded->rank].task_count;
  for (; task != LUMOS_NONE && left > 0; left--) {
    int64_t start = 0, end = 0;
    uint32_t turn = unrecorded->turn[task];
    if (turn < task) {
      if (!interval_of(way, turn + 1, &start, &end)) {
        return;
      }
      way->now = earlier(way->now, start);
    }
    if (way->now <= way->from || !interval_of(way, turn, &start, &end)) {
      return;
    }
    if ((unrecorded->flags[turn] & WAITS) != 0) {
      add(way, later(start, end - lumos_waits_unrecorded(unrecorded->job, turn)), end);
    }
    way->now = earlier(way->now, start);
    if (way->now <= way->from) {
      return;
    }
    task = before(way, turn, start);
    if (task == LUMOS_NONE && (unrecorded->flags[turn] & HELD) != 0) {
      add(way, way->from, earlier(way->now, unrecorded->annotated[unrecorded->job->tasks.items[turn].lane]));
    }
  }
}

/* When a task was launched; INT64_MIN: that is not known. */
static int64_t launch_of(const struct way *way, uint32_t task) {
  const struct lumos_task *record = &way->unrecorded->job->tasks.items[task];
  const struct lumos_timing *timing = lumos_timing_of(way->unrecorded->job, task);
  int64_t start = 0, end = 0;
  if (record->call == LUMOS_NONE || !interval_of(way, record->call, &start, &end)) {
    return INT64_MIN;
  }
  return timing->launch_from == LUMOS_START ? start : end;
}

static void follow(struct way *way, uint32_t task, int64_t start) {
  const struct lumos_unrecorded *unrecorded = way->unrecorded;
  const struct lumos_task *record = &unrecorded->job->tasks.items[task];
  const struct lumos_dep *boundary =
      (unrecorded->flags[task] & HELD) != 0 ? hold_of(unrecorded, task, LUMOS_BOUNDARY) : NULL;
  int64_t ready = launch_of(way, task);
  if (boundary != NULL && (boundary->mode == LUMOS_RUN_TIME ||
                           lumos_job_time_on(unrecorded->job, record->lane, boundary->at) + boundary->lag == start)) {
    add(way, ready, way->now);
    way->now = earlier(way->now, later(ready, way->from));
  }
  if (record->call != LUMOS_NONE) {
    follow_thread(way, record->call);
  }
}

/* ---- A rest ---- */

/* The task that starts then, the first of several, and, where launches are lost, when what ran before was launched at
 * the latest. Rests come in order. */
static uint32_t task_at(struct lumos_unrecorded *unrecorded, int64_t instant, int64_t *launched) {
  const struct lumos_job *job = unrecorded->job;
  const struct lumos_rank *rank = &job->ranks.items[unrecorded->rank];
  uint32_t found = LUMOS_NONE;
  *launched = INT64_MIN;
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[rank->lane_first + i];
    if (lane->kind != LUMOS_STREAM) {
      continue;
    }
    uint32_t *next = &unrecorded->cursors[i], last = lane->task_first + lane->task_count;
    int64_t start = 0, end = 0;
    while (*next < last &&
           (!lumos_task_interval(job, unrecorded->runs, *next, &start, &end) || start < instant || start == end)) {
      ++*next;
    }
    if (*next < last && start == instant && (found == LUMOS_NONE || *next < found)) {
      found = *next;
    }
    bool begun = unrecorded->lost.count > 0 && *next > lane->task_first;
    uint32_t call = begun ? job->tasks.items[*next - 1].call : LUMOS_NONE;
    if (call != LUMOS_NONE && lumos_task_interval(job, unrecorded->runs, call, &start, &end)) {
      *launched = later(*launched, end);
    }
  }
  return found;
}

/* They were found from late to early; those that touch or overlap become one. */
static void settle(struct lumos_unrecorded_intervals *intervals, size_t first) {
  size_t kept = first;
  for (size_t i = first, j = intervals->count; i + 1 < j; i++) {
    struct lumos_unrecorded_interval interval = intervals->items[i];
    intervals->items[i] = intervals->items[--j];
    intervals->items[j] = interval;
  }
  for (size_t i = first; i < intervals->count; i++) {
    if (kept > first && intervals->items[i].from <= intervals->items[kept - 1].to) {
      intervals->items[kept - 1].to = later(intervals->items[kept - 1].to, intervals->items[i].to);
    } else {
      intervals->items[kept++] = intervals->items[i];
    }
  }
  intervals->count = kept;
}

void lumos_unrecorded_find(struct lumos_unrecorded *unrecorded, int64_t from, int64_t to) {
  int64_t launched = 0;
  size_t first = unrecorded->found.count;
  uint32_t task = task_at(unrecorded, to, &launched);
  struct way way = {unrecorded, from, to};
  if (task == LUMOS_NONE) {
    add(&way, unrecorded->last, to);
    return;
  }
  int64_t lost = lost_from(unrecorded, launched);
  add(&way, lost, to);
  way.now = earlier(to, later(lost, from));
  follow(&way, task, to);
  settle(&unrecorded->found, first);
}
