/* What belongs together in a trace: ids of ops, Python frames and those around them, backward ops and their forward
 * ops, collectives and their sequence numbers, annotations and what was launched under them.
 */
#include "kineto.h"

#include <stdlib.h>
#include <string.h>

enum { IDS_OF_BLOCK = 1024 }; /* a thread takes ids of ops in blocks */

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

/* Ids of ops and annotations in blocks, of Python frames by one; the Python frame around each.
 *
 * On the autograd thread frames have none around but what called the engine, on the main thread. PyTorch finds that at
 * the first op there which tells its forward thread, and keeps to it through all later passes. */
static void number_frames(struct trace *trace) {
  struct stack python[THREADS] = {0};
  uint32_t engine = NONE;
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
      if (around == NONE && frame->thread == THREAD_AUTOGRAD) {
        around = engine;
      }
      link->parent = around == NONE ? 0 : trace->links[around].id;
      link->id = ++python_ids;
      PUSH(python[frame->thread].rows, row);
      continue;
    }
    if (engine == NONE && frame->thread == THREAD_AUTOGRAD && frame->forward_thread != 0) {
      engine = innermost(trace, &python[THREAD_MAIN], frame->start);
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

/* Sequence numbers of collectives, which their kernels know. */
static void number_collectives(struct trace *trace) {
  for (uint32_t i = 0; i < trace->rows->device.count; i++) {
    const struct device_row *row = &trace->rows->device.items[i];
    uint32_t frame = table_find(&trace->order.frames, row->op);
    if (frame != NONE && row->message != NONE) {
      trace->links[frame].sequence = row->sequence;
    }
  }
}

/* Sends and receives count their communicator's kernels of this rank in the order of their launches, those before the
 * window too: the parts of one kernel have its number, though it is launched in none of their ops. */
static void number_pairs(struct trace *trace) {
  int64_t *launched = memory_new((size_t)trace->recorder->communicator_count, sizeof *launched);
  memcpy(launched, trace->rows->p2p_before, (size_t)trace->recorder->communicator_count * sizeof *launched);
  for (uint32_t i = 0; i < trace->rows->device.count; i++) {
    const struct device_row *row = &trace->rows->device.items[i];
    bool pair = row->message != NONE && message_at(trace, row->message)->collective == SEND_RECEIVE;
    if (pair && table_find(&trace->order.calls, row->correlation) == NONE) {
      launched[message_at(trace, row->message)->communicator]++;
    }
  }
  for (uint32_t i = 0; i < trace->order.frames.count; i++) {
    uint32_t row = trace->order.frames.rows[i];
    if (row == NONE || !tells_message(trace, frame_at(trace, row))) {
      continue;
    }
    const struct message *message = message_at(trace, frame_at(trace, row)->message);
    if (message->collective == SEND_RECEIVE) {
      launched[message->communicator] += !message->follows;
      trace->links[row].sequence = launched[message->communicator];
    }
  }
  free(launched);
}

struct numbered {
  int64_t sequence;
  uint32_t number, row;
  int thread; /* from 1 */
};

static int compare_numbered(const void *left, const void *right) {
  const struct numbered *a = left, *b = right;
  if (a->thread != b->thread) {
    return a->thread < b->thread ? -1 : 1;
  }
  if (a->sequence != b->sequence) {
    return a->sequence < b->sequence ? -1 : 1;
  }
  return (a->number > b->number) - (a->number < b->number);
}

static bool ends_flow(const struct trace *trace, const struct frame_row *frame) {
  static const char engine[] = "autograd::engine::evaluate_function";
  return strncmp(name_at(trace, frame->name), engine, sizeof engine - 1) != 0;
}

/* The last forward op with a sequence number, which made the node, and the first backward op with it, which is the
 * node. */
static void link_pair(struct trace *trace, const struct numbered *first, const struct numbered *end) {
  uint32_t forward = NONE, backward = NONE;
  for (const struct numbered *at = first; at < end; at++) {
    const struct frame_row *frame = frame_at(trace, at->row);
    if (frame->forward_thread == 0) {
      forward = at->row;
    } else if (backward == NONE && ends_flow(trace, frame)) {
      backward = at->row;
    }
  }
  if (forward != NONE && backward != NONE) {
    trace->links[backward].forward = forward;
  }
}

static void link_passes(struct trace *trace) {
  ROWS(struct numbered) list = {0};
  for (uint32_t row = 0; row < trace->rows->frames.count; row++) {
    const struct frame_row *frame = frame_at(trace, row);
    if (frame->frame == FRAME_OP && frame->sequence >= 0) {
      int thread = frame->forward_thread != 0 ? frame->forward_thread : frame->thread + 1;
      PUSH(list, (struct numbered){frame->sequence, frame->number, row, thread});
    }
  }
  if (list.count > 0) {
    qsort(list.items, list.count, sizeof *list.items, compare_numbered);
  }
  for (size_t first = 0, end = 0; first < list.count; first = end) {
    while (end < list.count && list.items[end].sequence == list.items[first].sequence &&
           list.items[end].thread == list.items[first].thread) {
      end++;
    }
    link_pair(trace, list.items + first, list.items + end);
  }
  free(list.items);
}

/* PyTorch numbers flows as it comes to the backward ops, in the order of the rows. */
static void number_flows(struct trace *trace) {
  uint32_t flows = 0;
  for (int thread = THREADS - 1; thread >= 0; thread--) {
    for (uint32_t i = 0; i < trace->order.frames.count; i++) {
      uint32_t row = trace->order.frames.rows[i];
      uint32_t forward = row == NONE ? NONE : trace->links[row].forward;
      if (forward != NONE && frame_at(trace, row)->thread == thread) {
        trace->links[forward].flow = trace->links[row].flow = ++flows;
      }
    }
  }
}

static void span_work(struct trace *trace, uint32_t annotation, uint32_t correlation) {
  uint32_t index = table_find(&trace->order.device, correlation);
  if (index == NONE) {
    return;
  }
  const struct device_row *device = &trace->rows->device.items[index];
  struct span *span = &trace->spans[(size_t)trace->links[annotation].annotation * WORKING_STREAMS + device->stream];
  span->first = device->start < span->first ? device->start : span->first;
  span->last = device->end > span->last ? device->end : span->last;
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
    uint32_t around = innermost(trace, &stack, call->start);
    for (uint32_t launched = 0; around != NONE && launched <= call->nodes; launched++) {
      span_work(trace, around, call->correlation + launched);
    }
  }
  free(stack.rows.items);
}

