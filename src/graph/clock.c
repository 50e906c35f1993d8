/* How far a rank's device rows stand from its host rows.
 *
 * A shift is allowed when no task starts before its launching call does and no waiting call returns before the task
 * that it waits for has ended. Of launches those count that may have found their stream idle: what waits behind other
 * work says nothing, however much of it there is. Either kind of evidence gives one end of an interval, of which one
 * row in a hundred may fall outside (chosen: rows are rounded, and some are wrong). Clocks are not moved without need:
 * 0 where it is allowed, else the nearer end. Where the two contradict each other launches decide, for they are
 * recorded and what a call waits for is often not. A synchronisation that does not name its stream tells, too, where
 * the call before it on its thread copies something: it is there to wait for the copy.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>

LUMOS_VECTOR_TYPE(times, int64_t);

/* ns: no device's clock is further from its host's. Measured: kernels start up to 0.1 ms before their launch. */
enum { CLOCKS_APART = 100000 };

/* May the task have started as soon as it was launched? Not where its stream was surely at work by then, nor right
 * behind the task before it, nor as a later one of a graph. */
static bool found_idle(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (task == job->lanes.items[record->lane].task_first) {
    return true;
  }
  const struct lumos_task *before = record - 1;
  int64_t idle_from = before->start + before->dur;
  return before->call != record->call && record->start > idle_from + LUMOS_TIMING_NOISE &&
         idle_from < lumos_graph_call_start(job, record->call) + CLOCKS_APART;
}

/* Shifts at which a call and its task just touch: launches allow no less, waits no more. */
static void gather_shifts(const struct lumos_rank_graph *graph, struct times *launches, struct times *waits) {
  const struct lumos_job *job = graph->job;
  for (uint32_t task = graph->first; task < graph->first + graph->rank->task_count; task++) {
    const struct lumos_task *record = &job->tasks.items[task];
    uint32_t awaited = graph->awaited[task - graph->first];
    if (record->call != LUMOS_NONE) {
      if (found_idle(job, task)) {
        lumos_vector_push(launches, lumos_graph_call_start(job, record->call) - record->start);
      }
    } else if (awaited != LUMOS_NONE) {
      lumos_vector_push(waits,
                        record->start + record->dur - job->tasks.items[awaited].start - job->tasks.items[awaited].dur);
    }
  }
}

static bool is_call(const struct lumos_task *task) { return task->kind != LUMOS_OP; }

/* Does the call wait for a stream that the trace does not name? */
static bool waits_for_some_stream(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_wait *wait = &lumos_detail_of(job, task)->wait;
  return wait->on == LUMOS_WAIT_STREAM && wait->lane == LUMOS_NONE;
}

static void gather_copies(const struct lumos_rank_graph *graph, const struct lumos_lane *thread, struct times *waits) {
  const struct lumos_job *job = graph->job;
  uint32_t copy = LUMOS_NONE; /* what the last call launched, if that is a copy */
  for (uint32_t call = thread->task_first; call < thread->task_first + thread->task_count; call++) {
    const struct lumos_task *record = &job->tasks.items[call];
    if (!is_call(record)) {
      continue;
    }
    if (copy != LUMOS_NONE && waits_for_some_stream(job, record)) {
      lumos_vector_push(waits, record->start + record->dur - job->tasks.items[copy].start - job->tasks.items[copy].dur);
    }
    copy = graph->launched[call - graph->first];
    copy = copy != LUMOS_NONE && job->tasks.items[copy].kind == LUMOS_COPY ? copy : LUMOS_NONE;
  }
}

static size_t count_above(const struct times *shifts, int64_t limit) {
  size_t count = 0;
  for (size_t i = 0; i < shifts->count; i++) {
    count += shifts->items[i] > limit;
  }
  return count;
}

/* The shift nearest to 0 that the evidence allows; sorts it. */
static int64_t nearest_shift(struct times *launches, struct times *waits) {
  lumos_sort_times(launches->items, launches->count);
  lumos_sort_times(waits->items, waits->count);
  int64_t least = launches->count == 0 ? INT64_MIN : launches->items[launches->count - 1 - launches->count / 100];
  int64_t greatest = waits->count == 0 ? INT64_MAX : waits->items[waits->count / 100];
  if (least > 0 || least > greatest) {
    return least > 0 ? least : 0;
  }
  return greatest < 0 ? greatest : 0;
}

int64_t lumos_graph_device_offset(const struct lumos_rank_graph *graph) {
  struct times launches = {0}, waits = {0};
  gather_shifts(graph, &launches, &waits);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    if (lane->kind == LUMOS_THREAD) {
      gather_copies(graph, lane, &waits);
    }
  }
  bool allowed =
      count_above(&launches, 0) <= launches.count / 100 && waits.count - count_above(&waits, -1) <= waits.count / 100;
  int64_t shift = allowed ? 0 : nearest_shift(&launches, &waits);
  lumos_vector_free(&launches);
  lumos_vector_free(&waits);
  return lumos_graph_bounded(shift);
}
