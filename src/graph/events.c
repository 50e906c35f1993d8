/* Event edges: a stream waits for what preceded an event's record on another stream.
 *
 * Known where the trace names the event or its record, and both streams; else by PyTorch's hooks (sharded.c), or
 * inferred (unnamed.c). What the waiting stream was given next starts no earlier than the end of what the recording
 * stream was given last before the record, and of what that stream waited for since then (awaited.c), plus the typical
 * latency of such an edge: the trimmed mean over edges that visibly bound, the launch and the stream's previous task
 * being over long before. A wait for the stream's own record is kept without latency and without an edge: all that it
 * does is to forbid an overlap.
 */
#include "graph/awaited.h"

#include "graph/typical.h"
#include <stdlib.h>
#include <string.h>

/* False when the trace does not say what waits for what. */
static bool decide(const struct lumos_rank_graph *graph, uint32_t wait, struct lumos_decided_waits *decisions) {
  uint32_t waiting = lumos_detail_of(graph->job, lumos_graph_task(graph, wait))->event_lane;
  int64_t waited = lumos_graph_call_end(graph->job, wait);
  const struct lumos_event_record *record = lumos_graph_seen_record(graph, wait, waited);
  if (record == NULL || (waiting != LUMOS_NONE && record->lane == LUMOS_NONE)) {
    return false; /* a stream that runs nothing passes on what it waited for, and its waits name no stream */
  }
  if (waiting != LUMOS_NONE) { /* else nothing is held up */
    struct lumos_decided_wait decided = {.at = waited,
                                         .from = record->effect,
                                         .task = wait,
                                         .before = LUMOS_NONE,
                                         .pair = {record->lane, waiting},
                                         .turn = LUMOS_NONE,
                                         .recorded = true};
    lumos_vector_push(decisions, decided);
  }
  return true;
}

static bool same_edge(const struct lumos_dep *a, const struct lumos_dep *b) {
  return a->dst == b->dst && a->src == b->src;
}

static int compare_edges(const void *left, const void *right) {
  const struct lumos_dep *a = left, *b = right;
  if (a->dst != b->dst) {
    return a->dst < b->dst ? -1 : 1;
  }
  if (a->src != b->src) {
    return a->src < b->src ? -1 : 1;
  }
  return (a->evidence > b->evidence) - (a->evidence < b->evidence); /* what was recorded first */
}

static void sort_and_drop_repeats(struct lumos_edges *edges) {
  if (edges->count == 0) {
    return;
  }
  qsort(edges->items, edges->count, sizeof *edges->items, compare_edges);
  size_t kept = 1;
  for (size_t i = 1; i < edges->count; i++) {
    if (!same_edge(&edges->items[i], &edges->items[kept - 1])) {
      edges->items[kept++] = edges->items[i];
    }
  }
  edges->count = kept;
}

static bool same_stream(const struct lumos_rank_graph *graph, const struct lumos_dep *edge) {
  return lumos_graph_task(graph, edge->src)->lane == lumos_graph_task(graph, edge->dst)->lane;
}

/* Is the edge what its target waited for, as far as can be seen? */
static bool bound(const struct lumos_rank_graph *graph, const struct lumos_dep *edge, int64_t *latency) {
  const struct lumos_task *task = lumos_graph_task(graph, edge->dst);
  int64_t over = lumos_graph_device_end(graph, edge->src);
  *latency = lumos_graph_device_start(graph, edge->dst) - over;
  if (*latency < 0 || *latency > LUMOS_REACTION_WINDOW || same_stream(graph, edge)) {
    return false;
  }
  if (edge->dst != graph->job->lanes.items[task->lane].task_first &&
      lumos_graph_device_end(graph, edge->dst - 1) > over) {
    return false;
  }
  return task->call == LUMOS_NONE || lumos_graph_call_end(graph->job, task->call) + LUMOS_QUEUED_AHEAD <= over;
}

static int64_t typical_latency(const struct lumos_rank_graph *graph, const struct lumos_edges *edges) {
  LUMOS_VECTOR(int64_t) latencies = {0};
  for (size_t i = 0; i < edges->count; i++) {
    int64_t latency;
    if (bound(graph, &edges->items[i], &latency)) {
      lumos_vector_push(&latencies, latency);
    }
  }
  int64_t typical = lumos_trimmed_mean(latencies.items, latencies.count);
  lumos_vector_free(&latencies);
  return typical;
}

/* What PyTorch's annotation of a communication is around NCCL calls itself: it lets its kernel and a stream of its own,
 * on which nothing runs, take turns. What the kernel waits for the caller has said before. */
static bool is_of_library(const struct lumos_job *job, uint32_t wait) {
  uint32_t span = job->tasks.items[wait].span;
  return span != LUMOS_NONE && strncmp(lumos_string(job->strings, job->spans.items[span].name), "nccl:", 5) == 0;
}

/* What is recorded; `unnamed` gets the waits that do not say what they wait for. */
static void decide_all(struct lumos_rank_graph *graph, struct lumos_decided_waits *decisions, uint8_t *unnamed) {
  for (uint32_t i = 0; i < graph->rank->task_count; i++) {
    uint32_t task = graph->first + i;
    bool waits = lumos_detail_of(graph->job, lumos_graph_task(graph, task))->event_op == LUMOS_EVENT_WAIT;
    unnamed[i] = waits && !decide(graph, task, decisions) && !is_of_library(graph->job, task);
  }
}

void lumos_graph_events(struct lumos_rank_graph *graph) {
  struct lumos_edges edges = {0};
  struct lumos_decided_waits decisions = {0};
  uint8_t *unnamed = lumos_allocate(graph->rank->task_count);
  decide_all(graph, &decisions, unnamed);
  int64_t unknown = lumos_graph_unnamed_waits(graph, unnamed, &decisions);
  lumos_graph_add_awaited(graph, &decisions, &edges);
  lumos_vector_free(&decisions);
  free(unnamed);
  lumos_graph_add_captured_edges(graph, &edges);
  lumos_graph_add_backlog_edges(graph, &edges);
  sort_and_drop_repeats(&edges);
  int64_t latency = typical_latency(graph, &edges);
  int64_t inferred = 0;
  for (size_t i = 0; i < edges.count; i++) {
    struct lumos_dep *edge = &edges.items[i];
    if (!same_stream(graph, edge)) {
      inferred += edge->evidence != LUMOS_RECORDED;
      edge->lag = latency;
      lumos_vector_push(&graph->deps, *edge);
    }
    int64_t over = lumos_graph_device_end(graph, edge->src) + edge->lag;
    int64_t *held = &graph->held[edge->dst - graph->first];
    if (over > *held) {
      *held = over;
    }
  }
  lumos_vector_free(&edges);
  static const char cure[] = "record with torch.profiler's _ExperimentalConfig(enable_cuda_sync_events=True)";
  if (inferred > 0) {
    lumos_graph_note(graph, "graph.inferred_stream_waits", inferred,
                     "stream waits do not say what they wait for; Lumos inferred the event from the calls and from "
                     "what then happened",
                     cure);
  }
  if (unknown > 0) {
    lumos_graph_note(graph, "graph.unknown_stream_waits", unknown,
                     "stream waits do not say which event of which stream they wait for; the delays that they cause "
                     "count as unexplained",
                     cure);
  }
}
