/* A rank's rows as Kineto writes them: the same keys in the same order, pretty-printed the same way. The form is that of 2026, with
 * sequence numbers and communicator ids on collectives, graph ids on device rows, and host waits for a stream on a thread of their
 * own (stream + 1000000).
 *
 * Kineto links a device row to its op through the launch; where that was not recorded the row has no External id, and neither has it
 * the collective's arguments, which come from the op. A kernel of several sends and receives has none either: they are on the ops
 * of its parts.
 */
#include "rows.h"

#include "chance.h"
#include "hardware.h"

#include <stdlib.h>
#include <string.h>

enum {
  FIRST_PROCESS = 20240,
  AUTOGRAD_THREAD = 1172, /* behind its process */
  PROCESSES_NAMED = 16,   /* Kineto names so many devices, whether they are there or not */
  SYNC_THREAD = 1000000,
  IDS_OF_BLOCK = 1024, /* a thread takes ids of ops in blocks */
  MOST_RANKS_LISTED = 30
};

/* Kineto counts times from the start of a period of 7889238 seconds. */
static const int64_t base_time = INT64_C(225) * 7889238 * 1000000000;

/* A pool of 32 streams is shared by all who ask for one; the default stream is 7 in traces. */
static const int stream_numbers[STREAMS] = {
    [STREAM_COMPUTE] = 7,        [STREAM_TENSOR] = 13,       [STREAM_DATA] = 17,
    [STREAM_EMBEDDING] = 21,     [STREAM_MODEL] = 25,        [STREAM_SEND_NEXT] = 29,
    [STREAM_SEND_PREVIOUS] = 33, [STREAM_RECEIVE_NEXT] = 37, [STREAM_RECEIVE_PREVIOUS] = 41,
    [STREAM_P2P] = 45,           [STREAM_COPY] = 49,
};

/* What is known of a frame besides its row. */
struct link {
  uint32_t id;         /* External id, of ops and annotations */
  uint32_t parent;     /* Python id of the Python frame around a Python frame; 0: none */
  uint32_t flow;       /* fwdbwd, 0: none */
  uint32_t annotation; /* index into spans, of annotations */
  int64_t sequence;    /* of what the op launched, -1: unknown */
};

/* From the first to the last of what a thread launched under an annotation, on one stream. */
struct span {
  int64_t first, last;
};

struct trace {
  const struct recorder *recorder;
  const struct rank_rows *rows;
  struct writer *out;
  struct order order;
  struct clock clock;
  int process, device;
  uint32_t flows; /* backward ops that found their forward op */
  uint32_t annotations;
  struct link *links; /* by frame row */
  struct span *spans; /* [annotations][STREAMS] */
  bool used_streams[STREAMS], named_syncs[STREAMS];
};

static const struct frame_row *frame_at(const struct trace *trace, uint32_t row) {
  return &trace->rows->frames.items[row];
}
static const char *name_at(const struct trace *trace, uint32_t name) { return pool_at(&trace->recorder->names, name); }
static const struct shape *shape_at(const struct trace *trace, const struct device_row *row) {
  return pool_at(&trace->recorder->shapes, row->shape);
}
static bool is_python(const struct frame_row *row) { return row->frame >= FRAME_PYTHON; }
static int thread_of(const struct trace *trace, uint8_t thread) {
  return trace->process + (thread == THREAD_MAIN ? 0 : AUTOGRAD_THREAD);
}

static int64_t host_time(const struct trace *trace, int64_t time) {
  return clock_host(&trace->clock, time) + CLOCK_EPOCH - base_time;
}
static int64_t device_time(const struct trace *trace, int64_t time) {
  return clock_device(&trace->clock, time) + CLOCK_EPOCH - base_time;
}

/* ---- links ---- */

/* Frames of a thread that are open, innermost last. */
struct stack {
  ROWS(uint32_t) rows;
};

/* The innermost open frame at a time, or NONE. */
static uint32_t innermost(const struct trace *trace, struct stack *stack, int64_t time) {
  while (stack->rows.count > 0 && frame_at(trace, stack->rows.items[stack->rows.count - 1])->end <= time) {
    stack->rows.count--;
  }
  return stack->rows.count > 0 ? stack->rows.items[stack->rows.count - 1] : NONE;
}

/* Ids of ops and annotations in blocks, of Python frames by one; the Python frame around each. */
static void number_frames(struct trace *trace) {
  struct stack python[THREADS] = {0};
  uint32_t next[THREADS] = {0}, left[THREADS] = {0}, blocks = 0, python_ids = 0;
  for (uint32_t i = 0; i < trace->order.frames.count; i++) {
    uint32_t row = trace->order.frames.rows[i];
    if (row == NONE) {
      continue;
    }
    const struct frame_row *frame = frame_at(trace, row);
    struct link *link = &trace->links[row];
    if (is_python(frame)) {
      uint32_t around = innermost(trace, &python[frame->thread], frame->start);
      link->parent = around == NONE ? 0 : trace->links[around].id;
      link->id = ++python_ids;
      PUSH(python[frame->thread].rows, row);
      continue;
    }
    if (left[frame->thread]-- == 0) {
      next[frame->thread] = 1 + IDS_OF_BLOCK * blocks++;
      left[frame->thread] = IDS_OF_BLOCK - 1;
    }
    link->id = next[frame->thread]++;
    link->annotation = frame->frame == FRAME_ANNOTATION ? trace->annotations++ : NONE;
  }
  for (int thread = 0; thread < THREADS; thread++) {
    free(python[thread].rows.items);
  }
}

