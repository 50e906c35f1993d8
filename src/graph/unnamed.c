/* Event edges that the trace does not name: what a stream wait waits for, found from where it is called and from what
 * then happened.
 *
 * Most traces say of a wait only that it was called. Candidates for a place in the program (places.h) are pairs of
 * streams: one waits, which is one that the thread launches on around the call; the other is waited for. What is
 * awaited is the last task enqueued on it before the wait, and what waits is the first enqueued behind it.
 *
 * Timing chooses. A pair that is violated (what waits starts before the awaited task ends) in more than one of fifty
 * waits is out. A pair binds where what waits would otherwise have started earlier and starts right after the awaited
 * task; the pair that binds most often is believed, and of several waits in a row one alone can claim that. Where
 * several pairs bind alike, or none does, the customs of programs decide: an operator that launches communication lets
 * it wait for the thread's kernels; any other wait is for the stream launched on last, or for communication, the latest
 * first, each stream for one wait in a row. What waits is then the stream launched on next, or the thread's usual one
 * where an operator calls the wait that has nothing to do with what comes next. But a wait of the operator that has
 * just launched communication is the library's own and waits for nothing that is seen.
 *
 * A place where every pair is violated may wait for older work: the second of several collectives under way, say. It
 * may wait for them in turn (turns.c): that is believed where it visibly bound twice at least and explains most late
 * starts, and the edges that did not bind with it. Else what counts is the latest task that was over by the time, and
 * only those edges are believed that visibly bound, if most late starts at that place are explained so.
 */
#include "graph/awaited.h"
#include "graph/places.h"
#include "graph/sharded.h"

#include <stdlib.h>

/* Chosen, and tried on eleven emulated jobs whose 73,000 true edges are known: 99.9 % of them are found, and 99.9 % of
 * those found are true. */
enum {
  SOURCES = 64,      /* streams that may be awaited; bounds the time */
  SAMPLES = 128,     /* waits of a place that are looked at to judge a pair: enough to see one violated in fifty */
  BOUND_WEIGHT = 40, /* of one wait seen to bind, against the weights of customs, which count for every wait */
  LEAST_BOUND = 3,   /* waits seen to bind before older work is believed: two may be chance, for many tasks are older */
  LEAST_BOUND_IN_TURN = 2, /* less is asked of a task that was named beforehand */
};

/* Which task on the source a wait is for. */
enum manner { THE_LAST, IN_TURN, ANY_OLDER };

/* Weights of customs, the strongest first; of no unit. Chosen, as above; RETURNS less LUMOS_RECENT - 1 is above
 * RETURNS_ELSEWHERE. */
enum { PREPARES = 12, FOLLOWS = 12, RETURNS = 11, RETURNS_ELSEWHERE = 5, OLDER = 2, ANY = 1 };

struct verdict {
  uint32_t seen, violated, bound, late;
};

struct search {
  struct lumos_rank_graph *graph;
  struct lumos_places places;
  uint32_t streams[SOURCES];
  uint32_t stream_count;
  uint32_t *claimed; /* by task of the rank: the awaited task that explains its start, or LUMOS_NONE */
  struct lumos_decided_waits decisions;
  uint32_t
      *decided_of; /* by task of the rank, of the first wait in a row: the last decision in that row, or LUMOS_NONE */
};

static void find_streams(struct search *search) {
  const struct lumos_rank *rank = search->graph->rank;
  for (uint32_t i = 0; i < rank->lane_count && search->stream_count < SOURCES; i++) {
    const struct lumos_lane *lane = &search->graph->job->lanes.items[rank->lane_first + i];
    if (lane->kind == LUMOS_STREAM && lane->task_count > 0) {
      search->streams[search->stream_count++] = rank->lane_first + i;
    }
  }
}

/* ---- a pair at a place ---- */

