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
  uint8_t *depth;              /* of every part: where in its path the run ended that decided on it */
  struct report_pieces pieces; /* those that stand alone, in order */
  int64_t least;
  int64_t room; /* for so many ops and tasks that take a nanosecond less */
  bool by_lane;
};

static uint32_t lane_of(const struct work *work, size_t part) {
  return work->job->tasks.items[work->parts->items[part].task].lane;
}

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

static uint32_t op_of(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *own = &job->tasks.items[task];
  bool launched = lumos_on_stream(job, own) && own->call != LUMOS_NONE;
  return op_around(job, launched ? job->tasks.items[own->call].span : own->span);
}

lumos_string_id report_collapse_name(const struct lumos_job *job, uint32_t task) {
  uint32_t op = lumos_on_stream(job, &job->tasks.items[task]) ? op_of(job, task) : LUMOS_NONE;
  return op == LUMOS_NONE ? job->tasks.items[task].name : job->spans.items[op].name;
}

static void add_path(struct work *work, uint32_t task) {
  uint32_t ops[DEPTH];
  size_t count = 0;
  for (uint32_t op = op_of(work->job, task); op != LUMOS_NONE && count < DEPTH;) {
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
  work->depth = lumos_allocate_zeroed(count + 1, 1);
  lumos_vector_reserve(&work->paths, count);
  for (size_t i = 0; i < count; i++) {
    work->path_first[i] = work->paths.count;
    add_path(work, work->parts->items[i].task);
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

static bool run_together(const struct work *work, size_t left, size_t right, size_t depth) {
  uint32_t op = op_at(work, left, depth);
  if (is_outside(work, left) || is_outside(work, right) || lane_of(work, left) != lane_of(work, right) ||
      op != op_at(work, right, depth)) {
    return false;
  }
  return op != LUMOS_NONE || work->parts->items[left].task == work->parts->items[right].task;
}

static int64_t time_of(const struct work *work, size_t first, size_t end) {
  return work->parts->items[end - 1].to - work->parts->items[first].from;
}

static void stand_alone(struct work *work, size_t first, size_t end, size_t depth) {
  struct report_piece piece = {first, end - first, is_outside(work, first) ? LUMOS_NONE : lane_of(work, first), true};
  lumos_vector_push(&work->pieces, piece);
  memset(work->depth + first, (int)depth, end - first);
}

/* Is it long enough to stand alone, or in it for something else to? */
static bool is_long(struct work *work, size_t first, size_t end) {
  int64_t time = time_of(work, first, end);
  if (is_outside(work, first) || time >= work->least) {
    return true;
  }
  return time == work->least - 1 && work->room-- > 0;
}

/* The runs in [first, end) at this depth: those long enough are opened, and stand alone themselves where nothing in
 * them does. */
static bool find_standing(struct work *work, size_t first, size_t end, size_t depth) {
  size_t before = work->pieces.count;
  for (size_t i = first, j = first; i < end; i = j) {
    for (j = i + 1; j < end && run_together(work, i, j, depth);) {
      j++;
    }
    memset(work->depth + i, (int)depth, j - i);
    if (!is_long(work, i, j)) {
      continue;
    }
    if (op_at(work, i, depth) == LUMOS_NONE || !find_standing(work, i, j, depth + 1)) {
      stand_alone(work, i, j, depth);
    }
  }
  return work->pieces.count > before;
}

/* What lies in [first, end) is gathered, lane by lane where they are told apart. */
static void gather(const struct work *work, size_t first, size_t end, struct report_pieces *pieces) {
  for (size_t i = first, j = first; i < end; i = j) {
    uint32_t lane = lane_of(work, i);
    for (j = i + 1; j < end && (!work->by_lane || lane_of(work, j) == lane_of(work, i)); j++) {
      lane = lane_of(work, j) == lane ? lane : LUMOS_NONE;
    }
    struct report_piece piece = {i, j - i, lane, false};
    lumos_vector_push(pieces, piece);
  }
}

/* All pieces, in order. */
static void cut(struct work *work, int64_t least, int64_t room, bool by_lane, struct report_pieces *pieces) {
  work->least = least;
  work->room = room;
  work->by_lane = by_lane;
  work->pieces.count = 0;
  pieces->count = 0;
  (void)find_standing(work, 0, work->parts->count, 0);
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
static int64_t most_alike(struct work *work, size_t limit, int64_t least, bool by_lane,
                          struct report_collapse *collapse) {
  int64_t low = 0;
  int64_t high = least == 0 ? 0 : (int64_t)work->paths.count + (int64_t)work->parts->count;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    cut(work, least, middle, by_lane, &collapse->pieces);
    if (collapse->pieces.count <= limit) {
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
  cut(work, high, 0, by_lane, &collapse->pieces);
  if (collapse->pieces.count > limit) {
    return false;
  }
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    cut(work, middle, 0, by_lane, &collapse->pieces);
    if (collapse->pieces.count <= limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  collapse->least = high;
  cut(work, high, 0, by_lane, &collapse->pieces);
  if (collapse->pieces.count <= limit / 2) {
    cut(work, high, most_alike(work, limit, high, by_lane, collapse), by_lane, &collapse->pieces);
    collapse->first = count_alike(work, high);
  }
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
  free(work.depth);
  lumos_vector_free(&work.paths);
  lumos_vector_free(&work.pieces);
}

void report_collapse_free(struct report_collapse *collapse) {
  lumos_vector_free(&collapse->pieces);
  free(collapse->names);
}
