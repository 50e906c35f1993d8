/* Rows of the host: ops, annotations, Python frames, and calls. */
#include "kineto.h"

#include <stdlib.h>
#include <string.h>

static void put_frame(const struct trace *trace, uint32_t row, uint32_t index) {
  const struct frame_row *frame = frame_at(trace, row);
  const struct link *link = &trace->links[row];
  struct writer *out = trace->out;
  const char *name = name_at(trace, frame->name);
  int thread = thread_of(trace, frame->thread);
  int64_t start = host_time(trace, frame->start);
  put_row_start(out, frame->frame == FRAME_OP ? "cpu_op" : "user_annotation", name, trace->process, thread, start,
                host_time(trace, frame->end) - start);
  put_number(out, "\"External id\": ", link->id);
  PUT(out, ",\"Record function id\": 0");
  if (frame->sequence >= 0) {
    put_number(out, ", \"Sequence number\": ", frame->sequence);
    put_number(out, ", \"Fwd thread id\": ", frame->forward_thread);
  }
  if (tells_message(trace, frame) && tells_collectives(trace)) {
    const struct message *message = message_at(trace, frame->message);
    put_message(trace, message, link->sequence);
    put_message_of_op(trace, message);
  }
  if (frame->inputs != NONE) {
    put_inputs(out, name, name_at(trace, frame->inputs));
  } else if (frame->message != NONE && (trace->recorder->setup->recorded & RECORD_SHAPES) != 0) {
    put_inputs_of_message(trace, name, message_at(trace, frame->message));
  }
  put_number(out, ", \"Ev Idx\": ", index);
  put_row_end(out);
  if (link->flow != 0) {
    put_flow(out, frame->forward_thread == 0, "fwdbwd", link->flow, trace->process, thread, start);
  }
}

/* Modules are numbered by class, and their names end in the number. */
static void put_python(const struct trace *trace, uint32_t row, uint32_t index) {
  const struct frame_row *frame = frame_at(trace, row);
  const struct link *link = &trace->links[row];
  struct writer *out = trace->out;
  const char *name = name_at(trace, frame->name);
  int64_t start = host_time(trace, frame->start);
  put_row_start(out, "python_function", name, trace->process, thread_of(trace, frame->thread), start,
                host_time(trace, frame->end) - start);
  PUT(out, "\"Python parent id\": ");
  if (link->parent != 0) {
    put_unsigned(out, link->parent);
  } else {
    PUT(out, "null");
  }
  put_number(out, ", \"Python id\": ", link->id);
  if (frame->frame == FRAME_MODULE) {
    const char *underscore = strrchr(name, '_');
    put_number(out, ", \"Python module id\": ", underscore == NULL ? 0 : strtol(underscore + 1, NULL, 10));
  }
  put_number(out, ", \"Ev Idx\": ", index);
  put_row_end(out);
}

/* In the order of their starts: ops and annotations thread by thread, behind them the Python frames of all threads
 * together. */
void kineto_put_frames(const struct trace *trace) {
  const struct table *frames = &trace->order.frames;
  uint32_t index = 0;
  for (int thread = THREADS - 1; thread >= 0; thread--) {
    for (uint32_t i = 0; i < frames->count; i++) {
      uint32_t row = frames->rows[i];
      if (row != NONE && frame_at(trace, row)->thread == thread && !is_python(frame_at(trace, row))) {
        put_frame(trace, row, index++);
      }
    }
  }
  for (uint32_t i = 0; i < frames->count; i++) {
    uint32_t row = frames->rows[i];
    if (row != NONE && is_python(frame_at(trace, row))) {
      put_python(trace, row, index++);
    }
  }
}

/* ---- the allocator ---- */

