/* What several sentences of the diagnosis say alike. */
#ifndef LUMOS_REPORT_DIAGNOSIS_STORY_H
#define LUMOS_REPORT_DIAGNOSIS_STORY_H

#include "report/diagnosis/result.h"

/* Recorded steps are so much longer than steps without the profiler that this belongs beside their time, and each
 * gain. */
bool diagnosis_is_slowed(const struct report_result *result);

/* Layers of an imbalanced stage are known, and it should hold fewer. */
bool diagnosis_moves_layers(const struct lumos_finding *finding);
/* "1.4 times", of millionths. */
void diagnosis_put_ratio(int64_t ratio, struct lumos_text *out);
/* What a late rank is told to be late by, of which others may feel less. */
int64_t diagnosis_time_late(const struct lumos_finding *finding);
/* Are all ranks of the job there? Then communication is unsplit for other reasons. */
bool diagnosis_has_all_ranks(const struct lumos_job *job);
/* "communication that could not be matched between ranks takes " */
extern const char diagnosis_unmatched[];
enum { DIAGNOSIS_LARGE_SHARE = 50000 /* millionths: an overhead that is told beside the first one */ };

#endif
