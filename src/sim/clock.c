/* See sim.h: measured starts in job time. */
#include "sim/clock.h"

int64_t lumos_measured_start(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  return record->start == LUMOS_ABSENT ? LUMOS_ABSENT : lumos_job_time_on(job, record->lane, record->start);
}
