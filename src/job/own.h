#ifndef LUMOS_JOB_OWN_H
#define LUMOS_JOB_OWN_H

#include <lumos/job.h>

/* own_lag and own_dur of the tasks of which dependencies explain a part. O(deps). */
void lumos_job_take_covers(struct lumos_job *job);
/* The origin of every task on a stream, as far as call and step say it. O(tasks). */
void lumos_job_take_origins(struct lumos_job *job);
/* base_lag of every rank that has none yet, while there are measured starts. O(tasks before the first step). */
void lumos_job_keep_bases(struct lumos_job *job);
/* Both, the depths of queues, and whether the job was edited, where a stream of an earlier version lacks them. The job
 * is in order. `edited`: calls may be gone, and then their launches are not recorded. */
void lumos_job_take_old(struct lumos_job *job, bool edited);

#endif
