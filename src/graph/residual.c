/* What remains of a device task's start when every known rule has had its say: signed, and carried into a replay.
 *
 * A task starts when its launch has reached the device, the stream's previous task is out of the way, and the stream
 * waits before it are over; its residual is the measured start minus the latest of these.
 */
#include "graph/graph.h"

static int64_t later(int64_t left, int64_t right) { return left > right ? left : right; }

/* The earliest start that the rules allow; LUMOS_ABSENT, the least of all times, where none applies. */
static int64_t known_start(const struct lumos_rank_graph *graph, uint32_t index, bool first) {
  const struct lumos_job *job = graph->job;
  const struct lumos_task *task = &job->tasks.items[index];
  const struct lumos_timing *timing = lumos_timing_of(job, index);
  int64_t known = graph->held[index - graph->first];
  if (task->call != LUMOS_NONE) {
    int64_t from = timing->launch_from == LUMOS_START ? lumos_graph_call_start(job, task->call)
                                                      : lumos_graph_call_end(job, task->call);
    known = later(known, from + timing->launch_lag);
  }
  if (!first) {
    known = later(known, lumos_graph_device_end(graph, index - 1) + task->lag + timing->gap);
  }
  return known;
}

void lumos_graph_residuals(struct lumos_rank_graph *graph) {
  const struct lumos_lane *lanes = lumos_graph_lanes(graph);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    if (lanes[i].kind != LUMOS_STREAM) {
      continue;
    }
    for (uint32_t n = 0; n < lanes[i].task_count; n++) {
      uint32_t task = lanes[i].task_first + n;
      int64_t known = known_start(graph, task, n == 0);
      if (known == LUMOS_ABSENT) {
        continue;
      }
      lumos_task_timing(graph->job, &graph->job->tasks.items[task])->residual =
          lumos_graph_bounded(lumos_graph_device_start(graph, task) - known);
    }
  }
}
