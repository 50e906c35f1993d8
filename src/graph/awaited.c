/* From what streams wait for to event edges.
 *
 * A stream that waits passes it on: whoever waits for the end of its queue, before anything follows there, waits for
 * the same.
 */
#include "graph/awaited.h"

#include <stdlib.h>

bool lumos_edge_ends_of(const struct lumos_rank_graph *graph, uint32_t wait, struct lumos_stream_pair pair,
                        uint32_t turn, struct lumos_edge_ends *ends) {
  int64_t at = lumos_graph_call_end(graph->job, wait);
  const struct lumos_lane *lane = &graph->job->lanes.items[pair.target];
  uint32_t next = lumos_graph_enqueued(graph, pair.target, at);
  uint32_t source = turn == LUMOS_NONE ? lumos_graph_last_enqueued(graph, pair.source, at) : turn;
  *ends = (struct lumos_edge_ends){source, lane->task_first + next};
  return ends->source != LUMOS_NONE && next < lane->task_count;
}

int64_t lumos_edge_free_from(const struct lumos_rank_graph *graph, uint32_t task) {
  int64_t launched = graph->enqueued[task - graph->first];
  if (task == graph->job->lanes.items[lumos_graph_task(graph, task)->lane].task_first) {
    return launched;
  }
  int64_t vacant = lumos_graph_device_end(graph, task - 1);
  return vacant > launched ? vacant : launched;
}

bool lumos_edge_is_violated(const struct lumos_rank_graph *graph, const struct lumos_edge_ends *ends) {
  return lumos_graph_device_end(graph, ends->source) >
         lumos_graph_device_start(graph, ends->target) + LUMOS_TIMING_NOISE;
}

bool lumos_edge_is_bound(const struct lumos_rank_graph *graph, const struct lumos_edge_ends *ends) {
  int64_t over = lumos_graph_device_end(graph, ends->source);
  return over > lumos_edge_free_from(graph, ends->target) + LUMOS_TIMING_NOISE &&
         lumos_graph_device_start(graph, ends->target) - over <= LUMOS_REACTION_WINDOW;
}

bool lumos_edge_step_back(const struct lumos_rank_graph *graph, struct lumos_edge_ends *ends) {
  uint32_t first = graph->job->lanes.items[lumos_graph_task(graph, ends->source)->lane].task_first;
  while (lumos_edge_is_violated(graph, ends)) {
    if (ends->source-- == first) {
      return false;
    }
  }
  return true;
}

bool lumos_edge_believe(const struct lumos_rank_graph *graph, const struct lumos_decided_wait *decided,
                        struct lumos_edge_ends *ends) {
  return decided->older ? lumos_edge_step_back(graph, ends) && lumos_edge_is_bound(graph, ends)
                        : !lumos_edge_is_violated(graph, ends);
}

/* What a stream waits for at the end of its queue. */
struct pending {
  int64_t at; /* since when */
  uint32_t source;
  uint32_t place; /* how many tasks were on the stream */
  uint32_t next;  /* in the list, or LUMOS_NONE */
  size_t edge;    /* to what comes next on the stream */
  bool recorded;
};
struct pendings {
  LUMOS_VECTOR(struct pending) items;
  uint32_t *heads; /* by lane of the rank */
};

static int by_time(const void *left, const void *right) {
  const struct lumos_decided_wait *a = left, *b = right;
  return a->at != b->at ? LUMOS_ORDER(a->at, b->at) : LUMOS_ORDER(a->task, b->task);
}

/* Of a list, what waits at the same place for the same stream as for `source`, whose last task says all; NULL: nothing.
 * So two streams that wait for each other in turn, with nothing between, pass on no more than there are streams. */
static struct pending *pending_of(const struct lumos_rank_graph *graph, const struct pendings *pendings, uint32_t head,
                                  uint32_t place, uint32_t source) {
  uint32_t lane = lumos_graph_task(graph, source)->lane;
  for (uint32_t i = head; i < pendings->items.count && pendings->items.items[i].place == place;
       i = pendings->items.items[i].next) { /* LUMOS_NONE is beyond all */
    if (lumos_graph_task(graph, pendings->items.items[i].source)->lane == lane) {
      return &pendings->items.items[i];
    }
  }
  return NULL;
}

