/* Steps on either timeline: where each rank's steps begin and end, and the job's. */
#include "sim/steps.h"

#include "sim/clock.h"
#include <stdlib.h>

/* The latest end seen of a step's tasks, on streams or on threads. */
struct latest {
  int32_t step;
  bool device;
  int64_t end;
};
LUMOS_VECTOR_TYPE(latest_list, struct latest);

static int by_step_device_first(const void *left_item, const void *right_item) {
  const struct latest *left = left_item;
  const struct latest *right = right_item;
  if (left->step != right->step) {
    return left->step < right->step ? -1 : 1;
  }
  return (int)right->device - (int)left->device;
}

/* One entry for every stretch of tasks of one step on one kind of lane: few, since lanes are in order. */
static void collect_ends(const struct lumos_job *job, const struct lumos_run *runs, const struct lumos_rank *rank,
                         struct latest_list *ends) {
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t start = 0;
    int64_t end = 0;
    if (task->step == LUMOS_ABSENT_INT || !lumos_task_interval(job, runs, t, &start, &end)) {
      continue;
    }
    struct latest *last = ends->count == 0 ? NULL : &ends->items[ends->count - 1];
    bool device = lumos_on_stream(job, task);
    if (last != NULL && last->step == task->step && last->device == device) {
      last->end = end > last->end ? end : last->end;
    } else {
      struct latest entry = {task->step, device, end};
      lumos_vector_push(ends, entry);
    }
  }
}

static int64_t first_start(const struct lumos_job *job, const struct lumos_rank *rank) {
  bool streams = rank->lane_count > 0 && job->lanes.items[rank->lane_first + rank->lane_count - 1].kind == LUMOS_STREAM;
  return streams ? lumos_device_job_time(rank, rank->base) : lumos_host_job_time(rank, rank->base);
}

static void find_rank_steps(const struct lumos_job *job, const struct lumos_run *runs, uint32_t r,
                            struct latest_list *ends, struct lumos_steps_list *steps) {
  const struct lumos_rank *rank = &job->ranks.items[r];
  ends->count = 0;
  collect_ends(job, runs, rank, ends);
  if (ends->count > 0) {
    qsort(ends->items, ends->count, sizeof *ends->items, by_step_device_first);
  }
  int64_t start = first_start(job, rank);
  for (size_t i = 0; i < ends->count;) {
    const struct latest *first = &ends->items[i];
    struct lumos_step step = {.rank = r, .step = first->step, .start = start, .end = start};
    /* Device ends come first, and where there are any the host's do not count. */
    for (; i < ends->count && ends->items[i].step == step.step; i++) {
      bool counts = ends->items[i].device == first->device;
      step.end = counts && ends->items[i].end > step.end ? ends->items[i].end : step.end;
    }
    start = step.end;
    lumos_vector_push(steps, step);
  }
}

void lumos_find_steps(const struct lumos_job *job, const struct lumos_run *runs, struct lumos_steps_list *steps) {
  struct latest_list ends = {0};
  *steps = (struct lumos_steps_list){0};
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    find_rank_steps(job, runs, rank, &ends, steps);
  }
  lumos_vector_free(&ends);
}

/* The ranks' steps by number, then rank; sharers of a job step in one piece. */
struct numbered {
  int32_t step;
  uint32_t index;
};

static int by_number(const void *left_item, const void *right_item) {
  const struct numbered *left = left_item;
  const struct numbered *right = right_item;
  if (left->step != right->step) {
    return left->step < right->step ? -1 : 1;
  }
  return left->index < right->index ? -1 : left->index > right->index;
}

