/* A step of each of several jobs on one axis of time, rank by rank. */
#ifndef LUMOS_COMPARE_ALIGNED_H
#define LUMOS_COMPARE_ALIGNED_H

#include "report/content/timeline.h"
#include <lumos/compare.h>

struct compare_aligned {
  struct report_timelines *timelines; /* by job, all with the same number of ranks among their open lanes */
  size_t jobs;
  size_t shared, shown; /* ranks that all jobs have, and those that are drawn; without any there is no picture */
};

/* Of the first job and `count` others that are compared with it, as they are shown; all were simulated where simulated
 * times are compared. Where no rank's number is in all of them, the first ranks with a GPU are laid side by side. Free
 * it in any case. */
void compare_aligned_read(struct compare_aligned *aligned, const struct lumos_comparison *const *comparisons,
                          const struct lumos_job *const *jobs, size_t count);
void compare_aligned_free(struct compare_aligned *aligned);

#endif
