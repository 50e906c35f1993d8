/* Full queues: a stream holds so many launches that have not started (about 1,020 on V100 and H100), and the call that
 * makes one more returns only when one of them starts.
 *
 * A device's clock may be some us late against its host's: then a task seems to start just behind the return of the
 * call for which it made room. That is found first.
 *
 * Only where the trace shows it. The most that ever waited on a stream when a call returned is its depth, if calls that
 * took over five times as long as usual returned then, and most such calls did. What such a call took beyond the
 * typical length of its name is covered by the edge from the start of the task that made room.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>

enum {
  LEAST_DEPTH = 128, /* launches. Chosen: well below what was measured (1,020 on V100 and H100, 960 for graphs) */
  NEAR_DEPTH = 2,    /* launches. Measured: calls that block find 1,019 or 1,020 (5th to 95th percentile) */
  LONG_TIMES = 5,    /* usual lengths of a call. Chosen: as in sim/trust.c */
};

/* A launch, and what lay on its stream when its call returned. */
struct launch {
  uint32_t task, waiting;
};

struct stream_launches {
  LUMOS_VECTOR(struct launch) items;
  uint32_t depth;   /* the most that waited */
  int64_t lateness; /* ns, of starts against calls */
};

static int64_t dur_of_call(const struct lumos_rank_graph *graph, uint32_t task) {
  return lumos_graph_task(graph, lumos_graph_task(graph, task)->call)->dur;
}

/* Does the call launch this task alone? */
static bool is_single(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, uint32_t task) {
  uint32_t call = lumos_graph_task(graph, task)->call;
  bool shared_before = task > lane->task_first && lumos_graph_task(graph, task - 1)->call == call;
  bool shared_behind =
      task + 1 < lane->task_first + lane->task_count && lumos_graph_task(graph, task + 1)->call == call;
  return call != LUMOS_NONE && !shared_before && !shared_behind && !lumos_graph_blocks(graph->job, call);
}

/* By how much starts seem too late: of long calls in which no task started, how long behind their return the next one
 * did; 0 unless most long calls have such a one near. */
static int64_t find_lateness(const struct lumos_rank_graph *graph, const struct lumos_lane *lane) {
  int64_t *gaps = lumos_allocate(lane->task_count * sizeof *gaps + 1);
  uint32_t started = 0;
  size_t near = 0, far = 0;
  for (uint32_t n = 0; n < lane->task_count; n++) {
    uint32_t task = lane->task_first + n;
    const struct lumos_task *call =
        is_single(graph, lane, task) ? lumos_graph_task(graph, lumos_graph_task(graph, task)->call) : NULL;
    if (call == NULL || call->dur <= LUMOS_REACTION_WINDOW) {
      continue;
    }
    int64_t returned = call->start + call->dur;
    while (started < n && lumos_graph_device_start(graph, lane->task_first + started) <= returned) {
      started++;
    }
    bool none = started > 0 && lumos_graph_device_start(graph, lane->task_first + started - 1) < call->start;
    if (n - started >= LEAST_DEPTH) {
      int64_t gap = lumos_graph_device_start(graph, lane->task_first + started) - returned;
      bool is_one = none && gap <= LUMOS_REACTION_WINDOW;
      far += !is_one;
      gaps[near] = gap;
      near += is_one;
    }
  }
  lumos_sort_times(gaps, near);
  int64_t lateness = near >= LUMOS_ENOUGH_SAMPLES && near > far ? gaps[near - 1] : 0;
  free(gaps);
  return lateness;
}

static void count_waiting(const struct lumos_rank_graph *graph, const struct lumos_lane *lane,
                          struct stream_launches *launches) {
  uint32_t started = 0;
  launches->lateness = find_lateness(graph, lane);
  for (uint32_t n = 0; n < lane->task_count; n++) {
    uint32_t task = lane->task_first + n;
    if (!is_single(graph, lane, task)) {
      continue;
    }
    int64_t returned = lumos_graph_call_end(graph->job, lumos_graph_task(graph, task)->call) + launches->lateness;
    while (started < n && lumos_graph_device_start(graph, lane->task_first + started) <= returned) {
      started++; /* calls return in the order of their launches, but for threads that race: then this counts too few */
    }
    struct launch launch = {task, n - started};
    lumos_vector_push(&launches->items, launch);
    launches->depth = launch.waiting > launches->depth ? launch.waiting : launches->depth;
  }
}

static uint32_t name_group(const struct lumos_rank_graph *graph, struct lumos_typical *typical, uint32_t task) {
  return lumos_typical_group(typical, lumos_graph_task(graph, lumos_graph_task(graph, task)->call)->name, 0, 0);
}

