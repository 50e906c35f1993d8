/* Kernels that wait for free SMs: ready, but another stream's kernels fill the device until one of them comes to its
 * last wave.
 *
 * No row says so; timing does. A kernel, or a memset, that starts late for no known reason, while another stream's
 * kernel that has occupied the device since the late one was ready is about to end, waited for that one's SMs: within
 * 25 us of its end or its last twentieth, which a start at random would seldom meet; within its last fifth, if kernels
 * of its name were seen to hold others up so before; or farther from its end, where it comes to its last wave after the
 * same share of its time again and again. What occupies the device may be a queue of kernels, each on its stream when
 * the one before it ends. What starts within 5 us behind an end waited so as well where no event is known or seen again
 * and again (unseen.c): the last wave left too few SMs.
 *
 * In a simulation the rule is soft: the kernel waits while that stream is occupied when it is ready, at most for
 * several times as long as it waited here, which the edge says (sim/room.c).
 */
#include "graph/resource.h"

#include "graph/graph.h"
#include "graph/typical.h"
#include <stdlib.h>

enum {
  /* ns. Measured on hta-diff, deepseek and torchrec: of starts that are late by over 50 us for no other reason 55 to
   * 75 % lie so near to the end of a kernel that runs, of random instants 4 to 5 %. */
  SHORT_TAIL = 25000,
  /* Of the running kernel's length; and where kernels of its name held others up before. Measured there: with a
   * twentieth for all 0.8 to 2.2 % of the trace stay unexplained, with a fifth for all 0.2 to 0.7 %. */
  TAIL_ONE_IN = 20,
  LONG_TAIL_ONE_IN = 5,
  ROUNDING = 500, /* ns: half of the unit of Kineto's rows until March 2024 */
  /* ns. Kernels that follow each other on a stream by no more leave no time for another stream's to take the SMs; of
   * two that come at about the same time this is too near to tell who was first. Measured on V100, A100 and H100: gaps
   * of a stream's queue are 1 to 3 us long. */
  GAP = 5000,
  SEEN_BEFORE = 2, /* meetings. Chosen: one may be chance */
  /* Of the running kernel's length, in hundredths: waves are alike if what is left at their begin is so near to the
   * median. Chosen: the length of a wave varies by as much with what runs beside it. Of starts at random a fifth would
   * lie there, so that of four three do in 3 of 100 cases. */
  ALIKE_HUNDREDTHS = 10,
  WAVES_SEEN = 4,
};

/* Of a task on a stream: the first of the kernels that, one behind the other, have occupied the stream until it ends;
 * LUMOS_NONE: it is no kernel of its own. */
static uint32_t *find_queues(const struct lumos_rank_graph *graph) {
  uint32_t *queues = lumos_allocate(graph->rank->task_count * sizeof *queues);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    for (uint32_t n = 0; lane->kind == LUMOS_STREAM && n < lane->task_count; n++) {
      uint32_t task = lane->task_first + n, *queue = &queues[task - graph->first];
      *queue = lumos_occupies(lumos_graph_task(graph, task)) ? task : LUMOS_NONE;
      if (*queue == LUMOS_NONE || n == 0 || queue[-1] == LUMOS_NONE) {
        continue;
      }
      int64_t over = lumos_graph_device_end(graph, task - 1), held = graph->held[task - graph->first];
      bool follows = lumos_graph_device_start(graph, task) - over <= GAP &&
                     graph->enqueued[task - graph->first] <= over - ROUNDING && (held == LUMOS_ABSENT || held <= over);
      *queue = follows ? queue[-1] : task;
    }
  }
  return queues;
}

struct meeting {
  lumos_string_id occupant_name;
  uint32_t occupant, task;
  int64_t left, share; /* of the occupant's time when the task starts; in hundredths of all of it */
};
LUMOS_VECTOR_TYPE(meetings, struct meeting);

/* What runs, or is over by no more than `over`, while starts are passed in the order of time. */
struct running {
  const struct lumos_rank_graph *graph;
  int64_t over;
  uint32_t *last;               /* by lane of the rank: the last task that has started */
  LUMOS_VECTOR(uint32_t) lanes; /* of the rank, with a last task that may still run */
  uint8_t *listed;              /* by lane of the rank: it is one of these */
  uint32_t passed;              /* of the device's tasks in the order of starts */
};

