/* Kinds of work: of what a job could have less.
 *
 * All that the host does; the time from a launch to the device; kernels of a kind, copies and memsets; all
 * communication, and that of each group; and what tasks take longer than the same tasks of like ranks do, at the
 * median.
 */
#ifndef LUMOS_SIM_WORK_H
#define LUMOS_SIM_WORK_H

#include "sim/engine.h"

enum lumos_work_subject {
  LUMOS_WORK_HOST,
  LUMOS_WORK_LAUNCHES,
  LUMOS_WORK_KIND,
  LUMOS_WORK_COMMUNICATION,
  LUMOS_WORK_GROUP,
  LUMOS_WORK_STRAGGLERS
};

struct lumos_work {
  enum lumos_work_subject subject;
  uint8_t kind;          /* of LUMOS_WORK_KIND */
  lumos_string_id group; /* of LUMOS_WORK_GROUP: its id */
};
LUMOS_VECTOR_TYPE(lumos_works, struct lumos_work);

/* Duration and lag of each task if ranks were no slower than like ones at the median; NULL: no two ranks are alike. The
 * caller frees it. Ranks are alike in a step of a stream where they run the same kernels in the same order. Host tasks
 * are compared by what a thread takes from one launch to the next, waiting left out. O(tasks log ranks). */
struct lumos_times *lumos_like_rank_medians(const struct lumos_job *job);

/* All works of a job, in the order of the list above, groups by their id; of one group alone all communication is the
 * work. */
void lumos_find_works(const struct lumos_job *job, bool has_stragglers, struct lumos_works *works);

/* Is the task, as a whole, of the work? Never of launches and stragglers, which are parts of tasks. */
bool lumos_work_has(const struct lumos_job *job, const struct lumos_work *work, uint32_t task);

/* How much of a chain (path.h) is of each work, at most: times[0 .. works->count). `medians` may be NULL. O(chain). */
void lumos_works_on_path(const struct lumos_job *job, const struct lumos_works *works,
                         const struct lumos_times *medians, const struct lumos_path_parts *chain, int64_t *times);

/* "host", "launch", "communication", "stragglers", or the name of the kind; NULL for a group's. */
const char *lumos_work_name(const struct lumos_work *work);

#endif
