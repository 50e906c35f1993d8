/* Device rows become tasks: in the order of their starts on each stream, found again from their call by its correlation
 * id. One call may have launched many (a graph); a row without a call was launched before the recording began.
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

/* Count the row, and let it end its step (or the work before the first). */
static void account(struct trace_build *build, const struct trace_device *row, const struct trace_call *call) {
  struct lumos_coverage *coverage = &build->rank->coverage;
  struct trace_steps *steps = build->steps;
  coverage->device_tasks++;
  coverage->launched += call != NULL;
  coverage->opped += call != NULL && call->op != LUMOS_NO_STRING;
  coverage->before_recording += call == NULL && !is_device_only(build);
  if (is_device_only(build)) {
    struct trace_mark *all = &steps->marks.items[0];
    latest(&all->device_end, row->end);
    all->host_start = all->host_start == LUMOS_ABSENT || row->start < all->host_start ? row->start : all->host_start;
  } else if (call == NULL || call->mark < 0) {
    latest(&steps->carry_in_end, row->end);
  } else if (call->mark < (int64_t)steps->marks.count) {
    latest(&steps->marks.items[call->mark].device_end, row->end);
  } else {
    build->outside_steps++;
  }
  build->outside_steps += call != NULL && call->mark < 0;
}

/* Work launched before the recording goes into the first step that was recorded. */
static bool is_wanted(const struct trace_steps *steps, const struct trace_call *call) {
  return call == NULL ? steps->first == 0 : trace_mark_wanted(steps, call->mark);
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

static void add_task(struct stream *stream, const struct trace_device *row, const struct trace_call *call) {
  struct trace_build *build = stream->build;
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
    task.step = (int32_t)build->steps->marks.items[call->mark].number;
  } else if (is_device_only(build)) {
    task.step = 0;
  }
  if (row->bytes != LUMOS_ABSENT) {
    lumos_task_detail(build->job, &task)->bytes = row->bytes;
  }
  set_comm(build, &task, row, call);
  stream->last_end = row->end;
  lumos_vector_push(&build->job->tasks, task);
}

static void build_stream(struct trace_build *build, uint32_t lane) {
  const struct trace *trace = build->trace;
  const struct trace_order *order = &trace->device_order;
  struct stream stream = {.build = build, .lane = lane, .last_end = LUMOS_ABSENT};
  for (size_t i = order->first[lane]; i < order->first[lane + 1]; i++) {
    const struct trace_device *row = &trace->device.items[order->rows[i]];
    const struct trace_call *call =
        row->correlation != LUMOS_ABSENT ? lumos_trace_find_call(build, row->correlation) : NULL;
    account(build, row, call);
    if (is_wanted(build->steps, call)) {
      add_task(&stream, row, call);
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