static bool ends_of(const struct search *search, const struct lumos_unnamed_wait *wait, struct lumos_stream_pair pair,
                    enum manner manner, struct lumos_edge_ends *ends) {
  const struct lumos_rank_graph *graph = search->graph;
  if (manner != IN_TURN) {
    return lumos_edge_ends_of(graph, wait->task, pair, LUMOS_NONE, ends);
  }
  return wait->turn != LUMOS_NONE && lumos_graph_task(graph, wait->turn)->lane == pair.source &&
         lumos_edge_ends_of(graph, wait->task, pair, wait->turn, ends);
}

static struct verdict judge(const struct search *search, const struct lumos_unnamed_wait *waits, size_t count,
                            struct lumos_stream_pair pair, enum manner manner) {
  const struct lumos_rank_graph *graph = search->graph;
  struct verdict verdict = {0};
  size_t stride = (count + SAMPLES - 1) / SAMPLES;
  for (size_t i = 0; i < count; i += stride) {
    struct lumos_edge_ends ends;
    if (!ends_of(search, &waits[i], pair, manner, &ends)) {
      continue;
    }
    verdict.seen++;
    if (manner == ANY_OLDER ? !lumos_edge_step_back(graph, &ends) : lumos_edge_is_violated(graph, &ends)) {
      verdict.violated++;
      continue;
    }
    verdict.bound += search->claimed[ends.target - graph->first] != ends.source && lumos_edge_is_bound(graph, &ends);
    verdict.late +=
        lumos_graph_device_start(graph, ends.target) > lumos_edge_free_from(graph, ends.target) + LUMOS_REACTION_WINDOW;
  }
  return verdict;
}

/* How much was enqueued on the stream since the row of waits before. */
static uint32_t enqueued_since(const struct search *search, const struct lumos_unnamed_wait *wait, uint32_t stream) {
  uint32_t now = lumos_graph_enqueued(search->graph, stream, lumos_graph_call_end(search->graph->job, wait->task));
  return now - lumos_graph_enqueued(search->graph, stream, wait->since);
}

/* Do other waits in the same row account for all of that? */
static bool is_taken(const struct search *search, const struct lumos_unnamed_wait *wait, uint32_t source) {
  uint32_t left = enqueued_since(search, wait, source);
  uint32_t decision = search->decided_of[wait->run - search->graph->first];
  for (left = left == 0 ? 1 : left; decision != LUMOS_NONE && left > 0;) {
    left -= search->decisions.items[decision].pair.source == source;
    decision = search->decisions.items[decision].before;
  }
  return left == 0;
}

static uint32_t custom_of_communication(const struct search *search, const struct lumos_unnamed_wait *wait,
                                        uint32_t stream) {
  uint32_t first = search->graph->rank->lane_first;
  if (wait->previous != LUMOS_NONE && wait->previous != wait->home &&
      !search->places.communicates[wait->previous - first]) {
    return ANY; /* the thread has just used a stream beside its own: that is what it waits for */
  }
  bool since = enqueued_since(search, wait, stream) > 0;
  for (uint32_t i = 0; i < LUMOS_RECENT && wait->recent[i] != LUMOS_NONE; i++) {
    if (wait->recent[i] == stream) {
      return since ? RETURNS - i : OLDER;
    }
  }
  return since ? RETURNS_ELSEWHERE : ANY;
}

/* How well the pair fits the customs of programs. */
static uint32_t custom(const struct search *search, const struct lumos_unnamed_wait *wait,
                       struct lumos_stream_pair pair) {
  bool communication = search->places.communicates[pair.source - search->graph->rank->lane_first];
  if (wait->leads) {
    return !communication && (pair.source == wait->current || pair.source == wait->home) ? PREPARES : 0;
  }
  if ((wait->trails && communication) || is_taken(search, wait, pair.source)) {
    return 0;
  }
  if (pair.source == wait->previous && (pair.target == wait->next || pair.target == wait->home)) {
    return FOLLOWS;
  }
  return communication ? custom_of_communication(search, wait, pair.source) : 0;
}

