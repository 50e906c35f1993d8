/* Where a program calls the stream waits of which the trace says no more than that they were called. */
#ifndef LUMOS_GRAPH_PLACES_H
#define LUMOS_GRAPH_PLACES_H

#include "graph/graph.h"

/* Streams. Chosen: communication of more is hardly under way at a wait; it bounds the time. */
enum { LUMOS_RECENT = 6 };

struct lumos_unnamed_wait {
  uint64_t place; /* with the ordinal: what is equal is one place */
  uint32_t task;
  uint32_t run;                  /* the first wait since the thread's last launch */
  uint32_t ordinal;              /* how many waits came before it since then */
  uint32_t previous, next;       /* streams that the thread launched on last before and first after it, or LUMOS_NONE */
  uint32_t current;              /* the stream of the thread's last launch before it that is no communication */
  uint32_t home;                 /* the stream of most of these */
  uint32_t turn;                 /* what it waits for if the program waits in turn, or LUMOS_NONE */
  int64_t since;                 /* when the thread last called waits that lead to nothing; INT64_MIN: never */
  uint32_t recent[LUMOS_RECENT]; /* communication streams that the thread launched on, the latest first; LUMOS_NONE */
  bool trails;                   /* the operator that calls it launched what is on `previous` */
  bool prepares;                 /* the operator that calls it, where there are any, has just recorded an event */
  bool leads;                    /* what is on `next` is communication, and this operator launches it or prepares it */
  bool apart;                    /* an operator calls it that has nothing to do with what is on `next` */
};
LUMOS_VECTOR_TYPE(lumos_unnamed_waits, struct lumos_unnamed_wait);

struct lumos_places {
  struct lumos_unnamed_waits waits; /* by ordinal, then place, then task */
  uint8_t *communicates;            /* by lane of the rank: a stream of which most tasks are communication */
};

/* `unnamed` runs over the rank's tasks, 1: a wait to be placed. O(tasks + waits log waits). */
void lumos_places_find(const struct lumos_rank_graph *graph, const uint8_t *unnamed, struct lumos_places *places);
/* turns.c: fill turn. */
void lumos_places_find_turns(const struct lumos_rank_graph *graph, struct lumos_places *places);
void lumos_places_free(struct lumos_places *places);

#endif
