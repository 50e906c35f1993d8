/* The grade. */
#include "report/diagnosis/confidence.h"

#include "report/text/numbers.h"
#include <stdlib.h>

enum { NEVER = 1000000 }; /* the whole is no more */

/* Chosen: what an engineer would still act on, and what not. In millionths; above `fair` it is fair at best, above
 * `poor` it is poor. */
static const struct {
  int64_t fair, poor;
} thresholds[LUMOS_LIMITS] = {
    [LUMOS_LIMIT_REPLAY] = {10000, 50000},        [LUMOS_LIMIT_REBUILD] = {10000, 50000},
    [LUMOS_LIMIT_CROSS_STEP] = {30000, 100000},   [LUMOS_LIMIT_NO_GPU] = {0, 500000},
    [LUMOS_LIMIT_NOT_RECORDED] = {50000, 250000}, [LUMOS_LIMIT_BOUNDARY] = {50000, 250000},
    [LUMOS_LIMIT_UNEXPLAINED] = {20000, 100000},  [LUMOS_LIMIT_UNSPLIT] = {50000, 250000},
    [LUMOS_LIMIT_UNJOINED] = {50000, NEVER}, /* unsplit is what of it can be seen in the step */
    [LUMOS_LIMIT_VARIATION] = {100000, 500000},   [LUMOS_LIMIT_BLAMED_UNKNOWN] = {500000, NEVER},
    [LUMOS_LIMIT_CPU_UNKNOWN] = {100000, 500000}, [LUMOS_LIMIT_PROFILER] = {100000, 500000},
    [LUMOS_LIMIT_RECORDING] = {100000, 1000000},  [LUMOS_LIMIT_UNLAUNCHED] = {250000, 500000},
};

static int64_t size(int64_t value) { return value == LUMOS_ABSENT ? LUMOS_ABSENT : llabs(value); }

static int64_t unlaunched(const struct lumos_job *job) {
  struct report_coverage coverage = report_coverage_of(job);
  return coverage.device_tasks > 0
             ? report_share(coverage.device_tasks - report_sum(coverage.launched, 0), coverage.device_tasks)
             : LUMOS_ABSENT;
}

