/* Device rows become tasks: in the order of their starts on each stream, found again from their call by its correlation
 * id. One call may have launched many (a graph). A row without a call was launched before the recording began, unless its id
 * is above that of a recorded call: then the trace lacks its call, and its step is that of the call next below.
 */
#include "trace/build.h"
#include "trace/comm.h"
#include "trace/order.h"

struct stream {
  struct trace_build *build;
  uint32_t lane;    /* in the trace */
  int64_t last_end; /* of the last task; LUMOS_ABSENT before the first */
  uint32_t next_seq;
};

static void latest(int64_t *held, int64_t end) { *held = *held == LUMOS_ABSENT || end > *held ? end : *held; }

/* A recording of devices alone has no calls and no marks: all its work is step 0. */
static bool is_device_only(const struct trace_build *build) {
  return build->calls.count == 0 && !build->steps->recorded;
}

/* What is known of a device row's launch. */
struct launch {
  const struct trace_call *call; /* NULL: not in the trace */
  bool before_recording;
  int64_t mark; /* the step, see trace_mark_at */
};

static struct launch find_launch(const struct trace_build *build, const struct trace_device *row) {
  if (is_device_only(build)) {
    return (struct launch){NULL, false, 0};
  }
  const struct trace_call *near =
      row->correlation != LUMOS_ABSENT ? lumos_trace_call_up_to(build, row->correlation) : NULL;
  if (near != NULL && near->correlation == row->correlation) {
    return (struct launch){near, false, near->mark};
  }
  bool later = near != NULL && near->start <= row->start; /* the id may be nonsense */
  return (struct launch){NULL, !later, later ? near->mark : TRACE_BEFORE_STEPS};
}

/* Count the row, and let it end its step (or the work before the first). */
static void account(struct trace_build *build, const struct trace_device *row, const struct launch *launch) {
  struct lumos_coverage *coverage = &build->rank->coverage;
  struct trace_steps *steps = build->steps;
  coverage->device_tasks++;
  coverage->launched += launch->call != NULL;
  coverage->opped += launch->call != NULL && launch->call->op != LUMOS_NO_STRING;
  coverage->before_recording += launch->before_recording;
  if (is_device_only(build)) {
    struct trace_mark *all = &steps->marks.items[0];
    all->host_start = all->host_start == LUMOS_ABSENT || row->start < all->host_start ? row->start : all->host_start;
  } else {
    build->lost_calls += launch->call == NULL && !launch->before_recording;
  }
  if (launch->mark < 0) {
    latest(&steps->carry_in_end, row->end);
    build->outside_steps += !launch->before_recording;
  } else if (launch->mark < (int64_t)steps->marks.count) {
    latest(&steps->marks.items[launch->mark].device_end, row->end);
  } else {
    build->outside_steps++;
  }
}

/* Work launched before the recording goes into the first step that was recorded. */
static bool is_wanted(const struct trace_steps *steps, const struct launch *launch) {
  return launch->before_recording ? steps->first == 0 : trace_mark_wanted(steps, launch->mark);
}

static void set_comm(struct trace_build *build, struct lumos_task *task, const struct trace_device *row,
                     const struct trace_call *call) {
  bool communicates = lumos_is_communication(task->kind);
  if (!communicates && !(task->kind == LUMOS_OTHER_DEVICE && row->comm != LUMOS_NONE)) {
    return;
  }
  struct lumos_comm comm = lumos_detail_empty.comm;
  lumos_trace_fill_comm(build, row, call, &comm);
  task->kind = lumos_trace_is_p2p(build->job, comm.op) ? LUMOS_P2P : LUMOS_COLLECTIVE;
  lumos_task_detail(build->job, task)->comm = comm;
}

static void add_task(struct stream *stream, const struct trace_device *row, const struct launch *launch) {
  struct trace_build *build = stream->build;
  const struct trace_call *call = launch->call;
  int64_t overlap = stream->last_end == LUMOS_ABSENT ? 0 : row->start - stream->last_end;
  struct lumos_task task = lumos_task_empty;
  task.start = row->start;
  task.dur = row->end - row->start;
  task.lag = overlap < 0 ? overlap : 0;
  task.lane = lumos_trace_job_lane(build, stream->lane);
  task.seq = stream->next_seq++;
  task.kind = (uint8_t)lumos_trace_device_kind(build, row, call != NULL ? call->op : LUMOS_NO_STRING);
  task.name = row->name;
  task.occupancy = row->occupancy;
  if (call != NULL) {
    task.call = call->task;
  }
  if (!launch->before_recording) {
    task.step = (int32_t)build->steps->marks.items[launch->mark].number;
  }
  if (row->bytes != LUMOS_ABSENT) {
    lumos_task_detail(build->job, &task)->bytes = row->bytes;
  }
  set_comm(build, &task, row, call);
  build->rank->coverage.graph_nodes += row->in_graph && call != NULL;
  stream->last_end = row->end;
  lumos_vector_push(&build->job->tasks, task);
}

static void build_stream(struct trace_build *build, uint32_t lane) {
  const struct trace *trace = build->trace;
  const struct trace_order *order = &trace->device_order;
  struct stream stream = {.build = build, .lane = lane, .last_end = LUMOS_ABSENT};
  for (size_t i = order->first[lane]; i < order->first[lane + 1]; i++) {
    const struct trace_device *row = &trace->device.items[order->rows[i]];
    struct launch launch = find_launch(build, row);
    account(build, row, &launch);
    if (is_wanted(build->steps, &launch)) {
      add_task(&stream, row, &launch);
    }
  }
}

void lumos_trace_build_streams(struct trace_build *build, const uint32_t *sorted_lanes) {
  lumos_trace_order_device(build->trace);
  for (size_t i = 0; i < build->trace->lanes.count; i++) {
    if (build->trace->lanes.items[sorted_lanes[i]].kind == LUMOS_STREAM) {
      build_stream(build, sorted_lanes[i]);
    }
  }
}
