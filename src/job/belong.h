/* Do these ranks belong to one job? And what can only be said of all of its ranks together. */
#ifndef LUMOS_JOB_BELONG_H
#define LUMOS_JOB_BELONG_H

#include <lumos/error.h>
#include <lumos/job.h>

/* False, with the reason and the cure, where they cannot be one job: a rank twice, jobs of different sizes, other
 * devices, another NCCL, another name or attempt, recordings more than a minute apart. All but the first two are let
 * pass where somebody gave the ranks (lumos-parse --rank). */
bool lumos_ranks_belong(struct lumos_job *const *jobs, size_t count, struct lumos_error *error) LUMOS_MUST_CHECK;

/* False, with the reason and the cure, where two jobs have a group of one name with different members, of which some
 * are in both. */
bool lumos_groups_agree(struct lumos_job *const *jobs, size_t count, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Note which ranks of the job are missing, and recordings that lie apart although they were joined, in place of what
 * such notes said of the parts. */
void lumos_note_belonging(struct lumos_job *job);

#endif