static int64_t without_gpu(const struct lumos_job *job) {
  int64_t without = lumos_job_weight(job);
  uint32_t last = LUMOS_NONE;
  for (size_t i = 0; i < job->lanes.count; i++) { /* in the order of ranks */
    const struct lumos_lane *lane = &job->lanes.items[i];
    if (lane->kind == LUMOS_STREAM && lane->rank != last) {
      without -= lumos_rank_weight(&job->ranks.items[lane->rank]);
      last = lane->rank;
    }
  }
  return report_share(without, lumos_job_weight(job));
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

/* Most of what a rank is late by may be spent where nothing was recorded. */
static int64_t blamed_unknown(const struct lumos_diagnosis *diagnosis) {
  const struct lumos_finding *first = diagnosis->count > 0 ? &diagnosis->findings[0] : NULL;
  bool unknown = first != NULL && first->cause == LUMOS_CAUSE_SLOW_CPU && first->before_op && first->time > 0;
  int64_t time = unknown && first->op_time < first->time ? first->op_time : unknown ? first->time : LUMOS_ABSENT;
  return unknown ? report_share(time, first->time) : LUMOS_ABSENT;
}

/* The size of a limit; LUMOS_ABSENT: it is not known, or does not apply. */
static int64_t size_of(const struct diagnosis_figures *figures, const struct lumos_diagnosis *diagnosis,
                       enum lumos_limit limit) {
  const struct report_facts *facts = figures->facts;
  const struct report_row *whole = report_facts_whole(facts, figures->timeline);
  switch (limit) {
    case LUMOS_LIMIT_REPLAY:
      return replay_error(facts);
    case LUMOS_LIMIT_REBUILD:
      return size(facts->rebuild_error);
    case LUMOS_LIMIT_CROSS_STEP:
      return size(facts->transplant_error);
    case LUMOS_LIMIT_NO_GPU:
      return without_gpu(figures->job);
    case LUMOS_LIMIT_NOT_RECORDED:
      return report_row_share(facts, whole, figures->timeline, FIGURE_NOT_RECORDED);
    case LUMOS_LIMIT_BOUNDARY:
      return report_trust(facts, FIGURE_BOUNDARY);
    case LUMOS_LIMIT_UNEXPLAINED:
      return report_trust(facts, FIGURE_UNEXPLAINED_LAG);
    case LUMOS_LIMIT_UNSPLIT:
      return report_row_share(facts, whole, figures->timeline, FIGURE_COMMUNICATION_UNSPLIT);
    case LUMOS_LIMIT_UNJOINED:
      return report_trust(facts, FIGURE_KEPT_WAIT);
    case LUMOS_LIMIT_VARIATION:
      return size(facts->step_spread);
    case LUMOS_LIMIT_BLAMED_UNKNOWN:
      return blamed_unknown(diagnosis);
    case LUMOS_LIMIT_CPU_UNKNOWN:
      return report_trust(facts, FIGURE_HOST_UNKNOWN);
    case LUMOS_LIMIT_PROFILER:
      return report_trust(facts, FIGURE_PROFILER_TIME);
    case LUMOS_LIMIT_RECORDING:
      return diagnosis_recording_cost(facts) > 0 ? size(facts->profiling_cost) : LUMOS_ABSENT;
    case LUMOS_LIMIT_UNLAUNCHED:
      return unlaunched(figures->job);
    default:
      return LUMOS_ABSENT;
  }
}

enum lumos_confidence diagnosis_grade_of(const struct lumos_limit_size *limit) {
  return limit->size == LUMOS_ABSENT || limit->size <= limit->fair ? LUMOS_GOOD
         : limit->size <= limit->poor                              ? LUMOS_FAIR
                                                                   : LUMOS_POOR;
}

static void read_limits(const struct diagnosis_figures *figures, struct lumos_diagnosis *diagnosis) {
  for (int limit = 0; limit < LUMOS_LIMITS; limit++) {
    bool known = diagnosis->step_time != LUMOS_ABSENT;
    diagnosis->limits[limit] =
        (struct lumos_limit_size){known ? size_of(figures, diagnosis, (enum lumos_limit)limit) : LUMOS_ABSENT,
                                  thresholds[limit].fair, thresholds[limit].poor};
  }
  if (!blames_cpus(diagnosis)) {
    diagnosis->limits[LUMOS_LIMIT_CPU_UNKNOWN].poor = NEVER;
    diagnosis->limits[LUMOS_LIMIT_PROFILER].fair = diagnosis->limits[LUMOS_LIMIT_PROFILER].poor = INT64_MAX;
  }
}

/* What is the same time told in two ways is told as what is lost to it, which the page draws: outside the recording,
 * unsplit, or blamed. */
static bool is_told_by(enum lumos_limit limit, enum lumos_limit other) {
  return (limit == LUMOS_LIMIT_BOUNDARY && other == LUMOS_LIMIT_NOT_RECORDED) ||
         (limit == LUMOS_LIMIT_UNJOINED && other == LUMOS_LIMIT_UNSPLIT) ||
         (limit == LUMOS_LIMIT_PROFILER && other == LUMOS_LIMIT_RECORDING) ||
         (limit == LUMOS_LIMIT_CPU_UNKNOWN && other == LUMOS_LIMIT_BLAMED_UNKNOWN);
}

/* Of two of one grade the one that is further over its limit. */
static bool is_worse(const struct lumos_diagnosis *diagnosis, enum lumos_limit limit, enum lumos_limit than) {
  const struct lumos_limit_size *a = &diagnosis->limits[limit], *b = &diagnosis->limits[than];
  enum lumos_confidence grade = diagnosis_grade_of(a), other = diagnosis_grade_of(b);
  if (grade != other || is_told_by(limit, than)) {
    return grade < other;
  }
  return is_told_by(than, limit) || (__int128)a->size * b->fair > (__int128)b->size * a->fair;
}

static enum lumos_limit worst_limit(const struct lumos_diagnosis *diagnosis) {
  enum lumos_limit worst = LUMOS_LIMIT_NONE;
  for (int limit = 0; limit < LUMOS_LIMITS; limit++) {
    if (diagnosis_grade_of(&diagnosis->limits[limit]) < LUMOS_GOOD &&
        (worst == LUMOS_LIMIT_NONE || is_worse(diagnosis, (enum lumos_limit)limit, worst))) {
      worst = (enum lumos_limit)limit;
    }
  }
  return worst;
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
  read_limits(figures, diagnosis);
  if (diagnosis->step_time == LUMOS_ABSENT || (!facts->edited && replay_error(facts) == LUMOS_ABSENT)) {
    return;
  }
  diagnosis->confidence = facts->edited ? LUMOS_FAIR : LUMOS_GOOD;
  diagnosis->limit = facts->edited ? LUMOS_LIMIT_CHANGED : LUMOS_LIMIT_NONE;
  diagnosis->limit_share = facts->edited ? size(facts->rebuild_error) : replay_error(facts);
  enum lumos_limit worst = worst_limit(diagnosis);
  enum lumos_confidence grade = diagnosis_grade_of(&diagnosis->limits[worst]);
  if (worst != LUMOS_LIMIT_NONE && grade <= diagnosis->confidence) {
    diagnosis->confidence = grade;
    diagnosis->limit = worst;
    diagnosis->limit_share = diagnosis->limits[worst].size;
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
