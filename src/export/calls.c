/* Calls are numbered anew, in the order of their starts: the stream knows what launched what, and no longer by which
 * number. Even numbers are calls. Work whose call the recording lacks has the odd number behind the last call of its
 * step before it, by which lumos-parse finds its step again; work from before the recording has 1.
 */
#include "export/writer.h"

#include <stdlib.h>

enum { BEFORE_RECORDING = 1 };

struct call {
  int64_t start;
  uint32_t task;
};
LUMOS_VECTOR_TYPE(export_calls, struct call);

/* The earlier segments of the call whose last one is `last`. */
static void mark_parts(struct export_writer *writer, uint32_t first, uint32_t last) {
  const struct lumos_task *tasks = writer->job->tasks.items;
  const struct lumos_task *call = &tasks[last];
  for (uint32_t t = first; t < last; t++) {
    bool alike = tasks[t].name == call->name && tasks[t].kind == call->kind && tasks[t].span == call->span;
    bool own = (writer->flags[t] & EXPORT_LAUNCHES) != 0 ||
               lumos_detail_of(writer->job, &tasks[t])->first_segment != LUMOS_NONE;
    if (t == first || (alike && !own)) {
      writer->flags[t] |= EXPORT_PART;
    }
  }
}

static void set_flags(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].call != LUMOS_NONE) {
      writer->flags[job->tasks.items[t].call] |= EXPORT_LAUNCHES;
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t first = export_first_segment(job, t);
    if (first < t && job->tasks.items[first].lane == job->tasks.items[t].lane) {
      mark_parts(writer, first, t);
    }
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_HOST_WAIT && dep->evidence == LUMOS_INFERRED) {
      writer->flags[dep->dst] |= EXPORT_INFERRED;
    }
  }
}

static int by_start(const void *a, const void *b) {
  const struct call *left = a, *right = b;
  return left->start != right->start ? (left->start > right->start) - (left->start < right->start)
                                     : (left->task > right->task) - (left->task < right->task);
}

static void find_calls(const struct export_writer *writer, const struct lumos_rank *rank, struct export_calls *calls) {
  const struct lumos_job *job = writer->job;
  calls->count = 0;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    if (export_is_call(job, &job->tasks.items[t]) && (writer->flags[t] & EXPORT_PART) == 0) {
      lumos_vector_push(calls, ((struct call){job->tasks.items[export_first_segment(job, t)].start, t}));
    }
  }
  lumos_vector_sort(calls, by_start);
}

/* The last call of the step that starts no later than `time`, or LUMOS_NONE. */
static uint32_t call_before(const struct lumos_job *job, const struct export_calls *calls, int64_t time, int32_t step) {
  size_t low = 0;
  size_t high = calls->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (calls->items[middle].start <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  while (low > 0 && job->tasks.items[calls->items[low - 1].task].step > step) {
    low--;
  }
  uint32_t task = low > 0 ? calls->items[low - 1].task : LUMOS_NONE;
  return task != LUMOS_NONE && job->tasks.items[task].step == step ? task : LUMOS_NONE;
}

static uint32_t number_of_work(const struct export_writer *writer, const struct export_calls *calls, uint32_t t) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[t];
  if (task->call != LUMOS_NONE) {
    return writer->correlation[task->call];
  }
  if (task->step == LUMOS_ABSENT_INT) {
    return BEFORE_RECORDING;
  }
  uint32_t near = task->start != LUMOS_ABSENT ? call_before(job, calls, task->start, task->step) : LUMOS_NONE;
  return near != LUMOS_NONE ? writer->correlation[near] + 1 : 0;
}

void lumos_export_number_calls(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  struct export_calls calls = {0};
  uint32_t number = 0;
  set_flags(writer);
  for (size_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    find_calls(writer, rank, &calls);
    for (size_t i = 0; i < calls.count; i++) {
      writer->correlation[calls.items[i].task] = number += 2;
    }
    for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
      if (lumos_on_stream(job, &job->tasks.items[t])) {
        writer->correlation[t] = number_of_work(writer, &calls, t);
      }
    }
  }
  lumos_vector_free(&calls);
}
