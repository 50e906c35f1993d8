/* Event edges of which the trace shows nothing: seen by timing alone, and believed because they come again.
 *
 * A task that starts later than its launch, its stream and all known waits explain, and within the reaction window
 * after the end of another stream's task, may have waited for that end. Once, this may be chance. The same place of the
 * program makes the same waits: a place is a stream and the names of the task, the one before and the one behind it
 * (around the ends of a stream that began with the recording, for steps repeat); what is awaited is told by its stream,
 * its name, and how many tasks were enqueued behind it on its stream by the time of the waiting task's launch. An edge
 * is believed that was seen twice at the like place, or told by a wait there, and explains half of the late starts;
 * seen once, where the delay is so long and so little ended in it that chance would hardly put its end behind another
 * one. Where it bound, if only by little, in one of four of the place's occurrences, and is violated in fewer than one
 * of fifty, it holds for the others as well.
 *
 * Of what was launched before the recording the order is not known: there, only late starts are explained. Nor is it of
 * the nodes of one graph's launch, and no call between them tells of waits: there every delay over 2 us counts, what
 * starts within 5 us behind an end waited for that, and of a place the stream that is awaited is told, not the task.
 * It is believed where chance would put the start there in fewer than half of all cases, and at a place where most late
 * starts lie so of those that chance would not put there, and chance would not put as many there once in a hundred
 * times. The source starts before the task in any case, so no edges form a ring.
 */
#include "graph/events.h"

#include "base/hash.h"
#include "graph/typical.h"
#include <stdlib.h>

enum {
  ROUNDING = 1000, /* ns: of Kineto's rows until March 2024 */
  /* Sightings. Measured: true edges come again in the next like step (nanogpt, MI300X); the nine that the timing of
   * hta-diff shows in one step only are not to be believed. */
  SEEN_BEFORE = 2,
  LATE_ONE_IN = 2,     /* late starts of a place that an edge explains. Chosen: most of them */
  USUAL_ONE_IN = 4,    /* occurrences in which it bound. Chosen: a wait need not hold anything up each time */
  CHANCE_ONE_IN = 100, /* of the instants of a delay. Chosen: the usual level of 1 % for what is no chance */
  /* ns, from the end of a node to the start of another one of its graph, which no launch and no wait's call holds up.
   * Measured on H100 (DeepEP's dispatch and combine beside compute): 2 to 3 us behind. */
  NODE_WINDOW = 5000,
  THOUSANDTHS = 1000,
  MILLION = 1000000,
  /* Thousandths: so seldom chance may put a single node where it stands. Chosen: what else delays a node of a graph
   * than another one is rare, so that more likely than not is enough. */
  LIKELY_BELOW = 500,
};

#define UNKNOWN LUMOS_NONE
#define TOGETHER (LUMOS_NONE - 1) /* launched at once with the waiting task, so that no number tells which it is */

struct occurrence {
  uint64_t place;
  uint32_t task;
};

struct sighting {
  uint64_t place;
  uint32_t lane; /* of the source */
  lumos_string_id name;
  uint32_t behind; /* how many tasks were enqueued behind the source */
  uint32_t task, source;
  int64_t chance; /* of a start at random to look so, in thousandths */
};

struct place {
  uint64_t place;
  size_t first, count;      /* of its occurrences */
  size_t late, late_before; /* launched in the recording, and before it */
};

/* Sightings that are alike. */
struct pattern {
  size_t first, count;
  uint32_t task, source; /* of the first */
};

struct search {
  struct lumos_rank_graph *graph;
  uint8_t *explained; /* by task of the rank */
  LUMOS_VECTOR(struct sighting) sightings;
  LUMOS_VECTOR(struct occurrence) occurrences;
  LUMOS_VECTOR(struct place) places;
  LUMOS_VECTOR(struct pattern) patterns;
  LUMOS_VECTOR(int64_t) latencies;
  LUMOS_VECTOR(uint32_t) lanes; /* on which something ended just before a task */
  struct lumos_edges edges;
};

