/* What all kinds of rows share: numbers of processes, threads and streams, times as the clocks show them, and the text
 * of a row. */
#include "kineto.h"

#include <string.h>

enum { AUTOGRAD_THREAD = 1172 }; /* behind its process */

const struct frame_row *frame_at(const struct trace *trace, uint32_t row) { return &trace->rows->frames.items[row]; }

const char *name_at(const struct trace *trace, uint32_t name) { return pool_at(&trace->recorder->names, name); }

const struct message *message_at(const struct trace *trace, uint32_t message) {
  return pool_at(&trace->recorder->messages, message);
}

bool is_python(const struct frame_row *row) { return row->frame >= FRAME_PYTHON; }

bool is_new(const struct trace *trace) { return trace->recorder->setup->form == FORM_2026; }

bool tells_message(const struct trace *trace, const struct frame_row *row) {
  return row->message != NONE && strcmp(name_at(trace, row->name), "record_param_comms") == 0;
}

int thread_of(const struct trace *trace, uint8_t thread) {
  return trace->process + (thread == THREAD_MAIN ? 0 : AUTOGRAD_THREAD);
}

/* A pool of 32 streams is shared by all who ask for one; the default stream is 7 in traces. NCCL makes its own. */
int stream_number(int stream) {
  enum { NUMBERS_OF_NCCL = 64 };
  static const int numbers[WORKING_STREAMS] = {
      [STREAM_COMPUTE] = 7,        [STREAM_TENSOR] = 13,       [STREAM_DATA] = 17,
      [STREAM_EMBEDDING] = 21,     [STREAM_MODEL] = 25,        [STREAM_SEND_NEXT] = 29,
      [STREAM_SEND_PREVIOUS] = 33, [STREAM_RECEIVE_NEXT] = 37, [STREAM_RECEIVE_PREVIOUS] = 41,
      [STREAM_P2P] = 45,           [STREAM_COPY] = 49,         [STREAM_GATHER] = 53,
      [STREAM_REDUCE] = 57,        [STREAM_CONTEXT] = 61,      [STREAM_EXPERT] = 65,
      [STREAM_EXPERT_DATA] = 69,
  };
  return stream < WORKING_STREAMS ? numbers[stream] : numbers[stream - NCCL_BESIDE] + NUMBERS_OF_NCCL;
}

int64_t host_time(const struct trace *trace, int64_t time) {
  return clock_host(&trace->clock, time) + CLOCK_EPOCH - KINETO_BASE_TIME;
}

int64_t device_time(const struct trace *trace, int64_t time) {
  return clock_device(&trace->clock, time) + CLOCK_EPOCH - KINETO_BASE_TIME;
}

void put_row_start(struct writer *out, const char *category, const char *name, int process, int thread, int64_t start,
                   int64_t duration) {
  PUT(out, "  {\n    \"ph\": \"X\", \"cat\": \"");
  put_text(out, category);
  PUT(out, "\", \"name\": ");
  put_string(out, name);
  PUT(out, ", \"pid\": ");
  put_integer(out, process);
  PUT(out, ", \"tid\": ");
  put_integer(out, thread);
  PUT(out, ",\n    \"ts\": ");
  put_microseconds(out, start);
  PUT(out, ", \"dur\": ");
  put_microseconds(out, duration);
  PUT(out, ",\n    \"args\": {\n      ");
}

void put_row_end(struct writer *out) { PUT(out, "\n    }\n  },\n"); }

void put_flow(struct writer *out, bool starts, const char *category, uint32_t id, int process, int thread,
              int64_t time) {
  put_text(out, starts ? "  {\n    \"ph\": \"s\", \"id\": " : "  {\n    \"ph\": \"f\", \"id\": ");
  put_unsigned(out, id);
  PUT(out, ", \"pid\": ");
  put_integer(out, process);
  PUT(out, ", \"tid\": ");
  put_integer(out, thread);
  PUT(out, ", \"ts\": ");
  put_microseconds(out, time);
  PUT(out, ",\n    \"cat\": \"");
  put_text(out, category);
  PUT(out, "\", \"name\": \"");
  put_text(out, category);
  put_text(out, starts ? "\"\n  },\n" : "\", \"bp\": \"e\"\n  },\n");
}

void put_external(const struct trace *trace, uint32_t op) {
  uint32_t frame = table_find(&trace->order.frames, op);
  if (frame != NONE) {
    put_number(trace->out, "\"External id\": ", trace->links[frame].id);
    PUT(trace->out, ",");
  }
}

void put_external_or(const struct trace *trace, uint32_t op, uint32_t own) {
  uint32_t frame = table_find(&trace->order.frames, op);
  put_number(trace->out, "\"External id\": ", frame != NONE ? trace->links[frame].id : own);
  PUT(trace->out, ",");
}

void put_meta(struct writer *out, const char *name, int64_t time, int process, int thread, const char *key) {
  PUT(out, "  {\n    \"name\": \"");
  put_text(out, name);
  PUT(out, "\", \"ph\": \"M\", \"ts\": ");
  put_microseconds(out, time);
  put_number(out, ", \"pid\": ", process);
  put_number(out, ", \"tid\": ", thread);
  PUT(out, ",\n    \"args\": {\n      ");
  put_text(out, key);
}

void put_meta_number(struct writer *out, const char *name, int64_t time, int process, int thread, int number) {
  put_meta(out, name, time, process, thread, "\"sort_index\": ");
  put_integer(out, number);
  put_row_end(out);
}

void put_stream_name(const struct trace *trace, int thread, int stream, const char *after, int64_t time) {
  put_meta(trace->out, "thread_name", time, trace->device, thread, "\"name\": \"stream ");
  put_integer(trace->out, stream_number(stream));
  put_text(trace->out, after);
  put_row_end(trace->out);
  put_meta_number(trace->out, "thread_sort_index", time, trace->device, thread, stream_number(stream));
}
