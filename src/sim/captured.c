#include "sim/captured.h"

#include <stdlib.h>
#include <string.h>

/* ns. A silence this long is no part of launching: what the thread does then was not recorded, and nobody can capture
 * it. Chosen, as of unexplained gaps (trust.c). */
enum { LONG_SILENCE = 1000000 };

struct pass {
  int32_t step, micro_batch;
  uint8_t phase;
};

struct capture {
  const struct lumos_job *job;
  uint32_t *launched; /* by task on a thread: the first task on a stream that it launches; LUMOS_NONE */
  uint8_t *captured;
  int64_t graphs;
};

static uint32_t *find_launched(const struct lumos_job *job) {
  uint32_t *launched = lumos_allocate(job->tasks.count * sizeof *launched);
  memset(launched, 0xFF, job->tasks.count * sizeof *launched);
  for (uint32_t t = (uint32_t)job->tasks.count; t-- > 0;) {
    uint32_t call = job->tasks.items[t].call;
    if (call != LUMOS_NONE && lumos_timing_of(job, t)->origin == LUMOS_LAUNCHED) {
      launched[call] = t;
    }
  }
  return launched;
}

/* Does the thread wait in it? A stream's wait for an event can be captured. */
static bool waits(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_detail *detail = lumos_detail_of(job, task);
  return task->kind == LUMOS_SYNC || (detail->wait.on != 0 && detail->event_op == 0);
}

static struct pass pass_of(const struct capture *capture, uint32_t call) {
  const struct lumos_task *task = &capture->job->tasks.items[capture->launched[call]];
  return (struct pass){capture->job->tasks.items[call].step, task->micro_batch, task->phase};
}

static bool same_pass(struct pass a, struct pass b) {
  return a.step == b.step && a.micro_batch == b.micro_batch && a.phase == b.phase;
}

/* What stands behind the launch `first` up to the launch `last`. */
static void capture_graph(struct capture *capture, uint32_t first, uint32_t last) {
  memset(capture->captured + first + 1, 1, last - first);
  capture->graphs += last > first;
}

static void capture_thread(struct capture *capture, const struct lumos_lane *thread) {
  uint32_t first = LUMOS_NONE, last = LUMOS_NONE;
  for (uint32_t t = thread->task_first; t < thread->task_first + thread->task_count; t++) {
    bool launches = capture->launched[t] != LUMOS_NONE;
    bool ends = waits(capture->job, &capture->job->tasks.items[t]) ||
                lumos_own_times(capture->job, t).lag > LONG_SILENCE ||
                (launches && first != LUMOS_NONE && !same_pass(pass_of(capture, first), pass_of(capture, t)));
    if (ends && first != LUMOS_NONE) {
      capture_graph(capture, first, last);
      first = LUMOS_NONE;
    }
    if (launches && !waits(capture->job, &capture->job->tasks.items[t])) {
      first = first == LUMOS_NONE ? t : first;
      last = t;
    }
  }
  if (first != LUMOS_NONE) {
    capture_graph(capture, first, last);
  }
}

uint8_t *lumos_find_captured(const struct lumos_job *job, int64_t *graphs) {
  struct capture capture = {
      .job = job, .launched = find_launched(job), .captured = lumos_allocate_zeroed(job->tasks.count + 1, 1)};
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      capture_thread(&capture, &job->lanes.items[l]);
    }
  }
  free(capture.launched);
  *graphs = capture.graphs;
  if (capture.graphs == 0) {
    free(capture.captured);
    return NULL;
  }
  return capture.captured;
}
