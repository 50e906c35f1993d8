/* Finding the boxes: every part has a path of ops, outermost first; runs of parts that share a path's beginning are
 * opened as long as something in them is long enough to stand alone. */
#include "report/content/collapse.h"

#include <stdlib.h>
#include <string.h>

enum {
  DEPTH = 64,     /* of ops around a task that are told apart */
  DEEPEST = 1000, /* a parent chain longer than this is no call stack */
};

struct work {
  const struct lumos_job *job;
  const struct lumos_path_parts *parts;
  size_t *path_first; /* ops around part i, outermost first: paths[path_first[i] .. path_first[i + 1]) */
  LUMOS_VECTOR(uint32_t) paths;
  uint32_t *lane;              /* of every part's task */
  uint8_t *shared;             /* of every part: at lesser depths it runs together with the part before it */
  uint32_t *changes;           /* of every part: how often the lane changes up to it */
  uint8_t *depth;              /* of every part: where in its path the run ended that decided on it */
  struct report_pieces pieces; /* those that stand alone, in order */
  int64_t least;
  int64_t room; /* for so many ops and tasks that take a nanosecond less */
  bool by_lane;
};

/* The innermost op around a host task, or around the call that launched a device task, or LUMOS_NONE. */
static uint32_t op_around(const struct lumos_job *job, uint32_t span) {
  for (int depth = 0; span != LUMOS_NONE && depth < DEEPEST; depth++) {
    if (job->spans.items[span].kind == LUMOS_SPAN_OP) {
      return span;
    }
    span = job->spans.items[span].parent;
  }
  return LUMOS_NONE;
}

uint32_t report_op_of(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *own = &job->tasks.items[task];
  bool launched = lumos_on_stream(job, own) && own->call != LUMOS_NONE;
  return op_around(job, launched ? job->tasks.items[own->call].span : own->span);
}

lumos_string_id report_collapse_name(const struct lumos_job *job, uint32_t task) {
  uint32_t op = lumos_on_stream(job, &job->tasks.items[task]) ? report_op_of(job, task) : LUMOS_NONE;
  return op == LUMOS_NONE ? job->tasks.items[task].name : job->spans.items[op].name;
}

static void add_path(struct work *work, uint32_t task) {
  uint32_t ops[DEPTH];
  size_t count = 0;
  for (uint32_t op = report_op_of(work->job, task); op != LUMOS_NONE && count < DEPTH;) {
    ops[count++] = op;
    op = op_around(work->job, work->job->spans.items[op].parent);
  }
  while (count > 0) {
    lumos_vector_push(&work->paths, ops[--count]);
  }
}

static void find_paths(struct work *work) {
  size_t count = work->parts->count;
  work->path_first = lumos_allocate((count + 1) * sizeof work->path_first[0]);
  work->depth = lumos_allocate(count + 1);
  work->shared = lumos_allocate(count + 1);
  work->lane = lumos_allocate((count + 1) * sizeof work->lane[0]);
  work->changes = lumos_allocate_zeroed(count + 1, sizeof work->changes[0]);
  lumos_vector_reserve(&work->paths, count);
  for (size_t i = 0; i < count; i++) {
    uint32_t task = work->parts->items[i].task;
    work->path_first[i] = work->paths.count;
    work->lane[i] = work->job->tasks.items[task].lane;
    add_path(work, task);
  }
  work->path_first[count] = work->paths.count;
}

/* The op at a depth of a part's path; LUMOS_NONE: the path ends before it, and the task itself is meant. */
static uint32_t op_at(const struct work *work, size_t part, size_t depth) {
  size_t at = work->path_first[part] + depth;
  return at < work->path_first[part + 1] ? work->paths.items[at] : LUMOS_NONE;
}

/* What is outside of the recording stands alone while lanes are told apart. */
static bool is_outside(const struct work *work, size_t part) {
  return work->by_lane && work->parts->items[part].what == LUMOS_PATH_OUTSIDE;
}

/* From which depth on a part no longer runs together with the one before it. Runs are nested, so that it does at all
 * lesser depths; parts of one task do at all. */
static uint8_t shared_with_last(const struct work *work, size_t part) {
  if (is_outside(work, part - 1) || is_outside(work, part) || work->lane[part - 1] != work->lane[part]) {
    return 0;
  }
  for (size_t depth = 0;; depth++) {
    uint32_t op = op_at(work, part - 1, depth);
    if (op != op_at(work, part, depth)) {
      return (uint8_t)depth;
    }
    if (op == LUMOS_NONE) {
      bool same = work->parts->items[part - 1].task == work->parts->items[part].task;
      return same ? UINT8_MAX : (uint8_t)depth;
    }
  }
}

static int64_t time_of(const struct work *work, size_t first, size_t end) {
  return work->parts->items[end - 1].to - work->parts->items[first].from;
}

static size_t end_of_run(const struct work *work, size_t first, size_t end, size_t depth) {
  size_t next = first + 1;
  while (next < end && work->shared[next] > depth) {
    next++;
  }
  return next;
}

static void find_runs(struct work *work, bool by_lane) {
  size_t count = work->parts->count;
  work->by_lane = by_lane;
  for (size_t i = 1; i < count; i++) {
    work->shared[i] = shared_with_last(work, i);
    work->changes[i] = work->changes[i - 1] + (work->lane[i] != work->lane[i - 1]);
  }
}

/* Is it long enough to stand alone, or in it for something else to? */
static bool is_long(struct work *work, size_t first, size_t end) {
  int64_t time = time_of(work, first, end);
  if (is_outside(work, first) || time >= work->least) {
    return true;
  }
  return time == work->least - 1 && work->room-- > 0;
}

static bool find_standing(struct work *work, size_t first, size_t end, size_t depth);

