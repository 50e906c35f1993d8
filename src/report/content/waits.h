/* Who waits for whom, rank by rank, as a matrix that the page colours by how long. */
#ifndef LUMOS_REPORT_WAITS_H
#define LUMOS_REPORT_WAITS_H

#include "base/text.h"
#include "report/content/facts.h"

enum { REPORT_WAIT_RANKS = 16 }; /* that have a row and a column; all others share one, so that sums are whole */

/* Means over the job's steps, in ns. */
struct report_waits {
  int32_t ranks[REPORT_WAIT_RANKS];                            /* by number */
  size_t count;                                                /* 0: no waiting is known */
  size_t left_out;                                             /* ranks in the last row and column */
  bool others;                                                 /* there is something in the last column */
  int64_t times[REPORT_WAIT_RANKS + 1][REPORT_WAIT_RANKS + 1]; /* who waits, for whom; [count]: all others */
  int64_t largest;                                             /* of the ranks that have places */
  bool has_late;                                               /* the title above names a late rank */
};

/* Those ranks have a row that wait and are waited for longest. */
void report_waits_read(const struct report_facts *facts, struct report_waits *waits);
/* A table in HTML; nothing where no waiting is known. */
void report_waits_html(const struct report_waits *waits, struct lumos_text *out);

#endif
