/* Reading the diagnosis's figures. */
#include "report/diagnosis/figures.h"

#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

static int64_t or_zero(int64_t value) { return value == LUMOS_ABSENT || value < 0 ? 0 : value; }

bool diagnosis_counts_step(const struct diagnosis_figures *figures, int32_t step) {
  const struct report_facts *facts = figures->facts;
  const struct report_rows *rows = facts->job_steps.count > 0 ? &facts->job_steps : &facts->steps;
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->items[i].step == step) {
      return figures->every || !rows->items[i].left_out;
    }
  }
  return false;
}

bool diagnosis_is_spoken(const struct diagnosis_figures *figures, const struct lumos_metric *metric) {
  return (metric->source == LUMOS_METRIC_MEASURED) == (figures->timeline == MEASURED);
}

static int64_t count_steps(const struct report_facts *facts) {
  int64_t most = facts->job_all.steps;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    most = facts->ranks.items[i].steps > most ? facts->ranks.items[i].steps : most;
  }
  return most;
}

/* ---- The mean step ---- */

/* The step of a stream that does not say how the job's own is cut is cut as those of its ranks are. */
static int64_t mean_part(const struct diagnosis_figures *figures, enum report_figure figure) {
  const int64_t *of = report_facts_whole(figures->facts, figures->timeline)->figures[figures->timeline].of;
  int64_t whole = of[FIGURE_STEP_TIME];
  return whole > 0 ? (int64_t)((__int128)or_zero(of[figure]) * figures->step / whole) : 0;
}

/* Of idle time by cause, which only simulations know: in the proportion that they say. */
static void read_idle(struct diagnosis_figures *figures) {
  static const char *const names[] = {"idle_host", "idle_launch", "idle_sync", "idle_dependency", "idle_unexplained"};
  enum { CAUSES = sizeof names / sizeof *names };
  int64_t sums[CAUSES] = {0};
  int64_t all = 0;
  const struct lumos_job *job = figures->job;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->scope.rank != LUMOS_ABSENT_INT || !lumos_scope_is_whole(&metric->scope) ||
        !diagnosis_counts_step(figures, metric->scope.step)) {
      continue;
    }
    for (int cause = 0; cause < CAUSES; cause++) {
      if (strcmp(lumos_string(job->strings, metric->name), names[cause]) == 0) {
        int64_t value = or_zero(report_decimal_as(metric->value, 0));
        sums[cause] = report_sum(sums[cause], value);
        all = report_sum(all, value);
      }
    }
  }
  int64_t idle = mean_part(figures, FIGURE_IDLE);
  int64_t shares[CAUSES];
  for (int cause = 0; cause < CAUSES; cause++) {
    shares[cause] = all > 0 ? (int64_t)((__int128)idle * sums[cause] / all) : 0;
  }
  figures->parts.idle_host = shares[0];
  figures->parts.idle_launch = shares[1];
  figures->parts.idle_sync = shares[2];
  figures->parts.idle_other = idle - shares[0] - shares[1] - shares[2];
}

static void read_parts(struct diagnosis_figures *figures) {
  figures->parts = (struct diagnosis_parts){
      .compute = report_sum(mean_part(figures, FIGURE_EXPOSED_COMPUTE), mean_part(figures, FIGURE_OVERLAPPED)),
      .transfer = mean_part(figures, FIGURE_COMMUNICATION_TRANSFER),
      .wait = mean_part(figures, FIGURE_COMMUNICATION_WAIT),
      .bubble = mean_part(figures, FIGURE_PIPELINE_BUBBLE),
      .unsplit = mean_part(figures, FIGURE_COMMUNICATION_UNSPLIT),
      .copies = mean_part(figures, FIGURE_EXPOSED_COPY),
      .not_recorded = mean_part(figures, FIGURE_NOT_RECORDED),
  };
  read_idle(figures);
}

/* ---- Ranks ---- */