/* Sequence numbers of collectives, which their kernels know. Those of point-to-point kernels count a communicator's kernels of this
 * rank in the order of their launches. */
static void number_collectives(struct trace *trace) {
  int64_t *p2p = allocate((size_t)trace->recorder->communicator_count, sizeof *p2p);
  memcpy(p2p, trace->rows->p2p_before, (size_t)trace->recorder->communicator_count * sizeof *p2p);
  for (uint32_t i = 0; i < trace->order.device.count; i++) {
    uint32_t index = trace->order.device.rows[i];
    if (index == NONE || trace->rows->device.items[index].message == NONE) {
      continue;
    }
    const struct device_row *row = &trace->rows->device.items[index];
    const struct message *message = pool_at(&trace->recorder->messages, row->message);
    int64_t sequence = message->collective == SEND_RECEIVE ? ++p2p[message->communicator] : row->sequence;
    uint32_t frame = table_find(&trace->order.frames, row->op);
    if (frame != NONE) {
      trace->links[frame].sequence = sequence;
    }
  }
  free(p2p);
}

struct numbered {
  int64_t sequence;
  uint32_t number, row;
};

static int compare_numbered(const void *left, const void *right) {
  const struct numbered *a = left, *b = right;
  if (a->sequence != b->sequence) {
    return a->sequence < b->sequence ? -1 : 1;
  }
  return (a->number > b->number) - (a->number < b->number);
}

static bool ends_flow(const struct trace *trace, const struct frame_row *frame) {
  static const char engine[] = "autograd::engine::evaluate_function";
  return frame->backward && strncmp(name_at(trace, frame->name), engine, sizeof engine - 1) != 0;
}

/* The last forward op with a sequence number, which made the node, and the first backward op with it, which is the node. */
static void link_pair(struct trace *trace, const struct numbered *first, const struct numbered *end) {
  uint32_t forward = NONE, backward = NONE;
  for (const struct numbered *at = first; at < end; at++) {
    const struct frame_row *frame = frame_at(trace, at->row);
    if (!frame->backward) {
      forward = at->row;
    } else if (backward == NONE && ends_flow(trace, frame)) {
      backward = at->row;
    }
  }
  if (forward != NONE && backward != NONE) {
    trace->links[forward].flow = trace->links[backward].flow = ++trace->flows;
  }
}

static void link_passes(struct trace *trace) {
  ROWS(struct numbered) list = {0};
  for (uint32_t row = 0; row < trace->rows->frames.count; row++) {
    const struct frame_row *frame = frame_at(trace, row);
    if (frame->frame == FRAME_OP && frame->sequence >= 0) {
      PUSH(list, (struct numbered){frame->sequence, frame->number, row});
    }
  }
  if (list.count > 0) {
    qsort(list.items, list.count, sizeof *list.items, compare_numbered);
  }
  for (size_t first = 0, end = 0; first < list.count; first = end) {
    while (end < list.count && list.items[end].sequence == list.items[first].sequence) {
      end++;
    }
    link_pair(trace, list.items + first, list.items + end);
  }
  free(list.items);
}

/* Extend the spans of one thread's annotations over what was launched under them. */
static void span_thread(struct trace *trace, int thread) {
  struct stack stack = {0};
  const struct table *frames = &trace->order.frames;
  uint32_t next = 0;
  for (uint32_t i = 0; i < trace->order.calls.count; i++) {
    if (trace->order.calls.rows[i] == NONE) {
      continue;
    }
    const struct call_row *call = &trace->rows->calls.items[trace->order.calls.rows[i]];
    if (call->thread != thread) {
      continue;
    }
    for (; next < frames->count; next++) {
      uint32_t row = frames->rows[next];
      if (row == NONE || frame_at(trace, row)->thread != thread || frame_at(trace, row)->frame != FRAME_ANNOTATION) {
        continue;
      }
      if (frame_at(trace, row)->start > call->start) {
        break;
      }
      (void)innermost(trace, &stack, frame_at(trace, row)->start);
      PUSH(stack.rows, row);
    }
    uint32_t around = innermost(trace, &stack, call->start), index = trace->order.device.rows[i];
    if (around != NONE && index != NONE) {
      const struct device_row *device = &trace->rows->device.items[index];
      struct span *span = &trace->spans[(size_t)trace->links[around].annotation * STREAMS + device->stream];
      span->first = device->start < span->first ? device->start : span->first;
      span->last = device->end > span->last ? device->end : span->last;
    }
  }
  free(stack.rows.items);
}