/* Of a graph's nodes, and of what was launched before the recording, every delay counts that is no noise. */
static bool is_late(const struct lumos_rank_graph *graph, uint32_t task) {
  int64_t residual = lumos_timing_of(graph->job, task)->residual;
  bool alone = lumos_graph_task(graph, task)->call != LUMOS_NONE && !lumos_graph_is_node(graph, task);
  return residual != LUMOS_ABSENT && residual > (alone ? LUMOS_REACTION_WINDOW : LUMOS_TIMING_NOISE);
}

/* Nodes of one graph, or both launched before the recording. */
static bool are_together(const struct lumos_rank_graph *graph, uint32_t source, uint32_t task) {
  return lumos_graph_task(graph, source)->call == lumos_graph_task(graph, task)->call;
}

/* How soon after the source's end has the task started, if it waited for that? INT64_MIN: its delay tells
 * nothing. */
static int64_t window_of(const struct lumos_rank_graph *graph, uint32_t source, uint32_t task) {
  bool together = are_together(graph, source, task), node = lumos_graph_is_node(graph, task);
  if (lumos_timing_of(graph->job, task)->residual > LUMOS_REACTION_WINDOW && !(together && node)) {
    return LUMOS_REACTION_WINDOW;
  }
  return together ? NODE_WINDOW : INT64_MIN;
}

/* In the recording, so that it is known what was launched before it. */
static bool is_launched(const struct lumos_rank_graph *graph, uint32_t task) {
  return graph->enqueued[task - graph->first] != INT64_MIN;
}

/* Steps repeat: of a stream whose tasks were all launched in the recording the last is taken to come before the
 * first. */
static uint64_t place_of(const struct lumos_rank_graph *graph, uint32_t task) {
  uint32_t on = lumos_graph_task(graph, task)->lane;
  const struct lumos_lane *lane = &graph->job->lanes.items[on];
  uint32_t first = lane->task_first, last = first + lane->task_count - 1;
  bool around = is_launched(graph, first);
  uint32_t before = task > first ? task - 1 : around ? last : LUMOS_NONE;
  uint32_t behind = task < last ? task + 1 : around ? first : LUMOS_NONE;
  uint64_t hash = lumos_hash_mix(lumos_hash_mix(1, on), lumos_graph_task(graph, task)->name);
  hash = lumos_hash_mix(hash, before == LUMOS_NONE ? 0 : lumos_graph_task(graph, before)->name);
  return lumos_hash_mix(hash, behind == LUMOS_NONE ? 0 : lumos_graph_task(graph, behind)->name);
}

/* The last task on the stream that was over at an instant, or LUMOS_NONE. */
static uint32_t last_over(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t at) {
  uint32_t started = lumos_graph_started(graph, lane, at);
  while (started > 0 && lumos_graph_device_end(graph, lane->task_first + started - 1) > at + ROUNDING) {
    started--;
  }
  return started == 0 ? LUMOS_NONE : lane->task_first + started - 1;
}

/* How many tasks of a stream were running when the delay before an instant began, or started in it. */
static int64_t ran_in_delay(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t start,
                            int64_t delay) {
  uint32_t before = lumos_graph_started(graph, lane, start - delay);
  bool running = before > 0 && lumos_graph_device_end(graph, lane->task_first + before - 1) > start - delay;
  return (int64_t)lumos_graph_started(graph, lane, start) - before + running;
}

/* Of the instants of the task's delay those that lie right behind an end on the source's stream. */
static int64_t chance_of(const struct lumos_rank_graph *graph, uint32_t source, uint32_t task) {
  const struct lumos_lane *lane = &graph->job->lanes.items[lumos_graph_task(graph, source)->lane];
  int64_t delay = lumos_timing_of(graph->job, task)->residual, window = window_of(graph, source, task);
  int64_t ends = ran_in_delay(graph, lane, lumos_graph_device_start(graph, task), delay);
  return ends > delay / window ? THOUSANDTHS : ends * window * THOUSANDTHS / delay;
}

