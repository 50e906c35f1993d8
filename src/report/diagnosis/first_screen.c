/* Filling the first screen. */
#include "report/diagnosis/first_screen.h"

#include "report/content/advice.h"
#include "report/diagnosis/details.h"
#include "report/diagnosis/gains.h"
#include "report/diagnosis/reason.h"
#include "report/diagnosis/remedy.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

const char report_no_gains[] = "Gains cannot be predicted";

void report_put_title(const struct report_content *content, struct lumos_text *out) {
  enum { LONGEST = 300 };
  const char *title = report_title(content);
  if (title != NULL) {
    report_put_cut(out, title, strlen(title), LONGEST);
  } else {
    const struct report_result *result = &content->result;
    diagnosis_put_sentence(result, out);
  }
}

void report_put_diagnosis(const struct report_result *result, struct lumos_text *out) {
  struct lumos_text remedy = LUMOS_TEXT_BUFFER;
  diagnosis_put_sentence(result, out);
  diagnosis_put_remedy(result, &remedy);
  if (remedy.length > 0) {
    lumos_text_char(out, ' ');
    lumos_text_add(out, remedy.bytes, remedy.length);
  }
  lumos_text_free(&remedy);
}

static struct report_scope *set_tile(struct report_scope *scope, const char *label, const char *term,
                                     struct lumos_text *figure, struct lumos_text *evidence) {
  struct report_scope *item = report_section_item(scope, "tiles");
  report_set_text(item, "label", label);
  report_set_text(item, "term", term);
  report_set_take(item, "figure", figure);
  report_set_take(item, "evidence", evidence);
  report_section(item, "range");
  return item;
}

/* ", 19.4 ms from the first rank's start to the last one's end, while single ranks take 12.3 ms to 18.6 ms": ranks of
 * one recorded step begin to record at different times, so that no rank takes as long as the step. */
static void put_ranks_apart(const struct report_facts *facts, int64_t step, struct lumos_text *out) {
  enum { LEAST = 50 }; /* chosen: a difference of less than one in so many ns of the step is not seen */
  int64_t least = LUMOS_ABSENT, most = LUMOS_ABSENT;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    int64_t time = report_row_mean(&facts->ranks.items[i], MEASURED, FIGURE_STEP_TIME);
    least = time != LUMOS_ABSENT && (least == LUMOS_ABSENT || time < least) ? time : least;
    most = time > most ? time : most;
  }
  if (facts->ranks.count > 1 && most != LUMOS_ABSENT && most < step - step / LEAST) {
    lumos_text_put(out, ", from the first rank\xE2\x80\x99s start to the last one\xE2\x80\x99s end; ranks begin to "
                        "record at different times, and each takes ");
    report_put_time(out, least);
    lumos_text_put(out, " to ");
    report_put_time(out, most);
  }
}

/* "; the measured mean with it is 42.1 ms" */
static void put_mean_with_first(const struct report_facts *facts, struct lumos_text *out) {
  struct report_row all = report_row_empty(LUMOS_NONE, LUMOS_ABSENT_INT);
  const struct report_rows *rows = report_facts_job_rows(facts);
  for (size_t i = 0; i < rows->count && report_leaves_measured_out(facts); i++) {
    struct report_row row = rows->items[i];
    row.left_out = row.left_out_too = false;
    report_row_add(&all, &row, 1);
  }
  enum { SEEN = 10000 }; /* millionths: 1 % */
  int64_t mean = report_row_mean(&all, MEASURED, FIGURE_STEP_TIME);
  int64_t without = report_facts_step_time(facts, MEASURED);
  if (mean != LUMOS_ABSENT && llabs(report_share(mean - without, without)) >= SEEN) {
    lumos_text_put(out, "; the measured mean with it is ");
    report_put_time(out, mean);
  }
}

void report_put_left_out(const struct report_facts *facts, struct lumos_text *out) {
  if (report_leaves_out(facts)) {
    bool rebuilt = facts->rebuild_error != LUMOS_ABSENT;
    lumos_text_put(out, "The first step is left out, as ");
    lumos_text_put(out, rebuilt         ? "none precedes it"
                        : facts->edited ? "it begins before the change"
                                        : "the recording may begin in it");
    put_mean_with_first(facts, out);
  }
}