static void find_links(struct trace *trace) {
  const struct rank_rows *rows = trace->rows;
  trace->links = allocate(rows->frames.count, sizeof *trace->links);
  for (size_t i = 0; i < rows->frames.count; i++) {
    trace->links[i].sequence = -1;
  }
  for (size_t i = 0; i < rows->device.count; i++) {
    trace->used_streams[rows->device.items[i].stream] = true;
  }
  number_frames(trace);
  number_collectives(trace);
  link_passes(trace);
  trace->spans = allocate((size_t)trace->annotations * STREAMS, sizeof *trace->spans);
  for (size_t i = 0; i < (size_t)trace->annotations * STREAMS; i++) {
    trace->spans[i] = (struct span){INT64_MAX, INT64_MIN};
  }
  for (int thread = 0; thread < THREADS; thread++) {
    span_thread(trace, thread);
  }
}

/* ---- parts of rows ---- */

static void put_row_start(struct writer *out, const char *category, const char *name, int process, int thread,
                          int64_t start, int64_t duration) {
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

static void put_row_end(struct writer *out) { PUT(out, "\n    }\n  },\n"); }

static void put_flow(struct writer *out, bool starts, const char *category, uint32_t id, int process, int thread,
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

static void put_number(struct writer *out, const char *key, int64_t number) {
  put_text(out, key);
  put_integer(out, number);
}

static void put_external(const struct trace *trace, uint32_t op) {
  uint32_t frame = table_find(&trace->order.frames, op);
  if (frame != NONE) {
    put_number(trace->out, "\"External id\": ", trace->links[frame].id);
    PUT(trace->out, ",");
  }
}

/* ---- inputs of an op, from "bf16[8,4] =1 -" ---- */

enum input_part { CONCRETE_INPUTS, INPUT_TYPES, INPUT_STRIDES, INPUT_DIMS, INPUT_PARTS };

/* The strides of a dense tensor whose dimensions begin at `dims`. */
static void put_strides(struct writer *out, const char *dims) {
  enum { MOST = 8 };
  int64_t sizes[MOST], strides[MOST], stride = 1;
  int count = 0;
  while (count < MOST && *dims >= '0' && *dims <= '9') {
    char *end = NULL;
    sizes[count++] = strtoll(dims, &end, 10);
    dims = *end == ',' ? end + 1 : end;
  }
  for (int i = count - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  for (int i = 0; i < count; i++) {
    put_number(out, i == 0 ? "" : ", ", strides[i]);
  }
}

static void put_type(struct writer *out, const char *input, size_t length) {
  static const char *const names[][2] = {
      {"bf16", "c10::BFloat16"}, {"int64", "long int"}, {"int32", "int"}, {"uint8", "unsigned char"}};
  if (*input == '=') {
    put_text(out, input[1] == '[' ? "ScalarList" : "Scalar");
    return;
  }
  const char *bracket = memchr(input, '[', length);
  if (bracket == NULL) {
    return;
  }
  size_t size = (size_t)(bracket - input);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i][0]) == size && strncmp(names[i][0], input, size) == 0) {
      put_text(out, names[i][1]);
      return;
    }
  }
  put_bytes(out, input, size);
}

static void put_input(struct writer *out, enum input_part part, const char *input, size_t length) {
  const char *dims = *input == '=' ? NULL : memchr(input, '[', length);
  switch (part) {
    case CONCRETE_INPUTS:
      PUT(out, "\"");
      put_bytes(out, input + 1, *input == '=' ? length - 1 : 0);
      PUT(out, "\"");
      break;
    case INPUT_TYPES:
      PUT(out, "\"");
      put_type(out, input, length);
      PUT(out, "\"");
      break;
    case INPUT_STRIDES:
      PUT(out, "[");
      put_strides(out, dims != NULL ? dims + 1 : "");
      PUT(out, "]");
      break;
    default:
      PUT(out, "[");
      for (const char *at = dims != NULL ? dims + 1 : input + length; at < input + length && *at != ']'; at++) {
        put_bytes(out, *at == ',' ? ", " : at, *at == ',' ? 2 : 1);
      }
      PUT(out, "]");
  }
}

static void put_inputs(struct writer *out, const char *inputs) {
  static const char *const keys[INPUT_PARTS] = {
      [CONCRETE_INPUTS] = ", \"Concrete Inputs\": [",
      [INPUT_TYPES] = ", \"Input type\": [",
      [INPUT_STRIDES] = ", \"Input Strides\": [",
      [INPUT_DIMS] = ", \"Input Dims\": [",
  };
  for (int part = 0; part < INPUT_PARTS; part++) {
    put_text(out, keys[part]);
    for (const char *input = inputs; *input != '\0';) {
      size_t length = strcspn(input, " ");
      put_input(out, (enum input_part)part, input, length);
      input += length;
      if (*input == ' ') {
        PUT(out, ", ");
        input++;
      }
    }
    PUT(out, "]");
  }
}

/* ---- collectives ---- */

