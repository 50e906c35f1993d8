/* Sentences. A share is of the step unless it says of what, and equals the time beside it over the step. */
#include "report/diagnosis/words.h"

#include "report/diagnosis/figures.h"
#include "report/diagnosis/gains.h"
#include "report/diagnosis/imbalance.h"
#include "report/diagnosis/remedy.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum {
  MOST_RANKS_NAMED = 4,
  ROUNDED = 10,        /* millionths: sums of shares that differ by less are the same but for rounding */
  WAITS_FOR = 2,       /* a rank waits for the late one if it waits for at least one in so many ns of its delay */
  ALMOST_ALL = 999500, /* millionths: 100 % as printed */
};

/* ---- Small parts ---- */

/* "990 ms (90.5 %)"; of a job that the profiler slows "22.4 ms (81.5 % of the unprofiled step)". */
static void put_cost(const struct report_result *result, int64_t time, struct lumos_text *out) {
  bool slowed = diagnosis_is_slowed(result);
  report_put_time(out, time);
  lumos_text_put(out, " (");
  report_put_share(out, report_share(time, slowed ? result->facts.unprofiled_step : result->diagnosis.step_time));
  lumos_text_put(out, slowed ? " of the unprofiled step)" : ")");
}

/* How many ranks a finding names, those that one stands for included. */
static int64_t count_ranks(const struct report_result *result, const struct lumos_finding *finding) {
  int64_t count = 0;
  for (uint32_t i = 0; i < finding->rank_count; i++) {
    count += lumos_rank_weight(&result->job->ranks.items[finding->ranks[i]]);
  }
  return count;
}

/* "rank 2", "ranks 2, 5 and 7", "8 ranks (2, 5, 7, 9 ...)"; "16 ranks like rank 2" where it stands for them */
static void put_ranks(const struct report_result *result, const struct lumos_finding *finding, struct lumos_text *out) {
  const struct lumos_rank *ranks = result->job->ranks.items;
  uint32_t shown = finding->rank_count < MOST_RANKS_NAMED ? finding->rank_count : MOST_RANKS_NAMED;
  int64_t count = count_ranks(result, finding);
  if (count > finding->rank_count) {
    report_put_counted(out, count, "rank");
    lumos_text_put(out, " like ");
  }
  if (shown < finding->rank_count) {
    lumos_text_format(out, "%s%u ranks (", finding->rank_count == LUMOS_FINDING_RANKS ? "at least " : "",
                      finding->rank_count);
  } else {
    lumos_text_put(out, shown == 1 ? "rank " : "ranks ");
  }
  for (uint32_t i = 0; i < shown; i++) {
    bool last = i + 1 == shown && shown == finding->rank_count;
    lumos_text_put(out, i == 0 ? "" : last ? " and " : ", ");
    lumos_text_format(out, "%d", ranks[finding->ranks[i]].rank);
  }
  lumos_text_put(out, shown < finding->rank_count ? " \xE2\x80\xA6)" : "");
}

/* "the other 7 ranks wait": as many as wait for most of it. */
static void put_waiting_ranks(const struct report_result *result, const struct lumos_finding *finding,
                              struct lumos_text *out) {
  const struct report_facts *facts = &result->facts;
  enum report_timeline timeline = report_facts_spoken(facts);
  int64_t waiting = 0;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    const struct report_row *row = &facts->ranks.items[i];
    int64_t waits = report_sum(report_sum(report_row_mean(row, timeline, FIGURE_COMMUNICATION_WAIT), 0),
                               report_sum(report_row_mean(row, timeline, FIGURE_PIPELINE_BUBBLE), 0));
    bool blamed = false;
    for (uint32_t r = 0; r < finding->rank_count; r++) {
      blamed |= finding->ranks[r] == row->rank;
    }
    if (!blamed && waits != LUMOS_ABSENT && waits >= finding->time / WAITS_FOR) {
      waiting += lumos_rank_weight(&result->job->ranks.items[row->rank]);
    }
  }
  int64_t others = lumos_job_weight(result->job) - count_ranks(result, finding);
  if (waiting == 0) {
    return;
  }
  lumos_text_put(out, ", and ");
  if (waiting == others && others == 1) {
    lumos_text_put(out, "the other rank waits");
  } else {
    lumos_text_put(out, waiting == others ? "the other " : "");
    report_put_counted(out, waiting, "rank");
    lumos_text_put(out, waiting == 1 ? " waits" : " wait");
  }
}