/* "8 steps, 38.1 ms to 48.2 ms. The first step is left out, as it begins before the change" */
static void put_step_range(const struct report_facts *facts, enum report_timeline timeline, struct lumos_text *out) {
  const struct report_rows *rows = report_facts_job_rows(facts);
  int64_t least = LUMOS_ABSENT, most = LUMOS_ABSENT, steps = 0;
  for (size_t i = 0; i < rows->count; i++) {
    int64_t time = rows->items[i].figures[timeline].of[FIGURE_STEP_TIME];
    if (rows->items[i].left_out) {
      continue;
    }
    steps++;
    least = time != LUMOS_ABSENT && (least == LUMOS_ABSENT || time < least) ? time : least;
    most = time > most ? time : most;
  }
  if (rows->count < 2 || least == LUMOS_ABSENT) {
    lumos_text_put(out, rows->count == 1 && timeline == MEASURED ? "One step was recorded" : "");
    if (rows->count == 1 && timeline == MEASURED && rows == &facts->job_steps) {
      put_ranks_apart(facts, least, out);
    }
    return;
  }
  lumos_text_put(out, out->length > 0 ? ". " : "");
  report_put_counted(out, steps, facts->job_steps.count > 0 ? "step" : "rank-step");
  if (steps > 1) {
    lumos_text_put(out, ", ");
    report_put_time(out, least);
    lumos_text_put(out, " to ");
    report_put_time(out, most);
  }
  lumos_text_put(out, report_leaves_out(facts) ? ". " : "");
  report_put_left_out(facts, out);
}

/* A line from the least to the most that the step may take, beside where it was measured: in millionths of the
 * width. */
static void set_range(const struct report_facts *facts, struct report_scope *tile) {
  int64_t value = report_facts_step_time(facts, SIMULATED), measured = report_facts_step_time(facts, MEASURED);
  struct report_range range = facts->step_range;
  if (!facts->edited || !report_range_known(range) || value == LUMOS_ABSENT) {
    return;
  }
  struct report_scope *item = report_section_item(tile, "range");
  int64_t from = range.low < value ? range.low : value, until = range.high > value ? range.high : value;
  from = measured != LUMOS_ABSENT && measured < from ? measured : from;
  until = measured != LUMOS_ABSENT && measured > until ? measured : until;
  const struct {
    const char *name;
    int64_t time;
  } places[] = {{"low", range.low}, {"high", range.high}, {"value", value}, {"measured", measured}};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    int64_t share = report_share(places[i].time - from, until - from);
    lumos_text_decimal(&text, places[i].time == LUMOS_ABSENT || share == LUMOS_ABSENT ? 0 : share, 6);
    report_set_take(item, places[i].name, &text);
  }
  report_section_if(item, "has_measured", measured != LUMOS_ABSENT);
}

void report_put_step_range(const struct report_facts *facts, bool with_source, struct lumos_text *out) {
  if (report_range_known(facts->step_range)) {
    lumos_text_put(out, "90\xC2\xA0% range ");
    report_put_time_range(out, facts->step_range.low, facts->step_range.high);
    if (with_source && facts->doubt != LUMOS_NO_STRING) {
      const struct lumos_strings *strings = facts->job->strings;
      lumos_text_put(out, ". Largest source of uncertainty: ");
      report_put_cut(out, lumos_string(strings, facts->doubt), lumos_string_length(strings, facts->doubt), 60);
    }
  } else {
    lumos_text_put(out, "range unknown");
  }
}

