/* --jitter: durations of kernels vary from run to run, each by itself. What that does to a step is no sum: ranks wait
 * for the slowest. So durations stay, each gets an error of its own, and the simulation draws them (sim/ranges.c): the
 * range of its figures is their distribution.
 */
#include "transform/edit.h"

#include <lumos/transform.h>
#include <math.h>

static bool varies(const struct lumos_job *job, const struct lumos_task *task) {
  return lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
}

static void add_error(struct lumos_job *job, struct lumos_task *task, double sigma) {
  struct lumos_decimal *error = &lumos_task_detail(job, task)->dur_error;
  double sum = error->units == LUMOS_ABSENT ? sigma : hypot(sigma, lumos_decimal_value(*error));
  *error = (struct lumos_decimal){llround(sum * LUMOS_WHOLE_SHARE), 6};
}

bool lumos_transform_jitter(struct lumos_job *job, const char *argument, struct lumos_error *error) {
  int64_t millionths = 0;
  if (!lumos_edit_factor(argument, &millionths, error)) {
    return lumos_fail_prefix(error, "--jitter");
  }
  if (millionths > LUMOS_WHOLE_SHARE) {
    return lumos_fail(
        error, "--jitter %s: durations vary by at most 1, their own length; give a standard deviation such as 0.05",
        argument);
  }
  if (!lumos_edit_begin(job, error)) {
    return false;
  }
  for (size_t t = 0; t < job->tasks.count && millionths > 0; t++) {
    if (varies(job, &job->tasks.items[t])) {
      add_error(job, &job->tasks.items[t], (double)millionths / LUMOS_WHOLE_SHARE);
    }
  }
  if (millionths > 0) {
    lumos_edit_commit(job);
  }
  lumos_edit_record(job, "jitter", argument);
  return true;
}
