/* Event edges of one rank on their way into the graph. */
#ifndef LUMOS_GRAPH_EVENTS_H
#define LUMOS_GRAPH_EVENTS_H

#include "graph/graph.h"

LUMOS_VECTOR_TYPE(lumos_edges, struct lumos_dep);

/* `target` starts no earlier than `source` has ended; the lag is set once all edges are known. */
static inline void lumos_graph_add_event_edge(struct lumos_edges *edges, uint32_t source, uint32_t target,
                                              enum lumos_evidence evidence) {
  struct lumos_dep edge = lumos_dep_empty;
  edge.src = source;
  edge.dst = target;
  edge.kind = LUMOS_DEP_EVENT;
  edge.from = LUMOS_END;
  edge.to = LUMOS_START;
  edge.evidence = (uint8_t)evidence;
  edge.mode = LUMOS_RUN_TIME;
  lumos_vector_push(edges, edge);
}

/* captured.c: between graphs and the streams that they are launched into. O(tasks + graph launches x streams). */
void lumos_graph_add_captured_edges(const struct lumos_rank_graph *graph, struct lumos_edges *edges);
/* backlog.c: for edges between tasks that repeat the backlog, those between the backlog's own. */
void lumos_graph_add_backlog_edges(const struct lumos_rank_graph *graph, struct lumos_edges *edges);

#endif