/* A run that is long enough is opened, and stands alone itself where nothing in it does. */
static void open_run(struct work *work, size_t first, size_t end, size_t depth) {
  if (op_at(work, first, depth) == LUMOS_NONE || !find_standing(work, first, end, depth + 1)) {
    uint32_t lane = is_outside(work, first) ? LUMOS_NONE : work->lane[first];
    memset(work->depth + first, (int)depth, end - first);
    lumos_vector_push(&work->pieces, ((struct report_piece){first, end - first, lane, true}));
  }
}

/* The runs in [first, end) at this depth. False: nothing in them stands alone. */
static bool find_standing(struct work *work, size_t first, size_t end, size_t depth) {
  size_t before = work->pieces.count;
  memset(work->depth + first, (int)depth, end - first);
  for (size_t i = first, next = first; i < end; i = next) {
    next = end_of_run(work, i, end, depth);
    if (is_long(work, i, next)) {
      open_run(work, i, next, depth);
    }
  }
  return work->pieces.count > before;
}

/* What is gathered of [first, end): how many pieces, lane by lane where they are told apart. */
static size_t count_gathered(const struct work *work, size_t first, size_t end) {
  return first == end ? 0 : work->by_lane ? 1 + work->changes[end - 1] - work->changes[first] : 1;
}

/* Find what stands alone. Returns the number of all pieces. */
static size_t stand(struct work *work, int64_t least, int64_t room) {
  work->least = least;
  work->room = room;
  work->pieces.count = 0;
  (void)find_standing(work, 0, work->parts->count, 0);
  size_t count = work->pieces.count;
  size_t done = 0;
  for (size_t i = 0; i < work->pieces.count; i++) {
    count += count_gathered(work, done, work->pieces.items[i].first);
    done = work->pieces.items[i].first + work->pieces.items[i].count;
  }
  return count + count_gathered(work, done, work->parts->count);
}

/* What lies in [first, end) is gathered. */
static void gather(const struct work *work, size_t first, size_t end, struct report_pieces *pieces) {
  for (size_t i = first, j = first; i < end; i = j) {
    uint32_t lane = work->lane[i];
    for (j = i + 1; j < end && (!work->by_lane || work->lane[j] == work->lane[i]); j++) {
      lane = work->lane[j] == lane ? lane : LUMOS_NONE;
    }
    lumos_vector_push(pieces, ((struct report_piece){i, j - i, lane, false}));
  }
}

/* All pieces, in order. */
static void cut(struct work *work, int64_t least, int64_t room, struct report_pieces *pieces) {
  (void)stand(work, least, room);
  size_t done = 0;
  for (size_t i = 0; i < work->pieces.count; i++) {
    const struct report_piece *piece = &work->pieces.items[i];
    gather(work, done, piece->first, pieces);
    lumos_vector_push(pieces, *piece);
    done = piece->first + piece->count;
  }
  gather(work, done, work->parts->count, pieces);
}

/* Those that stand alone and take a nanosecond less than `least`: an op and the only task in it are one. */
static int64_t count_alike(const struct work *work, int64_t least) {
  int64_t count = 0;
  for (size_t i = 0; i < work->pieces.count; i++) {
    const struct report_piece *piece = &work->pieces.items[i];
    count += !is_outside(work, piece->first) && time_of(work, piece->first, piece->first + piece->count) == least - 1;
  }
  return count;
}

/* For how many ops and tasks that take a nanosecond less than `least` there is still room, by halving. */
static int64_t most_alike(struct work *work, size_t limit, int64_t least) {
  int64_t low = 0;
  int64_t high = least == 0 ? 0 : (int64_t)work->paths.count + (int64_t)work->parts->count;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (stand(work, least, middle) <= limit) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/* The smallest least time within the limit, by halving; false when not even gathering everything is. */
static bool fit(struct work *work, size_t limit, bool by_lane, struct report_collapse *collapse) {
  int64_t low = 0;
  int64_t high = time_of(work, 0, work->parts->count) + 1;
  find_runs(work, by_lane);
  if (stand(work, high, 0) > limit) {
    return false;
  }
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (stand(work, middle, 0) <= limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  collapse->least = high;
  bool half_is_left = stand(work, high, 0) <= limit / 2;
  cut(work, high, half_is_left ? most_alike(work, limit, high) : 0, &collapse->pieces);
  collapse->first = half_is_left ? count_alike(work, high) : 0;
  collapse->by_lane = by_lane;
  return true;
}

static lumos_string_id name_of(const struct work *work, size_t part) {
  uint32_t op = op_at(work, part, work->depth[part]);
  return op == LUMOS_NONE ? report_collapse_name(work->job, work->parts->items[part].task)
                          : work->job->spans.items[op].name;
}

void report_collapse_make(const struct lumos_job *job, const struct lumos_path_parts *parts, size_t limit,
                          struct report_collapse *collapse) {
  *collapse = (struct report_collapse){.by_lane = true};
  collapse->names = lumos_allocate(parts->count * sizeof collapse->names[0]);
  if (parts->count == 0) {
    return;
  }
  struct work work = {.job = job, .parts = parts};
  find_paths(&work);
  if (!fit(&work, limit, true, collapse)) {
    (void)fit(&work, limit, false, collapse);
  }
  for (size_t i = 0; i < parts->count; i++) {
    collapse->names[i] = name_of(&work, i);
  }
  free(work.path_first);
  free(work.lane);
  free(work.changes);
  free(work.shared);
  free(work.depth);
  lumos_vector_free(&work.paths);
  lumos_vector_free(&work.pieces);
}

void report_collapse_free(struct report_collapse *collapse) {
  lumos_vector_free(&collapse->pieces);
  free(collapse->names);
}
