/* What the page proposes, and what of the step each would save. */
#ifndef LUMOS_REPORT_DIAGNOSIS_GAINS_H
#define LUMOS_REPORT_DIAGNOSIS_GAINS_H

#include "report/diagnosis/story.h"

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
/* Of the first finding's cure alone; of the best kind of work; of whichever helps most: the cure, a change, or half of
 * a kind of work where there is no other or it can be had; and the one that the headline states. */
struct diagnosis_gain diagnosis_cure(const struct report_result *result);
struct diagnosis_gain diagnosis_best_work(const struct report_result *result);
struct diagnosis_gain diagnosis_best_gain(const struct report_result *result);
struct diagnosis_gain diagnosis_headline_gain(const struct report_result *result);
bool diagnosis_same_gain(const struct diagnosis_gain *gain, const struct diagnosis_gain *other);
/* The step that a gain is a share of on its bar: the simulated one, or the one without the profiler where that is much
 * shorter, so that nothing counts as a gain which recording took. */
int64_t diagnosis_gain_base(const struct report_result *result);
int64_t diagnosis_row_gain(const struct report_result *result, int64_t time);
/* "-21.6 %", or that no gain is known: of diagnosis_gain_base. */
void diagnosis_put_row_gain(const struct report_result *result, int64_t time, struct lumos_text *out);
/* "Capturing each pass in a CUDA graph": a subject. */
void diagnosis_put_changing(const struct report_result *result, const struct diagnosis_gain *gain,
                            struct lumos_text *out);
/* As it is told: of the step that the reader would otherwise have (diagnosis_gain_base). */
int64_t diagnosis_told_share(const struct report_result *result, const struct diagnosis_gain *gain);
/* "Without that delay a step would take 33.0 ms (-21.6 %)": a sentence without its full stop. */
void diagnosis_put_gain(const struct report_result *result, const struct diagnosis_gain *gain, struct lumos_text *out);
/* "Capturing each pass in a CUDA graph: a step of 33.0 ms; 90 % range 30.1 ms to 36.0 ms", of which no range where none
 * is known. */
void diagnosis_put_step_of(const struct report_result *result, const struct diagnosis_gain *gain,
                           struct lumos_text *out);

/* The step is computation, so that there is no overhead to remove. */
bool diagnosis_only_computes(const struct report_result *result);
/* What the first finding is about shows only in a recording of more ranks. */
bool diagnosis_asks_to_record(const struct report_result *result);
/* Whose cost a change alone can tell what part would be saved of: what others wait for besides is not known. */
bool diagnosis_needs_change(enum lumos_cause cause);
/* What fusing kernels saves is known to be nothing. */
bool diagnosis_fusing_is_idle(const struct report_result *result);
/* One op takes at least half of what the CPU is behind by, and CUDA graphs would not save as much. */
bool diagnosis_blames_op(const struct report_result *result, const struct lumos_finding *finding);

#endif