/* ---- Findings ---- */

static bool is_doubtful(const struct report_result *result) { return result->diagnosis.confidence == LUMOS_POOR; }

/* "990 ms late (90.5 %)": what the first rank is late by, of which others may feel less. */
static void put_time_late(const struct report_result *result, const struct lumos_finding *finding,
                          struct lumos_text *out) {
  int64_t late = diagnosis_time_late(finding);
  report_put_time(out, late);
  lumos_text_put(out, " late (");
  report_put_share(out, report_share(late, result->diagnosis.step_time));
  lumos_text_char(out, ')');
}

/* "rank 2's CPU is 990 ms late (90.5 %), and the other 3 ranks wait"; whose: NULL: the rank itself is late. */
static void put_late(const struct report_result *result, const struct lumos_finding *finding, const char *whose,
                     struct lumos_text *out) {
  bool several = count_ranks(result, finding) > 1;
  bool silent = !several && finding->cause == LUMOS_CAUSE_SLOW_CPU && finding->before_op;
  whose = silent ? NULL : whose; /* why it launches nothing was not recorded: whether its CPU is slow is not known */
  if (several) {
    if (whose != NULL) {
      lumos_text_format(out, "the %ss of ", whose);
    }
    put_ranks(result, finding, out);
    lumos_text_put(out, is_doubtful(result) ? " seem up to " : " are up to ");
  } else {
    put_ranks(result, finding, out);
    if (whose != NULL) {
      lumos_text_format(out, "\xE2\x80\x99s %s", whose);
    }
    lumos_text_put(out, is_doubtful(result) ? " seems " : " is ");
  }
  put_time_late(result, finding, out);
  bool all = result->diagnosis.limits[LUMOS_LIMIT_BLAMED_UNKNOWN].size >= ALMOST_ALL;
  lumos_text_put(out, silent && all ? ", as its CPU shows no op or launch meanwhile"
                      : silent      ? ", as its CPU shows no op or launch for most of that time"
                                    : "");
  put_waiting_ranks(result, finding, out);
}

/* ", so stages 0 to 2 idle", and which one is nearly as heavy. */
static void put_idle_stages(const struct lumos_finding *finding, struct lumos_text *out) {
  int32_t others = finding->stages - 1;
  bool at_end = finding->stage == 0 || finding->stage == others; /* so that the others are a range */
  if (finding->idle == others && at_end) {
    int32_t first = finding->stage == 0 ? 1 : 0;
    lumos_text_format(out,
                      others == 1   ? ", so stage %d idles"
                      : others == 2 ? ", so stages %d and %d idle"
                                    : ", so stages %d to %d idle",
                      first, first + others - 1);
  } else if (finding->idle > 0) {
    lumos_text_put(out, finding->idle == others ? ", so the other " : ", so ");
    report_put_counted(out, finding->idle, finding->idle == others ? "stage" : "other stage");
    lumos_text_put(out, finding->idle == 1 ? " idles" : " idle");
  }
  if (finding->next != LUMOS_ABSENT_INT) {
    lumos_text_format(out, " and stage %d is nearly as heavy", finding->next);
  }
}

