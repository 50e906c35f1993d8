/* The measured rows, as Kineto writes them, so that whatever reads its traces reads these: ops and annotations from the
 * spans, calls put together again from their segments, work on streams with what it says of itself, and what was
 * recorded of synchronisation. What is no measured time (a wait that was inferred, a changed duration) is not here.
 */
#include "export/writer.h"

#include "trace/classify.h"
#include <lumos/trace.h>
#include <string.h>

/* lumos-parse keeps rows of categories that it does not know as work of kind other, which these are. */
static const char *const unknown_category = "other";

static const char *text_of(const struct export_writer *writer, lumos_string_id id) {
  return lumos_string(writer->job->strings, id);
}

/* ---- the recording ---- */

/* The row that is as long as the recording, and a mark behind the last step, which therefore is complete. */
static void put_recording(struct export_writer *writer, uint32_t index) {
  const struct lumos_rank *rank = &writer->job->ranks.items[index];
  struct export_place place = lumos_export_recording(writer, index);
  int64_t shift = writer->host_shift[index] - writer->zero;
  int64_t end = rank->window_end;
  lumos_export_open(writer, 'X', place, rank->window_start + shift, "PyTorch Profiler (0)");
  lumos_export_string(writer, "cat", "Trace");
  lumos_export_time(writer, "dur", rank->window_end - rank->window_start);
  lumos_export_close(writer);
  for (uint32_t i = rank->span_first; i < rank->span_first + rank->span_count; i++) {
    const struct lumos_span *span = &writer->job->spans.items[i];
    end = span->start + span->dur >= end ? span->start + span->dur + 1 : end;
  }
  lumos_export_open(writer, 'i', place, end + shift, "Record Window End");
  lumos_export_string(writer, "s", "g");
  lumos_export_close(writer);
}

/* ---- spans ---- */

static const char *const span_categories[] = {
    [LUMOS_SPAN_OP] = "cpu_op",
    [LUMOS_SPAN_MODULE] = "python_function",
    [LUMOS_SPAN_ANNOTATION] = "user_annotation",
    [LUMOS_SPAN_STEP] = "user_annotation",
    [LUMOS_SPAN_PYTHON] = "python_function",
};

static void put_op_arguments(struct export_writer *writer, const struct lumos_span *span) {
  const struct lumos_job *job = writer->job;
  bool forward = span->forward != LUMOS_NONE && job->spans.items[span->forward].lane != LUMOS_NONE;
  if (span->sequence == LUMOS_ABSENT && span->shapes == LUMOS_NO_STRING && span->dtypes == LUMOS_NO_STRING) {
    return;
  }
  lumos_export_open_arguments(writer);
  if (span->sequence != LUMOS_ABSENT) {
    lumos_export_integer(writer, "Sequence number", span->sequence);
  }
  if (forward) { /* PyTorch's own numbers of threads were not kept: here a thread has that of its lane */
    lumos_export_integer(writer, "Fwd thread id", (int64_t)job->spans.items[span->forward].lane + 1);
  }
  lumos_export_recorded(writer, "Input Dims", text_of(writer, span->shapes));
  lumos_export_recorded(writer, "Input type", text_of(writer, span->dtypes));
  lumos_export_close_arguments(writer);
}

static void put_span(struct export_writer *writer, const struct lumos_span *span) {
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_put(&name, span->kind == LUMOS_SPAN_MODULE ? "nn.Module: " : "");
  lumos_text_put(&name, text_of(writer, span->name));
  lumos_text_char(&name, '\0');
  lumos_export_open(writer, 'X', lumos_export_lane(writer, span->lane, EXPORT_MEASURED),
                    span->start + writer->shift[span->lane] - writer->zero, name.bytes);
  lumos_export_string(writer, "cat", span_categories[span->kind]);
  lumos_export_time(writer, "dur", span->dur);
  if (span->kind == LUMOS_SPAN_OP) {
    put_op_arguments(writer, span);
  }
  lumos_export_close(writer);
  lumos_text_free(&name);
}

/* ---- calls ---- */

static const char *category_of_call(const struct lumos_task *task, const char *name) {
  if ((uint8_t)lumos_trace_call_rule(name)->kind != task->kind) {
    return unknown_category;
  }
  return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z' ? "cuda_driver" : "cuda_runtime";
}

static void put_call(struct export_writer *writer, uint32_t t) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[t];
  int64_t start = lumos_export_measured_start(writer, export_first_segment(job, t));
  int64_t last = lumos_export_measured_start(writer, t);
  if (start == LUMOS_ABSENT || last == LUMOS_ABSENT) {
    return;
  }
  const char *name = text_of(writer, task->name);
  lumos_export_open(writer, 'X', lumos_export_lane(writer, task->lane, EXPORT_MEASURED), start, name);
  lumos_export_string(writer, "cat", category_of_call(task, name));
  lumos_export_time(writer, "dur", last + export_measured_dur(job, t) - start);
  lumos_export_open_arguments(writer);
  lumos_export_integer(writer, "correlation", writer->correlation[t]);
  lumos_export_close_arguments(writer);
  lumos_export_close(writer);
}

