/* The device as a whole: until when anything ran on it before a task started, and whether something still did.
 *
 * A launch that meets an idle device, and a start after a time in which nothing ran, tell what a single stream cannot:
 * whatever delayed them was no other task of the recording. Before the rank's base the device ran steps that were not
 * selected, or work from before the recording: until then it is taken to be busy.
 */
#include "graph/graph.h"

#include <stdlib.h>

struct device_start {
  int64_t start;
  uint32_t task;
};

static int by_start(const void *left, const void *right) {
  const struct device_start *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : LUMOS_ORDER(a->task, b->task);
}

void lumos_graph_timeline(struct lumos_rank_graph *graph) {
  const struct lumos_job *job = graph->job;
  LUMOS_VECTOR(struct device_start) starts = {0};
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[graph->rank->lane_first + i];
    for (uint32_t n = 0; lane->kind == LUMOS_STREAM && n < lane->task_count; n++) {
      struct device_start start = {job->tasks.items[lane->task_first + n].start, lane->task_first + n};
      lumos_vector_push(&starts, start);
    }
  }
  lumos_vector_sort(&starts, by_start);
  int64_t busy = graph->rank->base + graph->device_offset;
  int64_t running = INT64_MIN; /* until when what started before runs */
  for (size_t i = 0; i < starts.count; i++) {
    uint32_t task = starts.items[i].task;
    int64_t end = lumos_graph_device_end(graph, task);
    graph->busy[task - graph->first] = busy;
    graph->beside[task - graph->first] = running > lumos_graph_device_start(graph, task);
    busy = end > busy ? end : busy;
    running = end > running ? end : running;
  }
  lumos_vector_free(&starts);
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
