/* Graph launches: a graph runs in the order of the stream that it is launched into.
 *
 * Rows name the stream on which the graph's work was captured, which need not be that one. A stream on which nothing
 * runs but what came several tasks a call is such: it is told apart by that. Then the graph starts no earlier than what
 * the thread's stream, that of its last other launch, had got before, has ended, and what this stream gets next no
 * earlier than the graph has.
 *
 * Timing has its say: of these edges no more than one of fifty may be violated, and two must have visibly bound.
 */
#include "graph/awaited.h"

#include <stdlib.h>

/* Edges that must have bound. Chosen: one may be chance. */
enum { LEAST_BOUND = 2 };

struct search {
  const struct lumos_rank_graph *graph;
  uint8_t *captured; /* by lane of the rank */
  struct lumos_edges edges;
  size_t seen, violated, bound;
};

static const struct lumos_lane *lane_of(const struct search *search, uint32_t lane) {
  return &search->graph->job->lanes.items[search->graph->rank->lane_first + lane];
}

/* False: there is no such stream. */
static bool find_captured(struct search *search) {
  const struct lumos_rank_graph *graph = search->graph;
  bool found = false;
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = lane_of(search, i);
    uint32_t of_graphs = 0;
    for (uint32_t n = 0; lane->kind == LUMOS_STREAM && n < lane->task_count; n++) {
      of_graphs += lumos_graph_is_node(graph, lane->task_first + n);
    }
    search->captured[i] = of_graphs > 0 && of_graphs == lane->task_count;
    found |= search->captured[i];
  }
  return found;
}

static void add(struct search *search, uint32_t source, uint32_t target) {
  const struct lumos_edge_ends ends = {source, target};
  search->seen++;
  if (lumos_edge_is_violated(search->graph, &ends)) {
    search->violated++;
    return;
  }
  search->bound += lumos_edge_is_bound(search->graph, &ends);
  lumos_graph_add_event_edge(&search->edges, source, target, LUMOS_INFERRED);
}

/* The graph runs on a stream from task `first` to task `last`; it was launched into `home`. */
static void add_graph(struct search *search, uint32_t call, uint32_t home, uint32_t first, uint32_t last) {
  const struct lumos_rank_graph *graph = search->graph;
  uint32_t before = lumos_graph_last_enqueued(graph, home, lumos_graph_call_start(graph->job, call));
  uint32_t next = lumos_graph_enqueued(graph, home, lumos_graph_call_end(graph->job, call));
  if (before != LUMOS_NONE) {
    add(search, before, first);
  }
  if (next < graph->job->lanes.items[home].task_count) {
    add(search, last, graph->job->lanes.items[home].task_first + next);
  }
}

static void pass_graph_launch(struct search *search, uint32_t call, uint32_t home) {
  const struct lumos_rank_graph *graph = search->graph;
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    uint32_t number = graph->rank->lane_first + i;
    uint32_t last = search->captured[i]
                        ? lumos_graph_last_enqueued(graph, number, lumos_graph_call_end(graph->job, call))
                        : LUMOS_NONE;
    uint32_t first = last;
    while (first != LUMOS_NONE && first > lane_of(search, i)->task_first &&
           lumos_graph_task(graph, first - 1)->call == call) {
      first--;
    }
    if (last != LUMOS_NONE && lumos_graph_task(graph, last)->call == call) {
      add_graph(search, call, home, first, last);
    }
  }
}

static void walk_thread(struct search *search, const struct lumos_lane *thread) {
  const struct lumos_rank_graph *graph = search->graph;
  uint32_t home = LUMOS_NONE;
  for (uint32_t task = thread->task_first; task < thread->task_first + thread->task_count; task++) {
    uint32_t launched = graph->launched[task - graph->first];
    if (launched == LUMOS_NONE || lumos_is_communication(lumos_graph_task(graph, launched)->kind)) {
      continue;
    }
    uint32_t lane = lumos_graph_task(graph, launched)->lane;
    if (!search->captured[lane - graph->rank->lane_first]) {
      home = lane;
    } else if (home != LUMOS_NONE) {
      pass_graph_launch(search, task, home);
    }
  }
}

void lumos_graph_add_captured_edges(const struct lumos_rank_graph *graph, struct lumos_edges *edges) {
  struct search search = {.graph = graph, .captured = lumos_allocate_zeroed(graph->rank->lane_count, 1)};
  bool found = find_captured(&search);
  for (uint32_t i = 0; found && i < graph->rank->lane_count; i++) {
    if (lane_of(&search, i)->kind == LUMOS_THREAD) {
      walk_thread(&search, lane_of(&search, i));
    }
  }
  bool believed = search.bound >= LEAST_BOUND && search.violated * LUMOS_VIOLATED_ONE_IN <= search.seen;
  for (size_t i = 0; believed && i < search.edges.count; i++) {
    lumos_vector_push(edges, search.edges.items[i]);
  }
  lumos_vector_free(&search.edges);
  free(search.captured);
}
