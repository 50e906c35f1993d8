/* Records of a job given new places, dropped, or taken in from another job: the one place that rewrites references
 * between records. Which slots are references, and to what, the schema says alone. */
#ifndef LUMOS_JOB_REMAP_H
#define LUMOS_JOB_REMAP_H

#include <lumos/job.h>

/* By old index the new one, or LUMOS_NONE: the record goes. What stays fills [0, how many stay). NULL: all stay where
 * they are. A rank goes with its groups, lanes, spans and tasks, a lane with its tasks: that is the caller's to say. */
struct lumos_remap {
  const uint32_t *ranks, *groups, *lanes, *spans, *tasks;
};

/* Moves the records and what runs parallel to them, and rewrites what refers to them. A reference to what has gone
 * becomes absent; of what means nothing without it, that goes as well: the details, timings and peers of tasks, deps
 * without an end, collectives without a member, metrics of ranks, lanes and tasks that are gone. Ranges and order are
 * the caller's (lumos_job_arrange). What sim noted of its run is forgotten. O(records). */
void lumos_job_remap(struct lumos_job *job, const struct lumos_remap *remap);

/* Puts all that `other` has behind what `job` has: its references and strings change as that takes, its arrays are
 * empty afterwards. Both are at stage parse, so there are no deps, collectives, models or metrics; references to groups
 * are indices (job/groups.h). Order is the caller's (lumos_job_arrange). O(records of other). */
void lumos_job_append(struct lumos_job *job, struct lumos_job *other);

#endif
