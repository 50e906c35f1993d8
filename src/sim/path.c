/* The chain of binding constraints, walked from late to early and then turned around.
 *
 * The walk stands at an end of a task (its start or its end) and at an instant, `now`, that never rises: work that
 * overlaps what it holds (a negative lag, clocks that disagree a little) is cut where the later work begins, so the
 * parts add up exactly.
 */
#include "sim/walk.h"

struct walk {
  const struct lumos_job *job;
  const struct lumos_held *bindings;
  struct lumos_path_parts *parts; /* from late to early */
  struct lumos_crossings *crossings;
  bool with_empty;       /* parts of no length, too */
  const uint32_t *heads; /* see lumos_walk_before; or NULL */
  int64_t from, now;
};

static const char *const what_names[] = {[LUMOS_PATH_RUN] = "run",
                                         [LUMOS_PATH_LAG] = "lag",
                                         [LUMOS_PATH_UNEXPLAINED] = "unexplained",
                                         [LUMOS_PATH_OUTSIDE] = "outside"};

const char *lumos_path_what_name(enum lumos_path_what what) { return what_names[what]; }

static int64_t start_of(const struct walk *walk, uint32_t t) { return walk->job->runs.items[t].start; }

static int64_t time_of(const struct walk *walk, uint32_t t, enum lumos_end end) {
  return start_of(walk, t) + (end == LUMOS_END ? walk->job->runs.items[t].dur : 0);
}

/* The part from `time` to now, which becomes `time`. */
static void add_part(struct walk *walk, int64_t time, uint32_t t, enum lumos_path_what what, struct lumos_binding by) {
  time = time > walk->now ? walk->now : time < walk->from ? walk->from : time;
  if (time < walk->now || what == LUMOS_PATH_RUN || walk->with_empty) {
    struct lumos_path_part part = {time, walk->now, t, (uint8_t)what, by.kind, by.evidence};
    lumos_vector_push(walk->parts, part);
  }
  walk->now = time;
}

/* The chain has passed a dependency between two tasks, or a delay that belongs to one; now was `before` there. */
static void cross(struct walk *walk, struct lumos_binding by, int64_t before) {
  if (walk->crossings != NULL) {
    struct lumos_crossing *crossing = &walk->crossings->of[by.kind][by.evidence];
    crossing->count++;
    crossing->time += before - walk->now;
  }
}

/* The delay that the recording has and no rule explains; only what makes later can stand in the chain. */
static void add_unexplained(struct walk *walk, uint32_t t, int64_t residual, struct lumos_binding by) {
  if (residual != LUMOS_ABSENT && residual > 0) {
    int64_t before = walk->now;
    by.evidence = LUMOS_UNEXPLAINED;
    add_part(walk, walk->now - residual, t, LUMOS_PATH_UNEXPLAINED, by);
    cross(walk, by, before);
  }
}

/* From a task's end to what held it: false when that is its own start. */
static bool leave_end(struct walk *walk, uint32_t *t) {
  struct lumos_binding by = lumos_held_of(walk->bindings, *t).end;
  if (by.kind == LUMOS_HELD_BY_COLLECTIVE) {
    add_unexplained(walk, *t, lumos_timing_of(walk->job, *t)->end_residual, by);
  }
  bool runs = by.kind == LUMOS_HELD_BY_ITSELF || by.kind == LUMOS_HELD_BY_COLLECTIVE;
  if (by.src == LUMOS_NONE) {
    add_part(walk, start_of(walk, *t), *t, LUMOS_PATH_RUN, by);
    return false;
  }
  if (walk->heads != NULL && by.kind == LUMOS_HELD_BY_ITSELF) {
    add_part(walk, start_of(walk, walk->heads[*t]), *t, LUMOS_PATH_RUN, by);
    *t = walk->heads[*t];
    return false;
  }
  int64_t before = walk->now;
  add_part(walk, time_of(walk, by.src, by.from), *t, runs ? LUMOS_PATH_RUN : LUMOS_PATH_LAG, by);
  if (by.src != *t) {
    cross(walk, by, runs ? walk->now : before);
  }
  *t = by.src;
  return by.from == LUMOS_END;
}