/* ---- work on streams ---- */

/* The innermost op around the call that launched it. */
static const char *op_around(const struct lumos_job *job, const struct lumos_task *task) {
  uint32_t span = task->call != LUMOS_NONE ? job->tasks.items[task->call].span : LUMOS_NONE;
  while (span != LUMOS_NONE && job->spans.items[span].kind != LUMOS_SPAN_OP) {
    span = job->spans.items[span].parent;
  }
  return span != LUMOS_NONE ? lumos_string(job->strings, job->spans.items[span].name) : "";
}

static const char *category_of_work(const struct lumos_job *job, const struct lumos_task *task) {
  bool communicates = lumos_detail_of(job, task)->comm.op != LUMOS_NO_STRING;
  if (task->kind == LUMOS_COPY || task->kind == LUMOS_MEMSET) {
    return task->kind == LUMOS_COPY ? "gpu_memcpy" : "gpu_memset";
  }
  bool other = task->kind == LUMOS_OTHER_DEVICE && !communicates &&
               lumos_classify_device("kernel", lumos_string(job->strings, task->name), op_around(job, task)) !=
                   LUMOS_OTHER_DEVICE;
  return other ? unknown_category : "kernel";
}

static void put_peers(struct export_writer *writer, const struct lumos_comm *comm) {
  struct lumos_text list = LUMOS_TEXT_BUFFER;
  for (uint32_t i = 0; i < comm->peer_count; i++) {
    const struct lumos_peer *peer = &writer->job->peers.items[comm->peer_first + i];
    lumos_text_put(&list, i > 0 ? ",[" : "[[");
    lumos_text_integer(&list, peer->rank);
    lumos_text_char(&list, ',');
    lumos_text_integer(&list, peer->send);
    lumos_text_char(&list, ',');
    lumos_text_integer(&list, peer->recv);
    lumos_text_char(&list, ']');
  }
  lumos_text_char(&list, ']');
  lumos_text_char(&list, '\0');
  lumos_export_string(writer, "Lumos peers", list.bytes);
  lumos_text_free(&list);
}

static void put_comm(struct export_writer *writer, const struct lumos_comm *comm) {
  const char *op = text_of(writer, comm->op);
  lumos_export_string(writer, "Collective name", strcmp(op, "send_recv") == 0 ? "sendrecv" : op);
  if (comm->dtype != LUMOS_NO_STRING) {
    lumos_export_string(writer, "dtype", text_of(writer, comm->dtype));
  }
  if (comm->group != LUMOS_NO_STRING) {
    lumos_export_string(writer, "Process Group Name", text_of(writer, comm->group));
  }
  if (comm->seq != LUMOS_ABSENT) {
    lumos_export_integer(writer, "Seq", comm->seq);
  }
  if (comm->id != LUMOS_NO_STRING) {
    lumos_export_string(writer, "Comms Id", text_of(writer, comm->id));
  }
  if (comm->bytes != LUMOS_ABSENT) {
    lumos_export_integer(writer, "Lumos bytes", comm->bytes);
  }
  if (comm->peer_count > 0) {
    put_peers(writer, comm);
  }
}

static void put_device(struct export_writer *writer, const struct lumos_lane *lane) {
  char device[EXPORT_DEVICE_TEXT];
  lumos_export_device(writer->job, lane, device);
  lumos_export_recorded(writer, "device", device);
}

static void put_work(struct export_writer *writer, uint32_t t) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_lane *lane = &job->lanes.items[task->lane];
  const struct lumos_detail *detail = lumos_detail_of(job, task);
  int64_t start = lumos_export_measured_start(writer, t);
  if (start == LUMOS_ABSENT) {
    return;
  }
  lumos_export_open(writer, 'X', lumos_export_row(writer, t, EXPORT_MEASURED), start, text_of(writer, task->name));
  const char *category = category_of_work(job, task);
  lumos_export_string(writer, "cat", category);
  lumos_export_time(writer, "dur", export_measured_dur(job, t));
  lumos_export_open_arguments(writer);
  if (lumos_export_names_device(job, lane) || category == unknown_category) { /* which else is no device's */
    put_device(writer, lane);
  }
  lumos_export_recorded(writer, "stream", text_of(writer, lane->native));
  if (writer->correlation[t] != 0) {
    lumos_export_integer(writer, "correlation", writer->correlation[t]);
  }
  if (detail->bytes != LUMOS_ABSENT) {
    lumos_export_integer(writer, "bytes", detail->bytes);
  }
  if (lumos_timing_of(job, t)->occupancy != LUMOS_ABSENT_INT) {
    lumos_text_put(writer->text, ",\"est. achieved occupancy %\":");
    lumos_text_decimal(writer->text, lumos_timing_of(job, t)->occupancy, 4);
  }
  if (detail->comm.op != LUMOS_NO_STRING) {
    put_comm(writer, &detail->comm);
  }
  lumos_export_close_arguments(writer);
  lumos_export_close(writer);
}

