/* What reaches over several stages of the pipeline: waiting in such communication is waiting for another stage. */
#ifndef LUMOS_PROGRAM_REACH_H
#define LUMOS_PROGRAM_REACH_H

#include <lumos/job.h>
#include <lumos/memory.h>

struct lumos_reach {
  lumos_string_id group;
  bool wide; /* it has ranks of several stages, or may have */
};

struct lumos_reaches {
  int32_t pipeline;                        /* stages; LUMOS_ABSENT_INT: not known */
  LUMOS_VECTOR(struct lumos_reach) groups; /* by id; none where there are fewer than two stages */
};

/* The pipeline's length: as the model record has it, else what the ranks' places say; LUMOS_ABSENT_INT: neither
 * does. */
int32_t lumos_pipeline_length(const struct lumos_job *job);

void lumos_reaches_read(const struct lumos_job *job, struct lumos_reaches *reaches);
void lumos_reaches_free(struct lumos_reaches *reaches);

/* Does this communication stay within the task's stage? */
bool lumos_stays_within(const struct lumos_job *job, const struct lumos_reaches *reaches,
                        const struct lumos_task *task);

/* Has the collective, or pair, members in several stages? Its members' places tell, and where these do not, its
 * group. */
bool lumos_crosses_stages(const struct lumos_job *job, const struct lumos_reaches *reaches,
                          const struct lumos_collective *collective);

#endif
