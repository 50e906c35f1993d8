/* The grade. */
#include "report/diagnosis/confidence.h"

#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum {
  NEVER = 1000000,    /* the whole is no more */
  LEAST_GAIN_OF = 20, /* of which the step is so many: less is no advice to rest on */
};

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

/* Is the change that saves most, where that is much, one of what CPUs launch? */
static bool best_change_is_of_launches(const struct diagnosis_figures *figures) {
  static const char *const kinds[] = {
      "cuda_graphs",  "fused_kernels", "fused_launches",       "faster_network", /* of launches first */
      "no_straggler", "moved_layers",  "overlapped_gradients", "balanced_stages"};
  enum { KINDS = sizeof kinds / sizeof kinds[0], OF_LAUNCHES = 3 };
  const struct lumos_job *job = figures->job;
  int64_t times[KINDS] = {0}, steps[KINDS] = {0};
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    bool counts = metric->scope.kind != LUMOS_NO_STRING &&
                  strcmp(lumos_string(job->strings, metric->name), "opportunity_change") == 0 &&
                  diagnosis_counts_step(figures, metric->scope.step);
    for (int k = 0; counts && k < KINDS; k++) {
      if (strcmp(lumos_string(job->strings, metric->scope.kind), kinds[k]) == 0) {
        times[k] = report_sum(times[k], report_decimal_as(metric->value, 0));
        steps[k]++;
      }
    }
  }
  int64_t least = figures->step - figures->step / LEAST_GAIN_OF;
  int best = KINDS;
  for (int k = 0; k < KINDS; k++) {
    if (steps[k] > 0 && steps[k] == figures->steps && times[k] / steps[k] < least) {
      least = times[k] / steps[k];
      best = k;
    }
  }
  return best < OF_LAUNCHES;
}

/* Then what the profiler takes on threads may be what is blamed, or what a change is said to save. */
static bool rests_on_cpus(const struct diagnosis_figures *figures, const struct lumos_diagnosis *diagnosis) {
  const struct lumos_finding *first = diagnosis->count > 0 ? &diagnosis->findings[0] : NULL;
  if (first == NULL) {
    return false;
  }
  bool late_cpu = first->cause == LUMOS_CAUSE_UNRECORDED_RANK && first->cpu_time >= first->time / 2;
  return late_cpu || best_change_is_of_launches(figures) || first->cause == LUMOS_CAUSE_SLOW_CPU ||
         first->cause == LUMOS_CAUSE_CPU_BOUND || first->cause == LUMOS_CAUSE_SYNCHRONIZATION;
}

/* Most of what a rank is late by may be spent where nothing was recorded. */
static int64_t blamed_unknown(const struct lumos_diagnosis *diagnosis) {
  const struct lumos_finding *first = diagnosis->count > 0 ? &diagnosis->findings[0] : NULL;
  bool unknown = first != NULL && first->cause == LUMOS_CAUSE_SLOW_CPU && first->before_op && first->time > 0;
  int64_t time = unknown && first->op_time < first->time ? first->op_time : unknown ? first->time : LUMOS_ABSENT;
  return unknown ? report_share(time, first->time) : LUMOS_ABSENT;
}

/* What lies outside the recording, waiting for ranks that are late for what lies there included. */
static int64_t not_recorded(const struct diagnosis_figures *figures, const struct lumos_diagnosis *diagnosis) {
  const struct report_row *whole = report_facts_whole(figures->facts, figures->timeline);
  int64_t share = report_row_share(figures->facts, whole, figures->timeline, FIGURE_NOT_RECORDED);
  for (size_t i = 0; i < diagnosis->count; i++) {
    const struct lumos_finding *finding = &diagnosis->findings[i];
    share = finding->cause == LUMOS_CAUSE_NOT_RECORDED && finding->share > share ? finding->share : share;
  }
  return share;
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
      return not_recorded(figures, diagnosis);
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
  if (!rests_on_cpus(figures, diagnosis)) {
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

size_t diagnosis_other_limits(const struct lumos_diagnosis *diagnosis, enum lumos_limit others[LUMOS_LIMITS]) {
  size_t count = 0;
  for (int limit = 0; limit < LUMOS_LIMITS; limit++) {
    bool counts = limit != (int)diagnosis->limit && diagnosis->confidence < LUMOS_GOOD &&
                  diagnosis_grade_of(&diagnosis->limits[limit]) == diagnosis->confidence;
    for (int other = 0; other < LUMOS_LIMITS; other++) {
      counts &= !is_told_by((enum lumos_limit)limit, (enum lumos_limit)other) ||
                diagnosis_grade_of(&diagnosis->limits[other]) > diagnosis->confidence;
    }
    size_t at = count;
    for (; counts && at > 0 && is_worse(diagnosis, (enum lumos_limit)limit, others[at - 1]); at--) {
      others[at] = others[at - 1];
    }
    if (counts) {
      others[at] = (enum lumos_limit)limit;
      count++;
    }
  }
  return count;
}

const char *diagnosis_limit_name(enum lumos_limit limit) {
  static const char *const names[LUMOS_LIMITS] = {
      [LUMOS_LIMIT_REPLAY] = "replay error",
      [LUMOS_LIMIT_REBUILD] = "rebuild error",
      [LUMOS_LIMIT_CROSS_STEP] = "cross-step error",
      [LUMOS_LIMIT_NO_GPU] = "ranks without GPU work",
      [LUMOS_LIMIT_NOT_RECORDED] = "outside the recording",
      [LUMOS_LIMIT_BOUNDARY] = "waiting outside the recording",
      [LUMOS_LIMIT_UNEXPLAINED] = "unexplained delay",
      [LUMOS_LIMIT_UNSPLIT] = "transfer or waiting",
      [LUMOS_LIMIT_UNJOINED] = "unjoined communication",
      [LUMOS_LIMIT_VARIATION] = "step-to-step variation",
      [LUMOS_LIMIT_BLAMED_UNKNOWN] = "delay without a recorded op",
      [LUMOS_LIMIT_CPU_UNKNOWN] = "unexplained CPU time",
      [LUMOS_LIMIT_PROFILER] = "profiler overhead",
      [LUMOS_LIMIT_RECORDING] = "recorded steps longer by",
      [LUMOS_LIMIT_UNLAUNCHED] = "without a recorded launch",
  };
  return names[limit];
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
  if (diagnosis->confidence > LUMOS_POOR && lumos_job_is_untied(figures->job)) {
    diagnosis->confidence = LUMOS_POOR;
    diagnosis->limit = LUMOS_LIMIT_UNTIED;
    diagnosis->limit_share = LUMOS_ABSENT;
  }
}

const char *lumos_confidence_name(enum lumos_confidence confidence) {
  static const char *const names[] = {"unknown", "poor", "fair", "good"};
  return names[confidence];
}
