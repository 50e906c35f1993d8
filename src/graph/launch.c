/* How long a launch takes to reach the device.
 *
 * Counted from the call's end: to an idle device that is 0 to 2 us whatever the call's length. Work that starts inside
 * its call nearer to the start, and a blocking copy, whose call ends after it, is counted from the call's start
 * instead. The lag is typical of its group: name of the call, kind of task, and for copies the copy's name, which tells
 * the direction. Samples are launches that met an idle device, so that nothing else in the recording can have delayed
 * them; communication and launches after a stream wait are left out, and so is what took longer than any launch: it
 * waited for work that the recording does not hold, such as another process on the device. What follows another task of
 * the same call, a graph's launch, counts from where that one does and is no sample, for it waited for that one. A
 * group with too few samples takes the lag of its kind of task, then that of its call, then that of the rank, else 0.
 */
#include "graph/graph.h"

#include "graph/typical.h"

enum { WIDTHS = 4 };

/* The lags of launches that count from their call's start, and of those that count from its end. */
struct lags {
  struct lumos_typical *from_start, *from_end;
};

/* The task's group, wider with every width: call and kind, kind, call, all. */
static uint32_t group_of(const struct lumos_job *job, struct lumos_typical *lags, const struct lumos_task *task,
                         int width) {
  lumos_string_id call = job->tasks.items[task->call].name;
  lumos_string_id direction = task->kind == LUMOS_COPY ? task->name : LUMOS_NO_STRING;
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

/* Where does the launch count from? Then its lag, if it met an empty stream, is a sample. */
static void sample(struct lumos_rank_graph *graph, const struct lags *lags, uint32_t index) {
  const struct lumos_job *job = graph->job;
  const struct lumos_task *task = lumos_graph_task(graph, index);
  int64_t start = lumos_graph_device_start(graph, index), from = lumos_graph_call_end(job, task->call);
  int64_t call_start = lumos_graph_call_start(job, task->call);
  struct lumos_typical *samples = lags->from_end;
  if (index > job->lanes.items[task->lane].task_first && job->tasks.items[index - 1].call == task->call) {
    lumos_task_timing(graph->job, &graph->job->tasks.items[index])->launch_from =
        lumos_timing_of(job, index - 1)->launch_from;
    return;
  }
  if (lumos_graph_blocks(job, task->call) || start - call_start < from - start) {
    lumos_task_timing(graph->job, &graph->job->tasks.items[index])->launch_from = LUMOS_START;
    from = call_start;
    samples = lags->from_start;
  }
  bool idle = graph->busy[index - graph->first] <= from;
  if (!idle || start - from > LUMOS_LONG_AGO || lumos_is_communication(task->kind) ||
      lumos_graph_after_stream_wait(graph, index)) {
    return;
  }
  for (int width = 0; width < WIDTHS; width++) {
    lumos_typical_add(samples, group_of(job, samples, task, width), start - from);
  }
}

static void apply(struct lumos_rank_graph *graph, const struct lags *lags, uint32_t index) {
  const struct lumos_task *task = lumos_graph_task(graph, index);
  struct lumos_timing *timing = lumos_task_timing(graph->job, &graph->job->tasks.items[index]);
  struct lumos_typical *known = timing->launch_from == LUMOS_START ? lags->from_start : lags->from_end;
  timing->launch_lag = 0;
  for (int width = 0; width < WIDTHS; width++) {
    size_t enough = width == WIDTHS - 1 ? 1 : LUMOS_ENOUGH_SAMPLES;
    if (lumos_typical_value(known, group_of(graph->job, known, task, width), enough, &timing->launch_lag)) {
      timing->launch_lag = lumos_graph_bounded(timing->launch_lag);
      return;
    }
  }
}

void lumos_graph_launches(struct lumos_rank_graph *graph) {
  struct lags lags = {lumos_typical_new(), lumos_typical_new()};
  each_launched(graph, &lags, sample);
  each_launched(graph, &lags, apply);
  lumos_typical_free(lags.from_start);
  lumos_typical_free(lags.from_end);
}
