/* Boundaries: starts that nothing in the recording explains, held at their measured time.
 *
 * The first task of every thread, but one that another thread handed over to. The first task of every stream, where it
 * was launched before the recording, or starts later than its launch and all else explain and before what was launched
 * earlier is over: that work, or steps that were not selected, held it up; so does a task of the backlog that waited
 * for earlier work (backlog.c). A task that starts over 1 ms later than its launch and all else explain, after the
 * whole device has been idle for longer than any reaction takes: it waited for work that the trace does not hold; on a
 * device that is shared in slices of time what starts later than any reaction did. And a task of a step whose launch
 * the trace lacks, as all launches where the device alone was recorded: what starts later than the rest explains was
 * launched then.
 *
 * What came before the recording was over at its time whatever is changed. Other such work is part of the job, and
 * moves with it once that is edited: how much longer it held the start is kept as well (covers).
 */
#include "graph/graph.h"

static void add_boundary(struct lumos_rank_graph *graph, uint32_t task, enum lumos_evidence evidence, int64_t covers) {
  struct lumos_dep boundary = lumos_dep_empty;
  boundary.at = lumos_graph_task(graph, task)->start;
  boundary.dst = task;
  boundary.kind = LUMOS_BOUNDARY;
  boundary.from = LUMOS_START;
  boundary.to = LUMOS_START;
  boundary.evidence = (uint8_t)evidence;
  boundary.mode = LUMOS_FIXED;
  boundary.covers = covers;
  lumos_vector_push(&graph->deps, boundary);
}

static bool waits_for_unseen_work(const struct lumos_rank_graph *graph, uint32_t index) {
  const struct lumos_task *task = lumos_graph_task(graph, index);
  int64_t idle = lumos_graph_device_start(graph, index) - graph->busy[index - graph->first];
  return task->call != LUMOS_NONE && idle > LUMOS_REACTION_WINDOW &&
         lumos_timing_of(graph->job, index)->residual > (graph->shared ? LUMOS_REACTION_WINDOW : LUMOS_LONG_AGO);
}

/* Work launched before the first step that was selected ends where this begins. */
static bool is_behind_earlier_work(const struct lumos_rank_graph *graph, uint32_t index) {
  return lumos_graph_task(graph, index)->start <= graph->rank->base + LUMOS_REACTION_WINDOW;
}

static void bound_stream(struct lumos_rank_graph *graph, const struct lumos_lane *lane) {
  for (uint32_t n = 0; n < lane->task_count; n++) {
    uint32_t task = lane->task_first + n;
    struct lumos_timing *timing = lumos_task_timing(graph->job, &graph->job->tasks.items[task]);
    if (timing->residual == LUMOS_ABSENT) {
      add_boundary(graph, task, LUMOS_RECORDED, LUMOS_ABSENT);
    } else if (timing->residual > LUMOS_TIMING_NOISE) {
      bool before = (n == 0 && is_behind_earlier_work(graph, task)) || graph->lost[task - graph->first];
      if (before || lumos_graph_lacks_launch(graph, task) || waits_for_unseen_work(graph, task)) {
        add_boundary(graph, task, LUMOS_INFERRED, before ? LUMOS_ABSENT : timing->residual);
        timing->residual = 0;
      }
    }
  }
}

void lumos_graph_boundaries(struct lumos_rank_graph *graph) {
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    if (lane->task_count == 0) {
      continue;
    }
    if (lane->kind == LUMOS_THREAD) {
      if (!(graph->handed[lane->task_first - graph->first] & LUMOS_HANDED_OVER)) {
        add_boundary(graph, lane->task_first, LUMOS_RECORDED, LUMOS_ABSENT);
      }
    } else {
      bound_stream(graph, lane);
    }
  }
}
