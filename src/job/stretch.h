/* Members of a collective end apart, the further the longer they transfer. */
#ifndef LUMOS_JOB_STRETCH_H
#define LUMOS_JOB_STRETCH_H

#include <lumos/job.h>
#include <math.h>

/* What a member takes beyond the end that all have becomes so many times as long, where it is known. O(1). */
static inline void lumos_stretch_end(struct lumos_job *job, uint32_t task, double factor) {
  bool known = lumos_timing_of(job, task)->end_residual != LUMOS_ABSENT;
  if (known) {
    struct lumos_timing *timing = lumos_task_timing(job, &job->tasks.items[task]);
    timing->end_residual = llround((double)timing->end_residual * factor);
  }
}

#endif
