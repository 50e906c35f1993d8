#include "history/words.h"

#include "report/text/names.h"
#include "report/text/numbers.h"
#include <math.h>
#include <string.h>

enum { LONGEST_NAME = 80, LONGEST_PROBLEM = 300 }; /* bytes of a name, of a message */

static const struct {
  const char *words;
  bool is_time, lower_is_worse;
} series_rows[HISTORY_SERIES] = {
    [HISTORY_STEP] = {"Step time", true, false},
    [HISTORY_COMMUNICATION] = {"Exposed communication", true, false},
    [HISTORY_MFU] = {"MFU", false, true},
    [HISTORY_OVERHEAD] = {"Largest overhead", false, false},
};

const char *history_series_words(enum history_series series) { return series_rows[series].words; }

bool history_lower_is_worse(enum history_series series) { return series_rows[series].lower_is_worse; }

const char *history_cause_words(enum lumos_cause cause) {
  static const char *const words[LUMOS_CAUSES] = {
      [LUMOS_CAUSE_COMPUTE] = "none stands out",
      [LUMOS_CAUSE_SLOW_CPU] = "slow CPU",
      [LUMOS_CAUSE_SLOW_GPU] = "slow GPU",
      [LUMOS_CAUSE_UNRECORDED_RANK] = "late rank",
      [LUMOS_CAUSE_DATA_LOADER] = "data loader",
      [LUMOS_CAUSE_SLOW_LINK] = "slow link",
      [LUMOS_CAUSE_IMBALANCE] = "unbalanced stages",
      [LUMOS_CAUSE_BUBBLE] = "pipeline bubble",
      [LUMOS_CAUSE_WAITING] = "waiting for other ranks",
      [LUMOS_CAUSE_COMMUNICATION] = "exposed communication",
      [LUMOS_CAUSE_CPU_BOUND] = "CPU-bound",
      [LUMOS_CAUSE_SYNCHRONIZATION] = "CPU synchronization",
      [LUMOS_CAUSE_COPIES] = "exposed copies",
      [LUMOS_CAUSE_IDLE] = "idle GPUs",
      [LUMOS_CAUSE_NOT_RECORDED] = "outside the recording",
      [LUMOS_CAUSE_UNSPLIT] = "transfer or waiting",
      [LUMOS_CAUSE_PROFILER] = "profiler overhead",
  };
  return cause < LUMOS_CAUSES ? words[cause] : "";
}

int64_t history_whole(enum history_series series, double value) {
  double units = series_rows[series].is_time ? value : value * 1e6;
  return isnan(units)                  ? LUMOS_ABSENT
         : units >= (double)INT64_MAX  ? INT64_MAX
         : units <= -(double)INT64_MAX ? -INT64_MAX
                                       : llround(units);
}

void history_put_value(struct lumos_text *out, enum history_series series, double value) {
  (series_rows[series].is_time ? report_put_time : report_put_share)(out, history_whole(series, value));
}

/* ---- Changes ---- */

static void put_night(struct lumos_text *out, const struct history_job *job, size_t night) {
  const char *name = job->nights[night].name;
  report_put_cut(out, name, strlen(name), LONGEST_NAME);
}

bool history_change_is_worse(enum history_series series, const struct history_change *change) {
  return (change->after > change->before) != history_lower_is_worse(series);
}

void history_put_change(struct lumos_text *out, const struct history_job *job, enum history_series series,
                        const struct history_change *change) {
  lumos_text_format(out, "%s %s from ", history_series_words(series), change->after > change->before ? "rose" : "fell");
  history_put_value(out, series, change->before);
  lumos_text_put(out, " to ");
  history_put_value(out, series, change->after);
  lumos_text_put(out, " on ");
  put_night(out, job, change->at);
}

void history_put_doubt(struct lumos_text *out, const struct history_job *job, enum history_series series,
                       const struct history_change *change) {
  double size = fabs(change->after - change->before);
  bool is_time = series_rows[series].is_time;
  lumos_text_put(out, "The difference is ");
  if (is_time) {
    history_put_value(out, series, size);
    if (change->before > 0 && size / change->before < 1e6) {
      lumos_text_put(out, " (");
      report_put_share(out, llround(size / change->before * 1e6));
      lumos_text_put(out, ")");
    }
    lumos_text_put(out, " \xC2\xB1\xC2\xA0");
    history_put_value(out, series, change->half);
  } else {
    report_put_fixed(out, history_whole(series, size), 4, 2);
    lumos_text_put(out, " \xC2\xB1\xC2\xA0");
    report_put_fixed(out, history_whole(series, change->half), 4, 2);
    lumos_text_put(out, " points");
  }
  lumos_text_put(out, " (95\xC2\xA0% interval). ");
  if (change->first == change->last) {
    lumos_text_put(out, "Its first night is ");
    put_night(out, job, change->at);
  } else {
    lumos_text_put(out, "Its first night is between ");
    put_night(out, job, change->first);
    lumos_text_put(out, " and ");
    put_night(out, job, change->last);
  }
  lumos_text_put(out, " (95\xC2\xA0%). By chance alone: ");
  report_put_fine_share(out, (int64_t)fmax(1, change->chance * 1e6)); /* never nothing */
}

