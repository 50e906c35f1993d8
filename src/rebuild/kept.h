/* What a built job keeps of the recorded one, so that both can be shown side by side: its configuration, and the passes
 * of the step that is nearest to the mean. */
#ifndef LUMOS_REBUILD_KEPT_H
#define LUMOS_REBUILD_KEPT_H

#include <lumos/job.h>

struct rebuild_kept {
  struct lumos_recorded_sizes sizes;
  LUMOS_VECTOR(struct lumos_recorded_pass) passes;
};

/* Of a job with measured starts, before examples of what it lacks are put into it. O(tasks). */
void rebuild_kept_read(struct rebuild_kept *kept, const struct lumos_job *recorded);
void rebuild_kept_put(const struct rebuild_kept *kept, struct lumos_job *built);
void rebuild_kept_free(struct rebuild_kept *kept);

#endif
