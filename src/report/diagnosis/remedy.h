/* The second sentence of the diagnosis: what to do. */
#ifndef LUMOS_REPORT_DIAGNOSIS_REMEDY_H
#define LUMOS_REPORT_DIAGNOSIS_REMEDY_H

#include "report/diagnosis/story.h"

/* Where to look and what to do, and what that would gain where it can be said; nothing where there is nothing to do. */
void diagnosis_put_remedy(const struct report_result *result, struct lumos_text *out);

/* What the first finding asks for, in the imperative, without what it would gain; nothing where nothing is wrong. */
void diagnosis_put_action(const struct report_result *result, struct lumos_text *out);

/* "; without that delay rank 2's CPU then limits the step": who is nearly as late, where the remedy is about something
 * else and so does not say it. */
void diagnosis_put_next_late(const struct report_result *result, struct lumos_text *out);

#endif