/* "stage 3 (rank 3) holds the output head, 2.8 times a layer's work, so stages 0 to 2 idle" */
static void put_heavy_stage(const struct report_result *result, const struct lumos_finding *finding,
                            struct lumos_text *out) {
  bool layers = finding->part == LUMOS_PART_LAYER;
  /* What is less than a layer, as where CPUs set the pace and it is launched at once, explains by its being there. */
  bool in_layers = !layers && finding->part_ratio != LUMOS_ABSENT && finding->part_ratio >= 1000000;
  lumos_text_format(out, "stage %d (", finding->stage);
  put_ranks(result, finding, out);
  lumos_text_put(out, in_layers ? ") holds " : ") has ");
  if (!in_layers) {
    diagnosis_put_ratio(finding->ratio, out);
    lumos_text_put(out, " the work of other stages");
  }
  if (finding->part != 0) {
    lumos_text_put(out, in_layers ? "" : ", because it holds ");
    lumos_text_put(out, layers                                  ? "more layers"
                        : finding->part == LUMOS_PART_HEAD      ? "the output head"
                        : finding->part == LUMOS_PART_EMBEDDING ? "the embedding"
                                                                : "more of the optimizer");
  }
  if (in_layers) {
    lumos_text_put(out, ", ");
    diagnosis_put_ratio(finding->part_ratio, out);
    lumos_text_put(out, " a layer\xE2\x80\x99s work");
  }
  put_idle_stages(finding, out);
}

static void put_imbalance(const struct report_result *result, const struct lumos_finding *finding,
                          struct lumos_text *out) {
  put_heavy_stage(result, finding, out);
  lumos_text_put(out, ": the imbalance costs ");
  put_cost(result, finding->time, out);
}

static void put_link(const struct report_result *result, const struct lumos_finding *finding, struct lumos_text *out) {
  lumos_text_put(out, "transfers between ");
  put_ranks(result, finding, out);
  lumos_text_put(out, " take ");
  diagnosis_put_ratio(finding->ratio, out);
  lumos_text_put(out, " as long as the same ones elsewhere, which costs ");
  put_cost(result, finding->time, out);
}

/* The subject of a plain finding, of several GPUs and of one; its cost follows. */
static const struct {
  const char *several, *one; /* NULL: the same */
} subjects[LUMOS_CAUSES] = {
    [LUMOS_CAUSE_COMPUTE] = {"the GPUs compute for ", "the GPU computes for "},
    [LUMOS_CAUSE_BUBBLE] = {"the pipeline bubble costs ", NULL},
    [LUMOS_CAUSE_WAITING] = {"ranks wait for each other by turns for ", NULL},
    [LUMOS_CAUSE_COMMUNICATION] = {"exposed communication takes ", NULL},
    [LUMOS_CAUSE_CPU_BOUND] = {"the GPUs wait for the CPUs to launch work for ",
                               "the GPU waits for the CPU to launch work for "},
    [LUMOS_CAUSE_SYNCHRONIZATION] = {"CPU synchronizations leave the GPUs without work for ",
                                     "CPU synchronizations leave the GPU without work for "},
    [LUMOS_CAUSE_DATA_LOADER] = {"the GPUs wait for the data loader for ", "the GPU waits for the data loader for "},
    [LUMOS_CAUSE_COPIES] = {"exposed copies take ", NULL},
    [LUMOS_CAUSE_IDLE] = {"the GPUs are idle for ", "the GPU is idle for "},
    [LUMOS_CAUSE_NOT_RECORDED] = {"the recording does not show what the GPUs wait for during ",
                                  "the recording does not show what the GPU waits for during "},
    [LUMOS_CAUSE_UNSPLIT] = {"communication with ranks that were not recorded takes ", NULL},
    [LUMOS_CAUSE_PROFILER] = {"GPUs wait for CPUs that the profiler slows for ",
                              "the GPU waits for a CPU that the profiler slows for "},
};

/* Is some exposed communication no transfer? Then the page says how much it is in all. */
static bool waits_exposed(const struct report_result *result) {
  enum report_timeline timeline = report_facts_spoken(&result->facts);
  const struct report_row *whole = report_facts_whole(&result->facts, timeline);
  return report_row_mean(whole, timeline, FIGURE_EXPOSED_COMMUNICATION) >
         report_row_mean(whole, timeline, FIGURE_COMMUNICATION_TRANSFER);
}

