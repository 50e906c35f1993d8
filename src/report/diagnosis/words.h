/* The diagnosis in words: what is lost, and to whom. */
#ifndef LUMOS_REPORT_DIAGNOSIS_WORDS_H
#define LUMOS_REPORT_DIAGNOSIS_WORDS_H

#include "report/diagnosis/story.h"

/* "A step takes 1.09 s: rank 2's CPU is 990 ms late (90.5 %), and the other 3 ranks wait." Shares are of the step. */
void diagnosis_put_sentence(const struct report_result *result, struct lumos_text *out);

/* "rank 2's CPU is 990 ms late (90.5 %), and the other 3 ranks wait": a finding as a clause. */
void diagnosis_put_finding(const struct report_result *result, const struct lumos_finding *finding,
                           struct lumos_text *out);

/* " The other ranks compute meanwhile, ..." where CPUs have most of the critical path: what links it to the
 * headline. */
void diagnosis_put_path_link(const struct report_result *result, struct lumos_text *out);
/* How what the headline names stands to the parts of the mean step: a late rank, or unequal stages; else nothing. */
void diagnosis_put_own_delay(const struct report_result *result, struct lumos_text *out);

#endif
