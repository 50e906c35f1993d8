/* --launch graph: the CPU's time if each pass were captured as a CUDA graph (sim/captured.h). Its first launch takes
 * what it took, as the launch of the graph; what the thread does from there to the last launch of the pass takes no
 * time, for it was done when the graph was captured, nor does its recording. What stands before the first launch and
 * behind the last stays, and so do kernels, the gaps between them and what streams wait for.
 */
#include "transform/edit.h"

#include "sim/captured.h"
#include <lumos/sim.h>
#include <lumos/transform.h>
#include <stdlib.h>
#include <string.h>

static void capture(struct lumos_job *job, const uint8_t *captured) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (captured[t]) {
      struct lumos_task *task = &job->tasks.items[t];
      (void)lumos_edit_mark(job, task);
      lumos_set_own_times(job, task, (struct lumos_times){0, 0});
    }
  }
}

static void note_graphs(struct lumos_job *job, int64_t graphs) {
  lumos_job_note(
      job, "transform.graphs", LUMOS_INFO, graphs, NULL,
      "one CUDA graph is assumed for each pass of a micro-batch and thread, between waits and long silences "
      "of the CPU. The first launch of the pass launches all of its kernels, and the CPU does nothing for the "
      "others",
      NULL);
  (void)lumos_job_common_error(job, LUMOS_ERROR_GRAPHS, "communication that comes behind CUDA graphs",
                               (int32_t)(LUMOS_GRAPHS_LOSE * LUMOS_WHOLE_SHARE),
                               "assumed: from none to all of what overlaps");
}

bool lumos_transform_launch(struct lumos_job *job, const char *argument, struct lumos_error *error) {
  if (strcmp(argument, "graph") != 0) {
    return lumos_fail(error, "--launch '%s': the only other way to launch is graph", argument);
  }
  if (!lumos_edit_begin(job, error)) {
    return false;
  }
  int64_t graphs = 0;
  uint8_t *captured = lumos_find_captured(job, &graphs);
  if (captured != NULL) {
    capture(job, captured);
    note_graphs(job, graphs);
    lumos_edit_commit(job);
  } else {
    lumos_job_note(job, "transform.nothing_selected", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "--launch graph changed nothing: no pass has two launches", NULL);
  }
  free(captured);
  lumos_edit_record(job, "launch", argument);
  return true;
}
