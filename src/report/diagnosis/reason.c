/* A sentence for each limit. */
#include "report/diagnosis/reason.h"

#include "report/diagnosis/confidence.h"
#include "report/diagnosis/words.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* Means over steps; the worst stand in the details. */
static void put_errors(const struct report_result *result, struct lumos_text *out) {
  int64_t error = result->diagnosis.limit_share;
  if (error == 0) {
    lumos_text_put(out, "The simulation reproduces the measured step exactly");
  } else {
    lumos_text_put(out, "The simulation misses the measured step by ");
    report_put_fine_share(out, error);
    lumos_text_put(out, " on average");
  }
  if (result->facts.transplant_error != LUMOS_ABSENT) {
    lumos_text_put(out, ", and one step predicted from another by ");
    report_put_fine_share(out, llabs(result->facts.transplant_error));
    lumos_text_put(out, " on average");
  }
}

/* " Also: unexplained CPU time 37.1 %." */
static void put_others(const struct lumos_diagnosis *diagnosis, struct lumos_text *out) {
  enum lumos_limit others[LUMOS_LIMITS];
  size_t count = diagnosis_other_limits(diagnosis, others);
  for (size_t i = 0; i < count; i++) {
    lumos_text_put(out, i == 0 ? " Also: " : ", ");
    lumos_text_put(out, diagnosis_limit_name(others[i]));
    lumos_text_char(out, ' ');
    report_put_share(out, diagnosis->limits[others[i]].size);
  }
  lumos_text_put(out, count > 0 ? "." : "");
}

static void put_reason(const struct report_result *result, struct lumos_text *out) {
  static const char *const before[LUMOS_LIMITS] = {
      [LUMOS_LIMIT_NOTHING_MEASURED] = "There is no measured step to compare the model with",
      [LUMOS_LIMIT_CHANGED] = "The changed job was never measured, so that its error is unknown",
      [LUMOS_LIMIT_REBUILD] = "Rebuilt in its recorded configuration, the job misses its measured step by ",
      [LUMOS_LIMIT_REPLAY] = "The simulation misses the measured step by ",
      [LUMOS_LIMIT_CROSS_STEP] = "The simulation predicts one step from another with an error of ",
      [LUMOS_LIMIT_NO_GPU] = "No GPU work was recorded on ",
      [LUMOS_LIMIT_NOT_RECORDED] = "The recording does not show what GPUs wait for during ",
      [LUMOS_LIMIT_BOUNDARY] = "Kernels wait for work outside the recording for ",
      [LUMOS_LIMIT_UNEXPLAINED] = "Unexplained delays of kernels add up to ",
      [LUMOS_LIMIT_UNSPLIT] = "Communication with ranks that were not recorded takes ",
      [LUMOS_LIMIT_UNJOINED] = "Communication that could not be joined with other ranks\xE2\x80\x99 takes ",
      [LUMOS_LIMIT_VARIATION] = "Similar steps differ by ",
      [LUMOS_LIMIT_BLAMED_UNKNOWN] = "Who is late is known, but not why: no op was recorded in ",
      [LUMOS_LIMIT_CPU_UNKNOWN] = "Gaps and unusually long calls on the CPU take ",
      [LUMOS_LIMIT_PROFILER] = "The profiler itself takes up to ",
      [LUMOS_LIMIT_RECORDING] = "Recorded steps are longer than steps without the profiler by ",
      [LUMOS_LIMIT_UNLAUNCHED] = "No launch was recorded for ",
      [LUMOS_LIMIT_UNTIED] = "Who waits for whom is partly unknown, so that waiting stays as measured",
  };
  enum lumos_limit limit = result->diagnosis.limit;
  if (limit == LUMOS_LIMIT_NONE) {
    put_errors(result, out);
    lumos_text_char(out, '.');
    return;
  }
  bool of_changed = lumos_job_has_note(result->job, "transform.rebuild_of_changed");
  if (limit == LUMOS_LIMIT_CHANGED && result->diagnosis.limit_share != LUMOS_ABSENT) {
    lumos_text_put(out, "The new configuration was never measured; rebuilt in the recorded one, a step is ");
    report_put_fine_share(out, result->diagnosis.limit_share);
    lumos_text_put(out, of_changed ? " off the simulated step of the changed job." : " off the measured step.");
    return;
  }
  if (limit == LUMOS_LIMIT_UNSPLIT && diagnosis_has_all_ranks(result->job)) {
    lumos_text_put(out, "C");
    lumos_text_put(out, diagnosis_unmatched + 1);
  } else {
    lumos_text_put(out, of_changed && limit == LUMOS_LIMIT_REBUILD
                            ? "Rebuilt in its recorded configuration, the changed job misses its simulated step by "
                            : before[limit]);
  }
  if (result->diagnosis.limit_share != LUMOS_ABSENT) {
    bool error = limit == LUMOS_LIMIT_REPLAY || limit == LUMOS_LIMIT_CROSS_STEP || limit == LUMOS_LIMIT_REBUILD;
    (error ? report_put_fine_share : report_put_share)(out, result->diagnosis.limit_share);
    lumos_text_put(out, error || limit == LUMOS_LIMIT_VARIATION || limit == LUMOS_LIMIT_RECORDING ? ""
                        : limit == LUMOS_LIMIT_PROFILER       ? " of the step on CPUs"
                        : limit == LUMOS_LIMIT_UNLAUNCHED     ? " of the kernels and copies"
                        : limit == LUMOS_LIMIT_NO_GPU         ? " of the ranks"
                        : limit == LUMOS_LIMIT_BLAMED_UNKNOWN ? " of that time"
                                                              : " of the step");
  }
  lumos_text_char(out, '.');
}

void diagnosis_put_confidence(const struct report_result *result, struct lumos_text *out) {
  put_reason(result, out);
  put_others(&result->diagnosis, out);
}
