/* Steps on either timeline: where each rank's steps begin and end, and the job's. */
#include "sim/steps.h"

#include "sim/clock.h"
#include <stdlib.h>

static void find_stretches_of(const struct lumos_job *job, uint32_t l, struct lumos_stretches *stretches) {
  const struct lumos_lane *lane = &job->lanes.items[l];
  uint32_t end = lane->task_first + lane->task_count;
  for (uint32_t t = lane->task_first; t < end;) {
    struct lumos_stretch stretch = {.lane = l, .first = t, .step = job->tasks.items[t].step};
    while (t < end && job->tasks.items[t].step == stretch.step) {
      t++;
    }
    stretch.count = t - stretch.first;
    if (stretch.step != LUMOS_ABSENT_INT) {
      lumos_vector_push(stretches, stretch);
    }
  }
}

void lumos_find_stretches(const struct lumos_job *job, struct lumos_stretches *stretches) {
  *stretches = (struct lumos_stretches){0};
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
      find_stretches_of(job, lane, stretches);
    }
  }
}

static bool on_stream(const struct lumos_job *job, const struct lumos_stretch *stretch) {
  return job->lanes.items[stretch->lane].kind == LUMOS_STREAM;
}

/* From the first start to the last end of a stretch's tasks; start LUMOS_ABSENT where none has an interval. */
static struct lumos_step interval_of(const struct lumos_job *job, const struct lumos_run *runs,
                                     const struct lumos_stretch *stretch, const uint32_t *places) {
  struct lumos_step step = {job->lanes.items[stretch->lane].rank, stretch->step, LUMOS_ABSENT, LUMOS_ABSENT};
  places = runs == NULL ? NULL : places;
  bool strides = places != NULL && !on_stream(job, stretch) && stretch->count > 1;
  uint32_t shift = places == NULL ? 0 : stretch->first - places[stretch->first]; /* on a stream all have places */
  uint32_t stride = strides ? stretch->count - 1 : 1;
  for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t += stride) {
    int64_t start = 0;
    int64_t end = 0;
    if (lumos_task_interval(job, runs, strides ? places[t] : t - shift, &start, &end)) {
      step.start = step.start == LUMOS_ABSENT || start < step.start ? start : step.start;
      step.end = end > step.end ? end : step.end;
    }
  }
  return step;
}

/* The latest end of the tasks of a step on a lane. */
struct latest {
  int32_t step;
  int64_t end;
};
LUMOS_VECTOR_TYPE(latest_list, struct latest);

static int by_step(const void *left_item, const void *right_item) {
  const struct latest *left = left_item, *right = right_item;
  return LUMOS_ORDER(left->step, right->step);
}

static void sort_ends(struct latest_list *ends) { lumos_vector_sort(ends, by_step); }

/* A rank's stretches on streams, or those on threads of steps that are not among the ends yet. */
static void collect_ends(const struct lumos_job *job, const struct lumos_run *runs, bool streams,
                         const uint32_t *places, const struct lumos_stretch *stretches, size_t count,
                         struct latest_list *ends) {
  size_t known = ends->count;
  for (size_t i = 0; i < count; i++) {
    struct latest latest = {stretches[i].step, LUMOS_ABSENT};
    bool found = known > 0 && bsearch(&latest, ends->items, known, sizeof latest, by_step) != NULL;
    if (!found && on_stream(job, &stretches[i]) == streams) {
      latest.end = interval_of(job, runs, &stretches[i], places).end;
    }
    if (latest.end != LUMOS_ABSENT) {
      lumos_vector_push(ends, latest);
    }
  }
  sort_ends(ends);
}

static int64_t first_start(const struct lumos_job *job, const struct lumos_rank *rank) {
  bool streams = rank->lane_count > 0 && job->lanes.items[rank->lane_first + rank->lane_count - 1].kind == LUMOS_STREAM;
  return streams ? lumos_device_job_time(rank, rank->base) : lumos_host_job_time(rank, rank->base);
}

uint32_t lumos_tasks_before_steps(const struct lumos_job *job, uint32_t lane) {
  const struct lumos_lane *stream = &job->lanes.items[lane];
  uint32_t count = 0;
  while (stream->kind == LUMOS_STREAM && count < stream->task_count &&
         job->tasks.items[stream->task_first + count].step == LUMOS_ABSENT_INT) {
    count++;
  }
  return count;
}

/* The latest end of what ran on a rank's device before its first step; LUMOS_ABSENT: nothing did. */
static int64_t end_before(const struct lumos_job *job, const struct lumos_run *runs, const struct lumos_rank *rank,
                          const uint32_t *places) {
  int64_t before = LUMOS_ABSENT;
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_stretch early = {l, job->lanes.items[l].task_first, lumos_tasks_before_steps(job, l), 0};
    int64_t end = early.count == 0 ? LUMOS_ABSENT : interval_of(job, runs, &early, places).end;
    before = end > before ? end : before;
  }
  return before;
}

/* Where a changed job's first step begins: as long after what ran before it as it was measured to. */
static int64_t changed_start(const struct lumos_job *job, const struct lumos_run *runs, const struct lumos_rank *rank,
                             const uint32_t *places) {
  int64_t before = end_before(job, runs, rank, places), measured = end_before(job, NULL, rank, NULL);
  int64_t lag = measured == LUMOS_ABSENT ? rank->base_lag : first_start(job, rank) - measured;
  return before == LUMOS_ABSENT || lag == LUMOS_ABSENT ? first_start(job, rank) : before + lag;
}

