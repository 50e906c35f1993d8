/* Event edges of the backlog: of the work that was launched before the recording, but ran in it.
 *
 * No row tells how that work was launched, so nothing tells what its streams wait for. But a program repeats itself:
 * the names of the backlog, back from its last task, come again in the recording, with the launches and the waits
 * around them. The instant at which they come again is looked for on the stream with the longest backlog, where most
 * names fit; of several such instants the one at which most fit on the other streams, too, and of these the first. An
 * edge between two tasks that fit holds between those of the backlog as well, but one that is violated there does not.
 * Where more than one of fifty is, the backlog is not what it was taken for, and none holds. Where the source would
 * have run before the first task that was recorded, its target waited for what the trace does not hold: a late start
 * there is a boundary.
 */
#include "graph/events.h"

#include <stdlib.h>

/* Instants that fit as well on the longest backlog, and are compared on all streams. Chosen: it bounds the time. */
enum { MOST_INSTANTS = 16 };

/* How many names fit when the backlog of the lane is laid against the tasks just before each place behind it; by place.
 * O(tasks): the lengths of prefixes that come again (the Z function) of the backlog, written backwards, before all of
 * the lane, written backwards. */
static uint32_t *fits_by_place(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, uint32_t backlog) {
  uint32_t count = lane->task_count, length = backlog + 1 + count;
  uint32_t *names = lumos_allocate(length * sizeof *names), *again = lumos_allocate(length * sizeof *again);
  for (uint32_t i = 0; i < backlog; i++) {
    names[i] = lumos_graph_task(graph, lane->task_first + backlog - 1 - i)->name;
  }
  names[backlog] = LUMOS_NONE;
  for (uint32_t i = 0; i < count; i++) {
    names[backlog + 1 + i] = lumos_graph_task(graph, lane->task_first + count - 1 - i)->name;
  }
  again[0] = 0;
  for (uint32_t i = 1, from = 0, to = 0; i < length; i++) {
    uint32_t known = i < to ? again[i - from] : 0;
    again[i] = i < to && known > to - i ? to - i : known;
    while (i + again[i] < length && names[again[i]] == names[i + again[i]]) {
      again[i]++;
    }
    if (i + again[i] > to) {
      from = i;
      to = i + again[i];
    }
  }
  uint32_t *fits = lumos_allocate_zeroed((size_t)count + 1, sizeof *fits);
  for (uint32_t place = backlog + 1; place <= count; place++) {
    fits[place] = again[backlog + 1 + count - place];
  }
  free(names);
  free(again);
  return fits;
}

/* How the backlogs of a rank's streams are laid against what comes later. */
struct laid {
  const struct lumos_rank_graph *graph;
  uint32_t *backlog; /* by lane of the rank: tasks launched before the recording */
  uint32_t **fits;   /* by lane of the rank, NULL without a backlog */
  uint32_t longest;  /* a lane of the rank */
};

static const struct lumos_lane *lane_of(const struct laid *laid, uint32_t lane) {
  return &laid->graph->job->lanes.items[laid->graph->rank->lane_first + lane];
}

static void measure_backlogs(struct laid *laid) {
  const struct lumos_rank_graph *graph = laid->graph;
  uint32_t lanes = graph->rank->lane_count;
  laid->backlog = lumos_allocate_zeroed(lanes, sizeof *laid->backlog);
  laid->fits = lumos_allocate_zeroed(lanes, sizeof(uint32_t *));
  for (uint32_t i = 0; i < lanes; i++) {
    const struct lumos_lane *lane = lane_of(laid, i);
    laid->backlog[i] =
        lane->kind == LUMOS_STREAM ? lumos_graph_enqueued(graph, graph->rank->lane_first + i, INT64_MIN) : 0;
    laid->fits[i] = laid->backlog[i] > 0 ? fits_by_place(graph, lane, laid->backlog[i]) : NULL;
    laid->longest = laid->backlog[i] > laid->backlog[laid->longest] ? i : laid->longest;
  }
}

/* How much fits when the lane's backlog ends at a place, of what was recorded. */
static uint32_t fit_on(const struct laid *laid, uint32_t lane, uint32_t place) {
  uint32_t fit = laid->fits[lane] == NULL || place == 0 ? 0 : laid->fits[lane][place];
  uint32_t recorded = place - laid->backlog[lane];
  return fit < recorded ? fit : recorded;
}

/* Where the lane's backlog ends when the longest one ends at `place`: of what was enqueued between the two tasks there
 * the place where most fits. 0: nowhere, or nothing tells which of several places it is. */
