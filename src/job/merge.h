/* What several jobs say about the same thing, brought into one form that does not depend on the order in which they
 * were joined. */
#ifndef LUMOS_JOB_MERGE_H
#define LUMOS_JOB_MERGE_H

#include <lumos/job.h>

/* History entries sorted by tool, version and arguments; those equal but for inputs become one with the inputs of
 * all. */
void lumos_merge_history(struct lumos_job *job);

/* Notes sorted by rank, code, text and the rest of their scope; equal ones become one with the sum of their counts.
 * The job is arranged. */
void lumos_merge_notes(struct lumos_job *job);

/* Records of unknown types sorted by their bytes. */
void lumos_sort_foreign(struct lumos_job *job);

#endif