static const char *subject_of(const struct report_result *result, enum lumos_cause cause) {
  if (cause == LUMOS_CAUSE_UNSPLIT && diagnosis_has_all_ranks(result->job)) {
    return diagnosis_unmatched;
  }
  if (cause == LUMOS_CAUSE_COMMUNICATION && waits_exposed(result)) {
    return "exposed communication, without waiting, takes ";
  }
  bool one = lumos_job_weight(result->job) == 1 && subjects[cause].one != NULL;
  return one ? subjects[cause].one : subjects[cause].several;
}

static const struct lumos_finding *finding_of(const struct report_result *result, enum lumos_cause cause) {
  for (size_t i = 0; i < result->diagnosis.count; i++) {
    if (result->diagnosis.findings[i].cause == cause) {
      return &result->diagnosis.findings[i];
    }
  }
  return NULL;
}

/* ", and unequal stages cost another 721 us (2.5 %)": both are bubble. */
static void put_rest_of_bubble(const struct report_result *result, struct lumos_text *out) {
  const struct lumos_finding *stage = finding_of(result, LUMOS_CAUSE_IMBALANCE);
  if (stage != NULL) {
    lumos_text_put(out, ", and unequal stages cost another ");
    put_cost(result, stage->time, out);
  }
}

/* ", nor why ranks 7 and 2 are late, by up to 6.12 ms" */
static void put_unknown_ranks(const struct report_result *result, const struct lumos_finding *finding,
                              struct lumos_text *out) {
  if (finding->rank_count > 0) {
    bool one = count_ranks(result, finding) == 1;
    lumos_text_put(out, ", nor why ");
    put_ranks(result, finding, out);
    lumos_text_put(out, one ? " is " : " are up to ");
    report_put_time(out, finding->rank_times[0]);
    lumos_text_put(out, " late");
  }
}

/* ", most of all for rank 7's (62.8 % of the critical path)": of several, the one that most of the path is on. What the
 * path has outside the recording is no CPU's time, and may be on that rank: without it the share is the least that it
 * can be. */
static void put_slowest_cpu(const struct report_result *result, struct lumos_text *out) {
  const struct lumos_job *job = result->job;
  int64_t all = 0, most = 0, outside = 0;
  int32_t slowest = LUMOS_ABSENT_INT;
  int64_t *times = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *times);
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const char *name = lumos_string(job->strings, metric->name);
    uint32_t rank = strcmp(name, "critical_path_rank") == 0 ? lumos_job_rank(job, metric->scope.rank) : LUMOS_NONE;
    if (strcmp(name, "critical_path_kind") == 0 && report_step_counts(&result->facts, metric->scope.step) &&
        strcmp(lumos_string(job->strings, metric->scope.kind), "outside") == 0) {
      outside = report_sum(outside, report_decimal_as(metric->value, 0));
    }
    if (rank != LUMOS_NONE && report_step_counts(&result->facts, metric->scope.step)) {
      int64_t time = report_decimal_as(metric->value, 0);
      times[rank] = report_sum(times[rank], time);
      all = report_sum(all, time);
    }
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    slowest = times[r] > most ? job->ranks.items[r].rank : slowest;
    most = times[r] > most ? times[r] : most;
  }
  free(times);
  if (most - outside > all / 2 && lumos_job_weight(job) > 1) {
    lumos_text_format(out, ", most of all for rank %d\xE2\x80\x99s (", slowest);
    lumos_text_put(out, outside > 0 ? "at least " : "");
    report_put_share(out, report_share(most - outside, all));
    lumos_text_put(out, " of the critical path)");
  }
}