static void fill_step_tile(const struct report_facts *facts, struct report_scope *scope) {
  enum report_timeline timeline = report_facts_spoken(facts);
  enum report_timeline other = timeline == MEASURED ? SIMULATED : MEASURED;
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  int64_t time = report_facts_step_time(facts, timeline);
  int64_t beside = report_facts_step_time(facts, other);
  if (facts->edited) {
    report_put_time_beside(&figure, time, beside);
    report_put_step_range(facts, beside == LUMOS_ABSENT, &evidence); /* what changes has it otherwise */
  } else {
    report_put_time(&figure, time);
  }
  put_step_range(facts, timeline, &evidence);
  if (beside != LUMOS_ABSENT && !facts->edited) { /* of a change the headline has it */
    lumos_text_put(&evidence, evidence.length > 0 ? ". " : "");
    lumos_text_put(&evidence, timeline == MEASURED ? "Simulated " : "Measured ");
    report_put_time(&evidence, beside);
  }
  const char *label = timeline == MEASURED ? "Step time, measured"
                      : facts->edited      ? "Step time, predicted"
                                           : "Step time, simulated";
  set_range(facts, set_tile(scope, label, "step_time", &figure, &evidence));
}

/* ---- Four figures ---- */

/* Computing, hidden communication included: of a rank's mean step. */
static void fill_compute_tile(const struct report_facts *facts, struct report_scope *scope) {
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct report_row *whole = report_facts_whole(facts, timeline);
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  int64_t time = report_sum(report_row_mean(whole, timeline, FIGURE_EXPOSED_COMPUTE),
                            report_row_mean(whole, timeline, FIGURE_OVERLAPPED));
  report_put_share(&figure, report_share(time, report_row_mean(whole, timeline, FIGURE_STEP_TIME)));
  report_put_time(&evidence, time);
  lumos_text_put(&evidence, lumos_job_weight(facts->job) > 1 ? " of a step, overlap included, averaged over ranks"
                                                             : " of a step, overlap included");
  (void)set_tile(scope, "Computing", "exposed_compute", &figure, &evidence);
}

/* Or why there is none. */
static void fill_mfu_tile(const struct report_content *content, struct report_scope *scope) {
  const struct report_facts *facts = &content->result.facts;
  struct report_mfu mfu = report_mfu(facts, report_facts_spoken(facts));
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  report_put_share(&figure, mfu.share);
  if (mfu.share != LUMOS_ABSENT) {
    lumos_text_put(&evidence,
                   mfu.by_model ? "model FLOPs by the model\xE2\x80\x99s formula" : "model FLOPs from recorded shapes");
  } else if (lumos_job_has_note(content->job, "sim.gpu_unknown")) {
    lumos_text_put(&evidence, "the peak of this GPU is not known; name it with --hardware");
  } else if (report_practice_uses_graphs(&content->result.opportunities.practice)) {
    lumos_text_put(&evidence, "unknown: kernels that CUDA graphs launch have no shapes");
  } else if (lumos_job_has_note(content->job, "sim.flops_unknown")) {
    lumos_text_put(&evidence, "unknown without shapes: record with record_shapes=True");
  } else {
    lumos_text_put(&evidence, "no matrix products or attention were recorded");
  }
  (void)set_tile(scope, "MFU", "mfu", &figure, &evidence);
}

/* Is it CPU time that the change saves? */
static bool is_of_cpus(const struct report_result *result, const struct diagnosis_gain *gain) {
  const char *kind = gain->opportunity == NULL || gain->opportunity->kind == LUMOS_NO_STRING
                         ? ""
                         : lumos_string(result->job->strings, gain->opportunity->kind);
  return strcmp(kind, "cuda_graphs") == 0 || strcmp(kind, "host") == 0;
}

