/* --launch graph: the CPU's time if each pass were captured as a CUDA graph.
 *
 * A graph is what one thread launches in a row for one pass of one micro-batch in one step, forward, backward, optimizer
 * or other, as far as nothing in between makes the thread wait, which cannot be captured. Its first launch stays and
 * takes what it took, as the launch of the graph; what the thread does from there to the last launch of the pass takes no
 * time, for it was done when the graph was captured, nor does its recording. What stands before the first launch and behind the last
 * stays, and so do kernels, the gaps between them and what streams wait for.
 */
#include "transform/edit.h"

#include "base/text.h"
#include <lumos/sim.h>
#include <lumos/transform.h>
#include <stdlib.h>
#include <string.h>

struct pass {
  int32_t step, micro_batch;
  uint8_t phase;
};

struct capture {
  struct lumos_job *job;
  uint32_t *launched; /* by task on a thread: the first task on a stream that it launches; LUMOS_NONE */
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
  for (uint32_t t = first + 1; t <= last; t++) {
    struct lumos_task *task = &capture->job->tasks.items[t];
    (void)lumos_edit_mark(capture->job, task);
    lumos_set_own_times(capture->job, task, (struct lumos_times){0, 0});
  }
  capture->graphs += last > first;
}

static void capture_thread(struct capture *capture, const struct lumos_lane *thread) {
  uint32_t first = LUMOS_NONE, last = LUMOS_NONE;
  for (uint32_t t = thread->task_first; t < thread->task_first + thread->task_count; t++) {
    bool launches = capture->launched[t] != LUMOS_NONE;
    bool ends = waits(capture->job, &capture->job->tasks.items[t]) ||
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

/* Whether communication is captured, too, and so keeps its place beside other kernels, depends on the program; it is
 * predicted as if it were. If not, it comes behind the graph: of what overlaps anything between nothing and all is lost. */
static void note_error(struct lumos_job *job) {
  static const double anywhere = 0.577; /* root mean square from 0 to 1 */
  (void)lumos_job_common_error(job, LUMOS_ERROR_GRAPHS, "communication that comes behind CUDA graphs",
                               (int32_t)(anywhere * LUMOS_WHOLE_SHARE), "assumed: from none to all of what overlaps");
}

static void note_graphs(struct lumos_job *job, int64_t graphs) {
  lumos_job_note(
      job, "transform.graphs", LUMOS_INFO, graphs, NULL,
      "CUDA graphs are assumed, one for each pass of a micro-batch and thread between waits of the CPU: the first "
      "launch of the pass launches all of its kernels, and the CPU does nothing for the others",
      NULL);
}

bool lumos_transform_launch(struct lumos_job *job, const char *argument, struct lumos_error *error) {
  if (strcmp(argument, "graph") != 0) {
    return lumos_fail(error, "--launch '%s': the only other way to launch is graph", argument);
  }
  if (!lumos_edit_begin(job, error)) {
    return false;
  }
  struct capture capture = {.job = job, .launched = find_launched(job)};
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      capture_thread(&capture, &job->lanes.items[l]);
    }
  }
  free(capture.launched);
  if (capture.graphs > 0) {
    note_graphs(job, capture.graphs);
    note_error(job);
    lumos_edit_commit(job);
  } else {
    lumos_job_note(job, "transform.nothing_selected", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "--launch graph changed nothing: no pass has two launches", NULL);
  }
  lumos_edit_record(job, "launch", argument);
  return true;
}