/* Of a step that has device tasks the host's do not count. */
static void find_rank_steps(const struct lumos_job *job, const struct lumos_run *runs, uint32_t r,
                            const uint32_t *places, bool changed, const struct lumos_stretch *stretches, size_t count,
                            struct latest_list *ends, struct lumos_steps_list *steps) {
  ends->count = 0;
  collect_ends(job, runs, true, places, stretches, count, ends);
  collect_ends(job, runs, false, places, stretches, count, ends);
  const struct lumos_rank *rank = &job->ranks.items[r];
  changed = runs != NULL && (changed || lumos_job_edited(job));
  int64_t start = changed ? changed_start(job, runs, rank, places) : first_start(job, rank);
  for (size_t i = 0; i < ends->count;) {
    struct lumos_step step = {.rank = r, .step = ends->items[i].step, .start = start, .end = start};
    for (; i < ends->count && ends->items[i].step == step.step; i++) {
      step.end = ends->items[i].end > step.end ? ends->items[i].end : step.end;
    }
    start = step.end;
    lumos_vector_push(steps, step);
  }
}

static void find_steps(const struct lumos_job *job, const struct lumos_run *runs,
                       const struct lumos_stretches *stretches, struct lumos_steps_list *steps) {
  struct latest_list ends = {0};
  *steps = (struct lumos_steps_list){0};
  size_t first = 0;
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    size_t count = 0;
    while (first + count < stretches->count && job->lanes.items[stretches->items[first + count].lane].rank == rank) {
      count++;
    }
    if (count > 0) {
      find_rank_steps(job, runs, rank, stretches->places, stretches->changed, stretches->items + first, count, &ends,
                      steps);
    }
    first += count;
  }
  lumos_vector_free(&ends);
}

void lumos_find_steps(const struct lumos_job *job, const struct lumos_run *runs, struct lumos_steps_list *steps) {
  struct lumos_stretches stretches;
  lumos_find_stretches(job, &stretches);
  find_steps(job, runs, &stretches, steps);
  lumos_vector_free(&stretches);
}

/* The ranks' steps by number, then rank; sharers of a job step in one piece. */
struct numbered {
  int32_t step;
  uint32_t index;
};

static int by_number(const void *left_item, const void *right_item) {
  const struct numbered *left = left_item, *right = right_item;
  return left->step != right->step ? LUMOS_ORDER(left->step, right->step) : LUMOS_ORDER(left->index, right->index);
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

void lumos_timeline_make(struct lumos_timeline *timeline, const struct lumos_job *job, const struct lumos_run *runs,
                         const struct lumos_stretches *stretches) {
  *timeline =
      (struct lumos_timeline){.source = runs == NULL ? LUMOS_METRIC_MEASURED : LUMOS_METRIC_SIMULATED, .runs = runs};
  find_steps(job, runs, stretches, &timeline->steps);
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
                           const struct lumos_stretches *stretches, const struct lumos_steps_list *steps,
                           struct lumos_steps_list *host_steps) {
  *host_steps = (struct lumos_steps_list){0};
  for (size_t i = 0; i < steps->count; i++) {
    struct lumos_step step = {steps->items[i].rank, steps->items[i].step, LUMOS_ABSENT, LUMOS_ABSENT};
    lumos_vector_push(host_steps, step);
  }
  uint32_t guess = 0;
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    uint32_t rank = job->lanes.items[stretch->lane].rank;
    uint32_t index = on_stream(job, stretch) ? LUMOS_NONE : lumos_step_index(steps, rank, stretch->step, &guess);
    if (index != LUMOS_NONE) {
      struct lumos_step part = interval_of(job, runs, stretch, stretches->places);
      struct lumos_step *step = &host_steps->items[index];
      bool earlier = step->start == LUMOS_ABSENT || (part.start != LUMOS_ABSENT && part.start < step->start);
      step->start = earlier ? part.start : step->start;
      step->end = part.end > step->end ? part.end : step->end;
    }
  }
}

uint32_t lumos_job_step(const struct lumos_timeline *timeline, int32_t step) {
  size_t low = 0;
  size_t high = timeline->job.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (timeline->job.items[middle].step < step) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < timeline->job.count && timeline->job.items[low].step == step ? (uint32_t)low : LUMOS_NONE;
}

const struct lumos_step *lumos_typical_step(const struct lumos_steps_list *steps, size_t first) {
  __int128 sum = 0;
  int64_t count = 0;
  const struct lumos_step *typical = NULL;
  for (size_t k = first; k < steps->count; k++) {
    int64_t time = steps->items[k].end - steps->items[k].start;
    sum += time;
    count += time > 0;
  }
  int64_t mean = count > 0 ? (int64_t)(sum / count) : 0, nearest = INT64_MAX - 1;
  for (size_t k = first; k < steps->count; k++) {
    const struct lumos_step *step = &steps->items[k];
    int64_t distance = llabs(step->end - step->start - mean);
    if (step->end > step->start && distance <= nearest + 1) {
      typical = step;
      nearest = distance < nearest ? distance : nearest;
    }
  }
  return typical;
}