/* ---- recorded synchronisation ---- */

static void put_stream(struct export_writer *writer, const char *key, uint32_t lane) {
  if (lane != LUMOS_NONE) {
    lumos_export_recorded(writer, key, text_of(writer, writer->job->lanes.items[lane].native));
  }
}

/* A row of synchronisation: what the call `t` (LUMOS_NONE: not said) waited for, by whom it was recorded. */
static void put_sync(struct export_writer *writer, const char *name, uint32_t t, uint32_t stream, uint32_t awaited,
                     uint32_t record, lumos_string_id event) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[t != LUMOS_NONE ? t : record];
  uint32_t rank = lumos_rank_of(job, task);
  int64_t start = task->start + writer->shift[task->lane] - writer->zero;
  uint32_t lane = stream != LUMOS_NONE ? stream : awaited;
  lumos_export_open(writer, 'X', lumos_export_recording(writer, rank), start, name);
  lumos_export_string(writer, "cat", "cuda_sync");
  lumos_export_time(writer, "dur", 0);
  lumos_export_open_arguments(writer);
  lumos_export_string(writer, "cuda_sync_kind", name);
  if (t != LUMOS_NONE) {
    lumos_export_integer(writer, "correlation", writer->correlation[t]);
  }
  if (lane != LUMOS_NONE) {
    put_device(writer, &job->lanes.items[lane]);
  }
  put_stream(writer, "stream", stream);
  put_stream(writer, "wait_on_stream", awaited);
  if (record != LUMOS_NONE) {
    lumos_export_integer(writer, "wait_on_cuda_event_record_corr_id", writer->correlation[record]);
  }
  lumos_export_recorded(writer, "wait_on_cuda_event_id", text_of(writer, event));
  lumos_export_close_arguments(writer);
  lumos_export_close(writer);
}

/* What the call's name does not say of its wait. */
static void put_wait(struct export_writer *writer, uint32_t t) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_detail *detail = lumos_detail_of(job, task);
  const struct trace_call_rule *rule = lumos_trace_call_rule(text_of(writer, task->name));
  uint32_t lane = (writer->flags[t] & EXPORT_INFERRED) != 0 ? LUMOS_NONE : detail->wait.lane;
  bool more = lane != LUMOS_NONE || (uint8_t)rule->wait != detail->wait.on;
  if (detail->event_op == LUMOS_EVENT_WAIT && detail->wait.on == LUMOS_WAIT_EVENT) {
    put_sync(writer, "Stream Wait Event", t, detail->event_lane, lane, detail->wait.record, detail->event_id);
  } else if (detail->wait.on == LUMOS_WAIT_EVENT && (more || detail->wait.record != LUMOS_NONE)) {
    put_sync(writer, "Event Sync", t, LUMOS_NONE, lane, detail->wait.record, LUMOS_NO_STRING);
  } else if (detail->wait.on == LUMOS_WAIT_STREAM && more) {
    put_sync(writer, "Stream Sync", t, lane, LUMOS_NONE, LUMOS_NONE, LUMOS_NO_STRING);
  } else if (detail->wait.on == LUMOS_WAIT_DEVICE && more) {
    put_sync(writer, "Context Sync", t, LUMOS_NONE, LUMOS_NONE, LUMOS_NONE, LUMOS_NO_STRING);
  }
}

static bool is_measured_call(const struct export_writer *writer, uint32_t t) {
  const struct lumos_task *task = &writer->job->tasks.items[t];
  return export_is_call(writer->job, task) && (writer->flags[t] & EXPORT_PART) == 0 && task->start != LUMOS_ABSENT;
}

static void put_waits(struct export_writer *writer, const struct lumos_rank *rank) {
  const struct lumos_job *job = writer->job;
  uint32_t end = rank->task_first + rank->task_count;
  for (uint32_t t = rank->task_first; t < end; t++) {
    if (is_measured_call(writer, t)) {
      put_wait(writer, t);
    }
  }
  for (uint32_t t = rank->task_first; t < end; t++) { /* last, for what is said last of a record holds */
    const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[t]);
    bool named = detail->event_lane != LUMOS_NONE || detail->event_id != LUMOS_NO_STRING;
    if (is_measured_call(writer, t) && detail->event_op == LUMOS_EVENT_RECORD && named) {
      put_sync(writer, "Event Sync", LUMOS_NONE, LUMOS_NONE, detail->event_lane, t, detail->event_id);
    }
  }
}

void lumos_export_measured(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  bool measured = lumos_job_measured(job);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    put_recording(writer, r);
    for (uint32_t i = rank->span_first; i < rank->span_first + rank->span_count && measured; i++) {
      if (job->spans.items[i].lane != LUMOS_NONE) {
        put_span(writer, &job->spans.items[i]);
      }
    }
    for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
      if (lumos_on_stream(job, &job->tasks.items[t])) {
        put_work(writer, t);
      } else if (is_measured_call(writer, t)) {
        put_call(writer, t);
      }
    }
    put_waits(writer, rank);
  }
}
