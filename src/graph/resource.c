/* Kernels that wait for free SMs: ready, but another stream's kernel fills the device until it comes to its last wave.
 *
 * No row says so; timing does. A kernel that starts late for no known reason, while a kernel that was running when it
 * became ready is about to end, waited for that one's SMs: within 25 us of its end or its last twentieth, which a start
 * at random would seldom meet; or within its last fifth, if kernels of these names were seen to meet so before. An
 * event would have held the start until after the end, and by its latency.
 *
 * In a simulation the rule is soft: the kernel waits only where the other one is running when it is ready.
 */
#include "graph/graph.h"

#include <stdlib.h>

enum {
  /* ns. Measured on hta-diff, deepseek and torchrec: of starts that are late by over 50 us for no other reason 55 to
   * 75 % lie so near to the end of a kernel that runs, of random instants 4 to 5 %. */
  SHORT_TAIL = 25000,
  /* Of the running kernel's length; and where its name and the late one's met before. Measured there: with a twentieth
   * for all 0.8 to 2.2 % of the trace stay unexplained, with a fifth for all 0.2 to 0.7 %. */
  TAIL_ONE_IN = 20,
  LONG_TAIL_ONE_IN = 5,
  ROUNDING = 500,  /* ns: half of the unit of Kineto's rows until March 2024 */
  SEEN_BEFORE = 2, /* meetings. Chosen: one may be chance */
};

struct meeting {
  lumos_string_id occupant_name, name;
  uint32_t occupant, task;
  bool in_short_tail;
};
LUMOS_VECTOR_TYPE(meetings, struct meeting);

static bool needs_sms(const struct lumos_task *task) { return !lumos_is_copy(task->kind); }

/* The task that ran on the stream at an instant, or LUMOS_NONE. */
static uint32_t running_at(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t at) {
  uint32_t started = lumos_graph_started(graph, lane, at), last = lane->task_first + started - 1;
  return started == 0 || lumos_graph_device_end(graph, last) < at - ROUNDING ? LUMOS_NONE : last;
}

/* The kernel nearest to its end of those that ran when the task was ready and, but for their tails, until it
 * started. */
static bool find_occupant(const struct lumos_rank_graph *graph, uint32_t task, struct meeting *meeting) {
  int64_t start = lumos_graph_device_start(graph, task), ready = start - lumos_timing_of(graph->job, task)->residual;
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    if (lane->kind != LUMOS_STREAM || graph->rank->lane_first + i == lumos_graph_task(graph, task)->lane) {
      continue;
    }
    uint32_t other = running_at(graph, lane, start);
    const struct lumos_task *occupant = other == LUMOS_NONE ? NULL : lumos_graph_task(graph, other);
    if (occupant == NULL || !needs_sms(occupant) || lumos_is_communication(occupant->kind) ||
        lumos_graph_device_start(graph, other) > ready) {
      continue;
    }
    int64_t left = lumos_graph_device_end(graph, other) - start;
    if (left < least && left <= occupant->dur / LONG_TAIL_ONE_IN) {
      least = left;
      bool in_short_tail = left <= SHORT_TAIL || left <= occupant->dur / TAIL_ONE_IN;
      *meeting = (struct meeting){occupant->name, lumos_graph_task(graph, task)->name, other, task, in_short_tail};
    }
  }
  return least != INT64_MAX;
}

static int by_names(const void *left, const void *right) {
  const struct meeting *a = left, *b = right;
  if (a->occupant_name != b->occupant_name) {
    return a->occupant_name < b->occupant_name ? -1 : 1;
  }
  if (a->name != b->name) {
    return a->name < b->name ? -1 : 1;
  }
  return (a->task > b->task) - (a->task < b->task);
}

static void store(struct lumos_rank_graph *graph, const struct meeting *meeting) {
  struct lumos_dep edge = lumos_dep_empty;
  edge.src = meeting->occupant;
  edge.dst = meeting->task;
  edge.kind = LUMOS_RESOURCE;
  edge.from = LUMOS_END;
  edge.to = LUMOS_START;
  edge.lag = lumos_graph_device_start(graph, meeting->task) - lumos_graph_device_end(graph, meeting->occupant);
  edge.evidence = LUMOS_INFERRED;
  edge.mode = LUMOS_RUN_TIME;
  lumos_vector_push(&graph->deps, edge);
  lumos_task_timing(graph->job, &graph->job->tasks.items[meeting->task])->residual = 0;
}

void lumos_graph_resources(struct lumos_rank_graph *graph) {
  struct meetings meetings = {0};
  for (uint32_t task = graph->first; task < graph->first + graph->rank->task_count; task++) {
    int64_t residual = lumos_timing_of(graph->job, task)->residual;
    struct meeting meeting;
    if (residual != LUMOS_ABSENT && residual > LUMOS_REACTION_WINDOW && needs_sms(lumos_graph_task(graph, task)) &&
        find_occupant(graph, task, &meeting)) {
      lumos_vector_push(&meetings, meeting);
    }
  }
  if (meetings.count > 0) {
    qsort(meetings.items, meetings.count, sizeof *meetings.items, by_names);
  }
  for (size_t first = 0, end; first < meetings.count; first = end) {
    const struct meeting *one = &meetings.items[first];
    for (end = first + 1; end < meetings.count && meetings.items[end].occupant_name == one->occupant_name &&
                          meetings.items[end].name == one->name;) {
      end++;
    }
    for (size_t i = first; i < end; i++) {
      if (meetings.items[i].in_short_tail || end - first >= SEEN_BEFORE) {
        store(graph, &meetings.items[i]);
      }
    }
  }
  lumos_vector_free(&meetings);
}
