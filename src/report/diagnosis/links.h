/* Links that are slow: sets of ranks whose transfers take longer than the same ones of other sets. */
#ifndef LUMOS_REPORT_DIAGNOSIS_LINKS_H
#define LUMOS_REPORT_DIAGNOSIS_LINKS_H

#include "report/diagnosis/figures.h"

struct diagnosis_link {
  uint32_t collective; /* the first one of these ranks; LUMOS_NONE: no link is slow */
  int64_t excess;      /* ns of a step that a rank of the set transfers for longer than one of the other sets */
  int64_t ratio;       /* of one transfer to that of the median set, in millionths */
};

/* Sets are compared by operation, size and bytes: one is slow if its mean transfer is at least 1.5 times the median of
 * the other sets' (chosen: rings over several hops vary by less). The slowest by its excess. Sets that are all as slow
 * cannot be told from a slow network. O(collectives log collectives). */
struct diagnosis_link diagnosis_slow_link(const struct diagnosis_figures *figures);

#endif