void diagnosis_put_finding(const struct report_result *result, const struct lumos_finding *finding,
                           struct lumos_text *out) {
  switch (finding->cause) {
    case LUMOS_CAUSE_SLOW_CPU:
      put_late(result, finding, "CPU", out);
      return;
    case LUMOS_CAUSE_SLOW_GPU:
      put_late(result, finding, "GPU", out);
      return;
    case LUMOS_CAUSE_UNRECORDED_RANK: /* the recording does not show what of it is */
      put_late(result, finding, NULL, out);
      return;
    case LUMOS_CAUSE_IMBALANCE:
      put_imbalance(result, finding, out);
      return;
    case LUMOS_CAUSE_SLOW_LINK:
      put_link(result, finding, out);
      return;
    default:
      if (finding->cause == LUMOS_CAUSE_DATA_LOADER && finding->rank_count > 0) {
        put_late(result, finding, "data loader", out);
        return;
      }
      if (finding->cause == LUMOS_CAUSE_NOT_RECORDED && finding_of(result, LUMOS_CAUSE_UNRECORDED_RANK) != NULL) {
        lumos_text_put(out, "besides the delay of the late rank, ");
      }
      lumos_text_put(out, subject_of(result, finding->cause));
      put_cost(result, finding->time, out);
      if (finding->cause == LUMOS_CAUSE_BUBBLE && diagnosis_lacks_stages(result->job)) {
        lumos_text_put(out, ", and not all of its stages were recorded");
      } else if (finding->cause == LUMOS_CAUSE_BUBBLE) {
        put_rest_of_bubble(result, out);
      } else if (finding->waiting > 0 && finding->cause == LUMOS_CAUSE_CPU_BOUND) {
        put_slowest_cpu(result, out);
      } else if (finding->cause == LUMOS_CAUSE_NOT_RECORDED) {
        put_unknown_ranks(result, finding, out);
      } else if (finding->cause == LUMOS_CAUSE_CPU_BOUND &&
                 report_facts_whole(&result->facts, SIMULATED)->figures[SIMULATED].of[FIGURE_IDLE_LAUNCH] > 0) {
        lumos_text_put(out, ", launch latency included");
      }
  }
}

/* ---- The sentence ---- */

/* "A step takes 41.8 ms", or "After the change a step takes 38.2 ms instead of 41.8 ms (-8.6 %)". */
static void put_step(const struct report_result *result, struct lumos_text *out) {
  const struct report_facts *facts = &result->facts;
  int64_t time = result->diagnosis.step_time;
  int64_t before = facts->edited ? report_facts_step_time(facts, MEASURED) : LUMOS_ABSENT;
  enum { SAME = 500 }; /* millionths: 0.0 % */
  bool same = before != LUMOS_ABSENT && before > 0 && llabs(report_share(time - before, before)) < SAME;
  bool several = facts->job_all.steps > 1 || facts->steps.count > facts->ranks.count;
  lumos_text_put(out, facts->edited ? "After the change " : "");
  lumos_text_put(out, facts->edited ? (several ? "a step " : "the step ") : (several ? "A step " : "The step "));
  lumos_text_put(out, same ? "still takes " : "takes ");
  if (before == LUMOS_ABSENT || same) {
    report_put_time(out, time);
    lumos_text_put(out, same && report_leaves_measured_out(facts) ? " (without the first step)" : "");
    if (diagnosis_is_slowed(result)) {
      lumos_text_put(out, " with the profiler and ");
      report_put_time_beside(out, facts->unprofiled_step, time);
      lumos_text_put(out, " without it");
    }
    return;
  }
  report_put_time_beside(out, time, before);
  lumos_text_put(out, " instead of ");
  report_put_time_beside(out, before, time);
  lumos_text_put(out, time > before ? " (+" : " (");
  report_put_share(out, report_share(time - before, before));
  lumos_text_put(out, report_leaves_measured_out(facts) ? ", both without the first step)"
                      : report_leaves_out(facts)        ? "; only a first step was recorded)"
                                                        : ")");
}

/* ", 90.3 % of it compute": where nobody is to blame and most of the step is no loss, so that a small overhead is not
 * taken for what the step consists of. */
static void put_mostly_compute(const struct lumos_diagnosis *diagnosis, struct lumos_text *out) {
  enum { MOST = 750000 }; /* millionths of the step */
  for (size_t i = 1; i < diagnosis->count && diagnosis->findings[0].rank_count == 0; i++) {
    if (diagnosis->findings[i].cause == LUMOS_CAUSE_COMPUTE && diagnosis->findings[i].share >= MOST) {
      lumos_text_put(out, ", ");
      report_put_share(out, diagnosis->findings[i].share);
      lumos_text_put(out, " of it compute");
    }
  }
}

