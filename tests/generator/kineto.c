/* See kineto.h. Rows that the profiler would not have seen are left out: host rows before the recording, device rows that
 * started before it, and the operator of a kernel whose launch was not recorded.
 */
#include "kineto.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SMS = 108, PROCESS = 20240, COMPUTE_NUMBER = 7, COMMUNICATION_NUMBER = 20 };
static const int64_t base_time = INT64_C(1767189312000000000);

static const int stream_numbers[STREAMS] = {COMPUTE_NUMBER, COMMUNICATION_NUMBER};

static int process_of(const struct rank *rank) { return PROCESS + rank->number; }
static int thread_of(const struct rank *rank, enum thread thread) {
  return process_of(rank) + (thread == MAIN_THREAD ? 0 : 412);
}

/* Nanoseconds as microseconds with three decimals. */
static void put_time(FILE *out, int64_t ns) { fprintf(out, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000)); }

/* ratio numerator / denominator with six decimals, cut. */
static void put_ratio(FILE *out, int64_t numerator, int64_t denominator) {
  int64_t millionths = numerator * 1000000 / denominator;
  fprintf(out, "%" PRId64 ".%06" PRId64, millionths / 1000000, millionths % 1000000);
}

static void put_row_start(FILE *out, const char *category, const char *name, int process, int thread, int64_t start,
                          int64_t end) {
  fprintf(out, "  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d,\n    \"ts\": ",
          category, name, process, thread);
  put_time(out, start);
  fputs(", \"dur\": ", out);
  put_time(out, end - start);
  fputs(",\n    \"args\": {\n      ", out);
}

static void put_row_end(FILE *out) { fputs("\n    }\n  },\n", out); }

static void put_flow(FILE *out, char phase, const char *category, int id, int process, int thread, int64_t at) {
  fprintf(out, "  {\n    \"ph\": \"%c\", \"id\": %d, \"pid\": %d, \"tid\": %d, \"ts\": ", phase, id, process, thread);
  put_time(out, at);
  fprintf(out, ",\n    \"cat\": \"%s\", \"name\": \"%s\"%s\n  },\n", category, category,
          phase == 'f' ? ", \"bp\": \"e\"" : "");
}

/* ---- the inputs of an operator, from "bf16[8,4] =1 -" ---- */

enum input_part { CONCRETE, TYPE, STRIDES, DIMS };

/* The strides of a dense tensor of these dimensions. */
static void put_strides(FILE *out, const char *dims) {
  int64_t sizes[8], stride = 1;
  int count = 0;
  for (const char *at = dims; count < 8; at++) {
    sizes[count++] = strtoll(at, (char **)&at, 10);
    if (*at != ',') {
      break;
    }
  }
  int64_t strides[8];
  for (int i = count - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  for (int i = 0; i < count; i++) {
    fprintf(out, "%s%" PRId64, i == 0 ? "" : ",", strides[i]);
  }
}

static const char *type_name(const char *input) {
  static const char *const names[][2] = {{"bf16", "c10::BFloat16"}, {"float", "float"}, {"int64", "long int"}};
  if (*input == '=') {
    return input[1] == '[' ? "ScalarList" : "Scalar";
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strncmp(input, names[i][0], strlen(names[i][0])) == 0) {
      return names[i][1];
    }
  }
  return "";
}

static void put_input(FILE *out, enum input_part part, const char *input) {
  const char *dims = *input == '=' ? NULL : strchr(input, '[');
  switch (part) {
    case CONCRETE:
      fprintf(out, "\"%s\"", *input == '=' ? input + 1 : "");
      break;
    case TYPE:
      fprintf(out, "\"%s\"", type_name(input));
      break;
    case STRIDES:
      fputc('[', out);
      if (dims != NULL) {
        put_strides(out, dims + 1);
      }
      fputc(']', out);
      break;
    case DIMS:
      fputs(dims != NULL ? dims : "[]", out);
      break;
  }
}

static void put_inputs(FILE *out, const char *inputs) {
  static const char *const keys[] = {
      [CONCRETE] = "Concrete Inputs", [TYPE] = "Input type", [STRIDES] = "Input Strides", [DIMS] = "Input Dims"};
  for (int part = CONCRETE; part <= DIMS; part++) {
    char copy[512];
    snprintf(copy, sizeof copy, "%s", inputs);
    fprintf(out, ", \"%s\": [", keys[part]);
    char *rest = NULL;
    for (char *input = strtok_r(copy, " ", &rest); input != NULL; input = strtok_r(NULL, " ", &rest)) {
      fputs(input == copy ? "" : ", ", out);
      put_input(out, (enum input_part)part, input);
    }
    fputc(']', out);
  }
}

