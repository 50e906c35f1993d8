/* Depth first: before a task of an instant come the one before it on its thread, and the calls that launched what its
 * own work comes behind on its stream or waits for. Where that leads in a circle the order of ids breaks it. */
#include "sim/ties.h"

#include <stdlib.h>

struct pair { /* by `then`, then `first` */
  uint32_t first, then;
};

struct ties {
  const struct lumos_job *job;
  LUMOS_VECTOR(struct pair) pairs;
  LUMOS_VECTOR(uint32_t) tasks; /* of one instant, ascending */
  LUMOS_VECTOR(uint32_t) order;
  LUMOS_VECTOR(uint32_t) stack;
  uint8_t *seen; /* by task */
  uint32_t *places;
  bool contradicts;
};

/* One task of a stream was launched before another. */
static void add_pair(struct ties *ties, uint32_t before, uint32_t behind) {
  const struct lumos_task *tasks = ties->job->tasks.items;
  uint32_t first = tasks[before].call, then = tasks[behind].call;
  if (first == LUMOS_NONE || then == LUMOS_NONE || tasks[first].lane == tasks[then].lane) {
    return;
  }
  if (tasks[first].start != LUMOS_ABSENT && tasks[first].start == tasks[then].start &&
      tasks[first].dur == tasks[then].dur) {
    lumos_vector_push(&ties->pairs, ((struct pair){first, then}));
    ties->contradicts |= first > then;
  }
}

static void find_pairs(struct ties *ties) {
  const struct lumos_job *job = ties->job;
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    for (uint32_t n = 1; lane->kind == LUMOS_STREAM && n < lane->task_count; n++) {
      add_pair(ties, lane->task_first + n - 1, lane->task_first + n);
    }
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_DEP_EVENT && dep->src != LUMOS_NONE) {
      add_pair(ties, dep->src, dep->dst);
    }
  }
}

static int by_then(const void *left, const void *right) {
  const struct pair *a = left, *b = right;
  return a->then != b->then ? LUMOS_ORDER(a->then, b->then) : LUMOS_ORDER(a->first, b->first);
}

static int by_start(const void *left, const void *right, void *context) {
  const struct lumos_task *tasks = ((const struct lumos_job *)context)->tasks.items;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return tasks[a].start != tasks[b].start ? LUMOS_ORDER(tasks[a].start, tasks[b].start) : LUMOS_ORDER(a, b);
}

static bool is_open(const struct ties *ties, uint32_t task, uint32_t before) {
  const struct lumos_task *tasks = ties->job->tasks.items;
  return tasks[before].start == tasks[task].start && !ties->seen[before];
}

/* What has to come before the task and was not seen yet; LUMOS_NONE: nothing. */
static uint32_t open_before(const struct ties *ties, uint32_t task) {
  const struct lumos_job *job = ties->job;
  if (task > job->lanes.items[job->tasks.items[task].lane].task_first && is_open(ties, task, task - 1)) {
    return task - 1;
  }
  size_t low = 0, high = ties->pairs.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ties->pairs.items[middle].then < task) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < ties->pairs.count && ties->pairs.items[low].then == task; low++) {
    if (is_open(ties, task, ties->pairs.items[low].first)) {
      return ties->pairs.items[low].first;
    }
  }
  return LUMOS_NONE;
}

static void pass(struct ties *ties, uint32_t task) {
  ties->seen[task] = 1;
  lumos_vector_push(&ties->stack, task);
  while (ties->stack.count > 0) {
    uint32_t top = ties->stack.items[ties->stack.count - 1], before = open_before(ties, top);
    if (before == LUMOS_NONE) {
      lumos_vector_push(&ties->order, top);
      ties->stack.count--;
    } else {
      ties->seen[before] = 1;
      lumos_vector_push(&ties->stack, before);
    }
  }
}

/* The tasks of an instant, [first, end), share their places. */
static void place(struct ties *ties, size_t first, size_t end) {
  ties->order.count = 0;
  for (size_t i = first; i < end; i++) {
    if (!ties->seen[ties->tasks.items[i]]) {
      pass(ties, ties->tasks.items[i]);
    }
  }
  for (size_t i = first; i < end; i++) {
    ties->places[ties->order.items[i - first]] = ties->tasks.items[i];
  }
}

static void place_rank(struct ties *ties, const struct lumos_rank *rank) {
  const struct lumos_task *tasks = ties->job->tasks.items;
  ties->tasks.count = 0;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    ties->places[t] = t;
    if (!lumos_on_stream(ties->job, &tasks[t]) && tasks[t].start != LUMOS_ABSENT) {
      lumos_vector_push(&ties->tasks, t);
    }
  }
  lumos_vector_sort_by(&ties->tasks, by_start, (void *)(uintptr_t)ties->job);
  for (size_t first = 0, end; first < ties->tasks.count; first = end) {
    for (end = first + 1;
         end < ties->tasks.count && tasks[ties->tasks.items[end]].start == tasks[ties->tasks.items[first]].start;) {
      end++;
    }
    place(ties, first, end);
  }
}

uint32_t *lumos_find_ties(const struct lumos_job *job) {
  struct ties ties = {.job = job};
  find_pairs(&ties);
  if (ties.contradicts) {
    lumos_vector_sort(&ties.pairs, by_then);
    ties.seen = lumos_allocate_zeroed(job->tasks.count, 1);
    ties.places = lumos_allocate(job->tasks.count * sizeof *ties.places);
    for (size_t r = 0; r < job->ranks.count; r++) {
      place_rank(&ties, &job->ranks.items[r]);
    }
  }
  free(ties.seen);
  lumos_vector_free(&ties.pairs);
  lumos_vector_free(&ties.tasks);
  lumos_vector_free(&ties.order);
  lumos_vector_free(&ties.stack);
  return ties.places;
}
