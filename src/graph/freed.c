/* Waits for freeing memory, which no row tells of.
 *
 * An allocator that finds no more memory first waits for the device work that still uses what it is going to free, then
 * frees, then tries again: PyTorch's synchronizes with the events of its blocks (CUDACachingAllocator.cpp,
 * release_cached_blocks), and Kineto records neither those calls nor their time. What is seen is a thread that asks for
 * memory, does nothing for long, or stays in its operator, until right after the end of work on the device, and then
 * calls cudaFree. That time waits for this work: what remains is how long the thread took to go on. A silence that does
 * not begin behind a call for memory may be anything, such as the wait for data.
 *
 * What waits is the operator's own piece before the call, whose end is held, or else the call, whose start is.
 */
#include "graph/graph.h"

#include <string.h>

/* A wait is over by the time of a tenth of it behind the work at most, and within 1 ms. Chosen, as of hand-overs: the
 * rest is little. Measured on V100: 9 to 44 us. */
enum { DELAY_OF_WAIT = 10, LONGEST_DELAY = 1000000 };

static bool frees_memory(const struct lumos_job *job, const struct lumos_task *task) {
  static const char *const names[] = {"cudaFree", "hipFree", "cuMemUnmap", "hipMemUnmap"};
  const char *name = task->kind == LUMOS_ALLOC ? lumos_string(job->strings, task->name) : "";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) {
      return true;
    }
  }
  return false;
}

struct silent {
  uint32_t task;      /* whose end, or start, is held */
  enum lumos_end end; /* which of them */
  int64_t from, to;
};

static bool is_silent_before(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, uint32_t call,
                             struct silent *silent) {
  const struct lumos_task *free_call = lumos_graph_task(graph, call);
  uint32_t before = call - lane->task_first;
  if (before == 0 || (graph->handed[call - graph->first] & LUMOS_HANDED_OVER)) {
    return false;
  }
  *silent = (struct silent){call, LUMOS_START, free_call->start - free_call->lag, free_call->start};
  const struct lumos_task *piece = free_call - 1, *asked = piece;
  if (piece->kind == LUMOS_OP && piece->dur > free_call->lag && before > 1) {
    *silent = (struct silent){call - 1, LUMOS_END, piece->start, piece->start + piece->dur};
    asked = piece - 1;
  }
  return asked->kind == LUMOS_ALLOC && silent->to - silent->from > LUMOS_LONG_AGO;
}

static bool goes_on(const struct silent *silent, int64_t over) {
  int64_t delay = silent->to - over;
  return over > silent->from && delay <= (silent->to - silent->from) / DELAY_OF_WAIT && delay <= LONGEST_DELAY;
}

static void hold(struct lumos_rank_graph *graph, const struct silent *silent, uint32_t source) {
  int64_t over = lumos_graph_device_end(graph, source);
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = source;
  dep.dst = silent->task;
  dep.kind = LUMOS_HOST_WAIT;
  dep.from = LUMOS_END;
  dep.to = (uint8_t)silent->end;
  dep.lag = silent->to - over;
  dep.covers = over - silent->from;
  dep.evidence = LUMOS_INFERRED;
  dep.mode = LUMOS_FIXED;
  lumos_vector_push(&graph->deps, dep);
}

void lumos_graph_freed(struct lumos_rank_graph *graph) {
  int64_t found = 0;
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    for (uint32_t n = 0; n < lane->task_count && lane->kind == LUMOS_THREAD; n++) {
      uint32_t call = lane->task_first + n;
      struct silent silent;
      if (!frees_memory(graph->job, lumos_graph_task(graph, call)) || !is_silent_before(graph, lane, call, &silent)) {
        continue;
      }
      uint32_t source = lumos_graph_last_over(graph, silent.from, silent.to);
      int64_t over = source == LUMOS_NONE ? silent.from : lumos_graph_device_end(graph, source);
      if (goes_on(&silent, over)) {
        hold(graph, &silent, source);
        found++;
      }
    }
  }
  if (found > 0) {
    lumos_graph_note(
        graph, "graph.waits_to_free", found,
        "threads wait for GPU work before they free memory, which no row shows; Lumos inferred it from the "
        "work that ended then",
        "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or use less memory");
  }
}
