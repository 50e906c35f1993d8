/* Synchronisation as CUPTI sees it: records of events, where the stream comes to them; waits of a stream for an event,
 * of the host for a stream, an event, or the device; questions whether an event has come. */
#include "kineto.h"

enum { SYNC_THREAD = 1000000 };

static const char *sync_kind(const struct call_row *call) {
  switch ((enum call)call->call) {
    case CALL_STREAM_WAIT:
      return "Stream Wait Event";
    case CALL_EVENT_SYNC:
    case CALL_EVENT_QUERY: /* which waits for nothing */
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
  put_number(trace->out, "      \"wait_on_stream\": ", seen ? stream_number(call->awaited_stream) : -1);
  put_number(trace->out, ",      \"wait_on_cuda_event_record_corr_id\": ", seen ? (int64_t)call->awaited : -1);
  put_number(trace->out, ",      \"wait_on_cuda_event_id\": ", call->event + 1);
  PUT(trace->out, ",");
}

/* Waits of a stream without work in the window are not written. */
bool kineto_shows_wait(const struct trace *trace, const struct call_row *call) {
  return sync_kind(call) != NULL && (call->call != CALL_STREAM_WAIT || trace->used_streams[call->stream]);
}

bool kineto_is_of_stream(const struct call_row *call) {
  return call->call == CALL_STREAM_WAIT || call->call == CALL_STREAM_SYNC;
}

/* A wait or a question as CUPTI sees it, a little within its call. */
void kineto_put_wait(struct trace *trace, const struct call_row *call) {
  if (!kineto_shows_wait(trace, call)) {
    return;
  }
  const char *kind = sync_kind(call);
  struct writer *out = trace->out;
  bool of_stream = kineto_is_of_stream(call);
  int stream = of_stream ? stream_number(call->stream) : -1;
  int thread = of_stream ? stream : DEVICE_THREAD;
  int64_t margin = call->end - call->start < 1000 ? (call->end - call->start) / 4 : 250;
  int64_t start = host_time(trace, call->start + margin), end = host_time(trace, call->end - margin);
  if (call->call == CALL_STREAM_SYNC) {
    thread += SYNC_THREAD;
    if (!trace->named_syncs[call->stream]) {
      trace->named_syncs[call->stream] = true;
      put_stream_name(trace, thread, call->stream, " (sync)\"", start);
    }
  }
  put_row_start(out, "cuda_sync", kind, trace->device, thread, start, end - start);
  put_external_or(trace, call->op, call->correlation);
  PUT(out, "      \"cuda_sync_kind\": \"");
  put_text(out, kind);
  PUT(out, "\",");
  if (call->call != CALL_STREAM_SYNC && call->call != CALL_DEVICE_SYNC) {
    put_awaited(trace, call);
  }
  put_number(out, "      \"stream\": ", stream);
  put_number(out, ", \"correlation\": ", call->correlation);
  put_number(out, ",      \"device\": ", trace->device);
  PUT(out, ", \"context\": 1");
  put_row_end(out);
  put_flow(out, false, "ac2g", call->correlation, trace->device, thread, start);
}

/* Of an event that the recording saw recorded: a nanosecond, so that it shows. */
void kineto_put_event(const struct trace *trace, const struct reach_row *row) {
  uint32_t index = table_find(&trace->order.calls, row->correlation);
  if (index == NONE) {
    return;
  }
  const struct call_row *call = &trace->rows->calls.items[index];
  struct writer *out = trace->out;
  int stream = stream_number(row->stream);
  int64_t time = device_time(trace, row->time);
  put_row_start(out, "cuda_event", "cudaEvent", trace->device, stream, time, 1);
  put_external_or(trace, call->op, row->correlation);
  put_number(out, "      \"event_id\": ", call->event + 1);
  put_number(out, ", \"stream\": ", stream);
  put_number(out, ", \"correlation\": ", row->correlation);
  put_number(out, ",      \"device\": ", trace->device);
  PUT(out, ", \"context\": 1");
  put_row_end(out);
  put_flow(out, false, "ac2g", row->correlation, trace->device, stream, time);
}
