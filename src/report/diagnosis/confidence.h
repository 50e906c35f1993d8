/* How far to believe a diagnosis and the predictions beside it: one grade, from figures that every job has. */
#ifndef LUMOS_REPORT_DIAGNOSIS_CONFIDENCE_H
#define LUMOS_REPORT_DIAGNOSIS_CONFIDENCE_H

#include "report/diagnosis/figures.h"
#include <lumos/diagnosis.h>

/* Fills confidence, limit, limit_share and limits. The grade is the worst of the rows in confidence.c, which the manual
 * lists. */
void diagnosis_judge(const struct diagnosis_figures *figures, struct lumos_diagnosis *diagnosis);

/* What keeps the grade from being better beside `limit`, the worst first; how many. What is the same time in two ways
 * counts once. */
size_t diagnosis_other_limits(const struct lumos_diagnosis *diagnosis, enum lumos_limit others[LUMOS_LIMITS]);
/* As the details call it; NULL: it has no size. */
const char *diagnosis_limit_name(enum lumos_limit limit);

/* Of a limit of such a size: LUMOS_GOOD where that is not known. */
enum lumos_confidence diagnosis_grade_of(const struct lumos_limit_size *limit);

#endif
