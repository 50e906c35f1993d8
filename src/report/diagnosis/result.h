/* The result of one job, read off it once: its figures, what changes gain, and the diagnosis. A report is of one, a
 * comparison of two.
 */
#ifndef LUMOS_REPORT_DIAGNOSIS_RESULT_H
#define LUMOS_REPORT_DIAGNOSIS_RESULT_H

#include "report/content/opportunities.h"
#include <lumos/diagnosis.h>

struct report_result {
  const struct lumos_job *job; /* at stage sim; it outlives the result */
  struct report_facts facts;
  struct report_opportunities opportunities;
  struct lumos_diagnosis diagnosis;
};

/* Free it afterwards. O(metrics log metrics). */
void report_result_read(const struct lumos_job *job, struct report_result *result);
void report_result_free(struct report_result *result); /* one of zeros, too */

#endif
