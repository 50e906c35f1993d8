/* The typical gap between two tasks of a stream when the later one only waits for the earlier.
 *
 * Samples: tasks launched well before the previous one ended, with no stream wait in between. Communication is left out
 * (what it waits for is often not recorded) and so is a gap that is longer than any reaction: it waits for something
 * else. A node of a graph needs no launch of its own; it is no sample where another stream's work ends in the gap, for
 * it may have waited for that. Of what was launched before the recording, or by a call that the trace lacks, a gap of 5
 * us at most is a sample where the rank has no better ones. Per kind, within graphs or not, and beside another stream's
 * work or alone, for two queues make the device take longer to start a kernel; the rank's own where a kind has too few
 * samples; 0 where there are none, and beside a negative lag, which says all.
 */
#include "graph/graph.h"

#include "graph/typical.h"

/* Little, for gaps are no longer than a reaction takes anyway, and add up: a queue of a thousand kernels ends too early
 * by what a thousand means leave out. Measured: with a tenth in place of a fiftieth the replay of hta-epoch on V100 is
 * off by 0.12 in place of 0.04 %. */
enum { TRIMMED_ONE_IN = 50 };

/* ns. Measured on V100, A100 and H100: gaps of a stream's queue are 1 to 3 us long. */
enum { SHORT_GAP = 5000 };

static bool only_waits_for_previous(const struct lumos_rank_graph *graph, uint32_t index, int64_t gap) {
  const struct lumos_task *task = lumos_graph_task(graph, index);
  if (task->lag < 0 || gap < 0 || gap > LUMOS_REACTION_WINDOW || task->call == LUMOS_NONE) {
    return false;
  }
  if (lumos_is_communication(task->kind) || graph->held[index - graph->first] != LUMOS_ABSENT) {
    return false;
  }
  if (lumos_graph_follows_node(graph, index)) {
    int64_t start = lumos_graph_device_start(graph, index), busy = graph->busy[index - graph->first];
    return busy <= start - gap || busy > start; /* nothing on another stream ended in between */
  }
  const struct lumos_timing *timing = lumos_timing_of(graph->job, index);
  int64_t launched = lumos_graph_call_end(graph->job, task->call) + timing->launch_lag;
  return launched + LUMOS_QUEUED_AHEAD <= lumos_graph_device_end(graph, index - 1) &&
         !lumos_graph_after_stream_wait(graph, index);
}

/* Call `visit` for every task that follows another on its stream. */
static void each_follower(struct lumos_rank_graph *graph, struct lumos_typical *gaps,
                          void (*visit)(struct lumos_rank_graph *, struct lumos_typical *, uint32_t)) {
  const struct lumos_lane *lanes = lumos_graph_lanes(graph);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    if (lanes[i].kind != LUMOS_STREAM) {
      continue;
    }
    for (uint32_t n = 1; n < lanes[i].task_count; n++) {
      visit(graph, gaps, lanes[i].task_first + n);
    }
  }
}

/* Of tasks without a call. */
static uint32_t unlaunched(struct lumos_typical *gaps) { return lumos_typical_group(gaps, LUMOS_NONE, 1, 0); }

static void sample(struct lumos_rank_graph *graph, struct lumos_typical *gaps, uint32_t index) {
  int64_t gap = lumos_graph_device_start(graph, index) - lumos_graph_device_end(graph, index - 1);
  if (lumos_graph_task(graph, index)->call == LUMOS_NONE && gap >= 0 && gap <= SHORT_GAP) {
    lumos_typical_add(gaps, unlaunched(gaps), gap);
  }
  if (!only_waits_for_previous(graph, index, gap)) {
    return;
  }
  uint32_t beside = graph->beside[index - graph->first], node = lumos_graph_follows_node(graph, index);
  lumos_typical_add(gaps, lumos_typical_group(gaps, lumos_graph_task(graph, index)->kind, beside, node), gap);
  lumos_typical_add(gaps, lumos_typical_group(gaps, LUMOS_NONE, 0, node), gap);
}

static void apply(struct lumos_rank_graph *graph, struct lumos_typical *gaps, uint32_t index) {
  const struct lumos_task *task = lumos_graph_task(graph, index);
  int64_t *gap = &lumos_task_timing(graph->job, &graph->job->tasks.items[index])->gap;
  *gap = 0;
  if (task->lag < 0) {
    return;
  }
  uint32_t beside = graph->beside[index - graph->first], node = lumos_graph_follows_node(graph, index);
  if (lumos_typical_value(gaps, lumos_typical_group(gaps, task->kind, beside, node), LUMOS_ENOUGH_SAMPLES, gap)) {
    return;
  }
  if (!lumos_typical_value(gaps, lumos_typical_group(gaps, LUMOS_NONE, 0, node), 1, gap)) {
    (void)lumos_typical_value(gaps, unlaunched(gaps), 1, gap);
  }
}

void lumos_graph_gaps(struct lumos_rank_graph *graph) {
  struct lumos_typical *gaps = lumos_typical_new_trimmed(TRIMMED_ONE_IN);
  each_follower(graph, gaps, sample);
  each_follower(graph, gaps, apply);
  lumos_typical_free(gaps);
}