/* ---- collectives ---- */

static void put_message(FILE *out, const struct message *message) {
  fprintf(out,
          "\"Collective name\": \"%s\", \"In msg nelems\": %" PRId64 ", \"Out msg nelems\": %" PRId64
          ", \"Group size\": %d, \"dtype\": \"%s\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
          "\"Process Group Name\": \"0\", \"Process Group Description\": \"default_pg\", \"Process Group Ranks\": "
          "\"[0, 1]\", "
          "\"Seq\": %d",
          message->name, message->elements, message->elements, RANKS, message->dtype, message->sequence);
}

/* ---- host rows ---- */

static void put_host_row(FILE *out, const struct rank *rank, const struct host_row *row, int index) {
  static const char *const categories[] = {"cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"};
  int thread = thread_of(rank, row->thread);
  put_row_start(out, categories[row->category], row->name, process_of(rank), thread, row->start, row->end);
  if (row->category == CUDA_RUNTIME || row->category == CUDA_DRIVER) {
    if (row->external != 0) {
      fprintf(out, "\"External id\": %d,      ", row->external);
    }
    fprintf(out, "\"cbid\": %d, \"correlation\": %d", row->cbid, row->correlation);
  } else {
    fprintf(out, "\"External id\": %d,\"Record function id\": 0", row->external);
    if (row->sequence != 0) {
      fprintf(out, ", \"Sequence number\": %" PRId64 ", \"Fwd thread id\": %d", row->sequence, row->backward ? 1 : 0);
    }
    if (row->message != NULL) {
      fputs(", ", out);
      put_message(out, row->message);
      fprintf(out, ", \"Rank\": %d, \"Global rank start\": 0, \"Global rank stride\": 1", rank->number);
    }
    if (row->inputs != NULL) {
      put_inputs(out, row->inputs);
    }
    fprintf(out, ", \"Ev Idx\": %d", index);
  }
  put_row_end(out);
  if (row->flow != 0) {
    put_flow(out, row->backward ? 'f' : 's', "fwdbwd", row->flow, process_of(rank), thread, row->start);
  }
  if (row->starts_flow) {
    put_flow(out, 's', "ac2g", row->correlation, process_of(rank), thread, row->start);
  }
}

/* Operators first, numbered in the order of their starts on their threads; then the calls. */
static void put_host_rows(FILE *out, const struct rank *rank) {
  int index = 0;
  for (int calls = 0; calls < 2; calls++) {
    for (int thread = THREADS - 1; thread >= 0; thread--) {
      for (size_t i = 0; i < rank->host_count; i++) {
        const struct host_row *row = &rank->host[i];
        bool is_call = row->category == CUDA_RUNTIME || row->category == CUDA_DRIVER;
        if ((int)row->thread == thread && is_call == (calls == 1) && row->start >= rank->recording_start) {
          put_host_row(out, rank, row, index++);
        }
      }
    }
  }
}

/* ---- device rows ---- */

static void put_launch_shape(FILE *out, const struct device_row *row) {
  const struct kernel *kernel = row->kernel;
  int64_t warps = row->blocks * (kernel->threads / 32);
  fprintf(out,
          "      \"registers per thread\": %d,      \"shared memory\": %d,      \"blocks per SM\": ", kernel->registers,
          kernel->shared_memory);
  put_ratio(out, row->blocks, SMS);
  fputs(",      \"warps per SM\": ", out);
  put_ratio(out, warps, SMS);
  /* Registers bound the warps that an SM holds: 65536 registers, 64 warps. */
  int64_t resident = 65536 / (kernel->registers * 32);
  int64_t held = warps / SMS < resident ? warps / SMS : resident;
  fprintf(out,
          ",      \"grid\": [%" PRId64
          ", 1, 1],      \"block\": [%d, 1, 1],      \"est. achieved occupancy %%\": %" PRId64,
          row->blocks, kernel->threads, (held < 64 ? held : 64) * 100 / 64);
}

