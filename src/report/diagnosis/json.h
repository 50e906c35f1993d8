/* The diagnosis in the document. */
#ifndef LUMOS_REPORT_DIAGNOSIS_JSON_H
#define LUMOS_REPORT_DIAGNOSIS_JSON_H

#include "report/diagnosis/words.h"

/* {"sentences":[...],"step_time":...,"findings":[...],"confidence":{...}}; what is not known is absent. Times are ns,
 * shares fractions of the step, ranks their numbers. */
void diagnosis_put_json(const struct report_result *result, struct lumos_text *out);

#endif
