/* The diagnosis in words: what is lost, and to whom. */
#ifndef LUMOS_REPORT_DIAGNOSIS_WORDS_H
#define LUMOS_REPORT_DIAGNOSIS_WORDS_H

#include "report/content/opportunities.h"
#include <lumos/diagnosis.h>

/* What sentences are made of; nothing is owned. */
struct diagnosis_story {
  const struct lumos_job *job;
  const struct report_facts *facts;
  const struct report_opportunities *opportunities;
  const struct lumos_diagnosis *diagnosis;
};

/* "A step takes 1.09 s: rank 2's CPU is 990 ms late (90.5 %), and the other 3 ranks wait." Shares are of the step. */
void diagnosis_put_sentence(const struct diagnosis_story *story, struct lumos_text *out);

/* "rank 2's CPU is 990 ms late (90.5 %), and the other 3 ranks wait": a finding as a clause. */
void diagnosis_put_finding(const struct diagnosis_story *story, const struct lumos_finding *finding,
                           struct lumos_text *out);

/* Recorded steps are so much longer than steps without the profiler that this belongs beside their time, and each gain. */
bool diagnosis_is_slowed(const struct diagnosis_story *story);

/* " The other ranks compute meanwhile, ..." where CPUs have most of the critical path: what links it to the headline. */
void diagnosis_put_path_link(const struct diagnosis_story *story, struct lumos_text *out);
/* How what the headline names stands to the parts of the mean step: a late rank, or unequal stages; else nothing. */
void diagnosis_put_own_delay(const struct diagnosis_story *story, struct lumos_text *out);

/* ---- What several sentences have in common ---- */

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
