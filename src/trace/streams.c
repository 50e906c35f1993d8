/* Device rows become tasks: in the order of their starts on each stream, found again from their call by its correlation
 * id. One call may have launched many (a graph).
 *
 * A row without a call was launched before the recording began, or the trace lacks its call. A stream runs in the order
 * of its launches, so behind a launch that was recorded nothing is from before; nor is what an idle device starts once
 * the host's calls are recorded. What lacks its call has the step of the call whose id is next below, else that of the
 * launch before it on its stream.
 */
#include "trace/build.h"
#include "trace/comm.h"
#include "trace/order.h"

struct stream {
  struct trace_build *build;
  uint32_t lane;    /* in the trace */
  int64_t last_end; /* of the last task; LUMOS_ABSENT before the first */
  uint32_t next_seq;
  int64_t busy_until; /* when the rows before have ended */
  bool backlogged;    /* it has shown work from before the recording */
  int64_t last_mark;  /* of what was launched last; NO_MARK while nothing that was launched in the recording has come */
};

static const int64_t NO_MARK = INT64_MIN;

/* What waits in a queue starts sooner behind the work before it, ns. */
static const int64_t idle = 25000;

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

/* The call whose id is next below the row's, if that tells when the row was launched: ids rise with time from 1 on. */
static const struct trace_call *call_below(const struct trace_build *build, const struct trace_device *row) {
  const struct trace_call *near = row->correlation > 0 ? lumos_trace_call_up_to(build, row->correlation) : NULL;
  return near != NULL && near->start <= row->start ? near : NULL;
}

static bool has_call(const struct trace_build *build, const struct trace_device *row) {
  return row->correlation != LUMOS_ABSENT && lumos_trace_find_call(build, row->correlation) != NULL;
}

/* Is the row, the `place`th, the last of its stream before launches that were recorded, and was the stream idle before
 * it? Such a row is as likely the first launch of the recording, its call lost. */
static bool stands_alone(const struct trace_build *build, size_t place, uint32_t lane, int64_t busy_until) {
  const struct trace_order *order = &build->trace->device_order;
  const struct trace_device *rows = build->trace->device.items;
  return rows[place].start - busy_until > idle && place + 1 < order->first[lane + 1] &&
         has_call(build, &rows[place + 1]);
}

/* Is there evidence that a row without a call, behind no launch of its stream, is from before the recording? What waits
 * for other ranks may start long after its launch, if its id is as old; all else starts as soon as its device is
 * free. */
static bool is_backlog(const struct stream *stream, const struct trace_device *row, size_t place) {
  const struct trace_build *build = stream->build;
  if (stream->last_mark != NO_MARK || call_below(build, row) != NULL) {
    return false;
  }
  bool communicates = row->comm != LUMOS_NONE ||
                      lumos_is_communication((uint8_t)lumos_trace_device_kind(stream->build, row, LUMOS_NO_STRING));
  bool queued = (stream->backlogged || row->start < build->first_call) &&
                !stands_alone(build, place, stream->lane, stream->busy_until);
  return queued || row->start < build->first_work || row->start <= build->backlog_end ||
         (communicates && row->correlation > 0 && row->correlation < build->calls.items[0].correlation);
}

static struct launch find_launch(struct stream *stream, const struct trace_device *row, size_t place) {
  const struct trace_build *build = stream->build;
  if (is_device_only(build)) {
    return (struct launch){NULL, false, 0};
  }
  const struct trace_call *call =
      row->correlation != LUMOS_ABSENT ? lumos_trace_find_call(build, row->correlation) : NULL;
  if (call == NULL && is_backlog(stream, row, place)) {
    stream->backlogged = true;
    return (struct launch){NULL, true, TRACE_BEFORE_STEPS};
  }
  const struct trace_call *near = call != NULL ? call : call_below(build, row);
  if (near != NULL) {
    stream->last_mark = near->mark;
  } else if (stream->last_mark == NO_MARK) {
    stream->last_mark = trace_mark_at(build->steps, row->start);
  }
  return (struct launch){call, false, stream->last_mark};
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
    lumos_vector_push(&steps->carried_ends, row->end);
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
  task.id = (uint32_t)build->job->tasks.count;
  task.start = row->start;
  task.dur = row->end - row->start;
  task.lag = overlap < 0 ? overlap : 0;
  task.lane = lumos_trace_job_lane(build, stream->lane);
  task.seq = stream->next_seq++;
  task.kind = (uint8_t)lumos_trace_device_kind(build, row, call != NULL ? call->op : LUMOS_NO_STRING);
  task.name = row->name;
  if (row->occupancy != LUMOS_ABSENT_INT) {
    lumos_task_timing(build->job, &task)->occupancy = row->occupancy;
  }
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
  struct stream stream = {
      .build = build, .lane = lane, .last_end = LUMOS_ABSENT, .busy_until = INT64_MIN / 2, .last_mark = NO_MARK};
  for (size_t i = order->first[lane]; i < order->first[lane + 1]; i++) {
    struct trace_device *row = &trace->device.items[i];
    struct launch launch = find_launch(&stream, row, i);
    stream.busy_until = row->end > stream.busy_until ? row->end : stream.busy_until;
    account(build, row, &launch);
    if (is_wanted(build->steps, &launch)) {
      add_task(&stream, row, &launch);
    } else {
      build->left_device++;
    }
    if ((i + 1 - order->first[lane]) % TRACE_GIVEN_BACK_AT_ONCE == 0) {
      lumos_release(row + 1 - TRACE_GIVEN_BACK_AT_ONCE, row + 1);
    }
  }
}

/* When the first call of the recording began, and when the work ends that streams had in hand then. */
static void find_backlog(struct trace_build *build) {
  const struct trace *trace = build->trace;
  const struct trace_order *order = &trace->device_order;
  build->first_call = INT64_MAX;
  build->backlog_end = INT64_MIN;
  for (size_t i = 0; i < build->calls.count; i++) {
    build->first_call =
        build->calls.items[i].start < build->first_call ? build->calls.items[i].start : build->first_call;
  }
  for (size_t lane = 0; lane < trace->lanes.count; lane++) {
    int64_t busy_until = INT64_MIN / 2;
    for (size_t i = order->first[lane]; i < order->first[lane + 1]; i++) {
      const struct trace_device *row = &trace->device.items[i];
      bool first = i == order->first[lane];
      if ((first && row->start >= build->first_call) || has_call(build, row) || call_below(build, row) != NULL ||
          (row->start >= build->first_work && stands_alone(build, i, (uint32_t)lane, busy_until))) {
        break;
      }
      busy_until = row->end > busy_until ? row->end : busy_until;
      build->backlog_end = row->end > build->backlog_end ? row->end : build->backlog_end;
    }
  }
}

void lumos_trace_build_streams(struct trace_build *build, const uint32_t *sorted_lanes) {
  lumos_trace_settle_device(build->trace);
  find_backlog(build);
  build->first_device_task = build->job->tasks.count;
  for (size_t i = 0; i < build->trace->lanes.count; i++) {
    if (build->trace->lanes.items[sorted_lanes[i]].kind == LUMOS_STREAM) {
      build_stream(build, sorted_lanes[i]);
    }
  }
}
