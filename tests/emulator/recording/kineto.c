/* A rank's rows as Kineto writes them: the same keys in the same order, pretty-printed the same way. The form is that
 * of 2026, if no older one is asked for (--form), with sequence numbers and communicator ids on collectives, occupancy
 * of kernels, graph ids on device rows, events where a stream comes to them, and host waits for a stream on a thread of
 * their own (stream + 1000000).
 *
 * Kineto links a device row to its op through the launch; where that was not recorded the row has no External id, and
 * neither has it the collective's arguments, which come from the op. Batched sends and receives are enqueued behind
 * their ops, so that their kernel has neither.
 */
#include "kineto.h"

#include "chance.h"
#include "hardware.h"
#include "irregularities.h"
#include "nccl_version.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

enum chance { CHANCE_LEAD = 2, CHANCE_ROW }; /* salts of what is drawn for a recording; 1 is its id's */
enum {
  FIRST_PROCESS = 20240,
  PROCESSES_NAMED = 16 /* Kineto names so many devices, whether they are there or not */
};

static void put_process(const struct trace *trace, int64_t time, int process, const char *label, int device, int sort) {
  put_meta(trace->out, "process_name", time, process, 0, "\"name\": \"python\"");
  put_row_end(trace->out);
  put_meta(trace->out, "process_labels", time, process, 0, "\"labels\": \"");
  put_text(trace->out, label);
  if (device >= 0) {
    put_integer(trace->out, device);
  }
  PUT(trace->out, "\"");
  put_row_end(trace->out);
  put_meta_number(trace->out, "process_sort_index", time, process, 0, sort);
}

static void put_thread(const struct trace *trace, int64_t time, int thread, const char *name, const char *after) {
  put_meta(trace->out, "thread_name", time, trace->process, thread, "\"name\": \"thread ");
  put_integer(trace->out, thread);
  put_text(trace->out, name);
  put_text(trace->out, after);
  put_row_end(trace->out);
  put_meta_number(trace->out, "thread_sort_index", time, trace->process, thread, thread);
}

static void put_names(const struct trace *trace, int64_t time) {
  enum { DEVICES_SORT = 5000000 };
  put_process(trace, time, trace->process, "CPU", -1, trace->process);
  for (int device = 0; device < PROCESSES_NAMED; device++) {
    put_process(trace, time, device, "GPU ", device, DEVICES_SORT + device);
  }
  if (trace->shows_device) {
    put_meta(trace->out, "thread_name", time, trace->device, DEVICE_THREAD, "\"name\": \"Device ");
    put_integer(trace->out, trace->device);
    PUT(trace->out, "\"");
    put_row_end(trace->out);
    put_meta_number(trace->out, "thread_sort_index", time, trace->device, DEVICE_THREAD, -DEVICE_THREAD);
  }
  for (int stream = 0; stream < STREAMS; stream++) {
    if (trace->shown_streams[stream]) {
      put_stream_name(trace, stream_number(stream), stream, " \"", time);
    }
  }
  char engine[32];
  snprintf(engine, sizeof engine, " (pt_autograd_%d", trace->device);
  put_thread(trace, time, thread_of(trace, THREAD_MAIN), " (python", ")\"");
  put_thread(trace, time, thread_of(trace, THREAD_AUTOGRAD), engine, ")\"");
}

static void put_devices(const struct trace *trace) {
  enum { RESERVED_SHARED_MEMORY = 1024 };
  const struct setup *setup = trace->recorder->setup;
  const struct gpu *gpu = setup->gpu;
  struct writer *out = trace->out;
  for (int device = 0; device < setup->network.node_size; device++) {
    put_number(out, "\n    {\n      \"id\": ", device);
    PUT(out, ", \"name\": ");
    put_string(out, gpu->name);
    put_number(out, ", \"totalGlobalMem\": ", gpu->memory);
    put_number(out, ",\n      \"computeMajor\": ", gpu->major);
    put_number(out, ", \"computeMinor\": ", gpu->minor);
    PUT(out, ",\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
             "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n"
             "      \"sharedMemPerBlock\": 49152, \"numSms\": ");
    put_integer(out, gpu->sms);
    put_number(out, "\n    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": ",
               gpu->shared_memory - RESERVED_SHARED_MEMORY);
    put_number(out, ", \"sharedMemPerMultiprocessor\": ", gpu->shared_memory);
    put_text(out, device + 1 < setup->network.node_size ? "\n    }," : "\n    }");
  }
}