struct choice {
  struct lumos_stream_pair pair;
  uint64_t weight; /* 0: none */
  enum manner manner;
  bool bound;
};

static void consider(const struct search *search, const struct lumos_unnamed_wait *waits, size_t count,
                     struct lumos_stream_pair pair, struct choice *best) {
  struct verdict verdict = judge(search, waits, count, pair, THE_LAST);
  if (verdict.seen == 0 || (uint64_t)verdict.violated * LUMOS_VIOLATED_ONE_IN > verdict.seen) {
    return;
  }
  uint64_t weight =
      (uint64_t)verdict.bound * BOUND_WEIGHT + (uint64_t)custom(search, &waits[count / 2], pair) * verdict.seen;
  if (weight > best->weight) {
    *best = (struct choice){pair, weight, THE_LAST, verdict.bound > 0};
  }
}

static void consider_turns(const struct search *search, const struct lumos_unnamed_wait *waits, size_t count,
                           struct lumos_stream_pair pair, struct choice *best) {
  struct verdict verdict = judge(search, waits, count, pair, IN_TURN);
  if (verdict.bound >= LEAST_BOUND_IN_TURN && verdict.bound * 2 >= verdict.late && verdict.bound > best->weight &&
      (uint64_t)verdict.violated * LUMOS_VIOLATED_ONE_IN <= verdict.seen) {
    *best = (struct choice){pair, verdict.bound, IN_TURN, true};
  }
}

static void consider_older(const struct search *search, const struct lumos_unnamed_wait *waits, size_t count,
                           struct lumos_stream_pair pair, struct choice *best) {
  struct verdict verdict = judge(search, waits, count, pair, ANY_OLDER);
  if (verdict.bound >= LEAST_BOUND && verdict.bound * 2 >= verdict.late && verdict.bound > best->weight) {
    *best = (struct choice){pair, verdict.bound, ANY_OLDER, true};
  }
}

static void consider_all(const struct search *search, const struct lumos_unnamed_wait *waits, size_t count,
                         struct choice *best,
                         void (*one)(const struct search *, const struct lumos_unnamed_wait *, size_t,
                                     struct lumos_stream_pair, struct choice *)) {
  uint32_t next = waits->next;
  bool next_waits =
      waits->leads || next == LUMOS_NONE || !search->places.communicates[next - search->graph->rank->lane_first];
  next = next_waits ? next : waits->home;
  const uint32_t targets[] = {!waits->apart ? next : waits->home, waits->home, next, waits->current};
  const uint8_t *communicates = search->places.communicates;
  size_t target_count = waits->leads ? 1 : sizeof targets / sizeof *targets;
  for (size_t i = 0; i < target_count; i++) {
    for (uint32_t s = 0; targets[i] != LUMOS_NONE && s < search->stream_count; s++) {
      bool communication = communicates[search->streams[s] - search->graph->rank->lane_first];
      if (search->streams[s] != targets[i] && !(waits->leads && communication)) {
        one(search, waits, count, (struct lumos_stream_pair){search->streams[s], targets[i]}, best);
      }
    }
  }
}

static void claim(struct search *search, const struct lumos_decided_wait *decided) {
  const struct lumos_rank_graph *graph = search->graph;
  struct lumos_edge_ends ends;
  if (lumos_edge_ends_of(graph, decided->task, decided->pair, decided->turn, &ends) &&
      lumos_edge_believe(graph, decided, &ends) && lumos_edge_is_bound(graph, &ends)) {
    search->claimed[ends.target - graph->first] = ends.source;
  }
}

static struct choice choose(const struct search *search, const struct lumos_unnamed_wait *waits, size_t count) {
  struct choice choice = {.weight = 0};
  consider_all(search, waits, count, &choice, consider);
  if (choice.weight == 0) {
    consider_all(search, waits, count, &choice, consider_turns);
    consider_all(search, waits, count, &choice, consider_older);
  }
  return choice;
}

