#include "rebuild/transfers.h"

#include <stdlib.h>
#include <string.h>

enum launches { NOTHING, WORK, TRANSFER };

struct scan {
  const struct lumos_job *job;
  uint8_t *launches; /* by task */
  uint32_t *stream;  /* by task that launches a transfer: its lane */
  const uint8_t *cuts;
  uint32_t *transfers; /* by task */
};

static void find_launches(struct scan *scan) {
  const struct lumos_job *job = scan->job;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->call != LUMOS_NONE) {
      bool transfers = task->kind == LUMOS_P2P;
      scan->launches[task->call] = transfers ? TRANSFER : WORK;
      scan->stream[task->call] = transfers ? task->lane : scan->stream[task->call];
    }
  }
}

/* PyTorch notes so what it launches for several sends and receives at once, which is in no operator. */
static bool is_batch(const struct lumos_job *job, uint32_t span) {
  return job->spans.items[span].kind == LUMOS_SPAN_ANNOTATION &&
         strcmp(lumos_string(job->strings, job->spans.items[span].name), "nccl:coalesced") == 0;
}

/* The outermost operator around a task, or the batch; LUMOS_NONE: there is none. */
static uint32_t outermost(const struct lumos_job *job, uint32_t task) {
  uint32_t found = LUMOS_NONE;
  for (uint32_t span = job->tasks.items[task].span; span != LUMOS_NONE; span = job->spans.items[span].parent) {
    found = job->spans.items[span].kind == LUMOS_SPAN_OP || is_batch(job, span) ? span : found;
  }
  return found;
}

static bool is_within(const struct lumos_job *job, uint32_t task, uint32_t op) {
  return op != LUMOS_NONE && outermost(job, task) == op;
}

static bool speaks_of(const struct lumos_job *job, uint32_t task, uint32_t stream) {
  const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[task]);
  return (detail->event_op != 0 && detail->event_lane == stream) ||
         (detail->wait.on != 0 && detail->wait.lane == stream);
}

/* Behind a launch the stream itself waits for the sake of the next one. */
static bool lets_wait(const struct lumos_job *job, uint32_t task, uint32_t stream) {
  const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[task]);
  return detail->event_op == LUMOS_EVENT_WAIT && detail->event_lane == stream && detail->wait.lane != stream;
}

/* Behind what the thread does for one launch. */
static uint32_t end_of_launch(const struct scan *scan, uint32_t t, uint32_t end) {
  uint32_t op = outermost(scan->job, t);
  while (t < end && is_within(scan->job, t, op)) {
    t++;
  }
  return op == LUMOS_NONE ? t + 1 : t;
}

/* PyTorch's op in which a thread lets the compute stream wait for what it asked for; of which stream was not
 * recorded. */
static bool is_wait(const struct scan *scan, uint32_t first, uint32_t end) {
  const struct lumos_job *job = scan->job;
  uint32_t op = outermost(job, first), waits = 0;
  bool named =
      op != LUMOS_NONE && strcmp(lumos_string(job->strings, job->spans.items[op].name), "record_param_comms") == 0;
  for (uint32_t t = first; named && t < end && is_within(job, t, op); t++) {
    const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[t]);
    named = scan->launches[t] == NOTHING && !scan->cuts[t];
    waits += detail->event_op == LUMOS_EVENT_WAIT && detail->event_lane == LUMOS_NONE;
  }
  return named && waits > 0;
}

/* unawaited: transfers that the thread has asked for, and not awaited. */
static uint32_t end_of_transfer(const struct scan *scan, uint32_t t, uint32_t end, uint32_t *unawaited) {
  uint32_t stream = scan->stream[t], to = end_of_launch(scan, t, end);
  for (uint32_t u = t + 1; u < end && scan->launches[u] == NOTHING && !scan->cuts[u]; u++) {
    if (u >= to && lets_wait(scan->job, u, stream)) {
      break;
    }
    to = speaks_of(scan->job, u, stream) && u + 1 > to ? end_of_launch(scan, u, end) : to;
  }
  for (; *unawaited > 0 && to < end && is_wait(scan, to, end); (*unawaited)--) {
    to = end_of_launch(scan, to, end);
  }
  return to;
}

static void scan_thread(const struct scan *scan, const struct lumos_lane *lane) {
  uint32_t end = lane->task_first + lane->task_count, from = lane->task_first, unawaited = 0;
  for (uint32_t t = from; t < end; t++) {
    from = scan->cuts[t] ? t : from;
    if (scan->launches[t] == WORK) {
      from = end_of_launch(scan, t, end);
    } else if (scan->launches[t] == TRANSFER) {
      unawaited++;
      uint32_t to = end_of_transfer(scan, t, end, &unawaited);
      for (uint32_t u = from; u < to; u++) {
        scan->transfers[u] = t;
      }
      from = to;
    }
  }
}

uint32_t *rebuild_find_transfers(const struct lumos_job *job, const uint8_t *cuts) {
  struct scan scan = {.job = job,
                      .launches = lumos_allocate_zeroed(job->tasks.count, 1),
                      .stream = lumos_allocate_zeroed(job->tasks.count, sizeof *scan.stream),
                      .cuts = cuts,
                      .transfers = lumos_allocate(job->tasks.count * sizeof *scan.transfers)};
  for (size_t t = 0; t < job->tasks.count; t++) {
    scan.transfers[t] = LUMOS_NONE;
  }
  find_launches(&scan);
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      scan_thread(&scan, &job->lanes.items[l]);
    }
  }
  free(scan.launches);
  free(scan.stream);
  return scan.transfers;
}
