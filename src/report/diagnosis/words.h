/* The diagnosis in words: one sentence of what is lost and to whom, one of what to do, one of how sure that is. */
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

/* Where to look and what to do, and what that would gain where it can be said; nothing where there is nothing to do. */
void diagnosis_put_remedy(const struct diagnosis_story *story, struct lumos_text *out);

/* "The model reproduces the measured step within 0.09 %." */
void diagnosis_put_confidence(const struct diagnosis_story *story, struct lumos_text *out);

/* "rank 2's CPU is 990 ms late (90.5 %), and the other 3 ranks wait": a finding as a clause. */
void diagnosis_put_finding(const struct diagnosis_story *story, const struct lumos_finding *finding,
                           struct lumos_text *out);

/* What is predicted to shorten the step. */
struct diagnosis_gain {
  const struct report_opportunity *opportunity; /* NULL: nothing, or nothing is predicted, for the confidence is poor */
  int64_t time;                                 /* that a step would take */
};
/* Nothing is, where the confidence is poor or most is lost outside the recording. */
bool diagnosis_predicts(const struct lumos_diagnosis *diagnosis);
/* What the first finding's action would gain; without `any` none where it is not simulated, with it then the best of all
 * kinds of work. */
struct diagnosis_gain diagnosis_gain_of(const struct diagnosis_story *story, bool any);

#endif