/* What the gain is by; the lines above have the step if they tell of the same gain, and what to do. */
static void put_gain_evidence(const struct report_result *result, const struct diagnosis_gain *gain,
                              struct lumos_text *out) {
  struct diagnosis_gain headline = diagnosis_headline_gain(result);
  bool is_told = diagnosis_same_gain(gain, &headline);
  bool unprofiled = diagnosis_is_slowed(result) && !gain->at_most;
  lumos_text_put(out, unprofiled ? "Of the unprofiled step. " : "");
  if (is_told) {
    diagnosis_put_changing(result, gain, out);
  } else {
    diagnosis_put_step_of(result, gain, out);
  }
  if (!report_range_known(gain->range)) {
    lumos_text_put(out, gain->at_most ? "; not simulated" : "; its error is unknown");
  } else if (is_told) {
    lumos_text_put(out, "; 90\xC2\xA0% range of the step ");
    report_put_time_range(out, gain->range.low, gain->range.high);
  }
  if (report_range_known(gain->range) && gain->range.high >= diagnosis_gain_base(result)) {
    lumos_text_put(out, ", so it may gain nothing");
  }
  if (is_of_cpus(result, gain) && result->diagnosis.limit == LUMOS_LIMIT_PROFILER) {
    lumos_text_put(out, "; some of it may be the profiler\xE2\x80\x99s own time");
  }
  int64_t spread = result->facts.step_spread;
  if (spread != LUMOS_ABSENT && llabs(spread) > gain->share) {
    lumos_text_put(out, "; similar steps differ by more");
  }
  if (!is_told && gain->opportunity != NULL) {
    lumos_text_put(out, ". ");
    (gain->is_change ? report_put_improvement_action : report_put_opportunity_action)(&result->opportunities,
                                                                                      gain->opportunity, out);
  }
}

/* No tile where nobody looked for any. Under poor confidence nothing is predicted. */
static void fill_gain_tile(const struct report_result *result, struct report_scope *scope) {
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  struct diagnosis_gain gain = diagnosis_best_gain(result);
  if (gain.share != LUMOS_ABSENT) {
    lumos_text_put(&figure, gain.at_most ? "up to " : "");
    report_put_share(&figure, diagnosis_told_share(result, &gain));
    put_gain_evidence(result, &gain, &evidence);
  } else if (result->opportunities.list.count == 0 && !result->opportunities.none) {
    return;
  } else if (diagnosis_predicts(&result->diagnosis) && diagnosis_is_slowed(result)) {
    report_put_share(&figure, LUMOS_ABSENT);
    lumos_text_put(&evidence, "no change saves more than recording costs");
  } else if (diagnosis_predicts(&result->diagnosis)) {
    report_put_share(&figure, 0);
    lumos_text_put(&evidence, "no kind of work alone shortens the step by 0.5\xC2\xA0%");
  } else {
    report_put_share(&figure, LUMOS_ABSENT);
    lumos_text_put(&evidence, result->diagnosis.confidence == LUMOS_POOR
                                  ? "not predicted, because confidence is poor"
                                  : "not predicted, because most is lost outside the recording");
  }
  (void)set_tile(scope, "Best predicted gain", "best_gain", &figure, &evidence);
}

/* How far to believe all that, in one word and one sentence. */
static void fill_confidence(const struct report_result *result, struct report_scope *scope) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *item = report_section_item(scope, "confidence");
  report_set_text(item, "grade", lumos_confidence_name(result->diagnosis.confidence));
  diagnosis_put_confidence(result, &text);
  report_set_take(item, "reason", &text);
}

static void fill_sentences(const struct report_content *content, const struct report_result *result,
                           struct report_scope *scope) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_title(content, &text);
  report_set_take(scope, "title", &text);
  report_section_if(scope, "has_title", report_title(content) != NULL);
  report_put_diagnosis(result, &text);
  report_set_take(scope, "diagnosis", &text);
  diagnosis_put_sentence(result, &text);
  report_set_take(scope, "sentence", &text);
  diagnosis_put_remedy(result, &text);
  report_section_if(scope, "has_remedy", text.length > 0);
  report_set_take(scope, "remedy", &text);
}

void report_fill_first_screen(const struct report_content *content, struct report_scope *scope) {
  const struct report_result *result = &content->result;
  fill_sentences(content, result, scope);
  fill_confidence(result, scope);
  fill_step_tile(&content->result.facts, scope);
  if (content->result.facts.has_streams) {
    fill_compute_tile(&content->result.facts, scope);
    fill_mfu_tile(content, scope);
  }
  fill_gain_tile(result, scope);
  diagnosis_fill_details(&content->result.facts, &content->result.diagnosis, scope);
}
