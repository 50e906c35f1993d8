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

static void rise(const struct lumos_queue *queue, size_t place, struct lumos_event event) {
  struct lumos_event *heap = queue->heap.items;
  while (place > 0 && before(queue, &event, &heap[(place - 1) / 2])) {
    heap[place] = heap[(place - 1) / 2];
    place = (place - 1) / 2;
  }
  heap[place] = event;
}

/* From the first place, which is free. */
static void sink(const struct lumos_queue *queue, struct lumos_event event) {
  struct lumos_event *heap = queue->heap.items;
  size_t count = queue->heap.count, place = 0;
  for (size_t child = 1; child < count; child = 2 * place + 1) {
    if (child + 1 < count && before(queue, &heap[child + 1], &heap[child])) {
      child++;
    }
    if (!before(queue, &heap[child], &event)) {
      break;
    }
    heap[place] = heap[child];
    place = child;
  }
  heap[place] = event;
}

void lumos_queue_empty(struct lumos_queue *queue) {
  queue->heap.count = 0;
  queue->taken = false;
}

void lumos_queue_push(struct lumos_queue *queue, struct lumos_event event) {
  if (queue->taken) {
    queue->taken = false;
    sink(queue, event);
  } else {
    lumos_vector_push(&queue->heap, event);
    rise(queue, queue->heap.count - 1, event);
  }
}

bool lumos_queue_pop(struct lumos_queue *queue, struct lumos_event *event) {
  if (queue->taken && --queue->heap.count > 0) {
    sink(queue, queue->heap.items[queue->heap.count]);
  }
  queue->taken = queue->heap.count > 0;
  *event = queue->taken ? queue->heap.items[0] : *event;
  return queue->taken;
}
