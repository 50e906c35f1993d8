/* Each cure is tried by a change that was simulated, or else by half of a kind of work, or by what the finding
 * costs. */
#include "report/diagnosis/gains.h"

#include "base/ascii.h"
#include "report/content/advice.h"
#include "report/diagnosis/imbalance.h"
#include "report/text/numbers.h"
#include <string.h>

/* What a cure is tried by: a change that was simulated, or else a kind of work with half of its time; both NULL: by
 * what the finding costs, at most. */
static const struct {
  const char *condition; /* of the change, or of all that the finding costs; NULL: no cure is tried so */
  const char *doing;     /* the same as a subject */
  const char *change, *kind;
} cures[LUMOS_CAUSES] = {
    [LUMOS_CAUSE_SLOW_CPU] = {"without that delay", "Removing the late ranks\xE2\x80\x99 delays", "no_straggler", NULL},
    [LUMOS_CAUSE_SLOW_GPU] = {"without that delay", "Removing the late ranks\xE2\x80\x99 delays", "no_straggler", NULL},
    [LUMOS_CAUSE_DATA_LOADER] = {"without that wait", "Removing the wait for data", NULL, NULL},
    [LUMOS_CAUSE_SLOW_LINK] = {"with transfers as fast as elsewhere", "Bringing the slow link to the speed of others",
                               NULL, NULL},
    [LUMOS_CAUSE_IMBALANCE] = {"with the same work on every stage", "Giving every stage the same work",
                               "balanced_stages", NULL},
    [LUMOS_CAUSE_SYNCHRONIZATION] = {"without these gaps", "Removing the gaps that synchronizations leave", NULL, NULL},
    [LUMOS_CAUSE_BUBBLE] = {"without that bubble", "Removing the pipeline bubble", NULL, NULL},
    [LUMOS_CAUSE_WAITING] = {"without that waiting", "Removing the waiting for other ranks", NULL, NULL},
    [LUMOS_CAUSE_COMMUNICATION] = {"with gradients reduced beside the backward pass",
                                   "Reducing gradients beside the backward pass", "overlapped_gradients",
                                   "communication"},
    [LUMOS_CAUSE_CPU_BOUND] = {"with CUDA graphs", "Capturing each pass in a CUDA graph", "cuda_graphs", "host"},
    [LUMOS_CAUSE_COPIES] = {NULL, NULL, NULL, "copy"},
};

bool diagnosis_needs_change(enum lumos_cause cause) {
  return cause == LUMOS_CAUSE_SLOW_CPU || cause == LUMOS_CAUSE_SLOW_GPU;
}

/* NULL: it is not on the list. */
static const struct report_opportunity *named(const struct report_result *result,
                                              const struct report_opportunity_list *list, const char *kind) {
  for (size_t i = 0; kind != NULL && i < list->count; i++) {
    const struct report_opportunity *one = &list->items[i];
    if (one->kind != LUMOS_NO_STRING && strcmp(lumos_string(result->job->strings, one->kind), kind) == 0) {
      return one;
    }
  }
  return NULL;
}

bool diagnosis_predicts(const struct lumos_diagnosis *diagnosis) {
  return diagnosis->count > 0 && diagnosis->confidence != LUMOS_POOR &&
         diagnosis->findings[0].cause != LUMOS_CAUSE_NOT_RECORDED;
}

static const struct diagnosis_gain no_gain = {
    .time = LUMOS_ABSENT, .share = LUMOS_ABSENT, .range = {LUMOS_ABSENT, LUMOS_ABSENT}, .cause = LUMOS_CAUSE_COMPUTE};

/* Of a change, or of half of a kind of work. */
static struct diagnosis_gain simulated_gain(const struct report_result *result, const struct report_opportunity *one,
                                            bool is_change, enum lumos_cause cause) {
  struct diagnosis_gain gain = {.time = one->half,
                                .share = report_opportunity_gain_share(&result->opportunities, one->half),
                                .range = one->range,
                                .is_change = is_change,
                                .cause = cause,
                                .opportunity = one};
  bool may_be_recording = diagnosis_is_slowed(result) && one->half >= result->facts.unprofiled_step;
  return report_opportunity_gain(&result->opportunities, one->half) > 0 && !may_be_recording ? gain : no_gain;
}

bool diagnosis_fusing_is_idle(const struct report_result *result) {
  const struct report_opportunities *all = &result->opportunities;
  bool asked = all->none || all->list.count > 0 || all->changes.count > 0;
  const struct report_opportunity *fused = named(result, &all->changes, "fused_kernels");
  fused = fused != NULL ? fused : named(result, &all->changes, "fused_launches");
  return asked && (fused == NULL || simulated_gain(result, fused, true, LUMOS_CAUSE_COMPUTE).share == LUMOS_ABSENT);
}

bool diagnosis_blames_op(const struct report_result *result, const struct lumos_finding *finding) {
  const struct report_opportunity *graphs = named(result, &result->opportunities.changes, "cuda_graphs");
  int64_t saved = graphs == NULL ? 0 : report_opportunity_gain(&result->opportunities, graphs->half);
  return finding->op != LUMOS_NO_STRING && finding->op_time >= finding->time / 2 && saved < finding->time / 2;
}