static void add_sighting(struct search *search, uint32_t source, uint32_t task) {
  const struct lumos_rank_graph *graph = search->graph;
  const struct lumos_task *awaited = lumos_graph_task(graph, source);
  struct sighting sighting = {place_of(graph, task), awaited->lane, awaited->name, UNKNOWN, task, source, 0};
  if (are_together(graph, source, task)) {
    sighting.behind = TOGETHER;
    sighting.name = LUMOS_NO_STRING;
    sighting.chance = is_late(graph, task) ? chance_of(graph, source, task) : 0;
  } else if (is_launched(graph, task)) {
    int64_t launched = graph->enqueued[task - graph->first];
    sighting.behind = lumos_graph_last_enqueued(graph, awaited->lane, launched) - source;
  }
  lumos_vector_push(&search->sightings, sighting);
}

static int by_number(const void *left, const void *right) {
  return LUMOS_ORDER(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* The other streams on which a task ended within the longest window before an instant: few, however many there are. */
static void find_lanes(struct search *search, uint32_t task, int64_t start) {
  const struct lumos_rank_graph *graph = search->graph;
  uint32_t end = lumos_graph_over(graph, start + ROUNDING);
  search->lanes.count = 0;
  for (uint32_t i = lumos_graph_over(graph, start - LUMOS_REACTION_WINDOW - 1); i < end; i++) {
    uint32_t lane = lumos_graph_task(graph, graph->by_end[i])->lane;
    if (lane != lumos_graph_task(graph, task)->lane) {
      lumos_vector_push(&search->lanes, lane);
    }
  }
  lumos_vector_sort(&search->lanes, by_number);
}

/* Add what the late task may have waited for. */
static void look(struct search *search, uint32_t task) {
  const struct lumos_rank_graph *graph = search->graph;
  int64_t start = lumos_graph_device_start(graph, task), launched = graph->enqueued[task - graph->first];
  find_lanes(search, task, start);
  for (size_t i = 0; i < search->lanes.count; i++) {
    uint32_t lane = search->lanes.items[i];
    if (i > 0 && lane == search->lanes.items[i - 1]) {
      continue;
    }
    uint32_t source = last_over(graph, &graph->job->lanes.items[lane], start);
    if (source == LUMOS_NONE || start - lumos_graph_device_end(graph, source) > window_of(graph, source, task) ||
        graph->enqueued[source - graph->first] > launched) {
      continue;
    }
    add_sighting(search, source, task);
  }
}

/* Call `visit` for every task on a stream. */
static void each_task(struct search *search, void (*visit)(struct search *, uint32_t)) {
  const struct lumos_rank_graph *graph = search->graph;
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    for (uint32_t n = 0; lane->kind == LUMOS_STREAM && n < lane->task_count; n++) {
      visit(search, lane->task_first + n);
    }
  }
}

static void look_if_late(struct search *search, uint32_t task) {
  if (is_late(search->graph, task)) {
    look(search, task);
  }
}

/* The edges that waits of the program have told count as seen before. All of a rank's dependencies stand at the end. */
static void add_known(struct search *search) {
  const struct lumos_rank_graph *graph = search->graph;
  const struct lumos_dep *deps = graph->deps.items;
  for (size_t i = graph->deps.count; i > 0; i--) {
    uint32_t source = deps[i - 1].src, task = deps[i - 1].dst;
    if (deps[i - 1].kind == LUMOS_DEP_EVENT && !is_late(graph, task) &&
        graph->enqueued[source - graph->first] <= graph->enqueued[task - graph->first]) {
      search->explained[task - graph->first] = 1;
      add_sighting(search, source, task);
    }
  }
}

static void add_occurrence(struct search *search, uint32_t task) {
  struct occurrence occurrence = {place_of(search->graph, task), task};
  lumos_vector_push(&search->occurrences, occurrence);
}

static int by_place(const void *left, const void *right) {
  const struct occurrence *a = left, *b = right;
  if (a->place != b->place) {
    return a->place < b->place ? -1 : 1;
  }
  return (a->task > b->task) - (a->task < b->task);
}

static int compare_kinds(const struct sighting *a, const struct sighting *b) {
  if (a->place != b->place) {
    return a->place < b->place ? -1 : 1;
  }
  if (a->lane != b->lane) {
    return a->lane < b->lane ? -1 : 1;
  }
  if (a->name != b->name) {
    return a->name < b->name ? -1 : 1;
  }
  return (a->behind > b->behind) - (a->behind < b->behind);
}

static int by_kind(const void *left, const void *right) {
  const struct sighting *a = left, *b = right;
  int order = compare_kinds(a, b);
  return order != 0 ? order : (a->task > b->task) - (a->task < b->task);
}

static int most_first(const void *left, const void *right) {
  const struct pattern *a = left, *b = right;
  if (a->count != b->count) {
    return a->count > b->count ? -1 : 1;
  }
  if (a->task != b->task) {
    return a->task < b->task ? -1 : 1;
  }
  return (a->source > b->source) - (a->source < b->source);
}

static void find_places(struct search *search) {
  each_task(search, add_occurrence);
  qsort(search->occurrences.items, search->occurrences.count, sizeof *search->occurrences.items, by_place);
  for (size_t i = 0; i < search->occurrences.count; i++) {
    const struct occurrence *occurrence = &search->occurrences.items[i];
    if (i == 0 || occurrence[-1].place != occurrence->place) {
      struct place place = {occurrence->place, i, 0, 0, 0};
      lumos_vector_push(&search->places, place);
    }
    struct place *place = &search->places.items[search->places.count - 1];
    place->count++;
    size_t *late = is_launched(search->graph, occurrence->task) ? &place->late : &place->late_before;
    *late += is_late(search->graph, occurrence->task);
  }
}

static void find_patterns(struct search *search) {
  qsort(search->sightings.items, search->sightings.count, sizeof *search->sightings.items, by_kind);
  for (size_t first = 0, end; first < search->sightings.count; first = end) {
    for (end = first + 1; end < search->sightings.count &&
                          compare_kinds(&search->sightings.items[first], &search->sightings.items[end]) == 0;) {
      end++;
    }
    const struct sighting *one = &search->sightings.items[first];
    struct pattern pattern = {first, end - first, one->task, one->source};
    lumos_vector_push(&search->patterns, pattern);
  }
  qsort(search->patterns.items, search->patterns.count, sizeof *search->patterns.items, most_first);
}

static int by_hash(const void *left, const void *right) {
  const struct place *a = left, *b = right;
  return (a->place > b->place) - (a->place < b->place);
}

static void explain(struct search *search, uint32_t source, uint32_t task) {
  search->explained[task - search->graph->first] = 1;
  lumos_graph_add_event_edge(&search->edges, source, task, LUMOS_INFERRED);
}

/* The task that the pattern names for an occurrence of its place; LUMOS_NONE: another one stands there. */
static uint32_t source_of(const struct search *search, uint32_t task, const struct sighting *like) {
  const struct lumos_rank_graph *graph = search->graph;
  int64_t launched = graph->enqueued[task - graph->first];
  uint32_t enqueued = lumos_graph_enqueued(graph, like->lane, launched);
  if (!is_launched(graph, task) || enqueued <= like->behind) {
    return LUMOS_NONE;
  }
  uint32_t source = graph->job->lanes.items[like->lane].task_first + enqueued - 1 - like->behind;
  return lumos_graph_task(graph, source)->name == like->name ? source : LUMOS_NONE;
}

static bool is_violated(const struct lumos_rank_graph *graph, uint32_t source, uint32_t task) {
  int64_t start = lumos_graph_device_start(graph, task);
  return lumos_graph_device_start(graph, source) >= start || lumos_graph_device_end(graph, source) > start + ROUNDING;
}

/* Would the task have started earlier, and did it start when the source had ended? */
static bool is_bound(const struct lumos_rank_graph *graph, uint32_t source, uint32_t task) {
  int64_t start = lumos_graph_device_start(graph, task), over = lumos_graph_device_end(graph, source);
  int64_t residual = lumos_timing_of(graph->job, task)->residual;
  return residual != LUMOS_ABSENT && over > start - residual + ROUNDING && start - over <= LUMOS_REACTION_WINDOW;
}

/* Does the edge hold wherever the place comes again? */
static bool is_usual(const struct search *search, const struct place *place, const struct sighting *like) {
  size_t seen = 0, violated = 0, bound = 0;
  for (size_t i = place->first; i < place->first + place->count; i++) {
    uint32_t task = search->occurrences.items[i].task, source = source_of(search, task, like);
    if (source != LUMOS_NONE) {
      bool contradicts = is_violated(search->graph, source, task);
      seen++;
      violated += contradicts;
      bound += !contradicts && is_bound(search->graph, source, task);
    }
  }
  return bound * USUAL_ONE_IN >= seen && violated * LUMOS_VIOLATED_ONE_IN <= seen;
}

static void extend(struct search *search, const struct place *place, const struct sighting *like) {
  const struct lumos_rank_graph *graph = search->graph;
  uint32_t latest = LUMOS_NONE;
  for (size_t i = place->first; i < place->first + place->count; i++) {
    uint32_t task = search->occurrences.items[i].task, source = source_of(search, task, like);
    bool again = source == latest; /* the stream has waited for it */
    latest = source;
    bool open =
        graph->held[task - graph->first] == LUMOS_ABSENT || is_late(graph, task); /* no known wait explains it */
    if (source != LUMOS_NONE && !again && !search->explained[task - graph->first] && open &&
        !is_violated(graph, source, task)) {
      explain(search, source, task);
    }
  }
}

/* A delay of over 1 ms, and of all instants in it one of a hundred at most lies right behind an end on another
 * stream. */
static bool is_no_chance(const struct lumos_rank_graph *graph, uint32_t task) {
  int64_t start = lumos_graph_device_start(graph, task), delay = lumos_timing_of(graph->job, task)->residual;
  if (delay <= LUMOS_LONG_AGO) {
    return false;
  }
  const struct lumos_lane *own = &graph->job->lanes.items[lumos_graph_task(graph, task)->lane];
  int64_t ran = (int64_t)lumos_graph_begun(graph, start) - lumos_graph_over(graph, start - delay);
  int64_t ends = ran - ran_in_delay(graph, own, start, delay);
  return ends * CHANCE_ONE_IN <= delay / LUMOS_REACTION_WINDOW;
}

/* Does it explain most late starts of its place? Of nodes, of which no order of launches tells the source: most of
 * those that chance would not put behind an end; and would chance put all these there, it were once in a hundred
 * times. */
static bool explains_most(const struct search *search, const struct pattern *pattern, const struct place *place) {
  const struct sighting *sightings = &search->sightings.items[pattern->first];
  if (sightings->behind != TOGETHER) {
    return pattern->count * LATE_ONE_IN >= (sightings->behind == UNKNOWN ? place->late_before : place->late);
  }
  int64_t others = (int64_t)(place->late + place->late_before - pattern->count);
  int64_t no_chance = 0, all_by_chance = MILLION;
  for (size_t i = 0; i < pattern->count; i++) {
    no_chance += THOUSANDTHS - sightings[i].chance;
    all_by_chance = all_by_chance * sightings[i].chance / THOUSANDTHS;
  }
  return no_chance * (LATE_ONE_IN - 1) >= others * THOUSANDTHS && all_by_chance * CHANCE_ONE_IN <= MILLION;
}

static void judge(struct search *search, const struct pattern *pattern) {
  const struct sighting *sightings = &search->sightings.items[pattern->first];
  struct place key = {.place = sightings->place};
  const struct place *place =
      bsearch(&key, search->places.items, search->places.count, sizeof *search->places.items, by_hash);
  size_t left = 0;
  for (size_t i = 0; i < pattern->count; i++) {
    left += !search->explained[sightings[i].task - search->graph->first];
  }
  bool once = pattern->count < SEEN_BEFORE, together = sightings->behind == TOGETHER;
  bool believed = once ? is_no_chance(search->graph, sightings->task) : explains_most(search, pattern, place);
  if (left == 0 || (!believed && !together)) {
    return;
  }
  for (size_t i = 0; i < pattern->count; i++) {
    const struct sighting *one = &sightings[i];
    if (!search->explained[one->task - search->graph->first] && (believed || one->chance <= LIKELY_BELOW)) {
      int64_t latency =
          lumos_graph_device_start(search->graph, one->task) - lumos_graph_device_end(search->graph, one->source);
      lumos_vector_push(&search->latencies, latency);
      explain(search, one->source, one->task);
    }
  }
  if (believed && !once && sightings->behind != UNKNOWN && !together && is_usual(search, place, sightings)) {
    extend(search, place, sightings);
  }
}

/* The task starts no earlier than the edge allows; what remains unexplained shrinks by as much. */
static void hold(struct lumos_rank_graph *graph, const struct lumos_dep *edge) {
  int64_t over = lumos_graph_device_end(graph, edge->src) + edge->lag;
  int64_t *held = &graph->held[edge->dst - graph->first];
  int64_t *residual = &lumos_task_timing(graph->job, &graph->job->tasks.items[edge->dst])->residual;
  int64_t start = lumos_graph_device_start(graph, edge->dst);
  *held = over > *held ? over : *held;
  if (*residual == LUMOS_ABSENT || start - *residual < over) {
    *residual = lumos_graph_bounded(start - over);
  }
}

static void store(struct search *search) {
  struct lumos_rank_graph *graph = search->graph;
  int64_t latency = lumos_trimmed_mean(search->latencies.items, search->latencies.count);
  for (size_t i = 0; i < search->edges.count; i++) {
    struct lumos_dep *edge = &search->edges.items[i];
    edge->lag = latency;
    lumos_vector_push(&graph->deps, *edge);
    hold(graph, edge);
  }
  if (search->edges.count > 0) {
    lumos_graph_note(graph, "graph.unseen_stream_waits", (int64_t)search->edges.count,
                     "waits between streams were inferred from timing alone: one task repeatedly starts late, right "
                     "after the same task of another stream",
                     "record with torch.profiler's _ExperimentalConfig(enable_cuda_sync_events=True)");
  }
}

void lumos_graph_unseen_waits(struct lumos_rank_graph *graph) {
  struct search search = {.graph = graph};
  each_task(&search, look_if_late);
  if (search.sightings.count > 0) {
    search.explained = lumos_allocate_zeroed(graph->rank->task_count, 1);
    add_known(&search);
    find_places(&search);
    find_patterns(&search);
    for (size_t i = 0; i < search.patterns.count; i++) {
      judge(&search, &search.patterns.items[i]);
    }
    store(&search);
  }
  free(search.explained);
  lumos_vector_free(&search.sightings);
  lumos_vector_free(&search.occurrences);
  lumos_vector_free(&search.places);
  lumos_vector_free(&search.patterns);
  lumos_vector_free(&search.latencies);
  lumos_vector_free(&search.lanes);
  lumos_vector_free(&search.edges);
}
