/* Where a program calls its stream waits: waits called at the same place do the same each time.
 *
 * A place is the spans around the call (digits in their names, which count, left out), how many waits came before it
 * since the thread's last launch, and the streams on which the thread launched before and after it.
 *
 * A wait leads to a communication launch where the operator that calls it makes that launch, or where it has just
 * recorded an event: it then hands the thread's work over to communication that is launched in the next operator, which
 * is how several sends and receives become one kernel. Without ops the record alone tells.
 */
#include "graph/places.h"

#include "base/hash.h"
#include <stdlib.h>
#include <string.h>

/* Spans. Chosen: they tell a place; more would tell like places apart. */
enum { SPANS_AROUND = 3 };

/* What a walk along a thread remembers. */
struct walk {
  const struct lumos_rank_graph *graph;
  struct lumos_places *places;
  uint32_t previous, current;
  uint32_t recent[LUMOS_RECENT];
  uint32_t launch_span; /* of the last launch */
  bool recorded;        /* a record was called last: no launch and no wait came after it */
  uint32_t record_span; /* that record's */
  uint32_t run;         /* the first wait since then, or LUMOS_NONE */
  uint32_t ordinal;     /* of the next wait since then */
  int64_t since;        /* the last wait that led to nothing, before the last launch */
  size_t pending;       /* the first wait whose next launch has not come */
  uint32_t *launches;   /* by lane of the rank: the thread's, without communication */
};

static uint64_t hash_name(const char *name) {
  uint64_t hash = 0;
  for (; *name != 0; name++) {
    if (*name < '0' || *name > '9') {
      hash = lumos_hash_mix(hash, (unsigned char)*name);
    }
  }
  return hash;
}

static uint64_t hash_spans(const struct lumos_job *job, uint32_t span) {
  uint64_t hash = 1;
  for (int depth = 0; depth < SPANS_AROUND && span != LUMOS_NONE; span = job->spans.items[span].parent) {
    if (job->spans.items[span].kind != LUMOS_SPAN_STEP) {
      hash = lumos_hash_mix(hash, hash_name(lumos_string(job->strings, job->spans.items[span].name)));
      depth++;
    }
  }
  return hash;
}

static bool is_operator(const struct lumos_job *job, uint32_t span) {
  return span != LUMOS_NONE && job->spans.items[span].kind == LUMOS_SPAN_OP;
}

/* Was the launch made within the span? */
static bool is_within(const struct lumos_job *job, uint32_t inner, uint32_t outer) {
  if (outer == LUMOS_NONE || job->spans.items[outer].kind == LUMOS_SPAN_STEP) {
    return false;
  }
  for (int depth = 0; depth < SPANS_AROUND && inner != LUMOS_NONE; depth++, inner = job->spans.items[inner].parent) {
    if (inner == outer) {
      return true;
    }
  }
  return false;
}

/* Is there a span of the program, beside steps and Python's frames, around both? */
static bool share_span(const struct lumos_job *job, uint32_t left, uint32_t right) {
  for (; left != LUMOS_NONE; left = job->spans.items[left].parent) {
    uint8_t kind = job->spans.items[left].kind;
    for (uint32_t span = right; kind != LUMOS_SPAN_STEP && kind != LUMOS_SPAN_PYTHON && span != LUMOS_NONE;
         span = job->spans.items[span].parent) {
      if (span == left) {
        return true;
      }
    }
  }
  return false;
}

/* To the front of the communication streams that the thread launched on. */
static void remember(struct walk *walk, uint32_t stream) {
  size_t place = 0;
  while (place + 1 < LUMOS_RECENT && walk->recent[place] != stream && walk->recent[place] != LUMOS_NONE) {
    place++;
  }
  memmove(walk->recent + 1, walk->recent, place * sizeof *walk->recent);
  walk->recent[0] = stream;
}

static void pass_launch(struct walk *walk, const struct lumos_task *call, uint32_t launched) {
  const struct lumos_job *job = walk->graph->job;
  uint32_t stream = lumos_graph_task(walk->graph, launched)->lane;
  bool communicates = walk->places->communicates[stream - walk->graph->rank->lane_first];
  for (; walk->pending < walk->places->waits.count; walk->pending++) {
    struct lumos_unnamed_wait *wait = &walk->places->waits.items[walk->pending];
    wait->next = stream;
    uint32_t span = job->tasks.items[wait->task].span;

    wait->leads = communicates && (wait->prepares || is_within(job, call->span, span));
    wait->apart = !wait->leads && is_operator(job, span) && !share_span(job, span, call->span);
    walk->since = wait->leads ? walk->since : lumos_graph_call_end(job, wait->task);
  }
  walk->previous = stream;
  walk->launch_span = call->span;
  walk->recorded = false;
  walk->run = LUMOS_NONE;
  walk->ordinal = 0;
  if (communicates) {
    remember(walk, stream);
  } else {
    walk->current = stream;
    walk->launches[stream - walk->graph->rank->lane_first]++;
  }
}

