/* The confidence in detail: every figure that says how far to believe the report, the worst first. */
#ifndef LUMOS_REPORT_DIAGNOSIS_DETAILS_H
#define LUMOS_REPORT_DIAGNOSIS_DETAILS_H

#include "report/content/facts.h"
#include "report/text/template.h"
#include <lumos/diagnosis.h>

/* Section "trust": label, term, figure, grade (of those that the grade depends on; else empty), evidence. */
void diagnosis_fill_details(const struct report_facts *facts, const struct lumos_diagnosis *diagnosis,
                            struct report_scope *scope);

#endif
