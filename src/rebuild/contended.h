/* What kernels and transfers lose beside each other, as the recording has it: before sizes change, and before examples
 * of what it lacks are put in. A kernel or transfer of another size took its time by the ratio of both sizes, and so
 * has lost the recording's part of it. */
#ifndef LUMOS_REBUILD_CONTENDED_H
#define LUMOS_REBUILD_CONTENDED_H

#include "transform/contend.h"

struct lumos_id_map;
struct rebuild_contended {
  struct lumos_contend contend;
  struct lumos_id_map *ids; /* of the recording's tasks, by rank; NULL: it has not begun */
  size_t ranks;
};

/* Tasks may move in the job from then on, but keep their ids, and ranks their places. Runs the engine. */
void rebuild_contended_begin(struct rebuild_contended *contended, const struct lumos_job *job);
/* Kernels of `built` are copies of the job's, and so are its transfers. As lumos_contend_apply. */
void rebuild_contended_apply(const struct rebuild_contended *contended, const struct lumos_job *job,
                             struct lumos_job *built);
/* lumos_contend_speed of a task of the job; 1 of one that was put in. */
double rebuild_contended_speed(const struct rebuild_contended *contended, const struct lumos_job *job, uint32_t task);
/* Nothing where it has not begun. */
void rebuild_contended_free(struct rebuild_contended *contended);

#endif
