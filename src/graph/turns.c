/* Waits in turn: a program that has started several collectives often waits for one after the other, in the order in
 * which it started them. Then a wait is for the oldest piece of communication that none was for yet, be it launched by
 * this thread or another. What was launched before the recording may have been waited for before it and does not count,
 * and waits that the library itself calls beside a launch are for no piece.
 *
 * Whether the waits of a place are in turn is for timing to say (unnamed.c).
 */
#include "graph/places.h"

#include <stdlib.h>

struct instant {
  int64_t at;
  uint32_t item; /* a task, or a wait's place in the list */
};
LUMOS_VECTOR_TYPE(instants, struct instant);

static int by_time(const void *left, const void *right) {
  const struct instant *a = left, *b = right;
  return a->at != b->at ? LUMOS_ORDER(a->at, b->at) : LUMOS_ORDER(a->item, b->item);
}

static void sort(struct instants *instants) { lumos_vector_sort(instants, by_time); }

static void find_pieces(const struct lumos_rank_graph *graph, const struct lumos_places *places,
                        struct instants *pieces) {
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    for (uint32_t n = 0; places->communicates[i] && n < lane->task_count; n++) {
      struct instant piece = {graph->enqueued[lane->task_first + n - graph->first], lane->task_first + n};
      if (piece.at != INT64_MIN) {
        lumos_vector_push(pieces, piece);
      }
    }
  }
  sort(pieces);
}

static void find_waits(const struct lumos_rank_graph *graph, const struct lumos_places *places,
                       struct instants *waits) {
  for (uint32_t i = 0; i < places->waits.count; i++) {
    struct lumos_unnamed_wait *wait = &places->waits.items[i];
    bool communicated = wait->previous != LUMOS_NONE && places->communicates[wait->previous - graph->rank->lane_first];
    wait->turn = LUMOS_NONE;
    if (!wait->leads && !(wait->trails && communicated)) {
      struct instant instant = {lumos_graph_call_end(graph->job, wait->task), i};
      lumos_vector_push(waits, instant);
    }
  }
  sort(waits);
}

void lumos_places_find_turns(const struct lumos_rank_graph *graph, struct lumos_places *places) {
  struct instants pieces = {0}, waits = {0};
  find_pieces(graph, places, &pieces);
  find_waits(graph, places, &waits);
  size_t oldest = 0;
  for (size_t i = 0; i < waits.count; i++) {
    if (oldest < pieces.count && pieces.items[oldest].at <= waits.items[i].at) {
      places->waits.items[waits.items[i].item].turn = pieces.items[oldest++].item;
    }
  }
  lumos_vector_free(&pieces);
  lumos_vector_free(&waits);
}
