/* Why the confidence is what it is. */
#ifndef LUMOS_REPORT_DIAGNOSIS_REASON_H
#define LUMOS_REPORT_DIAGNOSIS_REASON_H

#include "report/diagnosis/words.h"

/* "The simulation misses the measured step by 0.09 % on average." */
void diagnosis_put_confidence(const struct report_result *result, struct lumos_text *out);

#endif
