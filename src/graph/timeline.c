/* The device as a whole: until when anything ran on it before a task started, and whether something still did.
 *
 * A launch that meets an idle device, and a start after a time in which nothing ran, tell what a single stream cannot:
 * whatever delayed them was no other task of the recording. Before the rank's base the device ran steps that were not
 * selected, or work from before the recording: until then it is taken to be busy.
 */
#include "graph/graph.h"

#include <stdlib.h>

struct instant {
  int64_t at;
  uint32_t task;
};
LUMOS_VECTOR_TYPE(instants, struct instant);

static int by_time(const void *left, const void *right) {
  const struct instant *a = left, *b = right;
  return a->at != b->at ? LUMOS_ORDER(a->at, b->at) : LUMOS_ORDER(a->task, b->task);
}

static uint32_t *order(struct instants *instants) {
  lumos_vector_sort(instants, by_time);
  uint32_t *tasks = lumos_allocate(instants->count * sizeof *tasks);
  for (size_t i = 0; i < instants->count; i++) {
    tasks[i] = instants->items[i].task;
  }
  lumos_vector_free(instants);
  return tasks;
}

static void order_tasks(struct lumos_rank_graph *graph) {
  struct instants starts = {0}, ends = {0};
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    for (uint32_t n = 0; lane->kind == LUMOS_STREAM && n < lane->task_count; n++) {
      uint32_t task = lane->task_first + n;
      lumos_vector_push(&starts, ((struct instant){lumos_graph_device_start(graph, task), task}));
      lumos_vector_push(&ends, ((struct instant){lumos_graph_device_end(graph, task), task}));
    }
  }
  graph->device_count = (uint32_t)starts.count;
  graph->by_start = order(&starts);
  graph->by_end = order(&ends);
}

void lumos_graph_timeline(struct lumos_rank_graph *graph) {
  order_tasks(graph);
  int64_t busy = graph->rank->base + graph->device_offset;
  int64_t running = INT64_MIN; /* until when what started before runs */
  for (uint32_t i = 0; i < graph->device_count; i++) {
    uint32_t task = graph->by_start[i];
    int64_t end = lumos_graph_device_end(graph, task);
    graph->busy[task - graph->first] = busy;
    graph->beside[task - graph->first] = running > lumos_graph_device_start(graph, task);
    busy = end > busy ? end : busy;
    running = end > running ? end : running;
  }
}

uint32_t lumos_graph_begun(const struct lumos_rank_graph *graph, int64_t at) {
  uint32_t low = 0, high = graph->device_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (lumos_graph_device_start(graph, graph->by_start[middle]) < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint32_t lumos_graph_over(const struct lumos_rank_graph *graph, int64_t at) {
  uint32_t low = 0, high = graph->device_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (lumos_graph_device_end(graph, graph->by_end[middle]) <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint32_t lumos_graph_started(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t at) {
  uint32_t low = 0, high = lane->task_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (lumos_graph_device_start(graph, lane->task_first + middle) < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
