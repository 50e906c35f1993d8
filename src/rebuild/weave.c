#include "rebuild/weave.h"

#include <lumos/stream.h>
#include <stdio.h>
#include <stdlib.h>

void rebuild_weave_begin(struct rebuild_weave *weave, struct lumos_job *job) {
  *weave = (struct rebuild_weave){.job = job, .tasks = (uint32_t)job->tasks.count};
  weave->next_id = lumos_allocate_zeroed(job->ranks.count, sizeof *weave->next_id);
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t rank = lumos_rank_of(job, &job->tasks.items[t]), next = job->tasks.items[t].id + 1;
    weave->next_id[rank] = next > weave->next_id[rank] ? next : weave->next_id[rank];
  }
  weave->next_span = lumos_allocate_zeroed(job->ranks.count, sizeof *weave->next_span);
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    weave->next_span[span->rank] =
        span->id >= weave->next_span[span->rank] ? span->id + 1 : weave->next_span[span->rank];
  }
}

uint32_t rebuild_weave_op(struct rebuild_weave *weave, uint32_t thread, const char *name, int64_t start) {
  struct lumos_job *job = weave->job;
  struct lumos_span span = lumos_span_empty;
  span.rank = job->lanes.items[thread].rank;
  span.lane = thread;
  span.id = weave->next_span[span.rank]++;
  span.kind = LUMOS_SPAN_OP;
  span.name = lumos_intern_text(job->strings, name);
  span.start = start == LUMOS_ABSENT ? 0 : start;
  lumos_vector_push(&job->spans, span);
  return (uint32_t)job->spans.count - 1;
}

uint32_t rebuild_weave_task(struct rebuild_weave *weave, struct lumos_task task, uint32_t after) {
  struct lumos_job *job = weave->job;
  uint32_t index = (uint32_t)job->tasks.count;
  task.id = weave->next_id[job->lanes.items[task.lane].rank]++;
  lumos_vector_push(&job->tasks, task);
  lumos_vector_push(&weave->items, ((struct rebuild_woven){index, after}));
  return index;
}

int32_t rebuild_free_stream(const struct lumos_job *job) {
  long highest = 0;
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    long number = lane->kind == LUMOS_STREAM ? strtol(lumos_string(job->strings, lane->native), NULL, 10) : 0;
    highest = number > highest && number < INT32_MAX ? number : highest;
  }
  return (int32_t)highest + 1;
}

uint32_t rebuild_weave_stream(struct rebuild_weave *weave, uint32_t rank, int32_t number) {
  struct lumos_job *job = weave->job;
  struct lumos_lane stream = lumos_lane_empty;
  char text[16];
  (void)snprintf(text, sizeof text, "s%d", number);
  stream.rank = rank;
  stream.kind = LUMOS_STREAM;
  stream.lane = lumos_intern_text(job->strings, text);
  stream.native = lumos_intern_text(job->strings, text + 1);
  lumos_vector_push(&job->lanes, stream);
  return (uint32_t)job->lanes.count - 1;
}

static int by_place(const void *left, const void *right) {
  const struct rebuild_woven *a = left, *b = right;
  return a->after != b->after ? LUMOS_ORDER(a->after, b->after) : LUMOS_ORDER(a->task, b->task);
}

/* Every lane is counted through, with what is woven in behind each of its tasks. */
static void number_tasks(struct rebuild_weave *weave) {
  struct lumos_job *job = weave->job;
  uint32_t *next = lumos_allocate_zeroed(job->lanes.count, sizeof *next);
  size_t at = 0;
  lumos_vector_sort(&weave->items, by_place);
  for (uint32_t t = 0; t < weave->tasks; t++) {
    uint32_t lane = job->tasks.items[t].lane;
    job->tasks.items[t].seq = next[lane]++;
    for (; at < weave->items.count && weave->items.items[at].after == t; at++) {
      job->tasks.items[weave->items.items[at].task].seq = next[lane]++;
    }
  }
  for (; at < weave->items.count; at++) {
    struct lumos_task *task = &job->tasks.items[weave->items.items[at].task];
    task->seq = next[task->lane]++;
  }
  free(next);
}

bool rebuild_weave_end(struct rebuild_weave *weave, struct lumos_error *error) {
  number_tasks(weave);
  lumos_vector_free(&weave->items);
  free(weave->next_id);
  free(weave->next_span);
  lumos_job_forget_run(weave->job);
  return lumos_job_arrange(weave->job, error) && lumos_job_check(weave->job, error);
}