/* What it has from the driver: no more than it once gave out at a time. */
void kineto_put_memory(const struct trace *trace) {
  struct writer *out = trace->out;
  int64_t reserved = 0;
  for (size_t i = 0; i < trace->rows->memory.count; i++) {
    const struct memory_row *row = &trace->rows->memory.items[i];
    reserved = row->allocated > reserved ? row->allocated : reserved;
    PUT(out,
        "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": ");
    put_integer(out, trace->process);
    put_number(out, ", \"tid\": ", thread_of(trace, row->thread));
    PUT(out, ",\n    \"ts\": ");
    put_microseconds(out, host_time(trace, row->time));
    put_number(out, ",\n    \"args\": {\n      \"Total Reserved\": ", reserved);
    put_number(out, ", \"Total Allocated\": ", row->allocated);
    put_number(out, ", \"Bytes\": ", row->bytes);
    put_number(out, ", \"Device Id\": ", trace->device);
    PUT(out, ", \"Device Type\": 1, \"Addr\": 140067339239424, \"finished\": false");
    put_row_end(out);
  }
}

/* ---- calls ---- */

static const struct call_kind {
  const char *name;
  int callback; /* its number in CUPTI */
  bool driver, starts_flow;
} call_kinds[CALLS] = {
    [CALL_LAUNCH] = {"cudaLaunchKernel", 211, false, true},
    [CALL_LAUNCH_EXC] = {"cudaLaunchKernelExC", 430, false, true},
    [CALL_LAUNCH_DRIVER] = {"cuLaunchKernel", 307, true, true},
    [CALL_LAUNCH_EX] = {"cuLaunchKernelEx", 652, true, true},
    [CALL_LAUNCH_NCCL] = {"cuLaunchKernelEx", 652, true, true},
    [CALL_MEMCPY] = {"cudaMemcpyAsync", 41, false, true},
    [CALL_MEMSET] = {"cudaMemsetAsync", 51, false, true},
    [CALL_EVENT_RECORD] = {"cudaEventRecord", 135, false, false},
    [CALL_EVENT_RECORD_FLAGS] = {"cudaEventRecordWithFlags", 370, false, false},
    [CALL_STREAM_WAIT] = {"cudaStreamWaitEvent", 147, false, true},
    [CALL_EVENT_QUERY] = {"cudaEventQuery", 138, false, false},
    [CALL_EVENT_SYNC] = {"cudaEventSynchronize", 137, false, false},
    [CALL_STREAM_SYNC] = {"cudaStreamSynchronize", 131, false, true},
    [CALL_DEVICE_SYNC] = {"cudaDeviceSynchronize", 165, false, true},
    [CALL_IS_CAPTURING] = {"cudaStreamIsCapturing", 317, false, false},
    [CALL_CAPTURE_INFO] = {"cudaStreamGetCaptureInfo_v2", 409, false, false},
    [CALL_CAPTURE_INFO_3] = {"INVALID", 461, false, false}, /* newer than Kineto's table of names */
    [CALL_FIND_FUNCTION] = {"cudaGetFuncBySymbol", 336, false, false},
    [CALL_GRAPH_LAUNCH] = {"cudaGraphLaunch", 311, false, true},
    [CALL_MALLOC] = {"cudaMalloc", 20, false, false},
    [CALL_FREE] = {"cudaFree", 22, false, false},
};

void kineto_put_call(const struct trace *trace, const struct call_row *call) {
  const struct call_kind *kind = &call_kinds[call->call];
  struct writer *out = trace->out;
  int thread = thread_of(trace, call->thread);
  int64_t start = host_time(trace, call->start);
  put_row_start(out, kind->driver ? "cuda_driver" : "cuda_runtime", kind->name, trace->process, thread, start,
                host_time(trace, call->end) - start);
  put_external(trace, call->op);
  put_number(out, "      \"cbid\": ", kind->callback);
  put_number(out, ", \"correlation\": ", call->correlation);
  put_row_end(out);
  put_flow(out, kind->starts_flow, "ac2g", call->correlation, trace->process, thread, start);
}
