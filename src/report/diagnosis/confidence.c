/* The grade. */
#include "report/diagnosis/confidence.h"

#include "report/text/numbers.h"
#include <stdlib.h>

/* Chosen: what an engineer would still act on, and what not. In millionths; above `fair` it is fair at best, above
 * `poor` it is poor. */
struct rule {
  enum lumos_limit reason;
  int64_t value, fair, poor;
};
enum { RULES = 11 };

static int64_t size(int64_t value) { return value == LUMOS_ABSENT ? LUMOS_ABSENT : llabs(value); }

static int64_t unlaunched(const struct lumos_job *job) {
  struct report_coverage coverage = report_coverage_of(job);
  return coverage.device_tasks > 0
             ? report_share(coverage.device_tasks - report_sum(coverage.launched, 0), coverage.device_tasks)
             : LUMOS_ABSENT;
}

/* The replay error of the mean step, or the worst one where there is no mean. */
static int64_t replay_error(const struct report_facts *facts) {
  return size(facts->mean_error != LUMOS_ABSENT ? facts->mean_error : report_trust(facts, FIGURE_REPLAY_ERROR));
}

/* Then what the profiler takes on threads may be what is blamed. */
static bool blames_cpus(const struct lumos_diagnosis *diagnosis) {
  enum lumos_cause cause = diagnosis->count > 0 ? diagnosis->findings[0].cause : LUMOS_CAUSE_COMPUTE;
  return cause == LUMOS_CAUSE_SLOW_CPU || cause == LUMOS_CAUSE_CPU_BOUND || cause == LUMOS_CAUSE_SYNCHRONIZATION;
}

/* Of two of one grade the one that is further over its limit; but what lies outside the recording is told as the time
 * that is lost to it, which the page draws. */
static bool is_worse(const struct rule *rule, enum lumos_confidence grade, const struct rule *than,
                     enum lumos_confidence other) {
  if (rule->reason == LUMOS_LIMIT_BOUNDARY && than->reason == LUMOS_LIMIT_NOT_RECORDED && grade == other) {
    return false;
  }
  return grade != other ? grade < other : (__int128)rule->value * than->fair > (__int128)than->value * rule->fair;
}

/* Whoever made the change has noted that nothing follows from it where waiting is not known. */
static bool is_untied(const struct lumos_job *job) {
  return report_has_note(job, "transform.untied_communication") || report_has_note(job, "transform.untied_threads");
}

void diagnosis_judge(const struct diagnosis_figures *figures, struct lumos_diagnosis *diagnosis) {
  const struct report_facts *facts = figures->facts;
  diagnosis->confidence = LUMOS_CONFIDENCE_UNKNOWN;
  diagnosis->limit = LUMOS_LIMIT_NOTHING_MEASURED;
  diagnosis->limit_share = LUMOS_ABSENT;
  if (diagnosis->step_time == LUMOS_ABSENT || (!facts->edited && replay_error(facts) == LUMOS_ABSENT)) {
    return;
  }
  const struct report_row *whole = report_facts_whole(facts, figures->timeline);
  const struct rule rules[RULES] = {
      {LUMOS_LIMIT_REPLAY, replay_error(facts), 10000, 50000},
      {LUMOS_LIMIT_REBUILD, size(facts->rebuild_error), 10000, 50000},
      {LUMOS_LIMIT_CROSS_STEP, size(facts->transplant_error), 30000, 100000},
      {LUMOS_LIMIT_NOT_RECORDED, report_row_share(facts, whole, figures->timeline, FIGURE_NOT_RECORDED), 50000, 250000},
      {LUMOS_LIMIT_BOUNDARY, report_trust(facts, FIGURE_BOUNDARY), 50000, 250000},
      {LUMOS_LIMIT_UNEXPLAINED, report_trust(facts, FIGURE_UNEXPLAINED_LAG), 20000, 100000},
      {LUMOS_LIMIT_UNSPLIT, report_row_share(facts, whole, figures->timeline, FIGURE_COMMUNICATION_UNSPLIT), 50000,
       250000},
      {LUMOS_LIMIT_VARIATION, size(facts->step_spread), 100000, 500000},
      {LUMOS_LIMIT_CPU_UNKNOWN, report_trust(facts, FIGURE_HOST_UNKNOWN), 100000,
       blames_cpus(diagnosis) ? 500000 : 1000000},
      {LUMOS_LIMIT_PROFILER, blames_cpus(diagnosis) ? report_trust(facts, FIGURE_PROFILER_TIME) : LUMOS_ABSENT, 100000,
       500000},
      {LUMOS_LIMIT_UNLAUNCHED, unlaunched(figures->job), 250000, 500000},
  };
  const struct rule *worst = NULL;
  diagnosis->confidence = facts->edited ? LUMOS_FAIR : LUMOS_GOOD;
  diagnosis->limit = facts->edited ? LUMOS_LIMIT_CHANGED : LUMOS_LIMIT_NONE;
  diagnosis->limit_share = facts->edited ? size(facts->rebuild_error) : replay_error(facts);
  enum lumos_confidence worst_grade = LUMOS_GOOD;
  for (int i = 0; i < RULES; i++) {
    enum lumos_confidence grade = rules[i].value == LUMOS_ABSENT || rules[i].value <= rules[i].fair ? LUMOS_GOOD
                                  : rules[i].value <= rules[i].poor                                 ? LUMOS_FAIR
                                                                                                    : LUMOS_POOR;
    if (grade < LUMOS_GOOD && (worst == NULL || is_worse(&rules[i], grade, worst, worst_grade))) {
      worst = &rules[i];
      worst_grade = grade;
    }
  }
  if (worst != NULL && worst_grade <= diagnosis->confidence) {
    diagnosis->confidence = worst_grade;
    diagnosis->limit = worst->reason;
    diagnosis->limit_share = worst->value;
  }
  if (diagnosis->confidence > LUMOS_POOR && is_untied(figures->job)) {
    diagnosis->confidence = LUMOS_POOR;
    diagnosis->limit = LUMOS_LIMIT_UNTIED;
    diagnosis->limit_share = LUMOS_ABSENT;
  }
}

const char *lumos_confidence_name(enum lumos_confidence confidence) {
  static const char *const names[] = {"unknown", "poor", "fair", "good"};
  return names[confidence];
}