struct diagnosis_gain diagnosis_cure(const struct report_result *result) {
  if (!diagnosis_predicts(&result->diagnosis)) {
    return no_gain;
  }
  const struct lumos_finding *first = &result->diagnosis.findings[0];
  if (first->cause == LUMOS_CAUSE_CPU_BOUND && diagnosis_blames_op(result, first)) {
    return no_gain;
  }
  const struct report_opportunity *moved = named(result, &result->opportunities.changes, "moved_layers");
  if (first->cause == LUMOS_CAUSE_IMBALANCE && moved != NULL) { /* just what is said to do */
    return diagnosis_moves_layers(first) ? simulated_gain(result, moved, true, LUMOS_CAUSE_COMPUTE) : no_gain;
  }
  const struct report_opportunity *change = named(result, &result->opportunities.changes, cures[first->cause].change);
  if (change != NULL || diagnosis_needs_change(first->cause)) {
    return change != NULL ? simulated_gain(result, change, true, first->cause) : no_gain;
  }
  if (cures[first->cause].kind != NULL) {
    const struct report_opportunity *one = named(result, &result->opportunities.list, cures[first->cause].kind);
    return one != NULL ? simulated_gain(result, one, false, first->cause) : no_gain;
  }
  if (first->cause == LUMOS_CAUSE_BUBBLE && diagnosis_lacks_stages(result->job)) {
    return no_gain;
  }
  struct diagnosis_gain gain = no_gain;
  gain.time = result->diagnosis.step_time - first->time;
  gain.share = first->share;
  gain.at_most = true;
  gain.cause = first->cause;
  return cures[first->cause].condition != NULL ? gain : no_gain;
}

/* What CPUs take may be the profiler's. */
static const struct report_opportunity *best_opportunity(const struct report_result *result) {
  const struct report_opportunity_list *list = &result->opportunities.list;
  for (size_t i = 0; diagnosis_is_slowed(result) && i < list->count; i++) {
    const char *kind = lumos_string(result->job->strings, list->items[i].kind);
    if (strcmp(kind, "host") != 0 && strcmp(kind, "launch") != 0) {
      return report_opportunity_gain(&result->opportunities, list->items[i].half) > 0 ? &list->items[i] : NULL;
    }
  }
  return report_best_opportunity(&result->opportunities);
}

struct diagnosis_gain diagnosis_best_work(const struct report_result *result) {
  const struct report_opportunity *best = best_opportunity(result);
  return best != NULL && diagnosis_predicts(&result->diagnosis)
             ? simulated_gain(result, best, false, LUMOS_CAUSE_COMPUTE)
             : no_gain;
}

/* Half of a kind of work is no change that anybody can make, unless GEMMs can run in a format that is more than twice
 * as fast, or there is no overhead to remove instead. */
static bool counts_as_change(const struct report_result *result, const struct diagnosis_gain *work) {
  const char *kind = lumos_string(result->job->strings, work->opportunity->kind);
  return result->diagnosis.findings[0].cause == LUMOS_CAUSE_COMPUTE ||
         (strcmp(kind, "gemm") == 0 && report_practice_multiplies_wide(&result->opportunities.practice));
}

/* A bound is no prediction: what was simulated goes before one that is not more than twice as large (chosen). */
static bool outdoes_bound(const struct diagnosis_gain *gain, const struct diagnosis_gain *bound) {
  return !gain->at_most && gain->share >= DIAGNOSIS_LARGE_SHARE && gain->share >= bound->share / 2;
}

struct diagnosis_gain diagnosis_best_gain(const struct report_result *result) {
  const struct report_opportunity_list *changes = &result->opportunities.changes;
  struct diagnosis_gain best = diagnosis_cure(result), work = diagnosis_best_work(result);
  if (changes->count > 0 && diagnosis_predicts(&result->diagnosis)) {
    struct diagnosis_gain change = simulated_gain(result, &changes->items[0], true, LUMOS_CAUSE_COMPUTE);
    best = change.share > best.share || (best.at_most && outdoes_bound(&change, &best)) ? change : best;
  }
  bool of_work = best.share == LUMOS_ABSENT || (work.share > best.share && counts_as_change(result, &work));
  return of_work ? work : best;
}

bool diagnosis_only_computes(const struct report_result *result) {
  return result->diagnosis.count > 0 && result->diagnosis.findings[0].cause == LUMOS_CAUSE_COMPUTE;
}

/* Something else helps at least twice as much, so that it is what to do first; of a cure that was not simulated no more
 * is known than its bound. */
static bool is_outdone(const struct diagnosis_gain *cure, const struct diagnosis_gain *best) {
  return cure->share != LUMOS_ABSENT && best->share >= DIAGNOSIS_LARGE_SHARE &&
         (cure->at_most ? outdoes_bound(best, cure) : best->share / 2 >= cure->share);
}