static void put_work(FILE *out, const struct rank *rank, const struct device_row *row) {
  static const char *const copies[] = {
      [COPY_TO_DEVICE] = "Memcpy HtoD (Pinned -> Device)", [COPY_TO_HOST] = "Memcpy DtoH (Device -> Pinned)"};
  const struct host_row *call_row = &rank->host[row->call];
  bool is_copy = row->kernel == NULL;
  int stream = stream_numbers[row->stream];
  put_row_start(out, is_copy ? "gpu_memcpy" : "kernel", is_copy ? copies[row->kind] : row->kernel->name, rank->number,
                stream, row->start, row->end);
  if (call_row->external != 0 && call_row->start >= rank->recording_start) {
    fprintf(out, "\"External id\": %d,      ", call_row->external);
  }
  fprintf(out, "%s\"device\": %d, \"context\": 1,      \"stream\": %d, \"correlation\": %d, ",
          is_copy ? "" : "\"queued\": 0, ", rank->number, stream, call_row->correlation);
  if (is_copy) {
    fprintf(out, "     \"bytes\": %" PRId64 ", \"memory bandwidth (GB/s)\": ", row->bytes);
    put_ratio(out, row->bytes, row->end - row->start);
  } else {
    put_launch_shape(out, row);
  }
  if (row->message != NULL && call_row->start >= rank->recording_start) {
    fputs(",      ", out);
    put_message(out, row->message);
  }
  put_row_end(out);
  put_flow(out, 'f', "ac2g", call_row->correlation, rank->number, stream, row->start);
}

static void put_sync(FILE *out, const struct rank *rank, const struct device_row *row) {
  static const char *const names[] = {
      [WAIT] = "Stream Wait Event", [STREAM_SYNC] = "Stream Sync", [CONTEXT_SYNC] = "Context Sync"};
  const struct host_row *call_row = &rank->host[row->call];
  int stream = row->kind == CONTEXT_SYNC ? -1 : stream_numbers[row->stream];
  put_row_start(out, "cuda_sync", names[row->kind], rank->number, stream, call_row->start + 300, call_row->end - 200);
  if (call_row->external != 0) {
    fprintf(out, "\"External id\": %d,      ", call_row->external);
  }
  fprintf(out, "\"cuda_sync_kind\": \"%s\",      ", names[row->kind]);
  if (row->kind == WAIT) {
    const struct device_row *record = &rank->device[row->event];
    fprintf(out,
            "\"wait_on_stream\": %d,      \"wait_on_cuda_event_record_corr_id\": %d,      \"wait_on_cuda_event_id\": "
            "%d,      ",
            stream_numbers[record->stream], rank->host[record->call].correlation, 1 + (int)record->stream);
  }
  fprintf(out, "\"stream\": %d, \"correlation\": %d,      \"device\": %d, \"context\": 1", stream,
          call_row->correlation, rank->number);
  put_row_end(out);
  put_flow(out, 'f', "ac2g", call_row->correlation, rank->number, stream, call_row->start + 300);
}

static void put_device_rows(FILE *out, const struct rank *rank) {
  for (size_t i = 0; i < rank->device_count; i++) {
    const struct device_row *row = &rank->device[i];
    bool works = row->kind <= COLLECTIVE;
    if (works && row->start >= rank->recording_start) {
      put_work(out, rank, row);
    } else if (!works && row->kind != RECORD && rank->host[row->call].start >= rank->recording_start) {
      put_sync(out, rank, row);
    }
  }
}

/* The device's image of an annotation: on each stream from the first to the last of what its thread launched inside it. Device rows
 * stand in the order of their calls, so those of an annotation lie between two places. */
static void put_device_annotations(FILE *out, const struct rank *rank) {
  size_t begin = 0;
  for (size_t a = 0; a < rank->host_count; a++) {
    const struct host_row *annotation = &rank->host[a];
    if (annotation->category != USER_ANNOTATION || annotation->start < rank->recording_start) {
      continue;
    }
    while (begin < rank->device_count && (size_t)rank->device[begin].call < a) {
      begin++;
    }
    for (int stream = 0; stream < STREAMS; stream++) {
      int64_t first = INT64_MAX, last = INT64_MIN;
      for (size_t i = begin; i < rank->device_count; i++) {
        const struct device_row *row = &rank->device[i];
        const struct host_row *call_row = &rank->host[row->call];
        if (call_row->thread == annotation->thread && call_row->start > annotation->end) {
          break;
        }
        if (row->kind <= COLLECTIVE && (int)row->stream == stream && call_row->thread == annotation->thread &&
            call_row->start >= annotation->start && call_row->end <= annotation->end) {
          first = row->start < first ? row->start : first;
          last = row->end > last ? row->end : last;
        }
      }
      if (first <= last) {
        put_row_start(out, "gpu_user_annotation", annotation->name, rank->number, stream_numbers[stream], first - 1,
                      last + 1);
        fprintf(out, "\"External id\": %d", annotation->external);
        put_row_end(out);
      }
    }
  }
}

