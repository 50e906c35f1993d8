/* What each job's own report says first, beside the comparison: the simulation is that of the report. */
#include "compare/diagnoses.h"

#include "report/diagnosis/first_screen.h"
#include "report/diagnosis/reason.h"
#include "report/diagnosis/remedy.h"
#include "report/text/privacy.h"
#include <lumos/sim.h>
#include <string.h>

static lumos_string_id take(struct lumos_strings *strings, struct lumos_text *text) {
  lumos_string_id id = text->length == 0 ? LUMOS_NO_STRING : lumos_intern(strings, text->bytes, text->length);
  text->length = 0;
  return id;
}

static void diagnose(const struct lumos_job *job, struct lumos_strings *strings, struct lumos_compared_diagnosis *to) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_result result;
  report_result_read(job, &result);
  diagnosis_put_sentence(&result, &text);
  to->sentence = take(strings, &text);
  diagnosis_put_remedy(&result, &text);
  to->remedy = take(strings, &text);
  diagnosis_put_confidence(&result, &text);
  to->reason = take(strings, &text);
  to->grade = lumos_intern_text(strings, lumos_confidence_name(result.diagnosis.confidence));
  report_result_free(&result);
  lumos_text_free(&text);
}

void lumos_comparison_diagnose(struct lumos_comparison *comparison, struct lumos_job *const jobs[2]) {
  static const struct lumos_simulation as_report = {.model = LUMOS_MODEL_LUMOS, .opportunities = true};
  for (int side = 0; side < 2; side++) {
    struct lumos_compared_diagnosis *to = &comparison->diagnoses[side];
    struct lumos_error error = {.status = LUMOS_DONE};
    bool simulated = jobs[side]->stage >= LUMOS_STAGE_SIM || lumos_simulate_as(jobs[side], &as_report, &error);
    if (!simulated) {
      to->problem = lumos_intern(comparison->strings, error.text, strlen(error.text));
      continue;
    }
    struct lumos_job shown = *jobs[side];
    struct lumos_strings *fit = report_privacy_strings(jobs[side]);
    shown.strings = fit;
    diagnose(&shown, comparison->strings, to);
    lumos_strings_free(fit);
  }
}

/* " Confidence in the simulation: fair. The simulation misses ..." */
static void put_part(const struct lumos_comparison *comparison, lumos_string_id id, const char *before,
                     struct lumos_text *out) {
  if (id != LUMOS_NO_STRING) {
    lumos_text_put(out, before);
    lumos_text_add(out, lumos_string(comparison->strings, id), lumos_string_length(comparison->strings, id));
  }
}

void compare_put_diagnosis(const struct lumos_comparison *comparison, int side, struct lumos_text *out) {
  const struct lumos_compared_diagnosis *diagnosis = &comparison->diagnoses[side];
  lumos_text_format(out, "Diagnosis of %s", comparison->names[side]);
  if (diagnosis->problem != LUMOS_NO_STRING) {
    put_part(comparison, diagnosis->problem, ": none, for its simulation failed: ", out);
    return;
  }
  put_part(comparison, diagnosis->sentence, ": ", out);
  put_part(comparison, diagnosis->remedy, " ", out);
  put_part(comparison, diagnosis->grade, " Confidence in the simulation: ", out);
  put_part(comparison, diagnosis->reason, ". ", out);
}
