/* What the simulator's parts share about time: job time of a lane's rows, and a task's interval on either timeline. */
#ifndef LUMOS_SIM_CLOCK_H
#define LUMOS_SIM_CLOCK_H

#include <lumos/sim.h>

/* Every time of the stream is below 2^53, so a handful of them can be added without a thought for overflow. */
#define LUMOS_TIME_LIMIT ((int64_t)1 << 53)

/* A sum of times that stays at LUMOS_TIME_LIMIT once it is there: a stream may claim more than there is time. */
static inline int64_t lumos_time_sum(int64_t sum, int64_t more) {
  return sum + more < LUMOS_TIME_LIMIT ? sum + more : LUMOS_TIME_LIMIT;
}

/* What `count` such times come to, none of them negative, count at least 1; it stays there likewise. */
static inline int64_t lumos_time_product(int64_t time, int64_t count) {
  return time <= LUMOS_TIME_LIMIT / count ? time * count : LUMOS_TIME_LIMIT;
}

/* An instant on the clock of a lane's rows in job time: without drift, as most clocks are, an addition. */
static inline int64_t lumos_job_time_on(const struct lumos_job *job, uint32_t lane, int64_t t) {
  const struct lumos_lane *record = &job->lanes.items[lane];
  const struct lumos_rank *rank = &job->ranks.items[record->rank];
  if (!rank->clock.known) {
    return t;
  }
  int64_t host = rank->clock.drift_ppb == 0 ? t + rank->clock.offset : lumos_host_job_time(rank, t);
  return host + (record->kind == LUMOS_STREAM ? rank->clock.device_offset : 0);
}

/* The same of a length from `start` on (LUMOS_ABSENT: unknown). Instants are rounded and lengths are their differences,
 * so that lengths in a row add up to what lies between the first instant and the last, whatever the drift. */
static inline int64_t lumos_job_length(const struct lumos_job *job, uint32_t lane, int64_t start, int64_t length) {
  const struct lumos_rank *rank = &job->ranks.items[job->lanes.items[lane].rank];
  if (!rank->clock.known || rank->clock.drift_ppb == 0) {
    return length;
  }
  int64_t from = start == LUMOS_ABSENT ? 0 : start;
  return lumos_host_job_time(rank, from + length) - lumos_host_job_time(rank, from);
}

/* A task's interval in job time as measured, before any change. False when it has none. */
static inline bool lumos_measured_interval(const struct lumos_job *job, uint32_t task, int64_t *start, int64_t *end) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (record->start == LUMOS_ABSENT) {
    return false;
  }
  int64_t was = record->detail == LUMOS_NONE ? LUMOS_ABSENT : job->details.items[record->detail].was;
  *start = lumos_job_time_on(job, record->lane, record->start);
  *end = *start + lumos_job_length(job, record->lane, record->start, was == LUMOS_ABSENT ? record->dur : was);
  return true;
}

/* The same, simulated, or with runs NULL as measured. */
static inline bool lumos_task_interval(const struct lumos_job *job, const struct lumos_run *runs, uint32_t task,
                                       int64_t *start, int64_t *end) {
  if (runs == NULL) {
    return lumos_measured_interval(job, task, start, end);
  }
  if (runs[task].start == LUMOS_ABSENT || runs[task].dur == LUMOS_ABSENT) {
    return false; /* of a stream that was edited */
  }
  *start = runs[task].start;
  *end = *start + runs[task].dur;
  return true;
}

#endif
