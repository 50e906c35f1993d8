/* How long a launch takes to reach the device.
 *
 * Counted from the call's end: to an idle device that is 0 to 2 us whatever the call's length. Work that starts inside
 * its call nearer to the start, a copy from or to pageable memory that is staged within its call, and a blocking copy,
 * whose call ends after it, are counted from the call's start instead; and all graphs of a rank, where one of them
 * starts before its call ends: the call of one of thousands of nodes lasts milliseconds, of which the first node need
 * not wait for the end. The lag is typical of its group: name of the call, kind of task, for copies the copy's name,
 * which tells the direction, and for graphs that of the first node, which tells them apart. Samples are launches that
 * met an idle device, so that nothing else in the recording can have delayed them; communication and launches after a
 * stream wait are left out, and so is what took longer than any launch: it waited for work that the recording does not
 * hold, such as another process on the device. Where most launches to an idle device do, at least five, that process
 * has the device for slices of time, and what waited for a part of one is no sample either: what is later than any
 * reaction. Of a graph only the node that starts first is a sample, where nothing ran just before it, be the device
 * idle since the call began or not, and one is enough: graphs of thousands of nodes are launched a few times. What
 * follows another node of its graph on its stream waits for that one, not for the launch: it counts from the call's
 * start, without a lag. A group with too few samples takes the lag of its kind of task, then that of its call, then
 * that of the rank, else 0.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <string.h>

enum { WIDTHS = 4 };

/* The lags of launches that count from their call's start, and of those that count from its end. */
struct lags {
  struct lumos_typical *from_start, *from_end;
  bool graphs_from_start;
};

/* The task's group, wider with every width: call and kind, kind, call, all. */
static uint32_t group_of(const struct lumos_rank_graph *graph, struct lumos_typical *lags, uint32_t index, int width) {
  const struct lumos_task *task = lumos_graph_task(graph, index);
  lumos_string_id call = lumos_graph_task(graph, task->call)->name;
  bool named = task->kind == LUMOS_COPY || lumos_graph_is_node(graph, index);
  lumos_string_id direction = named ? task->name : LUMOS_NO_STRING;
  switch (width) {
    case 0:
      return lumos_typical_group(lags, call, task->kind, direction);
    case 1:
      return lumos_typical_group(lags, LUMOS_NO_STRING, task->kind, direction);
    case 2:
      return lumos_typical_group(lags, call, LUMOS_NONE, LUMOS_NO_STRING);
    default:
      return lumos_typical_group(lags, LUMOS_NO_STRING, LUMOS_NONE, LUMOS_NO_STRING);
  }
}

/* Call `visit` for every task whose launch is known. */
static void each_launched(struct lumos_rank_graph *graph, const struct lags *lags,
                          void (*visit)(struct lumos_rank_graph *, const struct lags *, uint32_t)) {
  const struct lumos_lane *lanes = lumos_graph_lanes(graph);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    if (lanes[i].kind != LUMOS_STREAM) {
      continue;
    }
    for (uint32_t n = 0; n < lanes[i].task_count; n++) {
      uint32_t task = lanes[i].task_first + n;
      if (lumos_graph_task(graph, task)->call != LUMOS_NONE) {
        visit(graph, lags, task);
      }
    }
  }
}

static bool starts_in_call(const struct lumos_rank_graph *graph, uint32_t index) {
  return lumos_graph_device_start(graph, index) <
         lumos_graph_call_end(graph->job, lumos_graph_task(graph, index)->call);
}

static bool graphs_start_in_calls(const struct lumos_rank_graph *graph) {
  for (uint32_t i = 0; i < graph->rank->task_count; i++) {
    if (graph->first_node[i] != LUMOS_NONE && starts_in_call(graph, graph->first_node[i])) {
      return true;
    }
  }
  return false;
}

/* CUPTI's names of copies say of what kind of memory both ends are. */
static bool is_pageable(const struct lumos_job *job, const struct lumos_task *task) {
  return task->kind == LUMOS_COPY && strstr(lumos_string(job->strings, task->name), "Pageable") != NULL;
}

static bool counts_from_start(const struct lumos_rank_graph *graph, const struct lags *lags, uint32_t index) {
  const struct lumos_job *job = graph->job;
  const struct lumos_task *task = lumos_graph_task(graph, index);
  int64_t start = lumos_graph_device_start(graph, index);
  if (lumos_graph_is_node(graph, index)) {
    return lags->graphs_from_start || lumos_graph_follows_node(graph, index);
  }
  return lumos_graph_blocks(job, task->call) || (is_pageable(job, task) && starts_in_call(graph, index)) ||
         start - lumos_graph_call_start(job, task->call) < lumos_graph_call_end(job, task->call) - start;
}

