/* A step of each of two jobs on one axis of time, rank by rank. */
#ifndef LUMOS_COMPARE_PAIRED_H
#define LUMOS_COMPARE_PAIRED_H

#include "report/content/timeline.h"
#include <lumos/compare.h>

struct compare_paired {
  struct report_timelines timelines[2]; /* both with the same number of ranks among their open lanes, at least 1 */
  size_t shared, shown;                 /* ranks that both jobs have, and those that are drawn */
};

/* Of jobs as they are shown; both were simulated where simulated times are compared. Where no rank's number is in both,
 * the first ranks with a GPU are laid side by side. Free it in any case. */
void compare_paired_read(struct compare_paired *paired, const struct lumos_comparison *comparison,
                         const struct lumos_job *const jobs[2]);
void compare_paired_free(struct compare_paired *paired);

#endif