static void read_rank_rows(struct diagnosis_figures *figures) {
  const struct report_facts *facts = figures->facts;
  enum report_timeline timeline = figures->timeline;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    const struct report_row *row = &facts->ranks.items[i];
    struct diagnosis_rank *rank = &figures->ranks[row->rank];
    rank->steps = row->steps;
    rank->step = or_zero(report_row_mean(row, timeline, FIGURE_STEP_TIME));
    rank->compute = report_sum(or_zero(report_row_mean(row, timeline, FIGURE_EXPOSED_COMPUTE)),
                               or_zero(report_row_mean(row, timeline, FIGURE_OVERLAPPED)));
    rank->not_recorded = or_zero(report_row_mean(row, timeline, FIGURE_NOT_RECORDED));
    rank->waits = report_sum(or_zero(report_row_mean(row, timeline, FIGURE_COMMUNICATION_WAIT)),
                             or_zero(report_row_mean(row, timeline, FIGURE_PIPELINE_BUBBLE)));
  }
}

static void add_lateness(struct diagnosis_figures *figures, const struct lumos_metric *metric) {
  const struct lumos_job *job = figures->job;
  const char *name = lumos_string(job->strings, metric->name);
  bool straggler = strcmp(name, "straggler") == 0, last = strcmp(name, "last_arrivals") == 0;
  bool late = strcmp(name, "late_arrival") == 0 && metric->scope.kind != LUMOS_NO_STRING;
  uint32_t index = straggler || late || last ? lumos_job_rank(job, metric->scope.rank) : LUMOS_NONE;
  if (index == LUMOS_NONE || !diagnosis_is_spoken(figures, metric)) {
    return;
  }
  struct diagnosis_rank *rank = &figures->ranks[index];
  rank->straggler |= straggler;
  rank->last |= last && metric->value.units > 0;
  if (!late) {
    return;
  }
  const char *kind = lumos_string(job->strings, metric->scope.kind);
  int64_t value = report_decimal_as(metric->value, 0);
  bool host = strcmp(kind, "host") == 0;
  rank->late_always = report_sum(rank->late_always, host || strcmp(kind, "compute") == 0 ? value : 0);
  rank->late_steps += host; /* of each step there is one of each kind */
  if (diagnosis_counts_step(figures, metric->scope.step)) {
    if (strcmp(kind, "compute") == 0) {
      rank->late_compute = report_sum(rank->late_compute, value);
    } else if (host) {
      rank->late_host = report_sum(rank->late_host, value);
    } else if (strcmp(kind, "unknown") == 0) {
      rank->late_unknown = report_sum(rank->late_unknown, value);
    }
  }
}

static void read_ranks(struct diagnosis_figures *figures) {
  const struct lumos_job *job = figures->job;
  figures->ranks = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *figures->ranks);
  read_rank_rows(figures);
  for (size_t i = 0; i < job->metrics.count; i++) {
    add_lateness(figures, &job->metrics.items[i]);
  }
  for (size_t i = 0; i < job->ranks.count; i++) {
    struct diagnosis_rank *rank = &figures->ranks[i];
    rank->late_compute = rank->steps > 0 ? rank->late_compute / rank->steps : 0;
    rank->late_host = rank->steps > 0 ? rank->late_host / rank->steps : 0;
    rank->late_always = rank->late_steps > 0 ? rank->late_always / rank->late_steps : 0;
    rank->late_unknown = rank->steps > 0 ? rank->late_unknown / rank->steps : 0;
  }
}

int64_t diagnosis_recording_cost(const struct report_facts *facts) {
  int64_t step = facts->edited ? LUMOS_ABSENT : report_facts_step_time(facts, MEASURED);
  bool known = step != LUMOS_ABSENT && facts->unprofiled_step != LUMOS_ABSENT && facts->unprofiled_step > 0;
  return known && step > facts->unprofiled_step ? step - facts->unprofiled_step : 0;
}

bool diagnosis_figures_read(const struct report_facts *facts, struct diagnosis_figures *figures) {
  enum report_timeline timeline = report_facts_spoken(facts);
  *figures = (struct diagnosis_figures){.job = facts->job,
                                        .facts = facts,
                                        .timeline = timeline,
                                        .step = report_facts_step_time(facts, timeline),
                                        .steps = count_steps(facts),
                                        .weight = lumos_job_weight(facts->job)};
  if (figures->step == LUMOS_ABSENT || figures->step <= 0 || figures->steps == 0 || !facts->has_streams) {
    return false;
  }
  read_parts(figures);
  read_ranks(figures);
  return true;
}

void diagnosis_figures_free(struct diagnosis_figures *figures) { free(figures->ranks); }