/* Is this a launch that nothing in the recording held up? */
static bool meets_idle(const struct lumos_rank_graph *graph, uint32_t index) {
  const struct lumos_task *task = lumos_graph_task(graph, index);
  return graph->busy[index - graph->first] <= lumos_graph_call_end(graph->job, task->call) &&
         !lumos_graph_after_stream_wait(graph, index) && !lumos_is_communication(task->kind) &&
         !lumos_graph_is_node(graph, index);
}

static int64_t start_behind_call(const struct lumos_rank_graph *graph, uint32_t index) {
  return lumos_graph_device_start(graph, index) -
         lumos_graph_call_end(graph->job, lumos_graph_task(graph, index)->call);
}

static void find_slices(struct lumos_rank_graph *graph) {
  int64_t idle = 0, late = 0;
  for (uint32_t task = graph->first; task < graph->first + graph->rank->task_count; task++) {
    if (lumos_graph_task(graph, task)->call != LUMOS_NONE && meets_idle(graph, task)) {
      idle++;
      late += start_behind_call(graph, task) > LUMOS_LONG_AGO;
    }
  }
  graph->shared = late >= LUMOS_ENOUGH_SAMPLES && late * 2 > idle;
  if (graph->shared) {
    lumos_graph_note(graph, "graph.shared_gpu", late,
                     "most kernels that met an idle GPU started over 1 ms after their launch. Another "
                     "process seems to share the GPU in time slices, which the trace does not show",
                     "record while no other process uses the GPU");
  }
}

/* Where does the launch count from? Then its lag, if it met an empty stream, is a sample. */
static void sample(struct lumos_rank_graph *graph, const struct lags *lags, uint32_t index) {
  const struct lumos_job *job = graph->job;
  const struct lumos_task *task = lumos_graph_task(graph, index);
  int64_t start = lumos_graph_device_start(graph, index), from = lumos_graph_call_end(job, task->call), end = from;
  struct lumos_typical *samples = lags->from_end;
  if (counts_from_start(graph, lags, index)) {
    lumos_task_timing(graph->job, &graph->job->tasks.items[index])->launch_from = LUMOS_START;
    from = lumos_graph_call_start(job, task->call);
    samples = lags->from_start;
  }
  bool node = lumos_graph_is_node(graph, index);
  int64_t busy = graph->busy[index - graph->first];
  bool alone = node && busy + LUMOS_REACTION_WINDOW <= start; /* nothing that is recorded held it up */
  int64_t late = start - (node ? end : from);
  bool held = busy > from || lumos_graph_after_stream_wait(graph, index);
  if ((held && !alone) || late > (graph->shared ? LUMOS_REACTION_WINDOW : LUMOS_LONG_AGO) ||
      lumos_is_communication(task->kind) || (node && graph->first_node[task->call - graph->first] != index)) {
    return;
  }
  for (int width = 0; width < WIDTHS; width++) {
    lumos_typical_add(samples, group_of(graph, samples, index, width), start - from);
  }
}

static void apply(struct lumos_rank_graph *graph, const struct lags *lags, uint32_t index) {
  struct lumos_timing *timing = lumos_task_timing(graph->job, &graph->job->tasks.items[index]);
  struct lumos_typical *known = timing->launch_from == LUMOS_START ? lags->from_start : lags->from_end;
  timing->launch_lag = 0;
  if (lumos_graph_follows_node(graph, index)) {
    return;
  }
  for (int width = 0; width < WIDTHS; width++) {
    size_t enough = width == WIDTHS - 1 || lumos_graph_is_node(graph, index) ? 1 : LUMOS_ENOUGH_SAMPLES;
    if (lumos_typical_value(known, group_of(graph, known, index, width), enough, &timing->launch_lag)) {
      timing->launch_lag = lumos_graph_bounded(timing->launch_lag);
      return;
    }
  }
}

void lumos_graph_launches(struct lumos_rank_graph *graph) {
  find_slices(graph);
  struct lags lags = {lumos_typical_new(), lumos_typical_new(), graphs_start_in_calls(graph)};
  each_launched(graph, &lags, sample);
  each_launched(graph, &lags, apply);
  lumos_typical_free(lags.from_start);
  lumos_typical_free(lags.from_end);
}
