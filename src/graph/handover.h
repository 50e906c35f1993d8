/* What the rules of hand-overs share: silences of threads, and the edges that end them. */
#ifndef LUMOS_GRAPH_HANDOVER_H
#define LUMOS_GRAPH_HANDOVER_H

#include "graph/graph.h"

/* ns. Chosen: a thread that is called takes hardly less than a tenth of a millisecond to wake up. */
enum { LUMOS_SHORT_SILENCE = 100000 };

struct lumos_silence { /* of a thread before one of its tasks */
  const struct lumos_lane *lane;
  uint32_t task;
  int64_t start, end;
};

/* How many tasks of a thread have ended by `time`, or (started) started before it. They do not overlap. */
uint32_t lumos_graph_count_until(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t time,
                                 bool started);

/* The silence ended because `source` did. The first task of a thread has no gap that this could cover. Nothing is added
 * where the source ended before the silence began: in an edited stream a lag may be shorter than the silence that it is
 * of. */
void lumos_graph_add_handover(struct lumos_rank_graph *graph, const struct lumos_silence *silence, uint32_t source,
                              enum lumos_evidence evidence);

#endif
