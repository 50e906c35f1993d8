/* How far to believe a diagnosis and the predictions beside it: one grade, from figures that every job has. */
#ifndef LUMOS_REPORT_DIAGNOSIS_CONFIDENCE_H
#define LUMOS_REPORT_DIAGNOSIS_CONFIDENCE_H

#include "report/diagnosis/figures.h"
#include <lumos/diagnosis.h>

/* Fills confidence, doubt and doubt_share. The grade is the worst of the rows in confidence.c, which the manual lists. */
void diagnosis_judge(const struct diagnosis_figures *figures, struct lumos_diagnosis *diagnosis);

#endif
