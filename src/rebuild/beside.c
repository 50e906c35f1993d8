#include "rebuild/beside.h"

#include "sim/engine.h"
#include <stdlib.h>

struct stretch {
  uint32_t rank;
  int64_t start, end;
};
LUMOS_VECTOR_TYPE(stretches, struct stretch);

static int by_start(const void *left, const void *right) {
  const struct stretch *a = left, *b = right;
  return a->rank != b->rank ? LUMOS_ORDER(a->rank, b->rank) : LUMOS_ORDER(a->start, b->start);
}

/* When new communication is there, by rank and time. Members of one stream come one after the other, those of several are
 * united. */
static void find_stretches(struct stretches *stretches, const struct lumos_job *job, const struct lumos_run *runs,
                           const uint8_t *communication) {
  size_t kept = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (communication[t]) {
      struct stretch stretch = {lumos_rank_of(job, task), runs[t].start, runs[t].start + runs[t].dur};
      lumos_vector_push(stretches, stretch);
    }
  }
  lumos_vector_sort(stretches, by_start);
  for (size_t i = 0; i < stretches->count; i++) {
    struct stretch *last = kept == 0 ? NULL : &stretches->items[kept - 1], next = stretches->items[i];
    if (last != NULL && last->rank == next.rank && last->end >= next.start) {
      last->end = next.end > last->end ? next.end : last->end;
    } else {
      stretches->items[kept++] = next;
    }
  }
  stretches->count = kept;
}

/* The first stretch of a rank that ends behind an instant. */
static size_t stretch_behind(const struct stretches *stretches, uint32_t rank, int64_t at) {
  size_t low = 0, high = stretches->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct stretch *stretch = &stretches->items[middle];
    if (stretch->rank < rank || (stretch->rank == rank && stretch->end <= at)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static int64_t time_beside(const struct stretches *stretches, uint32_t rank, int64_t start, int64_t end) {
  int64_t sum = 0;
  for (size_t i = stretch_behind(stretches, rank, start); i < stretches->count; i++) {
    const struct stretch *stretch = &stretches->items[i];
    if (stretch->rank != rank || stretch->start >= end) {
      break;
    }
    int64_t from = stretch->start > start ? stretch->start : start, to = stretch->end < end ? stretch->end : end;
    sum += to - from;
  }
  return sum;
}

static bool computes(const struct lumos_job *job, const struct lumos_task *task) {
  return lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
}

/* By task: how long it runs beside that. */
static int64_t *find_times(const struct lumos_job *job, const struct lumos_run *runs, const uint8_t *communication) {
  int64_t *times = lumos_allocate_zeroed(job->tasks.count, sizeof *times);
  struct stretches stretches = {0};
  find_stretches(&stretches, job, runs, communication);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (computes(job, task)) {
      times[t] = time_beside(&stretches, lumos_rank_of(job, task), runs[t].start, runs[t].start + runs[t].dur);
    }
  }
  lumos_vector_free(&stretches);
  return times;
}

int64_t *rebuild_find_losses(const struct lumos_job *job, const uint8_t *communication) {
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  for (size_t t = 0; t < job->tasks.count; t++) {
    runs[t] = (struct lumos_run){job->tasks.items[t].start, job->tasks.items[t].dur};
  }
  int64_t *losses = find_times(job, runs, communication);
  for (size_t t = 0; t < job->tasks.count; t++) {
    losses[t] = losses[t] * REBUILD_LOSS_PERCENT / (100 + REBUILD_LOSS_PERCENT);
  }
  free(runs);
  return losses;
}

void rebuild_change_length(struct lumos_job *job, uint32_t t, int64_t by) {
  struct lumos_task *task = &job->tasks.items[t];
  struct lumos_detail *detail = lumos_task_detail(job, task);
  detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
  task->dur = task->dur + by > 0 ? task->dur + by : 0;
  task->dur_source = LUMOS_MODELLED;
}

bool rebuild_slow_down(struct lumos_job *job, const uint8_t *communication, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  bool done = lumos_engine_run(job, &options, runs, error);
  int64_t *times = done ? find_times(job, runs, communication) : NULL;
  for (uint32_t t = 0; t < job->tasks.count && done; t++) {
    if (times[t] > 0) {
      rebuild_change_length(job, t, times[t] * REBUILD_LOSS_PERCENT / 100);
    }
  }
  free(times);
  free(runs);
  return done;
}
