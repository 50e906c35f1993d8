/* The first screen: the diagnosis, four figures, how sure they are; and the trust in detail at the page's end. */
#ifndef LUMOS_REPORT_DIAGNOSIS_FIRST_SCREEN_H
#define LUMOS_REPORT_DIAGNOSIS_FIRST_SCREEN_H

#include "report/content/content.h"
#include "report/diagnosis/words.h"
#include "report/text/template.h"

/* The title that was asked for, or else the diagnosis's first sentence. */
void report_put_title(const struct report_content *content, struct lumos_text *out);
/* Both sentences of the diagnosis. */
void report_put_diagnosis(const struct report_result *result, struct lumos_text *out);

/* Values `title`, `diagnosis` (both sentences), `sentence`, `remedy`; sections `has_title`, `has_remedy`, `confidence`
 * (grade, reason), `tiles` (label, term, figure, evidence), `trust` (the same). */
void report_fill_first_screen(const struct report_content *content, struct report_scope *scope);

/* The finding of what would help where confidence is poor, or most is lost outside the recording. */
extern const char report_no_gains[];

/* "The first step is left out, as it begins before the change; the measured mean with it is 42.1 ms", or nothing. */
void report_put_left_out(const struct report_facts *facts, struct lumos_text *out);
/* Of a predicted step: "90 % range 88.1 ms to 91.2 ms", or "range unknown". */
void report_put_step_range(const struct report_facts *facts, bool with_source, struct lumos_text *out);

#endif
