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
                           const uint8_t *streams) {
  size_t kept = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (streams[task->lane]) {
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

static void lengthen(struct lumos_job *job, struct lumos_task *task, int64_t beside) {
  struct lumos_detail *detail = lumos_task_detail(job, task);
  detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
  task->dur += beside * REBUILD_LOSS_PERCENT / 100;
  task->dur_source = LUMOS_MODELLED;
}

bool rebuild_slow_down(struct lumos_job *job, const uint8_t *streams, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  struct stretches stretches = {0};
  bool done = lumos_engine_run(job, &options, runs, error);
  if (done) {
    find_stretches(&stretches, job, runs, streams);
  }
  for (size_t t = 0; t < job->tasks.count && done; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    bool computes = lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
    int64_t beside = computes && !streams[task->lane]
                         ? time_beside(&stretches, lumos_rank_of(job, task), runs[t].start, runs[t].start + runs[t].dur)
                         : 0;
    if (beside > 0) {
      lengthen(job, task, beside);
    }
  }
  lumos_vector_free(&stretches);
  free(runs);
  return done;
}
