#include "memory/order.h"

#include "base/sort.h"
#include <stdlib.h>
#include <string.h>

struct begun { /* a task on a thread */
  int64_t start;
  uint32_t task;
};

static int compare_begun(const void *left, const void *right) {
  const struct begun *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : LUMOS_ORDER(a->task, b->task);
}

/* Is it autograd's evaluation of a gradient? */
static bool memory_is_node(const struct lumos_job *job, uint32_t span) {
  static const char engine[] = "autograd::engine::evaluate_function";
  return strncmp(lumos_string(job->strings, job->spans.items[span].name), engine, sizeof engine - 1) == 0;
}

static bool is_on_thread(const struct lumos_job *job, uint32_t task) {
  return !lumos_on_stream(job, &job->tasks.items[task]);
}

static int32_t last_step(const struct lumos_job *job, const struct lumos_rank *rank) {
  int32_t last = LUMOS_ABSENT_INT;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool counts = task->step != LUMOS_ABSENT_INT && task->phase == LUMOS_BACKWARD && is_on_thread(job, t);
    last = counts && task->step > last ? task->step : last;
  }
  return last;
}

/* Ops around a task that were not met yet, the outermost first. */
static void add_ops(struct memory_step *memory, uint32_t task, uint32_t *places) {
  const struct lumos_job *job = memory->job;
  uint32_t first = job->ranks.items[memory->rank].span_first;
  size_t before = memory->ops.count;
  for (uint32_t s = job->tasks.items[task].span; s != LUMOS_NONE && places[s - first] == 0;
       s = job->spans.items[s].parent) {
    places[s - first] = LUMOS_NONE; /* met */
    lumos_vector_push(&memory->ops, ((struct memory_op){s, task, LUMOS_NONE}));
  }
  for (size_t low = before, high = memory->ops.count; low + 1 < high; low++) {
    struct memory_op swapped = memory->ops.items[low];
    memory->ops.items[low] = memory->ops.items[--high];
    memory->ops.items[high] = swapped;
  }
  for (size_t i = before; i < memory->ops.count; i++) {
    struct memory_op *op = &memory->ops.items[i];
    const struct lumos_span *span = &job->spans.items[op->span];
    uint32_t around = span->parent == LUMOS_NONE ? 0 : places[span->parent - first];
    op->node = memory_is_node(job, op->span) ? (uint32_t)i
               : around == 0                 ? LUMOS_NONE
                                             : memory->ops.items[around - 1].node;
    places[op->span - first] = (uint32_t)i + 1;
  }
}

void memory_order_ops(struct memory_step *memory) {
  const struct lumos_job *job = memory->job;
  const struct lumos_rank *rank = &job->ranks.items[memory->rank];
  LUMOS_VECTOR(struct begun) begun = {0};
  memory->step = last_step(job, rank);
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t start =
        job->runs.count > 0 && job->runs.items[t].start != LUMOS_ABSENT ? job->runs.items[t].start : task->start;
    if (task->step == memory->step && task->span != LUMOS_NONE && start != LUMOS_ABSENT && is_on_thread(job, t)) {
      lumos_vector_push(&begun, ((struct begun){start, t}));
    }
  }
  lumos_sort_runs(begun.items, begun.count, sizeof *begun.items, compare_begun);   /* each thread is in order */
  uint32_t *places = lumos_allocate_zeroed(rank->span_count + 1U, sizeof *places); /* of spans: + 1; 0: not met */
  for (size_t i = 0; memory->step != LUMOS_ABSENT_INT && i < begun.count; i++) {
    add_ops(memory, begun.items[i].task, places);
  }
  free(places);
  lumos_vector_free(&begun);
}
