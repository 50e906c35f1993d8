/* Stage graph as a whole: what waits for what, then what it is for. */
#include <lumos/graph.h>
#include <lumos/program.h>

#include "graph/graph.h"

static bool all_measured(const struct lumos_job *job, struct lumos_error *error) {
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task->start == LUMOS_ABSENT) {
      int32_t rank = job->ranks.items[lumos_rank_of(job, task)].rank;
      return lumos_fail(error,
                        "task %d:%u has no measured start, so nothing can be inferred from it; "
                        "give lumos-graph what lumos-parse wrote",
                        (int)rank, (unsigned)task->id);
    }
  }
  return true;
}

bool lumos_graph_build(struct lumos_job *job, struct lumos_error *error) {
  if (lumos_job_edited(job)) {
    return lumos_fail(
        error, "lumos-transform has changed this job, and changed tasks have no measured times to infer a graph from; "
               "run lumos-graph before lumos-transform");
  }
  if (!all_measured(job, error)) {
    return false;
  }
  lumos_job_rewind(job, LUMOS_STAGE_PARSE);
  lumos_graph_infer(job);
  job->stage = LUMOS_STAGE_GRAPH;
  lumos_job_history(job, "lumos-graph", "", NULL, 0);
  return lumos_program_parallel(job, error) && lumos_program_model(job, error) && lumos_program_recover(job, error);
}
