/* A binary heap whose order is total: no two events compare equal, so the result does not depend on how they got in. */
#include "sim/queue.h"

#include <lumos/sim.h>

/* Ties are rare but for traces in whole microseconds, so what breaks them is looked up, not stored. */
static bool breaks_tie(const struct lumos_queue *queue, const struct lumos_event *one,
                       const struct lumos_event *other) {
  const struct lumos_job *job = queue->job;
  uint32_t left = queue->tasks[one->node] - one->earlier, right = queue->tasks[other->node] - other->earlier;
  int64_t left_start = lumos_measured_start(job, left);
  int64_t right_start = lumos_measured_start(job, right);
  if (left_start != right_start) {
    return right_start == LUMOS_ABSENT || (left_start != LUMOS_ABSENT && left_start < right_start);
  }
  const struct lumos_task *tasks = job->tasks.items;
  uint32_t left_rank = lumos_rank_of(job, &tasks[left]);
  uint32_t right_rank = lumos_rank_of(job, &tasks[right]);
  if (left_rank == right_rank && queue->ties != NULL) {
    return queue->ties[left] < queue->ties[right];
  }
  return left_rank != right_rank ? left_rank < right_rank : tasks[left].id < tasks[right].id;
}

static bool before(const struct lumos_queue *queue, const struct lumos_event *left, const struct lumos_event *right) {
  if (left->time != right->time) {
    return left->time < right->time;
  }
  return left->turn != right->turn ? left->turn < right->turn : breaks_tie(queue, left, right);
}

void lumos_queue_push(struct lumos_queue *queue, struct lumos_event event) {
  lumos_vector_push(&queue->heap, event);
  struct lumos_event *heap = queue->heap.items;
  size_t place = queue->heap.count - 1;
  while (place > 0 && before(queue, &event, &heap[(place - 1) / 2])) {
    heap[place] = heap[(place - 1) / 2];
    place = (place - 1) / 2;
  }
  heap[place] = event;
}

struct lumos_event lumos_queue_pop(struct lumos_queue *queue) {
  struct lumos_event *heap = queue->heap.items;
  struct lumos_event first = heap[0];
  struct lumos_event last = heap[--queue->heap.count];
  size_t count = queue->heap.count;
  size_t place = 0;
  for (size_t child = 1; child < count; child = 2 * place + 1) {
    if (child + 1 < count && before(queue, &heap[child + 1], &heap[child])) {
      child++;
    }
    if (!before(queue, &heap[child], &last)) {
      break;
    }
    heap[place] = heap[child];
    place = child;
  }
  heap[place] = last; /* with one event left this writes what was taken out: harmless */
  return first;
}