static void put_group(struct writer *out, const char *name, const char *description, int size, const int *ranks) {
  PUT(out, "{\"pg_name\": ");
  put_string(out, name);
  PUT(out, ", \"pg_desc\": ");
  put_string(out, description);
  put_number(out, ", \"backend_config\": \"cuda:nccl\", \"pg_size\": ", size);
  PUT(out, ", \"ranks\": [");
  for (int i = 0; i < size; i++) {
    put_number(out, i == 0 ? "" : ", ", ranks != NULL ? ranks[i] : i);
  }
  PUT(out, "]}");
}

static void put_groups(const struct trace *trace) {
  const struct recorder *recorder = trace->recorder;
  struct writer *out = trace->out;
  bool has_default = false;
  int count = 0;
  for (int i = 0; i < recorder->communicator_count; i++) {
    has_default = has_default || strcmp(recorder->communicators[i].description, "default_pg") == 0;
    count += is_member(&recorder->communicators[i], trace->rows->rank);
  }
  put_number(out, ", \"pg_count\": ", count + !has_default);
  PUT(out, ", \"pg_config\": [");
  if (!has_default) {
    put_group(out, "0", "default_pg", recorder->ranks, NULL);
  }
  for (int i = 0, written = !has_default; i < recorder->communicator_count; i++) {
    const struct communicator *communicator = &recorder->communicators[i];
    if (is_member(communicator, trace->rows->rank)) {
      put_text(out, written++ > 0 ? ", " : "");
      put_group(out, communicator->name, communicator->description, communicator->size, communicator->ranks);
    }
  }
  PUT(out, "], \"nccl_version\": ");
  put_string(out, recorder->setup->nccl->name);
  PUT(out, "},\n");
}

static void put_hex(struct writer *out, uint64_t number) {
  char text[17];
  snprintf(text, sizeof text, "%08X%08X", (unsigned)(number >> 32U), (unsigned)(number & UINT32_MAX));
  put_text(out, text);
}