/* Of what is not recorded nothing can be said, so that the reader must know where it is much. */
static void put_not_recorded(const struct report_result *result, const struct lumos_finding *first,
                             struct lumos_text *out) {
  int64_t share = result->diagnosis.limits[LUMOS_LIMIT_NOT_RECORDED].size;
  if (first->cause != LUMOS_CAUSE_NOT_RECORDED && share != LUMOS_ABSENT && share >= DIAGNOSIS_LARGE_SHARE) {
    lumos_text_put(out, "; the recording does not show what GPUs wait for during ");
    report_put_share(out, share);
    lumos_text_put(out, " of the step");
    lumos_text_put(out, first->cause == LUMOS_CAUSE_UNRECORDED_RANK ? ", most of that delay included" : "");
  }
}

static bool has_culprit(const struct lumos_finding *finding) {
  return finding->rank_count > 0 && finding->share >= DIAGNOSIS_LARGE_SHARE;
}

/* The second finding has its place in the headline where the first is not recorded, or another rank or stage costs
 * nearly as much. */
static bool is_named_beside(const struct lumos_finding *second, const struct lumos_finding *first) {
  enum { NEARLY = 3, OF = 4 };
  if (first->cause == LUMOS_CAUSE_NOT_RECORDED) {
    return second->cause != LUMOS_CAUSE_COMPUTE && second->share >= DIAGNOSIS_LARGE_SHARE;
  }
  return has_culprit(second) && first->rank_count > 0 && second->time >= first->time / OF * NEARLY;
}

/* ", and no overhead is above 5 %": idle time may be, for it has several causes. */
static void put_no_overhead(const struct report_result *result, struct lumos_text *out) {
  const struct report_facts *facts = &result->facts;
  enum report_timeline timeline = report_facts_spoken(facts);
  int64_t idle = report_row_share(facts, report_facts_whole(facts, timeline), timeline, FIGURE_IDLE);
  if (result->diagnosis.count <= 1) {
    return;
  }
  lumos_text_put(out, ", and no ");
  if (idle >= DIAGNOSIS_LARGE_SHARE) {
    lumos_text_put(out, diagnosis_is_slowed(result) ? "other " : "");
    lumos_text_put(out, lumos_job_weight(result->job) == 1 ? "cause of its idle time (" : "cause of their idle time (");
    report_put_share(out, idle);
    lumos_text_char(out, ')');
  } else {
    lumos_text_put(out, diagnosis_is_slowed(result) ? "other overhead" : "overhead");
  }
  lumos_text_put(out, " is above 5\xC2\xA0%");
}

/* What stages wait for is how long the others' passes take, which may be the CPUs': then a cure of CPU time is no
 * surprise. */
static void put_pace(const struct lumos_diagnosis *diagnosis, const struct lumos_finding *first,
                     struct lumos_text *out) {
  bool of_pipeline = first->cause == LUMOS_CAUSE_BUBBLE || first->cause == LUMOS_CAUSE_IMBALANCE;
  lumos_text_put(out, of_pipeline && diagnosis->cpus_set_pace ? "; CPUs set how long passes take" : "");
}

void diagnosis_put_sentence(const struct report_result *result, struct lumos_text *out) {
  const struct lumos_diagnosis *diagnosis = &result->diagnosis;
  if (diagnosis->step_time == LUMOS_ABSENT) {
    lumos_text_put(out, "The recording holds no complete step.");
    return;
  }
  if (diagnosis->step_time <= 0) {
    lumos_text_put(out, "The recording holds no work whose step is known, so no step can be timed.");
    return;
  }
  put_step(result, out);
  if (diagnosis->count == 0) {
    lumos_text_put(out, " on the CPU; no GPU work was recorded.");
    return;
  }
  const struct lumos_finding *first = &diagnosis->findings[0];
  put_mostly_compute(diagnosis, out);
  lumos_text_put(out, ": ");
  diagnosis_put_finding(result, first, out);
  if (first->cause == LUMOS_CAUSE_COMPUTE) {
    put_no_overhead(result, out);
  } else if (diagnosis->count > 1 && is_named_beside(&diagnosis->findings[1], first)) {
    lumos_text_put(out, "; ");
    diagnosis_put_finding(result, &diagnosis->findings[1], out);
  } else {
    diagnosis_put_next_late(result, out);
  }
  put_not_recorded(result, first, out);
  put_pace(diagnosis, first, out);
  lumos_text_char(out, '.');
}

