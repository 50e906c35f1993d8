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

bool lumos_measured_interval(const struct lumos_job *job, uint32_t task, int64_t *start, int64_t *end) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (record->start == LUMOS_ABSENT) {
    return false;
  }
  int64_t was = lumos_detail_of(job, record)->was;
  int64_t length = was == LUMOS_ABSENT ? record->dur : was;
  *start = lumos_job_time_on(job, record->lane, record->start);
  *end = *start + lumos_job_length(job, record->lane, record->start, length);
  return true;
}
