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

/* Recorded steps are so much longer than steps without the profiler that this belongs beside their time, and each gain. */
bool diagnosis_is_slowed(const struct diagnosis_story *story);

/* Nothing is, where the confidence is poor or most is lost outside the recording. */
bool diagnosis_predicts(const struct lumos_diagnosis *diagnosis);

/* What a step would take after a change, and what is gained. */
struct diagnosis_gain {
  int64_t time, share;       /* a step would take; shorter by, of the step: LUMOS_ABSENT: unknown */
  struct report_range range; /* of time; unknown where it was not simulated */
  bool at_most;              /* not simulated: all that the finding costs, and no more */
  bool is_change;            /* a change that was simulated; else half of a kind of work, or at_most */
  enum lumos_cause cause;    /* whose cure it is; LUMOS_CAUSE_COMPUTE: nobody's */
  const struct report_opportunity *opportunity; /* that was simulated; NULL: none */
};
/* Of the first finding's cure alone; of the best kind of work; of whichever helps most: the cure, a change, or half of a
 * kind of work where there is no other or it can be had; and the one that the headline states. */
struct diagnosis_gain diagnosis_cure(const struct diagnosis_story *story);
struct diagnosis_gain diagnosis_best_work(const struct diagnosis_story *story);
struct diagnosis_gain diagnosis_best_gain(const struct diagnosis_story *story);
struct diagnosis_gain diagnosis_headline_gain(const struct diagnosis_story *story);
bool diagnosis_same_gain(const struct diagnosis_gain *gain, const struct diagnosis_gain *other);
/* The step that a gain is a share of on its bar: the simulated one, or the one without the profiler where that is much
 * shorter, so that nothing counts as a gain which recording took. */
int64_t diagnosis_gain_base(const struct diagnosis_story *story);
int64_t diagnosis_row_gain(const struct diagnosis_story *story, int64_t time);
/* "-21.6 %", "at least -75.8 %" of a step without the profiler, or that no gain is known. */
void diagnosis_put_row_gain(const struct diagnosis_story *story, int64_t time, struct lumos_text *out);
/* "Launching each pass as a CUDA graph": a subject. */
void diagnosis_put_changing(const struct diagnosis_story *story, const struct diagnosis_gain *gain,
                            struct lumos_text *out);
/* Of recorded steps that the profiler makes much longer: what is gained at least of a step without it; LUMOS_ABSENT. */
int64_t diagnosis_unslowed_gain(const struct diagnosis_story *story, const struct diagnosis_gain *gain);
/* "Without that delay a step would take 33.0 ms (-21.6 %)": a sentence without its full stop. */
void diagnosis_put_gain(const struct diagnosis_story *story, const struct diagnosis_gain *gain, struct lumos_text *out);
/* "Launching each pass as a CUDA graph: a step of 33.0 ms; 90 % range 30.1 ms to 36.0 ms", of which no range where none
 * is known. */
void diagnosis_put_step_of(const struct diagnosis_story *story, const struct diagnosis_gain *gain,
                           struct lumos_text *out);
/* How what the headline names stands to the parts of the mean step: a late rank, or unequal stages; else nothing. */
void diagnosis_put_own_delay(const struct diagnosis_story *story, struct lumos_text *out);
/* What the first finding asks for, in the imperative, without what it would gain; nothing where nothing is wrong. */
void diagnosis_put_action(const struct diagnosis_story *story, struct lumos_text *out);

#endif
