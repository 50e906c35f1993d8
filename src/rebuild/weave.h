/* New tasks woven into a job: calls of a thread between those that it has, and work on streams. */
#ifndef LUMOS_REBUILD_WEAVE_H
#define LUMOS_REBUILD_WEAVE_H

#include <lumos/error.h>
#include <lumos/job.h>

struct rebuild_woven {
  uint32_t task, after; /* indices; after: the task of the lane that it follows, LUMOS_NONE: it ends the lane */
};

/* From begin to end tasks, lanes, groups, deps and collectives of the job can be added behind those that it has, and
 * refer to each other by index; what was there keeps its own. */
struct rebuild_weave {
  struct lumos_job *job;
  uint32_t tasks;      /* how many there were */
  uint32_t *next_id;   /* by rank, of tasks */
  uint32_t *next_span; /* ... and of spans */
  LUMOS_VECTOR(struct rebuild_woven) items;
};

void rebuild_weave_begin(struct rebuild_weave *weave, struct lumos_job *job);

/* A task on task.lane; its id and its place are given to it. What is woven in behind one task stays in the order of
 * these calls. Returns its index. */
uint32_t rebuild_weave_task(struct rebuild_weave *weave, struct lumos_task task, uint32_t after);

/* An op of a thread, in no other one; an index, for the spans of tasks. Start: as of its tasks. */
uint32_t rebuild_weave_op(struct rebuild_weave *weave, uint32_t thread, const char *name, int64_t start);

/* A number above those of all streams, and a stream of that number on a rank. */
int32_t rebuild_free_stream(const struct lumos_job *job);
uint32_t rebuild_weave_stream(struct rebuild_weave *weave, uint32_t rank, int32_t number);

/* Put the job in order, with indices of its own again. False: what was added does not fit. O(tasks log tasks). */
bool rebuild_weave_end(struct rebuild_weave *weave, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