/* ---- Nights ---- */

void history_put_result(struct lumos_text *out, const struct history_night *night) {
  if (night->state != HISTORY_GOOD) {
    lumos_text_put(out, night->cut                       ? "steps may lack work: "
                        : night->state == HISTORY_BROKEN ? "broken report: "
                                                         : "failed: ");
    report_put_cut(out, night->problem, strlen(night->problem), LONGEST_PROBLEM);
  } else if (night->has_gate) {
    lumos_text_put(out, lumos_gate_verdict_name(night->gate));
    if (night->regressed[0] != '\0') {
      lumos_text_put(out, ": ");
      report_put_cut(out, night->regressed, strlen(night->regressed), LONGEST_PROBLEM);
    }
  }
  if (night->failed_again) {
    lumos_text_put(out, night->has_gate ? "; a later run failed: " : "a later run failed: ");
    report_put_cut(out, night->problem, strlen(night->problem), LONGEST_PROBLEM);
  }
}

struct counts {
  int64_t good, broken, failed, missing, changes, gates, regressed_jobs, silent_jobs;
  const struct history_job *regressed, *silent; /* the first of each */
};

static bool ends_in_a_gap(const struct history_job *job) {
  return job->slots.items[job->slots.count - 1].night == HISTORY_MISSING;
}

static struct counts count(const struct lumos_nights *history) {
  struct counts counts = {0};
  for (size_t i = 0; i < history->jobs.count; i++) {
    const struct history_job *job = &history->jobs.items[i];
    const struct history_night *last = &job->nights[job->count - 1];
    for (size_t k = 0; k < job->count; k++) {
      counts.good += job->nights[k].state == HISTORY_GOOD;
      counts.broken += job->nights[k].state == HISTORY_BROKEN;
      counts.failed += job->nights[k].state == HISTORY_FAILED;
    }
    for (int series = 0; series < HISTORY_SERIES; series++) {
      counts.changes += (int64_t)job->trends[series].changes.count;
    }
    counts.missing += job->missing;
    counts.gates += last->has_gate;
    if (last->has_gate && last->gate == LUMOS_GATE_REGRESSION && !ends_in_a_gap(job)) {
      counts.regressed = counts.regressed_jobs++ == 0 ? job : counts.regressed;
    } else if (last->state != HISTORY_GOOD || last->failed_again || ends_in_a_gap(job)) {
      counts.silent = counts.silent_jobs++ == 0 ? job : counts.silent;
    }
  }
  return counts;
}

static void put_job(struct lumos_text *out, const struct history_job *job) {
  report_put_cut(out, job->name, strlen(job->name), LONGEST_NAME);
}

void history_put_verdict(struct lumos_text *out, const struct lumos_nights *history) {
  struct counts counts = count(history);
  if (counts.regressed_jobs == 1) {
    const char *regressed = counts.regressed->nights[counts.regressed->count - 1].regressed;
    put_job(out, counts.regressed);
    lumos_text_put(out, " is worse than its baseline: ");
    report_put_cut(out, regressed, strlen(regressed), LONGEST_PROBLEM);
  } else if (counts.regressed_jobs > 1) {
    report_put_count(out, counts.regressed_jobs);
    lumos_text_put(out, " of ");
    report_put_counted(out, (int64_t)history->jobs.count, "job");
    lumos_text_put(out, " are worse than their baselines");
  } else if (counts.silent_jobs > 0) {
    put_job(out, counts.silent);
    bool again = counts.silent->nights[counts.silent->count - 1].failed_again && !ends_in_a_gap(counts.silent);
    bool cut = counts.silent->nights[counts.silent->count - 1].cut && !ends_in_a_gap(counts.silent);
    lumos_text_put(out, again ? " failed when its last night ran again"
                        : cut ? " has a trace in its last night that is cut or damaged"
                              : " has no report of the last night");
  } else if (counts.gates > 0) {
    lumos_text_put(out,
                   history->jobs.count == 1 ? "No regression in the last night" : "No job regressed in the last night");
  } else {
    report_put_counted(out, (int64_t)history->jobs.count, "job");
    lumos_text_put(out, ", ");
    report_put_counted(out, counts.good, "night");
  }
}

static void put_part(struct lumos_text *out, int64_t count, const char *words) {
  if (count > 0) {
    lumos_text_put(out, ", ");
    report_put_count(out, count);
    lumos_text_put(out, words);
  }
}

void history_put_counts(struct lumos_text *out, const struct lumos_nights *history) {
  struct counts counts = count(history);
  report_put_counted(out, (int64_t)history->jobs.count, "job");
  lumos_text_put(out, ": ");
  report_put_counted(out, counts.good, "night");
  lumos_text_put(out, " with a report");
  put_part(out, counts.broken, " with a broken one");
  put_part(out, counts.failed, " failed");
  put_part(out, counts.missing, " missing");
  lumos_text_put(out, ". ");
  if (counts.changes > 0) {
    report_put_counted(out, counts.changes, "change");
    lumos_text_put(out, " found in their figures.");
  } else {
    lumos_text_put(out, "No change was found in their figures.");
  }
}
