/* When recordings were made that do not say so themselves. */
#ifndef LUMOS_JOB_DATE_H
#define LUMOS_JOB_DATE_H

#include <lumos/job.h>

/* A stretch of time in ns since 1970. */
struct lumos_dates {
  int64_t start, end;
};

/* When a job was recorded, all of its ranks that say so together; false when none does. */
bool lumos_job_dates(const struct lumos_job *job, struct lumos_dates *dates);

/* Could an undated job's times count from the base that times of `others` count from? Then *epoch is the job's. */
bool lumos_dated_by_base(const struct lumos_job *job, const struct lumos_dates *others, int64_t *epoch);

/* Give the jobs that do not say when they were recorded a date beside those that do, and a note. Nothing to do where
 * none does. */
void lumos_date_jobs(struct lumos_job *const *jobs, size_t count);

#endif