static void pass_wait(struct walk *walk, uint32_t task) {
  const struct lumos_job *job = walk->graph->job;
  const struct lumos_task *call = &job->tasks.items[task];
  walk->run = walk->run == LUMOS_NONE ? task : walk->run;
  struct lumos_unnamed_wait wait = {
      .place = hash_spans(job, call->span),
      .task = task,
      .run = walk->run,
      .ordinal = walk->ordinal++,
      .previous = walk->previous,
      .next = LUMOS_NONE,
      .current = walk->current,
      .home = LUMOS_NONE,
      .since = walk->since,
      .prepares = walk->recorded &&
                  (walk->graph->calls_alone || (walk->record_span == call->span && is_operator(job, call->span))),
      .trails = is_within(job, walk->launch_span, call->span)};
  memcpy(wait.recent, walk->recent, sizeof wait.recent);
  walk->recorded = false;
  lumos_vector_push(&walk->places->waits, wait);
}

static uint32_t busiest(const struct walk *walk) {
  uint32_t most = 0;
  for (uint32_t i = 1; i < walk->graph->rank->lane_count; i++) {
    most = walk->launches[i] > walk->launches[most] ? i : most;
  }
  return walk->launches[most] == 0 ? LUMOS_NONE : walk->graph->rank->lane_first + most;
}

static void walk_thread(struct walk *walk, const struct lumos_lane *lane, const uint8_t *unnamed) {
  size_t first = walk->places->waits.count;
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    uint32_t launched = walk->graph->launched[task - walk->graph->first];
    if (launched != LUMOS_NONE) {
      pass_launch(walk, lumos_graph_task(walk->graph, task), launched);
    } else if (unnamed[task - walk->graph->first]) {
      pass_wait(walk, task);
    } else if (lumos_detail_of(walk->graph->job, lumos_graph_task(walk->graph, task))->event_op == LUMOS_EVENT_RECORD) {
      walk->recorded = true;
      walk->record_span = lumos_graph_task(walk->graph, task)->span;
    }
  }
  uint32_t home = busiest(walk);
  for (size_t i = first; i < walk->places->waits.count; i++) {
    struct lumos_unnamed_wait *wait = &walk->places->waits.items[i];
    wait->home = home;
    wait->place = lumos_hash_mix(lumos_hash_mix(lumos_hash_mix(wait->place, wait->previous), wait->next),
                                 (uint64_t)wait->apart << 2 | (uint64_t)wait->trails << 1 | wait->leads);
  }
}

static int by_place(const void *left, const void *right) {
  const struct lumos_unnamed_wait *a = left, *b = right;
  return a->ordinal != b->ordinal ? LUMOS_ORDER(a->ordinal, b->ordinal)
         : a->place != b->place   ? LUMOS_ORDER(a->place, b->place)
                                  : LUMOS_ORDER(a->task, b->task);
}

static void find_communication(const struct lumos_rank_graph *graph, struct lumos_places *places) {
  const struct lumos_job *job = graph->job;
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[graph->rank->lane_first + i];
    uint32_t communication = 0;
    for (uint32_t n = 0; lane->kind == LUMOS_STREAM && n < lane->task_count; n++) {
      communication += lumos_is_communication(job->tasks.items[lane->task_first + n].kind);
    }
    places->communicates[i] = communication > lane->task_count / 2;
  }
}

void lumos_places_find(const struct lumos_rank_graph *graph, const uint8_t *unnamed, struct lumos_places *places) {
  uint32_t lanes = graph->rank->lane_count;
  places->communicates = lumos_allocate_zeroed(lanes, sizeof *places->communicates);
  find_communication(graph, places);
  uint32_t *launches = lumos_allocate(lanes * sizeof *launches);
  for (uint32_t i = 0; i < lanes; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    if (lane->kind != LUMOS_THREAD) {
      continue;
    }
    struct walk walk = {.graph = graph,
                        .places = places,
                        .previous = LUMOS_NONE,
                        .current = LUMOS_NONE,
                        .launch_span = LUMOS_NONE,
                        .record_span = LUMOS_NONE,
                        .run = LUMOS_NONE,
                        .since = INT64_MIN,
                        .pending = places->waits.count,
                        .launches = launches};
    memset(walk.recent, 0xff, sizeof walk.recent);
    memset(launches, 0, lanes * sizeof *launches);
    walk_thread(&walk, lane, unnamed);
  }
  free(launches);
  lumos_vector_sort(&places->waits, by_place);
}

void lumos_places_free(struct lumos_places *places) {
  lumos_vector_free(&places->waits);
  free(places->communicates);
}