const char *collective_name(const struct message *message) {
  static const char *const names[COLLECTIVES] = {[ALL_REDUCE] = "allreduce",
                                                 [ALL_GATHER] = "_allgather_base",
                                                 [REDUCE_SCATTER] = "_reduce_scatter_base",
                                                 [BROADCAST] = "broadcast"};
  if (message->collective != SEND_RECEIVE) {
    return names[message->collective];
  }
  return message->parts != 1 ? "coalesced" : message->part[0].send ? "send" : "recv";
}

/* "[0, 1, 2]"; of many, the first and the last. */
static void put_ranks(struct writer *out, const struct communicator *communicator) {
  PUT(out, "\"[");
  for (int i = 0; i < communicator->size; i++) {
    if (communicator->size > MOST_RANKS_LISTED && i == MOST_RANKS_LISTED - 1) {
      PUT(out, ", ...");
      i = communicator->size - 1;
    }
    put_number(out, i == 0 ? "" : ", ", communicator->ranks[i]);
  }
  PUT(out, "]\"");
}

/* On the op and on its kernel alike. */
static void put_message(const struct trace *trace, const struct message *message, int64_t sequence) {
  const struct communicator *communicator = &trace->recorder->communicators[message->communicator];
  struct writer *out = trace->out;
  bool pair = message->collective == SEND_RECEIVE;
  PUT(out, ", \"Collective name\": \"");
  put_text(out, collective_name(message));
  put_number(out, "\", \"In msg nelems\": ", message->elements_in);
  put_number(out, ", \"Out msg nelems\": ", message->elements_out);
  put_number(out, ", \"Group size\": ", communicator->size);
  PUT(out, ", \"dtype\": \"");
  put_text(out, message->integers ? "Long" : message->float32 ? "Float" : "BFloat16");
  PUT(out, "\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": ");
  put_string(out, communicator->name);
  PUT(out, ", \"Process Group Description\": ");
  put_string(out, communicator->description);
  PUT(out, ", \"Process Group Ranks\": ");
  put_ranks(out, communicator);
  if (pair && message->parts == 1) {
    put_number(out, message->part[0].send ? ", \"Dst Rank\": " : ", \"Src Rank\": ", message->part[0].peer);
  }
  if (sequence >= 0) {
    put_number(out, ", \"Seq\": ", sequence);
    PUT(out, ", \"Comms Id\": ");
    put_unsigned(out, chance_place(chance_place(communicator->id, (uint64_t)sequence), pair));
  }
}

static int place_in(const struct communicator *communicator, int rank) {
  int place = 0;
  while (place < communicator->size - 1 && communicator->ranks[place] != rank) {
    place++;
  }
  return place;
}

/* The rank that an op names: its peer, the root, or itself; by its place in the group. */
static int named_place(const struct trace *trace, const struct message *message) {
  bool single = message->collective == SEND_RECEIVE && message->parts == 1;
  int rank = single ? message->part[0].peer : message->collective == BROADCAST ? message->root : trace->rows->rank;
  return place_in(&trace->recorder->communicators[message->communicator], rank);
}

/* How far apart the group's ranks are, 0 if not evenly. */
static int stride_of(const struct communicator *communicator) {
  int stride = communicator->size > 1 ? communicator->ranks[1] - communicator->ranks[0] : 1;
  for (int i = 1; i < communicator->size; i++) {
    if (communicator->ranks[i] - communicator->ranks[i - 1] != stride) {
      return 0;
    }
  }
  return stride;
}

/* What only the op has. */
static void put_message_of_op(const struct trace *trace, const struct message *message) {
  const struct communicator *communicator = &trace->recorder->communicators[message->communicator];
  int stride = stride_of(communicator);
  put_number(trace->out, ", \"Rank\": ", named_place(trace, message));
  if (stride > 0) {
    put_number(trace->out, ", \"Global rank start\": ", communicator->ranks[0]);
    put_number(trace->out, ", \"Global rank stride\": ", stride);
  }
  PUT(trace->out, ", \"Is asynchronized op\": 0");
}

/* The inputs of record_param_comms are the tensor and what PyTorch knows of the collective. */
static void put_inputs_of_message(const struct trace *trace, const struct message *message) {
  const struct communicator *communicator = &trace->recorder->communicators[message->communicator];
  int stride = stride_of(communicator);
  char inputs[256];
  snprintf(inputs, sizeof inputs, "%s[%lld] - - =%d - =[] =[] =%d =%d =%d =False",
           message->integers  ? "int64"
           : message->float32 ? "float"
                              : "bf16",
           (long long)message->elements_in, named_place(trace, message), stride > 0 ? communicator->ranks[0] : -1,
           stride > 0 ? stride : -1, communicator->size);
  put_inputs(trace->out, inputs);
}

static bool tells_collectives(const struct trace *trace) {
  return (trace->recorder->setup->recorded & RECORD_COLLECTIVES) != 0;
}

/* ---- ops, annotations, Python frames ---- */

static void put_frame(const struct trace *trace, uint32_t row, uint32_t index) {
  const struct frame_row *frame = frame_at(trace, row);
  const struct link *link = &trace->links[row];
  struct writer *out = trace->out;
  int thread = thread_of(trace, frame->thread);
  int64_t start = host_time(trace, frame->start);
  put_row_start(out, frame->frame == FRAME_OP ? "cpu_op" : "user_annotation", name_at(trace, frame->name),
                trace->process, thread, start, host_time(trace, frame->end) - start);
  put_number(out, "\"External id\": ", link->id);
  PUT(out, ",\"Record function id\": 0");
  if (frame->sequence >= 0) {
    put_number(out, ", \"Sequence number\": ", frame->sequence);
    put_number(out, ", \"Fwd thread id\": ", frame->backward);
  }
  if (frame->message != NONE && tells_collectives(trace)) {
    const struct message *message = pool_at(&trace->recorder->messages, frame->message);
    put_message(trace, message, link->sequence);
    put_message_of_op(trace, message);
  }
  if (frame->inputs != NONE) {
    put_inputs(out, name_at(trace, frame->inputs));
  } else if (frame->message != NONE && (trace->recorder->setup->recorded & RECORD_SHAPES) != 0) {
    put_inputs_of_message(trace, pool_at(&trace->recorder->messages, frame->message));
  }
  put_number(out, ", \"Ev Idx\": ", index);
  put_row_end(out);
  if (link->flow != 0) {
    put_flow(out, !frame->backward, "fwdbwd", link->flow, trace->process, thread, start);
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

/* Thread by thread in the order of their starts, Python frames behind all others. */
static void put_frames(const struct trace *trace) {
  uint32_t index = 0;
  for (int python = 0; python < 2; python++) {
    for (int thread = THREADS - 1; thread >= 0; thread--) {
      for (uint32_t i = 0; i < trace->order.frames.count; i++) {
        uint32_t row = trace->order.frames.rows[i];
        if (row == NONE || frame_at(trace, row)->thread != thread || is_python(frame_at(trace, row)) != (python == 1)) {
          continue;
        }
        (python == 1 ? put_python : put_frame)(trace, row, index++);
      }
    }
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
    [CALL_MEMCPY] = {"cudaMemcpyAsync", 41, false, true},
    [CALL_MEMSET] = {"cudaMemsetAsync", 51, false, true},
    [CALL_EVENT_RECORD] = {"cudaEventRecord", 135, false, false},
    [CALL_STREAM_WAIT] = {"cudaStreamWaitEvent", 147, false, true},
    [CALL_EVENT_QUERY] = {"cudaEventQuery", 138, false, false},
    [CALL_EVENT_SYNC] = {"cudaEventSynchronize", 137, false, false},
    [CALL_STREAM_SYNC] = {"cudaStreamSynchronize", 131, false, true},
    [CALL_DEVICE_SYNC] = {"cudaDeviceSynchronize", 165, false, true},
    [CALL_OTHER] = {"cudaStreamIsCapturing", 317, false, false},
};

static int callback_of(const char *name, int usual) {
  static const struct {
    const char *name;
    int callback;
  } others[] = {
      {"cudaMalloc", 20},
      {"cudaFree", 22},
      {"cudaHostAlloc", 27},
      {"cudaFuncGetAttributes", 15},
      {"cudaPeekAtLastError", 11},
      {"cudaPointerGetAttributes", 151},
      {"cudaStreamCreateWithFlags", 198},
      {"cudaDeviceGetAttribute", 200},
      {"cudaStreamGetPriority", 203},
      {"cudaDeviceGetStreamPriorityRange", 205},
      {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", 210},
      {"cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 251},
      {"cudaFuncSetAttribute", 273},
      {"cudaStreamIsCapturing", 317},
      {"cudaStreamGetCaptureInfo", 324},
      {"cudaThreadExchangeStreamCaptureMode", 327},
      {"cudaGetFuncBySymbol", 336},
      {"cudaEventRecordWithFlags", 370},
      {"cudaGetDriverEntryPoint", 406},
      {"cudaStreamGetCaptureInfo_v2", 409},
      {"cuLaunchKernelEx", 652},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strcmp(others[i].name, name) == 0) {
      return others[i].callback;
    }
  }
  return usual;
}

static void put_call(const struct trace *trace, const struct call_row *call) {
  const struct call_kind *kind = &call_kinds[call->call];
  struct writer *out = trace->out;
  const char *name = call->name != NONE ? name_at(trace, call->name) : kind->name;
  int thread = thread_of(trace, call->thread);
  int64_t start = host_time(trace, call->start);
  put_row_start(out, kind->driver ? "cuda_driver" : "cuda_runtime", name, trace->process, thread, start,
                host_time(trace, call->end) - start);
  put_external(trace, call->op);
  put_number(out, "      \"cbid\": ", callback_of(name, kind->callback));
  put_number(out, ", \"correlation\": ", call->correlation);
  put_row_end(out);
  put_flow(out, kind->starts_flow, "ac2g", call->correlation, trace->process, thread, start);
}

/* ---- device rows ---- */

static void put_list(struct writer *out, const char *key, int a, int b, int c) {
  put_number(out, key, a);
  put_number(out, ", ", b);
  put_number(out, ", ", c);
  PUT(out, "]");
}

/* In percent, as Kineto estimates it: what registers, threads and shared memory allow, or the grid, if that is less. Kineto takes
 * no more than 48 KiB of shared memory for possible, and writes 0 for all that have more. */
static int occupancy_of(const struct gpu *gpu, const struct shape *shape, double blocks_per_sm, int warps) {
  enum { REGISTERS = 65536, WARPS = 64, BLOCKS = 32, USUAL_SHARED_MEMORY = 49152, RESERVED_SHARED_MEMORY = 1024 };
  if (shape->shared_memory > USUAL_SHARED_MEMORY) {
    return 0;
  }
  int registers_of_warp = (shape->registers * 32 + 255) / 256 * 256;
  int warps_by_registers = registers_of_warp > 0 ? REGISTERS / registers_of_warp / 4 * 4 : WARPS;
  int64_t limits[] = {warps_by_registers / warps, WARPS / warps,
                      gpu->shared_memory / (shape->shared_memory + RESERVED_SHARED_MEMORY)};
  double blocks = BLOCKS;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    blocks = (double)limits[i] < blocks ? (double)limits[i] : blocks;
  }
  blocks = blocks_per_sm < blocks ? blocks_per_sm : blocks;
  return (int)(blocks * warps * 100 / WARPS + 0.5);
}

/* A number that Kineto holds in single precision. */
static void put_single(struct writer *out, const char *key, double value) {
  put_text(out, key);
  put_ratio(out, (double)(float)value, 1);
}

static void put_kernel(const struct trace *trace, const struct device_row *row, const struct shape *shape) {
  struct writer *out = trace->out;
  const struct gpu *gpu = trace->recorder->setup->gpu;
  double blocks = (double)shape->grid[0] * shape->grid[1] * shape->grid[2] / gpu->sms;
  int warps = shape->threads > 32 ? (shape->threads + 31) / 32 : 1;
  put_number(out, "      \"queued\": 0, \"device\": ", trace->device);
  put_number(out, ", \"context\": 1,      \"stream\": ", stream_numbers[row->stream]);
  put_number(out, ", \"correlation\": ", row->correlation);
  put_number(out, ",      \"registers per thread\": ", shape->registers);
  put_number(out, ",      \"shared memory\": ", shape->shared_memory);
  put_single(out, ",      \"blocks per SM\": ", blocks);
  put_single(out, ",      \"warps per SM\": ", blocks * warps);
  put_list(out, ",      \"grid\": [", shape->grid[0], shape->grid[1], shape->grid[2]);
  put_list(out, ",      \"block\": [", shape->threads, 1, 1);
  put_number(out, ",      \"est. achieved occupancy %\": ", occupancy_of(gpu, shape, blocks, warps));
  PUT(out, ",      \"graph id\": 0, \"graph node id\": 0");
  uint32_t op = table_find(&trace->order.frames, row->op);
  if (op != NONE && frame_at(trace, op)->message != NONE && tells_collectives(trace)) {
    const struct message *message = pool_at(&trace->recorder->messages, frame_at(trace, op)->message);
    if (message->collective != SEND_RECEIVE || message->parts == 1) {
      put_message(trace, message, trace->links[op].sequence);
    }
  }
}

static void put_copy(const struct trace *trace, const struct device_row *row, const struct shape *shape) {
  struct writer *out = trace->out;
  put_number(out, "      \"device\": ", trace->device);
  put_number(out, ", \"context\": 1,      \"stream\": ", stream_numbers[row->stream]);
  put_number(out, ", \"correlation\": ", row->correlation);
  put_number(out, ",      \"bytes\": ", shape->bytes);
  if (row->end > row->start) {
    PUT(out, ", \"memory bandwidth (GB/s)\": ");
    put_ratio(out, (double)shape->bytes, (double)(row->end - row->start));
  }
  PUT(out, ",      \"graph id\": 0, \"graph node id\": 0");
}

static void put_device(const struct trace *trace, const struct device_row *row) {
  static const struct {
    const char *category, *name;
  } copies[WORK_KINDS] = {
      [WORK_COPY_TO_DEVICE] = {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"},
      [WORK_COPY_TO_HOST] = {"gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"},
      [WORK_COPY_ON_DEVICE] = {"gpu_memcpy", "Memcpy DtoD (Device -> Device)"},
      [WORK_MEMSET] = {"gpu_memset", "Memset (Device)"},
  };
  const struct shape *shape = shape_at(trace, row);
  bool is_copy = copies[shape->kind].name != NULL;
  int stream = stream_numbers[row->stream];
  int64_t start = device_time(trace, row->start);
  put_row_start(trace->out, is_copy ? copies[shape->kind].category : "kernel",
                is_copy ? copies[shape->kind].name : name_at(trace, shape->name), trace->device, stream, start,
                device_time(trace, row->end) - start);
  if (table_find(&trace->order.calls, row->correlation) != NONE) {
    put_external(trace, row->op);
  }
  (is_copy ? put_copy : put_kernel)(trace, row, shape);
  put_row_end(trace->out);
  put_flow(trace->out, false, "ac2g", row->correlation, trace->device, stream, start);
}

/* ---- waits ---- */

static void put_meta(struct writer *out, const char *name, int64_t time, int process, int thread, const char *key) {
  PUT(out, "  {\n    \"name\": \"");
  put_text(out, name);
  PUT(out, "\", \"ph\": \"M\", \"ts\": ");
  put_microseconds(out, time);
  put_number(out, ", \"pid\": ", process);
  put_number(out, ", \"tid\": ", thread);
  PUT(out, ",\n    \"args\": {\n      ");
  put_text(out, key);
}

static void put_meta_number(struct writer *out, const char *name, int64_t time, int process, int thread, int number) {
  put_meta(out, name, time, process, thread, "\"sort_index\": ");
  put_integer(out, number);
  put_row_end(out);
}

static void put_stream_name(struct trace *trace, int thread, int stream, const char *after, int64_t time) {
  put_meta(trace->out, "thread_name", time, trace->device, thread, "\"name\": \"stream ");
  put_integer(trace->out, stream);
  put_text(trace->out, after);
  put_row_end(trace->out);
  put_meta_number(trace->out, "thread_sort_index", time, trace->device, thread, stream);
}

static const char *sync_kind(const struct call_row *call) {
  switch ((enum call)call->call) {
    case CALL_STREAM_WAIT:
      return "Stream Wait Event";
    case CALL_EVENT_SYNC:
      return "Event Sync";
    case CALL_STREAM_SYNC:
      return "Stream Sync";
    case CALL_DEVICE_SYNC:
      return "Context Sync";
    default:
      return NULL;
  }
}

/* The record that was awaited, if it was seen: -1 else, as Kineto writes. */
static void put_awaited(const struct trace *trace, const struct call_row *call) {
  bool seen = table_find(&trace->order.calls, call->awaited) != NONE;
  put_number(trace->out, "      \"wait_on_stream\": ", seen ? stream_numbers[call->awaited_stream] : -1);
  put_number(trace->out, ",      \"wait_on_cuda_event_record_corr_id\": ", seen ? (int64_t)call->awaited : -1);
  put_number(trace->out, ",      \"wait_on_cuda_event_id\": ", call->event + 1);
  PUT(trace->out, ",");
}

/* A wait as CUPTI sees it, a little within its call. Waits of a stream without work in the window are not written. */
static void put_sync(struct trace *trace, const struct call_row *call) {
  const char *kind = sync_kind(call);
  if (kind == NULL || (call->call == CALL_STREAM_WAIT && !trace->used_streams[call->stream])) {
    return;
  }
  struct writer *out = trace->out;
  bool of_stream = call->call == CALL_STREAM_WAIT || call->call == CALL_STREAM_SYNC;
  int stream = of_stream ? stream_numbers[call->stream] : -1;
  int thread = of_stream ? stream : 1; /* Kineto writes no negative thread */
  int64_t margin = call->end - call->start < 1000 ? (call->end - call->start) / 4 : 250;
  int64_t start = host_time(trace, call->start + margin), end = host_time(trace, call->end - margin);
  if (call->call == CALL_STREAM_SYNC) {
    thread += SYNC_THREAD;
    if (!trace->named_syncs[call->stream]) {
      trace->named_syncs[call->stream] = true;
      put_stream_name(trace, thread, stream, " (sync)\"", start);
    }
  }
  put_row_start(out, "cuda_sync", kind, trace->device, thread, start, end - start);
  uint32_t op = table_find(&trace->order.frames, call->op);
  put_number(out, "\"External id\": ", op != NONE ? trace->links[op].id : call->correlation);
  PUT(out, ",      \"cuda_sync_kind\": \"");
  put_text(out, kind);
  PUT(out, "\",");
  if (call->call == CALL_STREAM_WAIT || call->call == CALL_EVENT_SYNC) {
    put_awaited(trace, call);
  }
  put_number(out, "      \"stream\": ", stream);
  put_number(out, ", \"correlation\": ", call->correlation);
  put_number(out, ",      \"device\": ", trace->device);
  PUT(out, ", \"context\": 1");
  put_row_end(out);
  put_flow(out, false, "ac2g", call->correlation, trace->device, thread, start);
}

/* As CUPTI hands them out: by correlation, the device's row before the call's. */
static void put_activities(struct trace *trace) {
  bool syncs = (trace->recorder->setup->recorded & RECORD_SYNC) != 0;
  for (uint32_t i = 0; i < trace->order.calls.count; i++) {
    uint32_t device = trace->order.device.rows[i], call = trace->order.calls.rows[i];
    if (device != NONE) {
      put_device(trace, &trace->rows->device.items[device]);
    }
    if (call != NONE && syncs) {
      put_sync(trace, &trace->rows->calls.items[call]);
    }
    if (call != NONE) {
      put_call(trace, &trace->rows->calls.items[call]);
    }
  }
}

/* The device's images of annotations, one a stream. Kineto draws them a nanosecond wider on either side. */
static void put_device_annotations(const struct trace *trace) {
  for (uint32_t i = 0; i < trace->order.frames.count; i++) {
    uint32_t row = trace->order.frames.rows[i];
    if (row == NONE || frame_at(trace, row)->frame != FRAME_ANNOTATION) {
      continue;
    }
    for (int stream = 0; stream < STREAMS; stream++) {
      const struct span *span = &trace->spans[(size_t)trace->links[row].annotation * STREAMS + (size_t)stream];
      if (span->first > span->last) {
        continue;
      }
      int64_t start = device_time(trace, span->first);
      put_row_start(trace->out, "gpu_user_annotation", name_at(trace, frame_at(trace, row)->name), trace->device,
                    stream_numbers[stream], start - 1, device_time(trace, span->last) - start + 2);
      put_number(trace->out, "\"External id\": ", trace->links[row].id);
      put_row_end(trace->out);
    }
  }
}

/* ---- the frame ---- */

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

static void put_names(struct trace *trace, int64_t time) {
  enum { DEVICES_SORT = 5000000 };
  put_process(trace, time, trace->process, "CPU", -1, trace->process);
  for (int device = 0; device < PROCESSES_NAMED; device++) {
    put_process(trace, time, device, "GPU ", device, DEVICES_SORT + device);
  }
  for (int stream = 0; stream < STREAMS; stream++) {
    if (trace->used_streams[stream]) {
      put_stream_name(trace, stream_numbers[stream], stream_numbers[stream], " \"", time);
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

static bool is_member(const struct communicator *communicator, int rank) {
  return communicator->ranks[place_in(communicator, rank)] == rank;
}

/* The groups that the rank is in; that of all ranks is always the first. */
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
  PUT(out, "], \"nccl_version\": \"2.28.9\"},\n");
}

static void put_hex(struct writer *out, uint64_t number) {
  char text[17];
  snprintf(text, sizeof text, "%08X%08X", (unsigned)(number >> 32U), (unsigned)(number & UINT32_MAX));
  put_text(out, text);
}

static void put_head(const struct trace *trace) {
  const struct setup *setup = trace->recorder->setup;
  struct writer *out = trace->out;
  uint64_t place = chance_place(setup->seed, (uint64_t)trace->rows->rank);
  PUT(out, "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [");
  put_devices(trace);
  PUT(out, "\n    ],\n      \"trace_id\": \"");
  put_hex(out, chance_place(place, 1));
  put_hex(out, chance_place(place, 2));
  PUT(out, "\",\n");
  put_text(out, (setup->recorded & RECORD_SHAPES) != 0 ? "      \"record_shapes\": 1,\n" : "");
  put_text(out, (setup->recorded & RECORD_STACKS) != 0 ? "      \"with_stack\": 1,\n      \"with_modules\": 1,\n" : "");
  char host[32];
  snprintf(host, sizeof host, "node-%03d", trace->rows->rank / setup->network.node_size);
  PUT(out, "      \"host_name\": ");
  put_string(out, host);
  put_number(out, ",\n      \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": ", trace->rows->rank);
  put_number(out, ", \"world_size\": ", trace->recorder->ranks);
  put_groups(trace);
  PUT(out, "      \"cuda_driver_version\": 13000,\n      \"cuda_runtime_version\": 13000,\n"
           "      \"cupti_version\": 130001,\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ");
  put_integer(out, base_time);
  PUT(out, ",\n  \"traceEvents\": [\n");
}

static void put_tail(const struct trace *trace, int64_t start, int64_t stop) {
  enum { WRITING = 2754017 }; /* the window's end is marked when the rows have been collected */
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
  put_microseconds(out, stop + WRITING);
  put_number(out, "\n  }\n  ],\n  \"traceName\": \"rank-", trace->rows->rank);
  PUT(out, ".json\"\n}");
}

static void put_trace(struct trace *trace) {
  enum { NAMING = 46650 }; /* threads are named this long after the start */
  const struct rank_rows *rows = trace->rows;
  bool recorded = rows->start != INT64_MAX;
  int64_t start = host_time(trace, recorded ? rows->start : 0);
  int64_t stop = recorded && rows->stop != INT64_MAX ? host_time(trace, rows->stop) : start;
  put_head(trace);
  put_names(trace, start + NAMING);
  put_frames(trace);
  put_activities(trace);
  put_device_annotations(trace);
  put_tail(trace, start, stop);
}

bool kineto_write(const struct recorder *recorder, const struct rank_rows *rows) {
  const struct setup *setup = recorder->setup;
  char name[48];
  snprintf(name, sizeof name, setup->plain ? "rank-%d.json" : "rank-%d.json.gz", rows->rank);
  struct writer *out = writer_open(setup->folder, name, !setup->plain);
  if (out == NULL) {
    return false;
  }
  int device = rows->rank % setup->network.node_size;
  struct trace trace = {.recorder = recorder,
                        .rows = rows,
                        .out = out,
                        .order = order_of(rows),
                        .clock = clock_of(setup, rows->rank),
                        .process = FIRST_PROCESS + device,
                        .device = device};
  find_links(&trace);
  put_trace(&trace);
  free(trace.links);
  free(trace.spans);
  order_free(&trace.order);
  return writer_close(out);
}
