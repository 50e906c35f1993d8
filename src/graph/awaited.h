/* Waits of which is recorded, known, or guessed, which stream waits for which. */
#ifndef LUMOS_GRAPH_AWAITED_H
#define LUMOS_GRAPH_AWAITED_H

#include "graph/events.h"

struct lumos_stream_pair {
  uint32_t source, target; /* streams: the target waits for the source */
};

/* What a pair makes of a wait: the last task on the source, and the next one on the target. */
struct lumos_edge_ends {
  uint32_t source, target;
};

struct lumos_decided_wait {
  int64_t at;      /* when it took effect */
  int64_t from;    /* it waits for what was enqueued by then */
  uint32_t task;   /* the call */
  uint32_t before; /* the decision before it in the same row of waits, or LUMOS_NONE */
  struct lumos_stream_pair pair;
  uint32_t turn; /* it waits for this piece of communication; LUMOS_NONE: for the last on the source, */
  bool older;    /* or for older work than that */
  bool bound;    /* waits at that place were seen to bind */
  bool recorded; /* the trace says all that */
};
LUMOS_VECTOR_TYPE(lumos_decided_waits, struct lumos_decided_wait);

/* With the piece of communication whose turn it is as the source, unless that is LUMOS_NONE. False: nothing was
 * enqueued on one of the streams. */
bool lumos_edge_ends_of(const struct lumos_rank_graph *graph, uint32_t wait, struct lumos_stream_pair pair,
                        uint32_t turn, struct lumos_edge_ends *ends);
/* From when on nothing that the trace names keeps the task from starting: its launch, and its stream. */
int64_t lumos_edge_free_from(const struct lumos_rank_graph *graph, uint32_t task);
/* The target started before the source had ended. */
bool lumos_edge_is_violated(const struct lumos_rank_graph *graph, const struct lumos_edge_ends *ends);
/* The target would have started earlier, and started when the source had ended. */
bool lumos_edge_is_bound(const struct lumos_rank_graph *graph, const struct lumos_edge_ends *ends);
/* Go back along the source's stream to what was over when the target started; false: nothing was. */
bool lumos_edge_step_back(const struct lumos_rank_graph *graph, struct lumos_edge_ends *ends);
/* Is the edge believed of one wait, as decided for its place? May step back. */
bool lumos_edge_believe(const struct lumos_rank_graph *graph, const struct lumos_decided_wait *decided,
                        struct lumos_edge_ends *ends);
/* unnamed.c: decide the stream waits that do not say what they wait for; `unnamed` runs over the rank's tasks, 1: such a
 * wait. They are added to those that are decided. Returns how many of them remain unknown. O(waits x streams x log
 * tasks). */
int64_t lumos_graph_unnamed_waits(struct lumos_rank_graph *graph, uint8_t *unnamed,
                                  struct lumos_decided_waits *decisions);
/* Add the edges of all waits, which are sorted by time for it. */
void lumos_graph_add_awaited(const struct lumos_rank_graph *graph, struct lumos_decided_waits *waits,
                             struct lumos_edges *edges);

#endif
