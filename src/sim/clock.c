/* Lanes and tasks in job time. */
#include "sim/clock.h"

int64_t lumos_job_time_on(const struct lumos_job *job, uint32_t lane, int64_t t) {
  const struct lumos_rank *rank = &job->ranks.items[job->lanes.items[lane].rank];
  return job->lanes.items[lane].kind == LUMOS_STREAM ? lumos_device_job_time(rank, t) : lumos_host_job_time(rank, t);
}

int64_t lumos_job_length(const struct lumos_job *job, uint32_t lane, int64_t start, int64_t length) {
  const struct lumos_rank *rank = &job->ranks.items[job->lanes.items[lane].rank];
  if (!rank->clock.known || rank->clock.drift_ppb == 0) {
    return length;
  }
  int64_t from = start == LUMOS_ABSENT ? 0 : start;
  return lumos_host_job_time(rank, from + length) - lumos_host_job_time(rank, from);
}

int64_t lumos_measured_start(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  return record->start == LUMOS_ABSENT ? LUMOS_ABSENT : lumos_job_time_on(job, record->lane, record->start);
}

bool lumos_task_interval(const struct lumos_job *job, const struct lumos_run *runs, uint32_t task, int64_t *start,
                         int64_t *end) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (runs != NULL) {
    if (runs[task].start == LUMOS_ABSENT || runs[task].dur == LUMOS_ABSENT) {
      return false; /* of a stream that was edited */
    }
    *start = runs[task].start;
    *end = *start + runs[task].dur;
    return true;
  }
  if (record->start == LUMOS_ABSENT) {
    return false;
  }
  int64_t was = lumos_detail_of(job, record)->was;
  *start = lumos_job_time_on(job, record->lane, record->start);
  *end = lumos_job_time_on(job, record->lane, record->start + (was == LUMOS_ABSENT ? record->dur : was));
  return true;
}