/* Work, events and synchronisation show a stream. */
static void find_shown(struct trace *trace) {
  const struct rank_rows *rows = trace->rows;
  memcpy(trace->shown_streams, trace->used_streams, sizeof trace->shown_streams);
  for (uint32_t i = 0; i < trace->order.reaches.count; i++) {
    if (trace->order.reaches.rows[i] != NONE && trace->order.calls.rows[i] != NONE) {
      trace->shown_streams[rows->reaches.items[trace->order.reaches.rows[i]].stream] = true;
    }
  }
  bool syncs = (trace->recorder->setup->recorded & RECORD_SYNC) != 0;
  for (size_t i = 0; syncs && i < rows->calls.count; i++) {
    const struct call_row *call = &rows->calls.items[i];
    if (!kineto_shows_wait(trace, call)) {
      continue;
    }
    if (kineto_is_of_stream(call)) {
      trace->shown_streams[call->stream] = true;
    } else {
      trace->shows_device = true;
    }
  }
}

void kineto_find_links(struct trace *trace) {
  const struct rank_rows *rows = trace->rows;
  trace->links = memory_new(rows->frames.count, sizeof *trace->links);
  for (size_t i = 0; i < rows->frames.count; i++) {
    trace->links[i].sequence = -1;
    trace->links[i].forward = NONE;
  }
  for (uint32_t i = 0; i < trace->order.device.count; i++) {
    if (trace->order.device.rows[i] != NONE) {
      trace->used_streams[rows->device.items[trace->order.device.rows[i]].stream] = true;
    }
  }
  find_shown(trace);
  number_frames(trace);
  number_collectives(trace);
  number_pairs(trace);
  link_passes(trace);
  number_flows(trace);
  trace->spans = memory_new((size_t)trace->annotations * WORKING_STREAMS, sizeof *trace->spans);
  for (size_t i = 0; i < (size_t)trace->annotations * WORKING_STREAMS; i++) {
    trace->spans[i] = (struct span){INT64_MAX, INT64_MIN};
  }
  for (int thread = 0; thread < THREADS; thread++) {
    span_thread(trace, thread);
  }
}
