/* The graph of a job: the order in which its rules are applied, rank by rank, then over ranks.
 *
 * What it holds follows three papers. Of a rank: calls, kernels and streams from the profiler's rows, and what
 * synchronises them, as in Daydream (USENIX ATC 2020). Over ranks: one graph of all workers, joined by their
 * collectives after their clocks are aligned, as in dPRO (MLSys 2022). Dependencies between streams, which those two
 * leave out: the Lumos paper (MLSys 2025, arXiv 2504.09307), whose Algorithm 1 sim/engine.c follows.
 */

#include "base/parallel.h"
#include "graph/graph.h"
#include "job/own.h"
#include <stdlib.h>

static bool has_calls_alone(const struct lumos_job *job, const struct lumos_rank *rank) {
  uint32_t t = rank->task_first, end = t + rank->task_count;
  while (t < end && job->tasks.items[t].kind != LUMOS_OP) {
    t++;
  }
  return t == end;
}

static struct lumos_rank_graph open_rank(struct lumos_job *job, uint32_t index) {
  struct lumos_rank *rank = &job->ranks.items[index];
  size_t tasks = rank->task_count;
  return (struct lumos_rank_graph){
      .job = job,
      .rank = rank,
      .first = rank->task_first,
      .calls_alone = has_calls_alone(job, rank),
      .enqueued = lumos_allocate(tasks * sizeof(int64_t)),
      .beside = lumos_allocate_zeroed(tasks, 1),
      .busy = lumos_allocate(tasks * sizeof(int64_t)),
      .held = lumos_allocate(tasks * sizeof(int64_t)),
      .launched = lumos_allocate(tasks * sizeof(uint32_t)),
      .first_node = lumos_allocate(tasks * sizeof(uint32_t)),
      .stream_wait = lumos_allocate(tasks * sizeof(uint32_t)),
      .awaited = lumos_allocate(tasks * sizeof(uint32_t)),
      .handed = lumos_allocate_zeroed(tasks, 1),
      .lost = lumos_allocate_zeroed(tasks, 1),
  };
}

static void close_rank(struct lumos_rank_graph *graph) {
  free(graph->enqueued);
  free(graph->beside);
  free(graph->busy);
  free(graph->held);
  free(graph->launched);
  free(graph->first_node);
  free(graph->stream_wait);
  free(graph->awaited);
  free(graph->handed);
  free(graph->lost);
  free(graph->by_start);
  free(graph->by_end);
  free(graph->repeats);
  lumos_vector_free(&graph->records_by_task);
  lumos_vector_free(&graph->records_by_event);
}

static void find_clock(struct lumos_rank_graph *graph) {
  graph->device_offset = lumos_graph_device_offset(graph);
  graph->rank->clock =
      (struct lumos_clock){.known = true, .device_offset = graph->device_offset, .error = LUMOS_ABSENT};
}

/* Everything within a rank. The clock comes before whatever compares host and device times. */
static void (*const rules[])(struct lumos_rank_graph *graph) = {
    lumos_graph_order,          lumos_graph_find_records,
    lumos_graph_recorded_waits, find_clock,
    lumos_graph_timeline,       lumos_graph_host_waits,
    lumos_graph_backlog,        lumos_graph_events,
    lumos_graph_launches,       lumos_graph_gaps,
    lumos_graph_residuals,      lumos_graph_resources,
    lumos_graph_unseen_waits,   lumos_graph_resources_behind,
    lumos_graph_full_queues,    lumos_graph_backward_calls,
    lumos_graph_handovers,      lumos_graph_freed,
    lumos_graph_boundaries,     lumos_graph_unexplained,
    lumos_graph_profiler,
};

enum { RULES = sizeof rules / sizeof *rules };

/* Ranks are built side by side, in order; what each says is kept until all are there. */
struct building {
  struct lumos_job *job;
  struct lumos_rank_graph *graphs; /* by rank; of those that are done deps and notes alone */
};

static bool build_rank(void *context, size_t index, bool callers) {
  struct building *building = context;
  struct lumos_job *job = building->job;
  struct lumos_rank_graph *graph = &building->graphs[index];
  *graph = open_rank(job, (uint32_t)index);
  for (size_t i = 0; i < RULES; i++) {
    /* A task counts as done as far as the rules have seen it. */
    uint64_t done = graph->first + (uint64_t)graph->rank->task_count * i / RULES;
    if (callers) {
      lumos_watch(&job->watcher, "graph", LUMOS_WATCH_TASKS, done, job->tasks.count);
    }
    rules[i](graph);
  }
  close_rank(graph);
  return true;
}

static void build_ranks(struct lumos_job *job) {
  struct building building = {job, lumos_allocate(job->ranks.count * sizeof *building.graphs)};
  (void)lumos_parallel(job->ranks.count, job->threads, build_rank, &building);
  for (size_t r = 0; r < job->ranks.count; r++) {
    struct lumos_rank_graph *graph = &building.graphs[r];
    lumos_vector_reserve(&job->deps, graph->deps.count);
    for (size_t i = 0; i < graph->deps.count; i++) {
      lumos_vector_push(&job->deps, graph->deps.items[i]);
    }
    for (size_t i = 0; i < graph->notes.count; i++) {
      const struct lumos_graph_note *note = &graph->notes.items[i];
      lumos_job_note(job, note->code, LUMOS_INFO, note->count, NULL, note->text, note->cure);
    }
    lumos_vector_free(&graph->deps);
    lumos_vector_free(&graph->notes);
  }
  free(building.graphs);
}

/* Ranks are read side by side: nothing may be added to an array that they share. */
static void time_streams(struct lumos_job *job) {
  for (size_t i = 0; i < job->tasks.count; i++) {
    if (lumos_on_stream(job, &job->tasks.items[i])) {
      (void)lumos_task_timing(job, &job->tasks.items[i]);
    }
  }
}

void lumos_graph_infer(struct lumos_job *job) {
  time_streams(job);
  build_ranks(job);
  struct lumos_matches matches = {0};
  lumos_graph_match(job, &matches);
  lumos_graph_match_by_ends(job, &matches);
  lumos_graph_match_partners(job, &matches);
  do {
    lumos_graph_rank_clocks(job, &matches);
  } while (lumos_graph_match_by_moments(job, &matches)); /* at most as often as there are ranks */
  lumos_graph_match_pairs(job, &matches);
  lumos_graph_find_roots(job, &matches);
  lumos_graph_collectives(job, &matches);
  lumos_job_take_covers(job);
  lumos_job_take_origins(job);
  lumos_vector_free(&matches.items);
  lumos_vector_free(&matches.members);
  free(matches.taken);
}
