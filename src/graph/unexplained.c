/* Why starts stay unexplained, where that can be told: beside another stream's work the device takes longer to start
 * some kernels, and nothing in a row says which.
 */
#include "graph/graph.h"

#include <stdlib.h>

/* Of the time from the rank's first GPU task to the end of its last. Chosen: less is within what a replay is off by. */
enum { WORTH_TELLING_ONE_IN = 100 };

void lumos_graph_unexplained(struct lumos_rank_graph *graph) {
  int64_t all = 0, beside = 0, count = 0, first = INT64_MAX, last = INT64_MIN;
  for (uint32_t task = graph->first; task < graph->first + graph->rank->task_count; task++) {
    if (!lumos_on_stream(graph->job, lumos_graph_task(graph, task))) {
      continue;
    }
    int64_t start = lumos_graph_device_start(graph, task), end = lumos_graph_device_end(graph, task);
    int64_t residual = lumos_timing_of(graph->job, task)->residual;
    first = start < first ? start : first;
    last = end > last ? end : last;
    if (residual != LUMOS_ABSENT && llabs(residual) > LUMOS_TIMING_NOISE) {
      all += llabs(residual);
      beside += graph->beside[task - graph->first] ? llabs(residual) : 0;
      count += graph->beside[task - graph->first];
    }
  }
  if (last > first && all > (last - first) / WORTH_TELLING_ONE_IN && beside > all / 2) {
    lumos_graph_note(
        graph, "graph.unexplained_beside", count,
        "Kernels and copies beside work of another stream start at other times than their dependencies explain. "
        "Sharing the GPU delays some of them, and the trace does not show which",
        NULL);
  }
}
