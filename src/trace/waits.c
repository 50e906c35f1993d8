/* What recorded synchronisation (cuda_sync rows) adds to the calls: which stream waits for which event, who recorded
 * it, and what a blocking call waits for. Without such rows a call knows what its name says (threads.c), but for a copy
 * to pageable memory, which blocks whatever its call is called: the driver has no other way to fill such memory.
 */
#include "trace/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct lumos_detail *detail_of(struct trace_build *build, const struct trace_call *call) {
  return lumos_task_detail(build->job, &build->job->tasks.items[call->task]);
}

static bool has_task(const struct trace_call *call) { return call != NULL && call->task != LUMOS_NONE; }

/* An integer's text, if the trace has it anywhere. */
static lumos_string_id known_integer(const struct trace *trace, int64_t value) {
  char text[24];
  int length = snprintf(text, sizeof text, "%" PRId64, value);
  return value != LUMOS_ABSENT ? lumos_interned(trace->strings, text, (size_t)length) : LUMOS_NO_STRING;
}

/* The job's lane of a device and a stream, LUMOS_NONE when it has no task. */
static uint32_t find_stream(const struct trace_build *build, int64_t device, int64_t stream) {
  uint32_t lane = lumos_trace_known_lane(build->trace, LUMOS_STREAM, known_integer(build->trace, device),
                                         known_integer(build->trace, stream));
  return lane != LUMOS_NONE ? build->job_lane[lane] : LUMOS_NONE;
}

/* The call that recorded the event a row waits for; it learns its stream and its event. */
static uint32_t note_record(struct trace_build *build, const struct trace_sync *row) {
  bool seen = row->record_correlation != LUMOS_ABSENT && row->record_correlation != -1;
  const struct trace_call *call = seen ? lumos_trace_find_call(build, row->record_correlation) : NULL;
  if (!has_task(call)) {
    return LUMOS_NONE;
  }
  struct lumos_detail *detail = detail_of(build, call);
  if (detail->event_op != LUMOS_EVENT_RECORD) {
    return LUMOS_NONE; /* the id belongs to another call: no evidence */
  }
  detail->event_lane = find_stream(build, row->device, row->wait_stream);
  detail->event_id = row->event;
  return call->task;
}

static void note_event_wait(struct trace_build *build, const struct trace_sync *row, const struct trace_call *call,
                            uint32_t record) {
  struct lumos_detail *detail = detail_of(build, call);
  if (detail->event_op != LUMOS_EVENT_WAIT && detail->wait.on != LUMOS_WAIT_EVENT) {
    return; /* queries have such rows too, but do not wait */
  }
  if (detail->event_op == LUMOS_EVENT_WAIT) {
    detail->event_lane = find_stream(build, row->device, row->stream);
    detail->event_id = row->event;
  }
  detail->wait.on = LUMOS_WAIT_EVENT;
  detail->wait.lane = find_stream(build, row->device, row->wait_stream);
  detail->wait.record = record;
}

/* A row says that this call waited, whatever its name says; a query asks and does not wait. */
static void note_host_wait(struct trace_build *build, const struct trace_sync *row, const struct trace_call *call,
                           enum lumos_wait_on on) {
  struct lumos_task *task = &build->job->tasks.items[call->task];
  if (lumos_trace_matches("query", lumos_string(build->job->strings, task->name))) {
    return;
  }
  struct lumos_detail *detail = detail_of(build, call);
  detail->wait.on = (uint8_t)on;
  detail->wait.lane = on == LUMOS_WAIT_STREAM ? find_stream(build, row->device, row->stream) : LUMOS_NONE;
}

static void mark_blocking_copies(struct trace_build *build) {
  struct lumos_job *job = build->job;
  for (size_t i = build->first_device_task; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task->kind == LUMOS_COPY && task->call != LUMOS_NONE &&
        lumos_trace_matches("dtoh*-> pageable", lumos_string(job->strings, task->name))) {
      lumos_task_detail(job, &job->tasks.items[task->call])->wait.on = LUMOS_WAIT_SELF;
    }
  }
}

void lumos_trace_mark_waits(struct trace_build *build) {
  mark_blocking_copies(build);
  for (size_t i = 0; i < build->trace->sync.count; i++) {
    const struct trace_sync *row = &build->trace->sync.items[i];
    const char *kind = lumos_string(build->trace->strings, row->kind);
    const struct trace_call *call =
        row->correlation != LUMOS_ABSENT ? lumos_trace_find_call(build, row->correlation) : NULL;
    bool on_event = strcmp(kind, "Event Sync") == 0 || strcmp(kind, "Stream Wait Event") == 0;
    uint32_t record = on_event ? note_record(build, row) : LUMOS_NONE;
    build->used_sync += has_task(call) || record != LUMOS_NONE;
    if (!has_task(call)) {
      continue;
    }
    if (on_event) {
      note_event_wait(build, row, call, record);
    } else if (strcmp(kind, "Stream Sync") == 0) {
      note_host_wait(build, row, call, LUMOS_WAIT_STREAM);
    } else if (strcmp(kind, "Context Sync") == 0) {
      note_host_wait(build, row, call, LUMOS_WAIT_DEVICE);
    }
  }
}