/* From a task's start to what held it: false when nothing did. */
static bool leave_start(struct walk *walk, uint32_t *t, bool *at_end) {
  struct lumos_binding by = lumos_held_of(walk->bindings, *t).start;
  if (by.kind != LUMOS_HELD_BY_NOTHING) {
    add_unexplained(walk, *t, lumos_timing_of(walk->job, *t)->residual, by);
  }
  bool outside = by.src == LUMOS_NONE;
  struct lumos_binding next = by.kind == LUMOS_HELD_BY_BOUNDARY ? lumos_held_of(walk->bindings, *t).behind : by;
  if (next.src == LUMOS_NONE) {
    add_part(walk, walk->from, *t, LUMOS_PATH_OUTSIDE, by);
    return false;
  }
  int64_t before = walk->now;
  add_part(walk, time_of(walk, next.src, next.from), *t, outside ? LUMOS_PATH_OUTSIDE : LUMOS_PATH_LAG, by);
  cross(walk, by, before);
  by = next;
  *t = by.src;
  *at_end = by.from == LUMOS_END;
  return true;
}

/* The task with the last end at or before `until`; of equal ones work on a stream, then the first. */
static uint32_t last_task(const struct lumos_job *job, int64_t until) {
  uint32_t last = LUMOS_NONE;
  int64_t latest = INT64_MIN;
  bool on_stream = false;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    int64_t end = job->runs.items[t].start + job->runs.items[t].dur;
    bool stream = lumos_on_stream(job, &job->tasks.items[t]);
    if (end <= until && (end > latest || (end == latest && stream && !on_stream))) {
      last = t;
      latest = end;
      on_stream = stream;
    }
  }
  return last;
}

static void turn_around(struct lumos_path_parts *parts, size_t first) {
  for (size_t i = first, j = parts->count; i + 1 < j; i++) {
    struct lumos_path_part part = parts->items[i];
    parts->items[i] = parts->items[--j];
    parts->items[j] = part;
  }
}

/* Until the chain comes to `from`, or to a start that nothing holds. */
static void follow(struct walk *walk, uint32_t t, bool at_end) {
  bool held = true;
  while (walk->now > walk->from && held) {
    if (at_end) {
      at_end = leave_end(walk, &t);
    } else {
      held = leave_start(walk, &t, &at_end);
    }
  }
  if (walk->with_empty && held && at_end && lumos_held_of(walk->bindings, t).end.kind == LUMOS_HELD_BY_WAIT) {
    (void)leave_end(walk, &t);
  }
}

void lumos_path_walk_from(const struct lumos_job *job, const struct lumos_held *bindings, uint32_t last, int64_t from,
                          int64_t until, struct lumos_path_parts *parts, struct lumos_crossings *crossings) {
  struct walk walk = {
      .job = job, .bindings = bindings, .parts = parts, .crossings = crossings, .from = from, .now = until};
  size_t first = parts->count;
  struct lumos_binding nothing = {LUMOS_NONE, LUMOS_HELD_BY_NOTHING, LUMOS_END, LUMOS_UNEXPLAINED};
  add_part(&walk, time_of(&walk, last, LUMOS_END), last, LUMOS_PATH_OUTSIDE, nothing);
  follow(&walk, last, true);
  turn_around(parts, first);
}

void lumos_path_walk(const struct lumos_job *job, const struct lumos_held *bindings, int64_t from, int64_t until,
                     struct lumos_path_parts *parts) {
  uint32_t last = last_task(job, until);
  if (last != LUMOS_NONE) {
    lumos_path_walk_from(job, bindings, last, from, until, parts, NULL);
  }
}

void lumos_find_heads(const struct lumos_job *job, const struct lumos_held *bindings, uint32_t *heads) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_binding by = lumos_held_of(bindings, t).start;
    bool follows = by.kind == LUMOS_HELD_BY_THREAD && by.src + 1 == t &&
                   lumos_held_of(bindings, by.src).end.kind == LUMOS_HELD_BY_ITSELF &&
                   lumos_timing_of(job, t)->residual == LUMOS_ABSENT;
    heads[t] = follows ? heads[by.src] : t;
  }
}

void lumos_walk_before(const struct lumos_job *job, const struct lumos_held *bindings, const uint32_t *heads,
                       uint32_t task, int64_t from, struct lumos_path_parts *parts) {
  struct walk walk = {
      .job = job, .bindings = bindings, .parts = parts, .with_empty = true, .heads = heads, .from = from};
  walk.now = start_of(&walk, task);
  follow(&walk, task, false);
}