static void put_head(const struct trace *trace) {
  const struct setup *setup = trace->recorder->setup;
  struct writer *out = trace->out;
  uint64_t place = chance_place(chance_place(setup->seed, (uint64_t)trace->rows->rank), 1);
  PUT(out, "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [");
  put_devices(trace);
  PUT(out, "\n    ],\n      \"trace_id\": \"");
  put_hex(out, place);
  put_hex(out, trace_id_end(place, trace->rows->rank));
  PUT(out, "\",\n");
  put_text(out, (setup->recorded & RECORD_SHAPES) != 0 ? "      \"record_shapes\": 1,\n" : "");
  put_text(out, (setup->recorded & RECORD_STACKS) != 0 ? "      \"with_stack\": 1,\n      \"with_modules\": 1,\n" : "");
  char host[32];
  snprintf(host, sizeof host, "node-%03d", trace->rows->rank / setup->network.node_size);
  PUT(out, "      \"host_name\": ");
  put_string(out, host);
  put_number(out, ",\n      \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": ", trace->rows->rank);
  put_number(out, ", \"world_size\": ", trace->recorder->ranks);
  if (setup->form <= FORM_2024) {
    put_groups(trace);
  } else {
    PUT(out, "},\n");
  }
  put_number(out, "      \"cuda_driver_version\": ", setup->nccl->driver);
  put_number(out, ",\n      \"cuda_runtime_version\": ", setup->nccl->cuda);
  put_number(out, ",\n      \"cupti_version\": ", setup->nccl->cupti);
  PUT(out, ",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ");
  put_integer(out, KINETO_BASE_TIME);
  PUT(out, ",\n  \"traceEvents\": [\n");
}

/* A figure of this rank's recording. */
static double drawn(const struct trace *trace, const struct spread *spread, uint64_t which) {
  const struct setup *setup = trace->recorder->setup;
  if (!setup->mechanisms[MECHANISM_HOST_JITTER]) {
    return spread_median(spread);
  }
  uint64_t place = chance_place(chance_place(setup->seed, (uint64_t)trace->rows->rank), which);
  return spread_draw_wide(spread, setup->jitter, spread->at[0] / 2, place);
}

/* The window's end is marked when the rows have been collected. */
static void put_tail(const struct trace *trace, int64_t start, int64_t stop) {
  const struct rank_rows *rows = trace->rows;
  size_t count = rows->frames.count + rows->calls.count + rows->device.count + rows->reaches.count;
  int64_t writing = (int64_t)(drawn(trace, &irregularities.recording_row, CHANCE_ROW) * (double)count);
  struct writer *out = trace->out;
  PUT(out, "  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ");
  put_microseconds(out, start);
  PUT(out, ", \"dur\": ");
  put_microseconds(out, stop - start);
  PUT(out, ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n"
           "    \"args\": {\n      \"Op count\": 0\n    }\n  },\n"
           "  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ");
  put_microseconds(out, start);
  PUT(out, ",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  },\n"
           "  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n"
           "    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ");
  put_microseconds(out, start);
  PUT(out, "\n  },\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
           "    \"pid\": \"\", \"tid\": \"\", \"ts\": ");
  put_microseconds(out, stop + writing);
  put_number(out, "\n  }\n  ],\n  \"traceName\": \"rank", trace->rows->rank);
  PUT(out, ".json\"\n}");
}

/* As CUPTI hands them out: by correlation, the device's row before the call's. Streams' waits come last, when it is
 * known which streams have work. */
static void put_activities(struct trace *trace) {
  bool syncs = (trace->recorder->setup->recorded & RECORD_SYNC) != 0;
  const struct call_row *calls = trace->rows->calls.items;
  for (uint32_t i = 0; i < trace->order.calls.count; i++) {
    uint32_t device = trace->order.device.rows[i], call = trace->order.calls.rows[i];
    uint32_t reach = trace->order.reaches.rows[i];
    if (device != NONE) {
      kineto_put_device(trace, &trace->rows->device.items[device]);
    }
    if (reach != NONE && is_new(trace)) {
      kineto_put_event(trace, &trace->rows->reaches.items[reach]);
    }
    if (call != NONE && syncs && calls[call].call != CALL_STREAM_WAIT) {
      kineto_put_wait(trace, &calls[call]);
    }
    if (call != NONE) {
      kineto_put_call(trace, &calls[call]);
    }
  }
  for (uint32_t i = 0; syncs && i < trace->order.calls.count; i++) {
    uint32_t call = trace->order.calls.rows[i];
    if (call != NONE && calls[call].call == CALL_STREAM_WAIT) {
      kineto_put_wait(trace, &calls[call]);
    }
  }
}

static void put_trace(struct trace *trace) {
  const struct rank_rows *rows = trace->rows;
  bool recorded = rows->start != INT64_MAX;
  int64_t start = host_time(trace, recorded ? rows->start : 0);
  int64_t stop = recorded && rows->stop != INT64_MAX ? host_time(trace, rows->stop) : start;
  put_head(trace);
  put_names(trace, start);
  kineto_put_frames(trace);
  kineto_put_memory(trace);
  put_activities(trace);
  kineto_put_device_annotations(trace);
  int64_t lead = (int64_t)drawn(trace, &irregularities.recording_lead, CHANCE_LEAD);
  put_tail(trace, start - lead, stop);
}

bool kineto_write(const struct recorder *recorder, const struct rank_rows *rows) {
  const struct setup *setup = recorder->setup;
  char name[48];
  snprintf(name, sizeof name, setup->plain ? "rank%d.json" : "rank%d.json.gz", rows->rank);
  struct writer *out = writer_open(setup->folder, name, !setup->plain);
  if (out == NULL) {
    return false;
  }
  int device = rows->rank % setup->network.node_size;
  struct trace trace = {.recorder = recorder,
                        .rows = rows,
                        .out = out,
                        .order = order_of(rows),
                        .clock = rows->clock,
                        .process = FIRST_PROCESS + device,
                        .device = device};
  kineto_find_links(&trace);
  put_trace(&trace);
  free(trace.links);
  free(trace.spans);
  order_free(&trace.order);
  return writer_close(out);
}
