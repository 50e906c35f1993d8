/* The chain of binding constraints, walked from late to early and then turned around.
 *
 * The walk stands at an end of a task (its start or its end) and at an instant, `now`, that never rises: work that overlaps what it
 * holds (a negative lag, clocks that disagree a little) is cut where the later work begins, so the parts add up exactly.
 */
#include <lumos/path.h>

#include <lumos/sim.h>

struct walk {
  const struct lumos_job *job;
  const struct lumos_bindings *bindings;
  struct lumos_path_parts *parts; /* from late to early */
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
  if (time < walk->now || what == LUMOS_PATH_RUN) {
    struct lumos_path_part part = {time, walk->now, t, (uint8_t)what, by.kind, by.evidence};
    lumos_vector_push(walk->parts, part);
  }
  walk->now = time;
}

/* The delay that the recording has and no rule explains; only what makes later can stand in the chain. */
static void add_unexplained(struct walk *walk, uint32_t t, int64_t residual, struct lumos_binding by) {
  if (residual != LUMOS_ABSENT && residual > 0) {
    by.evidence = LUMOS_UNEXPLAINED;
    add_part(walk, walk->now - residual, t, LUMOS_PATH_UNEXPLAINED, by);
  }
}

/* From a task's end to what held it: false when that is its own start. */
static bool leave_end(struct walk *walk, uint32_t *t) {
  struct lumos_binding by = walk->bindings[*t].end;
  if (by.kind == LUMOS_HELD_BY_COLLECTIVE) {
    add_unexplained(walk, *t, walk->job->timings.items[*t].end_residual, by);
  }
  bool runs = by.kind == LUMOS_HELD_BY_ITSELF || by.kind == LUMOS_HELD_BY_COLLECTIVE;
  if (by.src == LUMOS_NONE) {
    add_part(walk, start_of(walk, *t), *t, LUMOS_PATH_RUN, by);
    return false;
  }
  add_part(walk, time_of(walk, by.src, by.from), *t, runs ? LUMOS_PATH_RUN : LUMOS_PATH_LAG, by);
  *t = by.src;
  return by.from == LUMOS_END;
}

/* From a task's start to what held it: false when nothing did. */
static bool leave_start(struct walk *walk, uint32_t *t, bool *at_end) {
  struct lumos_binding by = walk->bindings[*t].start;
  if (by.kind != LUMOS_HELD_BY_NOTHING) {
    add_unexplained(walk, *t, walk->job->timings.items[*t].residual, by);
  }
  if (by.src == LUMOS_NONE) {
    add_part(walk, walk->from, *t, LUMOS_PATH_OUTSIDE, by);
    return false;
  }
  add_part(walk, time_of(walk, by.src, by.from), *t, LUMOS_PATH_LAG, by);
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

void lumos_path_walk(const struct lumos_job *job, const struct lumos_bindings *bindings, int64_t from, int64_t until,
                     struct lumos_path_parts *parts) {
  struct walk walk = {job, bindings, parts, from, until};
  size_t first = parts->count;
  uint32_t t = last_task(job, until);
  if (t == LUMOS_NONE) {
    return;
  }
  struct lumos_binding nothing = {LUMOS_NONE, LUMOS_HELD_BY_NOTHING, LUMOS_END, LUMOS_UNEXPLAINED};
  add_part(&walk, time_of(&walk, t, LUMOS_END), t, LUMOS_PATH_OUTSIDE, nothing);
  bool at_end = true;
  bool held = true;
  while (walk.now > from && held) {
    if (at_end) {
      at_end = leave_end(&walk, &t);
    } else {
      held = leave_start(&walk, &t, &at_end);
    }
  }
  turn_around(parts, first);
}
