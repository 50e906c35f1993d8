/* What lies outside of a recording and holds its work: it has no place in a job that is built, but it takes its
 * time. */
#ifndef LUMOS_REBUILD_OUTSIDE_H
#define LUMOS_REBUILD_OUTSIDE_H

#include <lumos/job.h>

/* By task, in ns: for how much longer than all else in the job it was held, in the middle of the recording, by what that
 * does not show. The caller frees them. */
int64_t *rebuild_outside(const struct lumos_job *job);

#endif
