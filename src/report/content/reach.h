/* Which process groups reach over several stages of the pipeline: waiting in these is waiting for another stage. */
#ifndef LUMOS_REPORT_REACH_H
#define LUMOS_REPORT_REACH_H

#include <lumos/job.h>
#include <lumos/memory.h>

struct report_reach {
  lumos_string_id group;
  bool wide; /* it has ranks of several stages, or may have */
};

/* By group. */
LUMOS_VECTOR_TYPE(report_reaches, struct report_reach);

/* `pipeline`: stages; nothing is wide where there are fewer than two. */
void report_reaches_read(const struct lumos_job *job, int32_t pipeline, struct report_reaches *reaches);
void report_reaches_free(struct report_reaches *reaches);

/* Does this communication stay within the task's stage? */
bool report_stays_within(const struct lumos_job *job, const struct report_reaches *reaches, int32_t pipeline,
                         const struct lumos_task *task);

#endif
