/* Process groups across ranks: which records mean the same group, and what each is called. */
#ifndef LUMOS_JOB_GROUPS_H
#define LUMOS_JOB_GROUPS_H

#include <lumos/job.h>

/* While jobs are joined, references to groups (slots of FIELD_GROUP) hold the group's index + 1 instead of its id,
 * for ids of different jobs may be the same word for different groups. Fails when a group's id is not unique, or is
 * not there. */
bool lumos_groups_to_indices(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Unite records of the same group, name all groups anew by the rule of stream.h, and turn references back into ids. */
void lumos_groups_unite(struct lumos_job *job);

#endif