/* What of idle time that is CPU-bound counts as the cost of synchronizations, beside the time that these take
 * themselves. */
static int64_t stopped_before(const struct report_result *result) {
  const struct report_row *row = report_facts_whole(&result->facts, SIMULATED);
  const struct lumos_finding *finding = finding_of(result, LUMOS_CAUSE_SYNCHRONIZATION);
  int64_t own = report_row_share(&result->facts, row, SIMULATED, FIGURE_IDLE_SYNC);
  return finding != NULL && finding->share > own ? finding->share - (own > 0 ? own : 0) : 0;
}

/* And as data loading. */
static int64_t of_loader(const struct report_result *result) {
  const struct lumos_finding *finding = finding_of(result, LUMOS_CAUSE_DATA_LOADER);
  return finding != NULL && finding->rank_count == 0 ? finding->share : 0;
}

static void put_part(int64_t share, const char *before, const char *after, struct lumos_text *out) {
  if (share > 0) {
    lumos_text_put(out, before);
    report_put_share(out, share);
    lumos_text_put(out, after);
  }
}

/* " The headline's 34.9 % of the step is 38.7 % CPU-bound, 1.8 % launch latency and 13.0 % waiting for other ranks,
 * whose CPUs are behind, less 12.5 % that counts as synchronization and 6.1 % that counts as data loading.": where that
 * is all. */
static void put_parts_of_launching(const struct report_result *result, const struct lumos_finding *finding,
                                   struct lumos_text *out) {
  const struct report_row *whole = report_facts_whole(&result->facts, SIMULATED);
  int64_t host = report_row_share(&result->facts, whole, SIMULATED, FIGURE_IDLE_HOST);
  int64_t launch = report_row_share(&result->facts, whole, SIMULATED, FIGURE_IDLE_LAUNCH);
  int64_t waiting = report_share(finding->waiting, result->diagnosis.step_time);
  int64_t stopped = stopped_before(result), loader = of_loader(result);
  bool adds_up = host > 0 && llabs(host + launch + waiting - stopped - loader - finding->share) <= ROUNDED;
  if (adds_up && (launch > 0 || waiting > 0 || stopped > 0 || loader > 0)) {
    lumos_text_put(out, " The headline\xE2\x80\x99s ");
    report_put_share(out, finding->share);
    lumos_text_put(out, " of the step is ");
    report_put_share(out, host);
    lumos_text_put(out, " CPU-bound");
    put_part(launch, waiting > 0 ? ", " : " and ", " launch latency", out);
    put_part(waiting, " and ", " waiting for other ranks, whose CPUs are behind", out);
    put_part(stopped, ", less ", " that counts as synchronization", out);
    put_part(loader, stopped > 0 ? " and " : ", less ", " that counts as data loading", out);
    lumos_text_char(out, '.');
  } else if (waiting > 0) {
    put_part(waiting, " The headline adds ", " of waiting for other ranks, whose CPUs are behind.", out);
  }
}

/* " On the mean of all ranks the bubble is 24.3 % that the schedule costs and 2.5 % for unequal stages: stage 1 ...":
 * what the findings have of it adds up to what the bars have. */