static enum lumos_evidence evidence_of(const struct lumos_decided_wait *decided, bool recorded) {
  return recorded ? LUMOS_RECORDED : decided->bound ? LUMOS_INFERRED : LUMOS_ORDERED;
}

/* `recorded`: the trace says so of all waits that lead from the source to here. */
static void await(const struct lumos_rank_graph *graph, const struct lumos_decided_wait *decided,
                  struct pendings *pendings, uint32_t source, bool recorded, struct lumos_edges *edges) {
  const struct lumos_lane *lane = &graph->job->lanes.items[decided->pair.target];
  uint32_t place = lumos_graph_enqueued(graph, decided->pair.target, decided->at);
  struct lumos_edge_ends ends = {source, lane->task_first + place};
  if (place == lane->task_count || (!recorded && !lumos_edge_believe(graph, decided, &ends))) {
    return;
  }
  uint32_t *head = &pendings->heads[decided->pair.target - graph->rank->lane_first];
  struct pending *known = pending_of(graph, pendings, *head, place, ends.source);
  if (known != NULL && known->source >= ends.source) {
    return;
  }
  enum lumos_evidence evidence = evidence_of(decided, recorded);
  if (known != NULL) { /* what is later on the same stream says all */
    struct lumos_dep *edge = &edges->items[known->edge];
    edge->src = known->source = ends.source;
    edge->evidence = (uint8_t)evidence;
    known->recorded = recorded;
    return;
  }
  struct pending pending = {decided->at, ends.source, place, *head, edges->count, recorded};
  lumos_graph_add_event_edge(edges, ends.source, ends.target, evidence);
  *head = (uint32_t)pendings->items.count;
  lumos_vector_push(&pendings->items, pending);
}

/* What the source's stream itself waited for at the end of its queue then. */
static void pass_on(const struct lumos_rank_graph *graph, const struct lumos_decided_wait *decided, uint32_t place,
                    struct pendings *pendings, struct lumos_edges *edges) {
  enum { BACK = 256 }; /* waits of that stream since then. Chosen: more would take long, and hardly come */
  uint32_t carried = pendings->heads[decided->pair.source - graph->rank->lane_first];
  for (int i = 0; i < BACK && carried < pendings->items.count && pendings->items.items[carried].place >= place; i++) {
    struct pending pending = pendings->items.items[carried];
    bool own = lumos_graph_task(graph, pending.source)->lane == decided->pair.target;
    if (pending.place == place && pending.at <= decided->from && !own) {
      await(graph, decided, pendings, pending.source, decided->recorded && pending.recorded, edges);
    }
    carried = pending.next;
  }
}

void lumos_graph_add_awaited(const struct lumos_rank_graph *graph, struct lumos_decided_waits *waits,
                             struct lumos_edges *edges) {
  struct pendings pendings = {.heads = lumos_allocate(graph->rank->lane_count * sizeof(uint32_t))};
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    pendings.heads[i] = LUMOS_NONE;
  }
  lumos_vector_sort(waits, by_time);
  for (size_t i = 0; i < waits->count; i++) {
    const struct lumos_decided_wait *decided = &waits->items[i];
    if (decided->turn != LUMOS_NONE) {
      await(graph, decided, &pendings, decided->turn, false, edges);
      continue;
    }
    uint32_t place = lumos_graph_enqueued(graph, decided->pair.source, decided->from);
    if (place > 0) {
      uint32_t last = graph->job->lanes.items[decided->pair.source].task_first + place - 1;
      await(graph, decided, &pendings, last, decided->recorded, edges);
    }
    pass_on(graph, decided, place, &pendings, edges);
  }
  lumos_vector_free(&pendings.items);
  free(pendings.heads);
}