static void find_job_steps(struct lumos_timeline *timeline) {
  const struct lumos_steps_list *steps = &timeline->steps;
  struct numbered *numbered = lumos_allocate(steps->count * sizeof *numbered);
  timeline->sharers = lumos_allocate(steps->count * sizeof *timeline->sharers);
  timeline->sharers_first = lumos_allocate((steps->count + 1) * sizeof *timeline->sharers_first);
  int64_t start = INT64_MAX;
  for (uint32_t i = 0; i < steps->count; i++) {
    numbered[i] = (struct numbered){steps->items[i].step, i};
    start = steps->items[i].start < start ? steps->items[i].start : start;
  }
  qsort(numbered, steps->count, sizeof *numbered, by_number);
  for (uint32_t i = 0; i < steps->count;) {
    struct lumos_step step = {.rank = LUMOS_NONE, .step = numbered[i].step, .start = start, .end = start};
    timeline->sharers_first[timeline->job.count] = i;
    for (; i < steps->count && numbered[i].step == step.step; i++) {
      int64_t end = steps->items[numbered[i].index].end;
      step.end = end > step.end ? end : step.end;
      timeline->sharers[i] = numbered[i].index;
    }
    start = step.end;
    lumos_vector_push(&timeline->job, step);
  }
  timeline->sharers_first[timeline->job.count] = (uint32_t)steps->count;
  free(numbered);
}

void lumos_timeline_make(struct lumos_timeline *timeline, const struct lumos_job *job, const struct lumos_run *runs) {
  *timeline =
      (struct lumos_timeline){.source = runs == NULL ? LUMOS_METRIC_MEASURED : LUMOS_METRIC_SIMULATED, .runs = runs};
  lumos_find_steps(job, runs, &timeline->steps);
  find_job_steps(timeline);
}

void lumos_timeline_free(struct lumos_timeline *timeline) {
  lumos_vector_free(&timeline->steps);
  lumos_vector_free(&timeline->job);
  free(timeline->sharers);
  free(timeline->sharers_first);
}

/* The first step that is not before (rank, step) or, with step INT32_MIN, that ends after the instant. */
static size_t lower_bound(const struct lumos_steps_list *steps, uint32_t rank, int32_t step, int64_t instant) {
  size_t low = 0;
  size_t high = steps->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct lumos_step *at = &steps->items[middle];
    if (at->rank < rank || (at->rank == rank && (at->step < step || at->end <= instant))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint32_t lumos_step_index(const struct lumos_steps_list *steps, uint32_t rank, int32_t step, uint32_t *guess) {
  if (*guess < steps->count && steps->items[*guess].rank == rank && steps->items[*guess].step == step) {
    return *guess;
  }
  size_t found = lower_bound(steps, rank, step, INT64_MIN);
  if (found == steps->count || steps->items[found].rank != rank || steps->items[found].step != step) {
    return LUMOS_NONE;
  }
  return *guess = (uint32_t)found;
}

uint32_t lumos_step_after(const struct lumos_steps_list *steps, uint32_t rank, int64_t instant) {
  size_t found = lower_bound(steps, rank, INT32_MIN, instant);
  return found == steps->count || steps->items[found].rank != rank ? LUMOS_NONE : (uint32_t)found;
}

void lumos_find_host_steps(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_steps_list *steps, struct lumos_steps_list *host_steps) {
  *host_steps = (struct lumos_steps_list){0};
  for (size_t i = 0; i < steps->count; i++) {
    struct lumos_step step = {steps->items[i].rank, steps->items[i].step, LUMOS_ABSENT, LUMOS_ABSENT};
    lumos_vector_push(host_steps, step);
  }
  uint32_t guess = 0;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t start = 0;
    int64_t end = 0;
    if (task->step == LUMOS_ABSENT_INT || lumos_on_stream(job, task) ||
        !lumos_task_interval(job, runs, t, &start, &end)) {
      continue;
    }
    uint32_t index = lumos_step_index(steps, lumos_rank_of(job, task), task->step, &guess);
    if (index == LUMOS_NONE) {
      continue;
    }
    struct lumos_step *step = &host_steps->items[index];
    step->start = step->start == LUMOS_ABSENT || start < step->start ? start : step->start;
    step->end = end > step->end ? end : step->end;
  }
}