/* What to do about it is to record more; the best change comes after that. */
bool diagnosis_asks_to_record(const struct report_result *result) {
  return result->diagnosis.count > 0 && result->diagnosis.findings[0].cause == LUMOS_CAUSE_UNSPLIT;
}

struct diagnosis_gain diagnosis_headline_gain(const struct report_result *result) {
  struct diagnosis_gain cure = diagnosis_cure(result), best = diagnosis_best_gain(result);
  bool after = diagnosis_asks_to_record(result) && best.is_change;
  return diagnosis_only_computes(result) || after || is_outdone(&cure, &best) ? best : cure;
}

bool diagnosis_same_gain(const struct diagnosis_gain *gain, const struct diagnosis_gain *other) {
  return gain->share == other->share && gain->opportunity == other->opportunity && gain->time == other->time;
}

int64_t diagnosis_gain_base(const struct report_result *result) {
  return diagnosis_is_slowed(result) ? result->facts.unprofiled_step : result->opportunities.step;
}

int64_t diagnosis_row_gain(const struct report_result *result, int64_t time) {
  int64_t base = diagnosis_gain_base(result);
  return time == LUMOS_ABSENT ? LUMOS_ABSENT : report_share(report_sum(base, -time), base);
}

void diagnosis_put_row_gain(const struct report_result *result, int64_t time, struct lumos_text *out) {
  int64_t share = diagnosis_row_gain(result, time);
  bool slowed = diagnosis_is_slowed(result);
  if (slowed && share <= 0) {
    lumos_text_put(out, "no gain known");
    return;
  }
  lumos_text_put(out, share > 0 ? "\xE2\x88\x92" : "");
  report_put_share(out, share);
}

void diagnosis_put_changing(const struct report_result *result, const struct diagnosis_gain *gain,
                            struct lumos_text *out) {
  size_t start = out->length;
  if (gain->cause != LUMOS_CAUSE_COMPUTE && (gain->is_change || gain->at_most)) {
    bool rest = gain->cause == LUMOS_CAUSE_CPU_BOUND && report_practice_uses_graphs(&result->opportunities.practice);
    const struct lumos_finding *first = &result->diagnosis.findings[0];
    if (diagnosis_needs_change(gain->cause) && first->rank_count == 1) {
      lumos_text_format(out, "Removing rank %d\xE2\x80\x99s delay", result->job->ranks.items[first->ranks[0]].rank);
    } else {
      lumos_text_put(out, rest ? "Capturing the rest of each pass in CUDA graphs" : cures[gain->cause].doing);
    }
  } else {
    (gain->is_change ? report_put_improving : report_put_halving_of)(&result->opportunities, gain->opportunity, out);
  }
  out->bytes[start] = lumos_ascii_upper(out->bytes[start]);
}

int64_t diagnosis_told_share(const struct report_result *result, const struct diagnosis_gain *gain) {
  return gain->at_most || gain->opportunity == NULL ? gain->share : diagnosis_row_gain(result, gain->time);
}

/* "(-21.6 %)", "(-62.6 % of the unprofiled step)" */
static void put_told_share(const struct report_result *result, const struct diagnosis_gain *gain,
                           struct lumos_text *out) {
  lumos_text_put(out, " (\xE2\x88\x92");
  report_put_share(out, diagnosis_told_share(result, gain));
  lumos_text_put(out, diagnosis_is_slowed(result) && !gain->at_most ? " of the unprofiled step)" : ")");
}

void diagnosis_put_gain(const struct report_result *result, const struct diagnosis_gain *gain, struct lumos_text *out) {
  size_t start = out->length;
  int64_t step = gain->at_most ? result->diagnosis.step_time : result->opportunities.step;
  bool whole = gain->is_change || gain->at_most, several = result->facts.job_all.steps > 1;
  if (!whole) {
    report_put_halving_of(&result->opportunities, gain->opportunity, out);
  } else {
    lumos_text_put(out, gain->cause == LUMOS_CAUSE_COMPUTE ? "with that" : cures[gain->cause].condition);
  }
  lumos_text_put(out, !whole ? (several ? " would cut a step to " : " would cut the step to ")
                             : (several ? " a step would take " : " it would take "));
  lumos_text_put(out, gain->at_most ? "at least " : "");
  report_put_time_beside(out, gain->time, step);
  put_told_share(result, gain, out);
  out->bytes[start] = lumos_ascii_upper(out->bytes[start]);
}

void diagnosis_put_step_of(const struct report_result *result, const struct diagnosis_gain *gain,
                           struct lumos_text *out) {
  diagnosis_put_changing(result, gain, out);
  lumos_text_put(out, gain->at_most ? ": a step of at least " : ": a step of ");
  report_put_time_beside(out, gain->time, gain->at_most ? result->diagnosis.step_time : diagnosis_gain_base(result));
  if (report_range_known(gain->range)) {
    lumos_text_put(out, "; 90\xC2\xA0% range ");
    report_put_time_range(out, gain->range.low, gain->range.high);
  }
}