static uint32_t end_beside(const struct laid *laid, uint32_t lane, uint32_t place) {
  const struct lumos_rank_graph *graph = laid->graph;
  const struct lumos_lane *longest = lane_of(laid, laid->longest);
  const uint32_t *fits = laid->fits[lane];
  if (lane == laid->longest || lane_of(laid, lane)->kind != LUMOS_STREAM) {
    return lane == laid->longest ? place : 0;
  }
  const int64_t *enqueued = graph->enqueued + (longest->task_first - graph->first);
  uint32_t number = graph->rank->lane_first + lane;
  uint32_t first = lumos_graph_enqueued(graph, number, enqueued[place - 1]), last = first;
  if (place < longest->task_count) {
    last = lumos_graph_enqueued(graph, number, enqueued[place]);
  } else if (first > 0) {
    first--; /* one more may have been enqueued after the recording, so this place must fit less */
  }
  if (fits == NULL) {
    return first == last ? first : 0;
  }
  uint32_t end = 0, most = 0;
  for (uint32_t other = first; other <= last; other++) {
    end = fits[other] > most ? other : fits[other] == most ? 0 : end;
    most = fits[other] > most ? fits[other] : most;
  }
  return end;
}

static uint64_t fit_at(const struct laid *laid, uint32_t place) {
  uint64_t fit = 0;
  for (uint32_t i = 0; i < laid->graph->rank->lane_count; i++) {
    fit += fit_on(laid, i, end_beside(laid, i, place));
  }
  return fit;
}

/* Where on its stream the longest backlog comes again; 0: nowhere. */
static uint32_t find_place(const struct laid *laid) {
  uint32_t most = 0, found = 0, looked_at = 0, count = lane_of(laid, laid->longest)->task_count;
  for (uint32_t place = laid->backlog[laid->longest]; place <= count; place++) {
    uint32_t fit = fit_on(laid, laid->longest, place);
    most = fit > most ? fit : most;
  }
  uint64_t best = 0;
  for (uint32_t place = laid->backlog[laid->longest]; most > 0 && place <= count && looked_at < MOST_INSTANTS;
       place++) {
    if (fit_on(laid, laid->longest, place) == most) {
      uint64_t fit = fit_at(laid, place);
      found = fit > best ? place : found;
      best = fit > best ? fit : best;
      looked_at++;
    }
  }
  return found;
}

void lumos_graph_backlog(struct lumos_rank_graph *graph) {
  struct laid laid = {.graph = graph};
  uint32_t lanes = graph->rank->lane_count;
  graph->repeats = lumos_allocate_zeroed(lanes, sizeof *graph->repeats);
  measure_backlogs(&laid);
  uint32_t place = lanes > 0 && laid.fits[laid.longest] != NULL ? find_place(&laid) : 0;
  for (uint32_t i = 0; i < lanes; i++) {
    uint32_t end = place == 0 ? 0 : end_beside(&laid, i, place);
    if (end > 0) {
      uint32_t fit = fit_on(&laid, i, end);
      graph->repeats[i] = (struct lumos_repeat){lane_of(&laid, i)->task_first + end - fit, fit, end - laid.backlog[i]};
    }
    free(laid.fits[i]);
  }
  free(laid.fits);
  free(laid.backlog);
}

static const struct lumos_repeat *repeat_of(const struct lumos_rank_graph *graph, uint32_t task) {
  return &graph->repeats[lumos_graph_task(graph, task)->lane - graph->rank->lane_first];
}

/* The task of the backlog that a recorded one repeats, or LUMOS_NONE. */
static uint32_t repeated_by(const struct lumos_rank_graph *graph, uint32_t task) {
  const struct lumos_repeat *repeat = repeat_of(graph, task);
  return task >= repeat->first && task - repeat->first < repeat->count ? task - repeat->distance : LUMOS_NONE;
}

/* Does the recorded task repeat one that ran before the recording, too? */
static bool repeats_lost_one(const struct lumos_rank_graph *graph, uint32_t task) {
  uint32_t first = graph->job->lanes.items[lumos_graph_task(graph, task)->lane].task_first;
  return task - first < repeat_of(graph, task)->distance;
}

void lumos_graph_add_backlog_edges(const struct lumos_rank_graph *graph, struct lumos_edges *edges) {
  size_t recorded = edges->count, held = 0, violated = 0;
  for (size_t i = 0; i < recorded; i++) {
    uint32_t source = repeated_by(graph, edges->items[i].src), target = repeated_by(graph, edges->items[i].dst);
    if (target == LUMOS_NONE) {
      continue;
    }
    if (source == LUMOS_NONE) {
      graph->lost[target - graph->first] |= repeats_lost_one(graph, edges->items[i].src);
    } else if (lumos_graph_device_end(graph, source) > lumos_graph_device_start(graph, target) + LUMOS_TIMING_NOISE) {
      violated++;
    } else {
      held++;
      lumos_graph_add_event_edge(edges, source, target, LUMOS_INFERRED);
    }
  }
  edges->count = violated * LUMOS_VIOLATED_ONE_IN > held + violated ? recorded : edges->count;
}