static void put_parts_of_bubble(const struct report_result *result, struct lumos_text *out) {
  const struct lumos_finding *stage = finding_of(result, LUMOS_CAUSE_IMBALANCE);
  const struct lumos_finding *rest = finding_of(result, LUMOS_CAUSE_BUBBLE);
  if (stage != NULL && rest != NULL) {
    const struct report_facts *facts = &result->facts;
    enum report_timeline timeline = report_facts_spoken(facts);
    int64_t all = report_row_share(facts, report_facts_whole(facts, timeline), timeline, FIGURE_PIPELINE_BUBBLE);
    bool adds_up = all != LUMOS_ABSENT && llabs(all - rest->share - stage->share) <= ROUNDED;
    lumos_text_put(out, " The bubble is a mean over ranks: ");
    if (adds_up) {
      report_put_share(out, all);
      lumos_text_put(out, ", of which ");
    }
    report_put_share(out, rest->share);
    lumos_text_put(out, " is what the schedule costs and ");
    report_put_share(out, stage->share);
    lumos_text_put(out, " what unequal stages cost");
    if (stage != &result->diagnosis.findings[0]) { /* else the headline has it */
      lumos_text_put(out, ", as ");
      put_heavy_stage(result, stage, out);
    }
    bool stays = stage->layers != LUMOS_ABSENT_INT && !diagnosis_moves_layers(stage);
    lumos_text_put(out, stays ? "; moving whole layers would not help" : "");
    lumos_text_char(out, '.');
  } else if (stage != NULL) {
    lumos_text_put(out, " What the imbalance costs is a part of the bubble.");
  }
}

void diagnosis_put_path_link(const struct report_result *result, struct lumos_text *out) {
  const struct lumos_finding *first = result->diagnosis.count > 0 ? &result->diagnosis.findings[0] : NULL;
  if (first == NULL) {
    return;
  }
  if (first->cause == LUMOS_CAUSE_BUBBLE || first->cause == LUMOS_CAUSE_IMBALANCE) {
    lumos_text_put(out, " The bubble in the headline is what other stages wait meanwhile.");
  } else if (first->cause == LUMOS_CAUSE_SLOW_CPU) {
    lumos_text_put(out, " The other ranks compute meanwhile, and then wait for the CPU of ");
    put_ranks(result, first, out);
    lumos_text_char(out, '.');
  }
}

void diagnosis_put_own_delay(const struct report_result *result, struct lumos_text *out) {
  const struct lumos_finding *first = result->diagnosis.count > 0 ? &result->diagnosis.findings[0] : NULL;
  if (first != NULL && (first->cause == LUMOS_CAUSE_IMBALANCE || first->cause == LUMOS_CAUSE_BUBBLE)) {
    put_parts_of_bubble(result, out);
  } else if (first != NULL && first->cause == LUMOS_CAUSE_CPU_BOUND && diagnosis_is_slowed(result)) {
    lumos_text_put(out, " Idle time in the bars contains what the profiler costs; the headline leaves that out.");
  } else if (first != NULL && first->cause == LUMOS_CAUSE_NOT_RECORDED) {
    put_part(report_share(first->waiting, result->diagnosis.step_time), " The headline adds ",
             " of waiting for ranks whose delay was not recorded.", out);
    const struct lumos_finding *second = finding_of(result, LUMOS_CAUSE_CPU_BOUND);
    if (second == first + 1 && is_named_beside(second, first)) {
      put_parts_of_launching(result, second, out);
    }
  } else if (first != NULL && first->cause == LUMOS_CAUSE_SYNCHRONIZATION) {
    put_part(stopped_before(result), " The headline adds ",
             " that is CPU-bound because a synchronization had stopped the CPU before.", out);
  } else if (first != NULL && first->cause == LUMOS_CAUSE_CPU_BOUND) {
    put_parts_of_launching(result, first, out);
  }
  for (size_t i = 0; first != NULL && i < result->diagnosis.count && i < 2; i++) {
    const struct lumos_finding *finding = first + i;
    bool late = finding->cause == LUMOS_CAUSE_SLOW_CPU || finding->cause == LUMOS_CAUSE_SLOW_GPU ||
                finding->cause == LUMOS_CAUSE_UNRECORDED_RANK;
    if (late && finding->rank_count > 0 && (i == 0 || has_culprit(finding))) {
      lumos_text_put(
          out,
          " The delay in the headline is the late rank\xE2\x80\x99s alone; the first bar is the mean of all ranks.");
      return;
    }
  }
}