/* False: nothing fits. */
static bool decide(struct search *search, const struct lumos_unnamed_wait *waits, size_t count) {
  struct choice choice = choose(search, waits, count);
  for (size_t i = 0; choice.weight > 0 && i < count; i++) {
    struct lumos_edge_ends ends;
    if (!ends_of(search, &waits[i], choice.pair, choice.manner, &ends)) {
      continue;
    }
    int64_t at = lumos_graph_call_end(search->graph->job, waits[i].task);
    uint32_t turn = choice.manner == IN_TURN ? waits[i].turn : LUMOS_NONE;
    uint32_t *last = &search->decided_of[waits[i].run - search->graph->first];
    struct lumos_decided_wait decided = {.at = at,
                                         .from = at,
                                         .task = waits[i].task,
                                         .before = *last,
                                         .pair = choice.pair,
                                         .turn = turn,
                                         .older = choice.manner == ANY_OLDER,
                                         .bound = choice.bound};
    claim(search, &decided);
    *last = (uint32_t)search->decisions.count;
    lumos_vector_push(&search->decisions, decided);
  }
  return choice.weight > 0;
}

/* A place, and how customary what it would choose if it were alone. */
struct place {
  uint32_t ordinal, custom;
  size_t first, count; /* of its waits */
};

static int by_custom(const void *left, const void *right) {
  const struct place *a = left, *b = right;
  return a->custom != b->custom     ? LUMOS_ORDER(b->custom, a->custom)
         : a->ordinal != b->ordinal ? LUMOS_ORDER(a->ordinal, b->ordinal)
                                    : LUMOS_ORDER(a->first, b->first);
}

/* Returns how many waits fit nothing. */
static int64_t decide_all(struct search *search) {
  const struct lumos_unnamed_waits *waits = &search->places.waits;
  LUMOS_VECTOR(struct place) places = {0};
  for (size_t first = 0, end; first < waits->count; first = end) {
    const struct lumos_unnamed_wait *here = &waits->items[first];
    for (end = first + 1;
         end < waits->count && waits->items[end].place == here->place && waits->items[end].ordinal == here->ordinal;) {
      end++;
    }
    struct choice choice = choose(search, here, end - first);
    struct place place = {here->ordinal, choice.weight == 0 ? 0 : custom(search, &here[(end - first) / 2], choice.pair),
                          first, end - first};
    lumos_vector_push(&places, place);
  }
  lumos_vector_sort(&places, by_custom);
  int64_t unknown = 0;
  for (size_t i = 0; i < places.count; i++) {
    const struct place *place = &places.items[i];
    unknown += decide(search, waits->items + place->first, place->count) ? 0 : (int64_t)place->count;
  }
  lumos_vector_free(&places);
  return unknown;
}

int64_t lumos_graph_unnamed_waits(struct lumos_rank_graph *graph, uint8_t *unnamed,
                                  struct lumos_decided_waits *decisions) {
  size_t tasks = graph->rank->task_count;
  struct search search = {.graph = graph,
                          .claimed = lumos_allocate(tasks * sizeof *search.claimed),
                          .decisions = *decisions,
                          .decided_of = lumos_allocate(tasks * sizeof *search.decided_of)};
  for (size_t i = 0; i < tasks; i++) {
    search.claimed[i] = search.decided_of[i] = LUMOS_NONE;
  }
  find_streams(&search);
  lumos_graph_sharded_waits(graph, unnamed, &search.decisions);
  lumos_places_find(graph, unnamed, &search.places);
  lumos_places_find_turns(graph, &search.places);
  int64_t unknown = decide_all(&search);
  *decisions = search.decisions;
  lumos_places_free(&search.places);
  free(search.claimed);
  free(search.decided_of);
  return unknown;
}