static bool is_near(const struct stream_launches *launches, const struct launch *launch) {
  return launch->waiting + NEAR_DEPTH >= launches->depth;
}

/* The median of what calls take that return before the stream is full; -1 where too few do to tell. */
static int64_t usual_call(const struct lumos_rank_graph *graph, const struct stream_launches *launches) {
  int64_t *durs = lumos_allocate(launches->items.count * sizeof *durs);
  size_t count = 0;
  for (size_t i = 0; i < launches->items.count; i++) {
    if (!is_near(launches, &launches->items.items[i])) {
      durs[count++] = dur_of_call(graph, launches->items.items[i].task);
    }
  }
  lumos_sort_times(durs, count);
  int64_t usual = count < LUMOS_ENOUGH_SAMPLES ? -1 : lumos_percentile(durs, count, 50);
  free(durs);
  return usual;
}

/* Do calls block when the stream is full, and seldom else? */
static bool blocks_when_full(const struct lumos_rank_graph *graph, const struct stream_launches *launches) {
  int64_t usual = launches->depth < LEAST_DEPTH ? -1 : usual_call(graph, launches);
  size_t full = 0, other = 0;
  for (size_t i = 0; i < launches->items.count; i++) {
    const struct launch *launch = &launches->items.items[i];
    int64_t dur = dur_of_call(graph, launch->task);
    if (usual >= 0 && dur > LONG_TIMES * usual) {
      full += is_near(launches, launch);
      other += !is_near(launches, launch);
    }
  }
  return full >= LUMOS_ENOUGH_SAMPLES && full > other;
}

static void store(struct lumos_rank_graph *graph, uint32_t made_room, uint32_t task, int64_t covers) {
  uint32_t call = lumos_graph_task(graph, task)->call;
  struct lumos_dep edge = lumos_dep_empty;
  edge.src = made_room;
  edge.dst = call;
  edge.kind = LUMOS_QUEUE;
  edge.from = LUMOS_START;
  edge.to = LUMOS_END;
  int64_t lag = lumos_graph_call_end(graph->job, call) - lumos_graph_device_start(graph, made_room);
  edge.lag = lag > 0 ? lag : 0;
  edge.covers = covers;
  edge.evidence = LUMOS_INFERRED;
  edge.mode = LUMOS_RUN_TIME;
  lumos_vector_push(&graph->deps, edge);
  graph->job->lanes.items[lumos_graph_task(graph, task)->lane].queue_depth = (int32_t)(task - made_room - 1);
}

/* Calls that blocked: near the depth, longer than is typical, and back when the last task that started by then had.
 * Some launches take more of the stream's places than others, so that a call may have waited for one or two tasks
 * behind the one that the depth names: the edge leads from that one all the same, with what it then took as lag. */
static void cover_calls(struct lumos_rank_graph *graph, const struct lumos_lane *lane,
                        const struct stream_launches *launches) {
  struct lumos_typical *typical = lumos_typical_new();
  for (size_t i = 0; i < launches->items.count; i++) {
    uint32_t task = launches->items.items[i].task;
    if (!is_near(launches, &launches->items.items[i])) {
      lumos_typical_add(typical, name_group(graph, typical, task), dur_of_call(graph, task));
    }
  }
  for (size_t i = 0; i < launches->items.count; i++) {
    const struct launch *launch = &launches->items.items[i];
    uint32_t place = launch->task - lane->task_first;
    int64_t own = 0;
    if (!is_near(launches, launch) || place <= launches->depth ||
        !lumos_typical_value(typical, name_group(graph, typical, launch->task), 1, &own)) {
      continue;
    }
    uint32_t made_room = launch->task - launches->depth - 1;
    const struct lumos_task *call = lumos_graph_task(graph, lumos_graph_task(graph, launch->task)->call);
    int64_t free_from = lumos_graph_device_start(graph, launch->task - launch->waiting - 1);
    if (call->dur > own + LUMOS_TIMING_NOISE && free_from > call->start &&
        free_from <= call->start + call->dur + launches->lateness) {
      store(graph, made_room, launch->task, call->dur - own);
    }
  }
  lumos_typical_free(typical);
}

void lumos_graph_full_queues(struct lumos_rank_graph *graph) {
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    struct stream_launches launches = {.depth = 0};
    if (lane->kind == LUMOS_STREAM && lane->task_count > LEAST_DEPTH) {
      count_waiting(graph, lane, &launches);
      if (blocks_when_full(graph, &launches)) {
        cover_calls(graph, lane, &launches);
      }
    }
    lumos_vector_free(&launches.items);
  }
}