/* On to an instant: take in what started before it, and leave out what is over. */
static void pass_to(struct running *running, int64_t at) {
  const struct lumos_rank_graph *graph = running->graph;
  for (; running->passed < graph->device_count; running->passed++) {
    uint32_t task = graph->by_start[running->passed],
             lane = lumos_graph_task(graph, task)->lane - graph->rank->lane_first;
    if (lumos_graph_device_start(graph, task) >= at) {
      break;
    }
    running->last[lane] = task;
    if (!running->listed[lane]) {
      running->listed[lane] = 1;
      lumos_vector_push(&running->lanes, lane);
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < running->lanes.count; i++) {
    uint32_t lane = running->lanes.items[i];
    running->listed[lane] = lumos_graph_device_end(graph, running->last[lane]) >= at - running->over;
    if (running->listed[lane]) {
      running->lanes.items[kept++] = lane;
    }
  }
  running->lanes.count = kept;
}

/* Has the queue occupied its stream since then? Or as good as: it came before the task can have reacted, as was clear
 * by then. */
static bool occupied_since(const struct lumos_rank_graph *graph, uint32_t queue, int64_t ready) {
  int64_t begin = lumos_graph_device_start(graph, queue);
  return begin <= ready ||
         (begin - ready <= LUMOS_QUEUE_GAP - ROUNDING && graph->enqueued[queue - graph->first] <= ready - ROUNDING);
}

/* The kernel nearest to its end of those that, with what ran before them, occupied the device from when the task was
 * ready until it started. */
static bool find_occupant(const struct running *running, const uint32_t *queues, uint32_t task,
                          struct meeting *meeting) {
  const struct lumos_rank_graph *graph = running->graph;
  int64_t start = lumos_graph_device_start(graph, task), ready = start - lumos_timing_of(graph->job, task)->residual;
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < running->lanes.count; i++) {
    uint32_t other = running->last[running->lanes.items[i]], queue = queues[other - graph->first];
    const struct lumos_task *occupant = lumos_graph_task(graph, other);
    if (occupant->lane == lumos_graph_task(graph, task)->lane || queue == LUMOS_NONE ||
        !occupied_since(graph, queue, ready)) {
      continue;
    }
    int64_t left = lumos_graph_device_end(graph, other) - start;
    if (left < least || (left == least && other < meeting->occupant)) {
      least = left;
      int64_t share = occupant->dur > 0 ? left * 100 / occupant->dur : 0;
      *meeting = (struct meeting){occupant->name, other, task, left, share};
    }
  }
  return least != INT64_MAX;
}

static int by_name(const void *left, const void *right) {
  const struct meeting *a = left, *b = right;
  if (a->occupant_name != b->occupant_name) {
    return a->occupant_name < b->occupant_name ? -1 : 1;
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
  struct lumos_timing *timing = lumos_task_timing(graph->job, &graph->job->tasks.items[meeting->task]);
  edge.covers = timing->residual;
  timing->residual = 0;
  lumos_vector_push(&graph->deps, edge);
}

static bool in_tail(const struct lumos_rank_graph *graph, const struct meeting *meeting, int64_t one_in) {
  return meeting->left <= lumos_graph_task(graph, meeting->occupant)->dur / one_in;
}

/* Meetings with kernels of one name: in their tails, or where their last waves begin. */
static void judge(struct lumos_rank_graph *graph, const struct meeting *meetings, size_t count) {
  int64_t *shares = lumos_allocate(count * sizeof *shares);
  size_t in_tails = 0, far = 0, alike = 0;
  for (size_t i = 0; i < count; i++) {
    bool near = in_tail(graph, &meetings[i], LONG_TAIL_ONE_IN);
    in_tails += near;
    if (!near) {
      shares[far++] = meetings[i].share;
    }
  }
  int64_t wave = far == 0 ? 0 : lumos_median(shares, far);
  for (size_t i = 0; i < far; i++) {
    alike += llabs(shares[i] - wave) <= ALIKE_HUNDREDTHS;
  }
  free(shares);
  bool waves = alike >= WAVES_SEEN && alike * 4 >= far * 3;
  for (size_t i = 0; i < count; i++) {
    const struct meeting *meeting = &meetings[i];
    bool near = in_tail(graph, meeting, LONG_TAIL_ONE_IN);
    bool alone = near && (meeting->left <= SHORT_TAIL || in_tail(graph, meeting, TAIL_ONE_IN));
    if (alone || (near && in_tails >= SEEN_BEFORE) ||
        (!near && waves && llabs(meeting->share - wave) <= ALIKE_HUNDREDTHS)) {
      store(graph, meeting);
    }
  }
}

static void find_meetings(struct lumos_rank_graph *graph, int64_t over, struct meetings *meetings) {
  struct running running = {.graph = graph,
                            .over = over,
                            .last = lumos_allocate(graph->rank->lane_count * sizeof(uint32_t)),
                            .listed = lumos_allocate_zeroed(graph->rank->lane_count, 1)};
  uint32_t *queues = find_queues(graph);
  for (uint32_t i = 0; i < graph->device_count; i++) {
    uint32_t task = graph->by_start[i];
    int64_t residual = lumos_timing_of(graph->job, task)->residual;
    struct meeting meeting = {0};
    if (residual != LUMOS_ABSENT && residual > LUMOS_REACTION_WINDOW &&
        lumos_graph_task(graph, task)->kind != LUMOS_COPY && !lumos_graph_lacks_launch(graph, task)) {
      pass_to(&running, lumos_graph_device_start(graph, task));
      if (find_occupant(&running, queues, task, &meeting)) {
        lumos_vector_push(meetings, meeting);
      }
    }
  }
  free(queues);
  free(running.last);
  free(running.listed);
  lumos_vector_free(&running.lanes);
}

static void find_waits(struct lumos_rank_graph *graph, int64_t over) {
  struct meetings meetings = {0};
  find_meetings(graph, over, &meetings);
  if (meetings.count > 0) {
    qsort(meetings.items, meetings.count, sizeof *meetings.items, by_name);
  }
  for (size_t first = 0, end; first < meetings.count; first = end) {
    for (end = first + 1;
         end < meetings.count && meetings.items[end].occupant_name == meetings.items[first].occupant_name;) {
      end++;
    }
    judge(graph, &meetings.items[first], end - first);
  }
  lumos_vector_free(&meetings);
}

void lumos_graph_resources(struct lumos_rank_graph *graph) { find_waits(graph, ROUNDING); }

void lumos_graph_resources_behind(struct lumos_rank_graph *graph) { find_waits(graph, GAP); }
