/* The job written anew: what a training job would do in another configuration, out of blocks of what was recorded. */
#ifndef LUMOS_REBUILD_H
#define LUMOS_REBUILD_H

#include <lumos/error.h>
#include <lumos/job.h>

enum { LUMOS_MOST_STAGES = 1024 };

/* Numbers are 0 where they stay as recorded. */
struct lumos_rebuild {
  int32_t layers;        /* of the model */
  int32_t micro_batches; /* of a replica, in a step */
  int32_t stages;        /* of the pipeline */
  int32_t replicas;
  const char *schedule;               /* "1f1b" or "gpipe"; NULL: 1f1b */
  int32_t split[LUMOS_MOST_STAGES];   /* layers of each stage; none: evenly */
  int32_t split_count;
};

/* Write a job anew, at stage parse or graph with measured starts, as `asked` says; all as recorded: the recorded
 * configuration. The job is at stage transform then, edited, without measured starts; what was measured stays beside it,
 * and metric rebuild_error says how far the recorded configuration, built the same way, is from it. LUMOS_UNUSABLE with
 * what to do where the recording lacks what that needs. Runs the engine. */
bool lumos_rebuild(struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
