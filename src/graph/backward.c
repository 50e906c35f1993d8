/* Calls of the backward pass: what runs the gradient of an op on another thread than ran the op was called from there.
 *
 * Sequence numbers say which op a gradient belongs to; parse keeps it with the span. The first task of such work is one
 * before which its own thread was silent while the other one still worked: it waits for the last that the other did,
 * which is at work no more. The trace records that they belong together, so a silence of 0.1 ms is enough, where
 * times alone ask for a whole millisecond.
 */
#include "graph/handover.h"

enum { DEEPEST = 64 }; /* ops within ops. Chosen: it bounds the time, and programs nest less */

/* The thread that ran the op whose gradient the task works on, or LUMOS_NONE. */
static uint32_t forward_lane(const struct lumos_job *job, uint32_t task) {
  uint32_t span = job->tasks.items[task].span;
  for (int depth = 0; span != LUMOS_NONE && depth < DEEPEST; depth++) {
    const struct lumos_span *record = &job->spans.items[span];
    if (record->forward != LUMOS_NONE) {
      return job->spans.items[record->forward].lane;
    }
    span = record->parent;
  }
  return LUMOS_NONE;
}

/* The last task of the other thread when the silence ended; LUMOS_NONE: it was at work, or had done nothing since the
 * silence began. */
static uint32_t find_caller(const struct lumos_rank_graph *graph, const struct lumos_silence *silence, uint32_t other) {
  const struct lumos_lane *lane = &graph->job->lanes.items[other];
  uint32_t ended = lumos_graph_count_until(graph, lane, silence->end, false);
  if (ended == 0 || ended < lumos_graph_count_until(graph, lane, silence->end, true)) {
    return LUMOS_NONE;
  }
  uint32_t caller = lane->task_first + ended - 1;
  return lumos_graph_call_end(graph->job, caller) > silence->start ? caller : LUMOS_NONE;
}

static void search_thread(struct lumos_rank_graph *graph, const struct lumos_lane *lane) {
  for (uint32_t n = 0; n < lane->task_count; n++) {
    uint32_t task = lane->task_first + n;
    const struct lumos_task *record = lumos_graph_task(graph, task);
    if (n > 0 && record->lag <= LUMOS_SHORT_SILENCE) {
      continue;
    }
    uint32_t other = forward_lane(graph->job, task);
    if (other == LUMOS_NONE || &graph->job->lanes.items[other] == lane ||
        graph->job->lanes.items[other].kind != LUMOS_THREAD ||
        graph->job->lanes.items[other].process != lane->process) {
      continue;
    }
    struct lumos_silence silence = {lane, task, n == 0 ? INT64_MIN : record->start - record->lag, record->start};
    uint32_t caller = find_caller(graph, &silence, other);
    if (caller != LUMOS_NONE) {
      lumos_graph_add_handover(graph, &silence, caller, LUMOS_RECORDED);
      graph->handed[caller - graph->first] |= LUMOS_CALLED_ANOTHER;
    }
  }
}

void lumos_graph_backward_calls(struct lumos_rank_graph *graph) {
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    if (lane->kind == LUMOS_THREAD) {
      search_thread(graph, lane);
    }
  }
}
