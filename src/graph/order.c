/* Who was enqueued when: the order in which the host's calls took effect on the streams of a rank.
 *
 * A launch, a record and a stream's wait take effect when their call ends, a blocking copy when it starts, for it
 * returns only when it is done (include/lumos/stream.h, "before"). A stream runs its tasks in the order in which it
 * got them, so the instant never falls along a lane: where threads race for a stream the later of two instants
 * counts.
 */
#include "graph/graph.h"

static int64_t effect_of(const struct lumos_job *job, uint32_t call) {
  return lumos_graph_blocks(job, call) ? job->tasks.items[call].start : lumos_graph_call_end(job, call);
}

/* Note what a call launches: all of it, once, in the order of streams. */
static void note_launched(struct lumos_rank_graph *graph, uint32_t call, uint32_t task) {
  uint32_t *last = &graph->launched[call - graph->first], *first = &graph->first_node[call - graph->first];
  if (*last != LUMOS_NONE) {
    uint32_t earliest = *first == LUMOS_NONE ? *last : *first; /* the only one up to now */
    bool earlier = lumos_graph_device_start(graph, task) < lumos_graph_device_start(graph, earliest);
    *first = earlier ? task : earliest;
  }
  if (*last == LUMOS_NONE || lumos_graph_device_end(graph, task) > lumos_graph_device_end(graph, *last)) {
    *last = task;
  }
}

bool lumos_graph_is_node(const struct lumos_rank_graph *graph, uint32_t task) {
  uint32_t call = lumos_graph_task(graph, task)->call;
  return call != LUMOS_NONE && graph->first_node[call - graph->first] != LUMOS_NONE;
}

bool lumos_graph_lacks_launch(const struct lumos_rank_graph *graph, uint32_t task) {
  const struct lumos_task *record = lumos_graph_task(graph, task);
  return record->call == LUMOS_NONE && record->step != LUMOS_ABSENT_INT;
}

bool lumos_graph_follows_node(const struct lumos_rank_graph *graph, uint32_t task) {
  const struct lumos_task *record = lumos_graph_task(graph, task);
  return task > graph->job->lanes.items[record->lane].task_first && record->call != LUMOS_NONE &&
         lumos_graph_task(graph, task - 1)->call == record->call;
}

static void order_stream(struct lumos_rank_graph *graph, const struct lumos_lane *lane) {
  const struct lumos_job *job = graph->job;
  int64_t latest = INT64_MIN;
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    uint32_t call = job->tasks.items[task].call;
    if (call != LUMOS_NONE) {
      int64_t effect = effect_of(job, call);
      if (effect > latest) {
        latest = effect;
      }
      note_launched(graph, call, task);
    }
    graph->enqueued[task - graph->first] = latest;
    graph->held[task - graph->first] = LUMOS_ABSENT;
  }
}

static void order_thread(struct lumos_rank_graph *graph, const struct lumos_lane *lane) {
  const struct lumos_job *job = graph->job;
  uint32_t last_wait = LUMOS_NONE;
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    if (graph->launched[task - graph->first] != LUMOS_NONE) {
      graph->stream_wait[task - graph->first] = last_wait;
    }
    if (lumos_detail_of(job, &job->tasks.items[task])->event_op == LUMOS_EVENT_WAIT) {
      last_wait = task;
    }
  }
}

void lumos_graph_order(struct lumos_rank_graph *graph) {
  const struct lumos_rank *rank = graph->rank;
  for (uint32_t i = 0; i < rank->task_count; i++) {
    graph->launched[i] = graph->first_node[i] = graph->stream_wait[i] = graph->awaited[i] = LUMOS_NONE;
  }
  if (rank->lane_count == 0) {
    return;
  }
  const struct lumos_lane *lanes = graph->job->lanes.items + rank->lane_first;
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    if (lanes[i].kind == LUMOS_STREAM) {
      order_stream(graph, &lanes[i]);
    }
  }
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    if (lanes[i].kind == LUMOS_THREAD) {
      order_thread(graph, &lanes[i]);
    }
  }
}

uint32_t lumos_graph_enqueued(const struct lumos_rank_graph *graph, uint32_t lane, int64_t at) {
  const struct lumos_lane *on = &graph->job->lanes.items[lane];
  const int64_t *enqueued = graph->enqueued + (on->task_first - graph->first);
  uint32_t low = 0, high = on->task_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (enqueued[middle] <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint32_t lumos_graph_last_enqueued(const struct lumos_rank_graph *graph, uint32_t lane, int64_t at) {
  uint32_t count = lumos_graph_enqueued(graph, lane, at);
  return count == 0 ? LUMOS_NONE : graph->job->lanes.items[lane].task_first + count - 1;
}

bool lumos_graph_after_stream_wait(const struct lumos_rank_graph *graph, uint32_t task) {
  const struct lumos_job *job = graph->job;
  const struct lumos_task *launched = lumos_graph_task(graph, task);
  if (launched->call == LUMOS_NONE) {
    return false;
  }
  uint32_t wait = graph->stream_wait[launched->call - graph->first];
  if (wait == LUMOS_NONE) {
    return false;
  }
  uint32_t waits = lumos_detail_of(job, &job->tasks.items[wait])->event_lane;
  if (waits != LUMOS_NONE && waits != launched->lane) {
    return false;
  }
  if (task == job->lanes.items[launched->lane].task_first) {
    return true;
  }
  return graph->enqueued[task - 1 - graph->first] <= lumos_graph_call_end(job, wait);
}