/* ---- the frame ---- */

static void put_meta(FILE *out, const struct rank *rank, const char *name, int process, int thread, const char *key,
                     const char *value) {
  fprintf(out, "  {\n    \"name\": \"%s\", \"ph\": \"M\", \"ts\": ", name);
  put_time(out, rank->recording_start);
  fprintf(out, ", \"pid\": %d, \"tid\": %d,\n    \"args\": {\n      \"%s\": %s\n    }\n  },\n", process, thread, key,
          value);
}

static void put_process(FILE *out, const struct rank *rank, int process, const char *label, int sort_index) {
  char sort[16];
  snprintf(sort, sizeof sort, "%d", sort_index);
  put_meta(out, rank, "process_name", process, 0, "name", "\"python\"");
  put_meta(out, rank, "process_labels", process, 0, "labels", label);
  put_meta(out, rank, "process_sort_index", process, 0, "sort_index", sort);
}

static void put_thread(FILE *out, const struct rank *rank, int process, int thread, const char *format) {
  char name[64], sort[16];
  snprintf(name, sizeof name, format, thread, thread);
  snprintf(sort, sizeof sort, "%d", thread);
  put_meta(out, rank, "thread_name", process, thread, "name", name);
  put_meta(out, rank, "thread_sort_index", process, thread, "sort_index", sort);
}

static void put_names(FILE *out, const struct rank *rank) {
  put_process(out, rank, process_of(rank), "\"CPU\"", process_of(rank));
  for (int device = 0; device < RANKS; device++) {
    char label[16];
    snprintf(label, sizeof label, "\"GPU %d\"", device);
    put_process(out, rank, device, label, 5000000 + device);
  }
  for (int stream = 0; stream < STREAMS; stream++) {
    put_thread(out, rank, rank->number, stream_numbers[stream], "\"stream %d \"");
  }
  put_thread(out, rank, process_of(rank), thread_of(rank, MAIN_THREAD), "\"thread %d (python)\"");
  put_thread(out, rank, process_of(rank), thread_of(rank, BACKWARD_THREAD), "\"thread %d (pt_autograd_0)\"");
}

static void put_head(FILE *out, const struct rank *rank) {
  fputs("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n", out);
  for (int device = 0; device < RANKS; device++) {
    fprintf(out,
            "    {\n      \"id\": %d, \"name\": \"NVIDIA A100-PCIE-40GB\", \"totalGlobalMem\": 42285268992,\n"
            "      \"computeMajor\": 8, \"computeMinor\": 0,\n"
            "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
            "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 49152, \"numSms\": %d\n"
            "    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 166912, "
            "\"sharedMemPerMultiprocessor\": 167936\n"
            "    }%s\n",
            device, SMS, device + 1 < RANKS ? "," : "");
  }
  fprintf(out,
          "  ],\n  \"cupti_version\": 26,\n  \"cuda_runtime_version\": 12080,\n  \"cuda_driver_version\": 12080,\n"
          "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d, \"pg_count\": 1, "
          "\"pg_config\": "
          "[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"pg_size\": 2, "
          "\"ranks\": [0, "
          "1]}], \"nccl_version\": \"2.26.2\"},\n  \"record_shapes\": 1,\n  \"trace_id\": \"%032X\",\n"
          "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %" PRId64 ",\n  \"traceEvents\": [\n",
          rank->number, RANKS, 0xA11CE0U + (unsigned)rank->number, base_time);
}

static void put_tail(FILE *out, const struct rank *rank) {
  fputs("  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ", out);
  put_time(out, rank->recording_start);
  fputs(", \"dur\": ", out);
  put_time(out, rank->recording_end - rank->recording_start);
  fputs(",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n"
        "    \"args\": {\n      \"Op count\": 0\n    }\n  },\n"
        "  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ",
        out);
  put_time(out, rank->recording_start);
  fputs(",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  },\n"
        "  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n"
        "    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ",
        out);
  put_time(out, rank->recording_start);
  fputs("\n  },\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
        "    \"pid\": \"\", \"tid\": \"\", \"ts\": ",
        out);
  put_time(out, rank->recording_end + 61000);
  fprintf(out, "\n  }\n  ],\n  \"traceName\": \"trace/rank%d.json\"\n}\n", rank->number);
}

void kineto_write(const struct rank *rank, FILE *out) {
  put_head(out, rank);
  put_host_rows(out, rank);
  put_device_rows(out, rank);
  put_device_annotations(out, rank);
  put_names(out, rank);
  put_tail(out, rank);
}
