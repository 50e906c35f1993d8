/* Reading the metrics into rows: a metric is a cell (rank, step, timeline, figure). */
#include "report/content/facts.h"

#include "report/text/numbers.h"
#include "sim/steps.h"
#include <stdlib.h>
#include <string.h>

static const char *const figure_names[FIGURE_COUNT] = {
    [FIGURE_STEP_TIME] = "step_time",
    [FIGURE_HOST_STEP_TIME] = "host_step_time",
    [FIGURE_EXPOSED_COMPUTE] = "exposed_compute",
    [FIGURE_OVERLAPPED] = "overlapped",
    [FIGURE_EXPOSED_COMMUNICATION] = "exposed_communication",
    [FIGURE_COMMUNICATION_TRANSFER] = "communication_transfer",
    [FIGURE_COMMUNICATION_WAIT] = "communication_wait",
    [FIGURE_PIPELINE_BUBBLE] = "pipeline_bubble",
    [FIGURE_COMMUNICATION_UNSPLIT] = "communication_unsplit",
    [FIGURE_EXPOSED_COPY] = "exposed_copy",
    [FIGURE_NOT_RECORDED] = "not_recorded",
    [FIGURE_IDLE] = "idle",
    [FIGURE_IDLE_HOST] = "idle_host",
    [FIGURE_IDLE_SYNC] = "idle_sync",
    [FIGURE_IDLE_LAUNCH] = "idle_launch",
    [FIGURE_IDLE_DEPENDENCY] = "idle_dependency",
    [FIGURE_IDLE_UNEXPLAINED] = "idle_unexplained",
    [FIGURE_GPU_BUSY] = "gpu_busy",
    [FIGURE_UNEXPLAINED_LAG] = "unexplained_lag",
    [FIGURE_BOUNDARY] = "boundary",
    [FIGURE_RESOURCE_WAIT] = "resource_wait",
    [FIGURE_KEPT_WAIT] = "kept_wait",
    [FIGURE_HOST_GAP] = "host_gap",
    [FIGURE_HOST_UNKNOWN] = "host_unknown",
    [FIGURE_PROFILER_TIME] = "profiler_time",
    [FIGURE_REPLAY_ERROR] = "replay_error",
    [FIGURE_HOST_REPLAY_ERROR] = "host_replay_error",
    [FIGURE_TRANSPLANT_ERROR] = "transplant_error",
    [FIGURE_STEP_SPREAD] = "step_spread",
    [FIGURE_TRANSPLANT_MATCHED] = "transplant_matched",
};

const char *report_figure_name(enum report_figure figure) { return figure_names[figure]; }

bool report_figure_is_share(enum report_figure figure) { return figure >= FIGURE_REPLAY_ERROR; }

const char *report_timeline_name(enum report_timeline timeline) {
  return timeline == MEASURED ? "measured" : "simulated";
}

struct report_row report_row_empty(uint32_t rank, int32_t step) {
  struct report_row row = {.rank = rank, .step = step};
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    for (int figure = 0; figure < FIGURE_COUNT; figure++) {
      row.figures[timeline].of[figure] = LUMOS_ABSENT;
    }
  }
  return row;
}

/* One metric that the page reads, with its place. */
struct cell {
  uint32_t rank;
  int32_t step;
  enum report_timeline timeline;
  enum report_figure figure;
  int64_t value;
};
LUMOS_VECTOR_TYPE(cells, struct cell);

static bool figure_of(const struct lumos_job *job, lumos_string_id name, enum report_figure *figure) {
  for (int i = 0; i < FIGURE_COUNT; i++) {
    if (strcmp(lumos_string(job->strings, name), figure_names[i]) == 0) {
      *figure = (enum report_figure)i;
      return true;
    }
  }
  return false;
}

int64_t report_decimal_as(struct lumos_decimal value, int decimals) {
  int64_t units = value.units;
  for (int have = value.decimals; have > decimals; have--) {
    units /= 10;
  }
  for (int have = value.decimals; have < decimals; have++) {
    if (__builtin_mul_overflow(units, 10, &units)) {
      return LUMOS_ABSENT;
    }
  }
  return units;
}

void report_range_add(struct report_range *sum, const struct lumos_metric *metric) {
  int64_t low = metric->low.units == LUMOS_ABSENT ? LUMOS_ABSENT : report_decimal_as(metric->low, 0);
  int64_t high = metric->high.units == LUMOS_ABSENT ? LUMOS_ABSENT : report_decimal_as(metric->high, 0);
  bool known = report_range_known(*sum) && low != LUMOS_ABSENT && high != LUMOS_ABSENT && low <= high;
  *sum = known ? (struct report_range){report_sum(sum->low, low), report_sum(sum->high, high)}
               : (struct report_range){LUMOS_ABSENT, LUMOS_ABSENT};
}

struct report_range report_range_mean(struct report_range sum, int64_t count) {
  bool known = report_range_known(sum) && count > 0;
  return known ? (struct report_range){sum.low / count, sum.high / count}
               : (struct report_range){LUMOS_ABSENT, LUMOS_ABSENT};
}

/* A metric that the page reads; of the rank and step in its scope, both absent for the whole job. */
static bool read_cell(const struct lumos_job *job, const struct lumos_metric *metric, struct cell *cell) {
  const struct lumos_scope *scope = &metric->scope;
  if (!lumos_scope_is_whole(scope) || metric->value.units == LUMOS_ABSENT ||
      !figure_of(job, metric->name, &cell->figure)) {
    return false;
  }
  cell->rank = scope->rank == LUMOS_ABSENT_INT ? LUMOS_NONE : lumos_job_rank(job, scope->rank);
  cell->step = scope->step;
  cell->timeline = metric->source == LUMOS_METRIC_MEASURED ? MEASURED : SIMULATED;
  cell->value = report_decimal_as(metric->value, report_figure_is_share(cell->figure) ? 6 : 0);
  bool lost = scope->rank != LUMOS_ABSENT_INT && cell->rank == LUMOS_NONE;
  return cell->value != LUMOS_ABSENT && !lost;
}

static int compare_cells(const void *left, const void *right) {
  const struct cell *a = left, *b = right;
  if (a->rank != b->rank) {
    return a->rank < b->rank ? -1 : 1; /* the job's own come last */
  }
  return LUMOS_ORDER(a->step, b->step);
}

static void rows_of(const struct cells *cells, struct report_facts *facts) {
  for (size_t first = 0; first < cells->count;) {
    const struct cell *cell = &cells->items[first];
    struct report_row row = report_row_empty(cell->rank, cell->step);
    row.steps = 1;
    for (; first < cells->count && compare_cells(cell, &cells->items[first]) == 0; first++) {
      const struct cell *own = &cells->items[first];
      row.figures[own->timeline].of[own->figure] = own->value;
      row.measured |= own->timeline == MEASURED;
    }
    struct report_rows *rows = cell->rank == LUMOS_NONE ? &facts->job_steps : &facts->steps;
    lumos_vector_push(rows, row);
  }
}

/* Shares do not add up: a sum keeps the worst, the largest error and the least that was matched. */
static int64_t combined(enum report_figure figure, int64_t sum, int64_t value) {
  if (!report_figure_is_share(figure) || sum == LUMOS_ABSENT || value == LUMOS_ABSENT) {
    return report_sum(sum, value);
  }
  bool worse = figure == FIGURE_TRANSPLANT_MATCHED ? value < sum : llabs(value) > llabs(sum);
  return worse ? value : sum;
}

void report_row_add(struct report_row *sum, const struct report_row *row, int64_t weight) {
  sum->steps = report_sum(sum->steps, row->left_out ? 0 : report_product(row->steps, weight));
  sum->measured = report_sum(sum->measured, row->left_out_too ? 0 : report_product(row->measured, weight));
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    bool left_out = timeline == MEASURED ? row->left_out_too : row->left_out;
    for (int figure = 0; figure < FIGURE_COUNT; figure++) {
      int64_t *of = &sum->figures[timeline].of[figure];
      int64_t value = row->figures[timeline].of[figure];
      bool adds_up = !report_figure_is_share((enum report_figure)figure);
      if (!left_out || !adds_up) { /* no step is too special for the worst error */
        *of = combined((enum report_figure)figure, *of, adds_up ? report_product(value, weight) : value);
      }
    }
  }
}

/* The sum of a rank's rows, or with `rank` LUMOS_NONE of all ranks' or of the job's: there a rank counts as often as it
 * stands for one. */
static struct report_row sum_of(const struct lumos_job *job, const struct report_row *rows, size_t count,
                                uint32_t rank) {
  struct report_row sum = report_row_empty(rank, LUMOS_ABSENT_INT);
  for (size_t i = 0; i < count; i++) {
    bool over_ranks = rank == LUMOS_NONE && rows[i].rank != LUMOS_NONE;
    report_row_add(&sum, &rows[i], over_ranks ? lumos_rank_weight(&job->ranks.items[rows[i].rank]) : 1);
  }
  return sum;
}

static bool any_simulated(const struct report_rows *rows) {
  bool any = false;
  for (size_t i = 0; i < rows->count; i++) {
    any |= rows->items[i].figures[SIMULATED].of[FIGURE_STEP_TIME] != LUMOS_ABSENT;
  }
  return any;
}

/* Of the job, or of each rank: steps that a changed job has no more are in no simulated sum, nor the first step where
 * it is left out. The measured first step goes with it, so that like steps are compared. */
static void mark_left_out(struct report_rows *rows, bool edited) {
  bool any = any_simulated(rows);
  for (size_t first = 0, i = 0; first < rows->count; first = i) {
    struct report_row *earliest = NULL, *measured = NULL;
    size_t simulated = 0, of_measured = 0;
    for (i = first; i < rows->count && rows->items[i].rank == rows->items[first].rank; i++) {
      struct report_row *row = &rows->items[i];
      bool has = !any || row->figures[SIMULATED].of[FIGURE_STEP_TIME] != LUMOS_ABSENT;
      bool had = row->figures[MEASURED].of[FIGURE_STEP_TIME] != LUMOS_ABSENT;
      earliest = has && earliest == NULL ? row : earliest;
      measured = had && measured == NULL ? row : measured;
      simulated += has;
      of_measured += had;
      row->steps = has ? row->steps : 0;
    }
    if (lumos_first_step_is_left_out(simulated, edited)) {
      earliest->left_out = true;
      measured = lumos_first_step_is_left_out(of_measured, edited) ? measured : NULL;
      if (measured != NULL) {
        measured->left_out_too = true;
      }
    }
  }
}

/* What the job leaves out its ranks do: those that began to record later have a first step that it counts. */
static void leave_out_of_ranks(struct report_facts *facts) {
  bool any = any_simulated(&facts->steps);
  int32_t simulated = LUMOS_ABSENT_INT, measured = LUMOS_ABSENT_INT; /* steps that are left out */
  for (size_t k = 0; k < facts->job_steps.count; k++) {
    const struct report_row *row = &facts->job_steps.items[k];
    simulated = row->left_out ? row->step : simulated;
    measured = row->left_out_too ? row->step : measured;
  }
  for (size_t i = 0; i < facts->steps.count; i++) {
    struct report_row *row = &facts->steps.items[i];
    row->left_out = row->step == simulated;
    row->left_out_too = row->step == measured;
    row->steps = any && row->figures[SIMULATED].of[FIGURE_STEP_TIME] == LUMOS_ABSENT ? 0 : row->steps;
  }
}

static void choose_steps(struct report_facts *facts) {
  mark_left_out(&facts->job_steps, facts->edited);
  if (facts->job_steps.count == 0) {
    mark_left_out(&facts->steps, facts->edited);
  } else {
    leave_out_of_ranks(facts);
  }
}

static void sum_ranks(struct report_facts *facts) {
  const struct report_rows *steps = &facts->steps;
  for (size_t first = 0, i = 1; i <= steps->count; i++) {
    if (i == steps->count || steps->items[i].rank != steps->items[first].rank) {
      lumos_vector_push(&facts->ranks, sum_of(facts->job, steps->items + first, i - first, steps->items[first].rank));
      first = i;
    }
  }
}

/* A metric of the whole job, in units of 10^-decimals; LUMOS_ABSENT. */
static int64_t whole_job(const struct lumos_job *job, const char *name, int decimals) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const struct lumos_scope *scope = &metric->scope;
    if (scope->rank == LUMOS_ABSENT_INT && scope->step == LUMOS_ABSENT_INT && lumos_scope_is_whole(scope) &&
        metric->value.units != LUMOS_ABSENT && strcmp(lumos_string(job->strings, metric->name), name) == 0) {
      return report_decimal_as(metric->value, decimals);
    }
  }
  return LUMOS_ABSENT;
}

/* Errors that a prediction makes are common to its steps, so the mean's range is the mean of theirs. */
static struct report_range range_of_step(const struct report_facts *facts) {
  const struct lumos_job *job = facts->job;
  struct report_range sum = {0, 0};
  int64_t count = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const struct lumos_scope *scope = &metric->scope;
    bool of_step = scope->rank == LUMOS_ABSENT_INT && scope->step != LUMOS_ABSENT_INT && lumos_scope_is_whole(scope);
    if (of_step && metric->source != LUMOS_METRIC_MEASURED && report_step_counts(facts, scope->step) &&
        strcmp(lumos_string(job->strings, metric->name), "step_time") == 0) {
      report_range_add(&sum, metric);
      count++;
    }
  }
  return report_range_mean(sum, count);
}

/* The largest of the sources that the range is made of. */
static void find_doubt(struct report_facts *facts) {
  const struct lumos_job *job = facts->job;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->scope.name != LUMOS_NO_STRING &&
        strcmp(lumos_string(job->strings, metric->name), "prediction_error") == 0) {
      int64_t share = metric->value.units == LUMOS_ABSENT ? 0 : report_decimal_as(metric->value, 6);
      if (share > facts->doubt_share) {
        facts->doubt = metric->scope.name;
        facts->doubt_share = share;
      }
    }
  }
}

void report_facts_read(const struct lumos_job *job, struct report_facts *facts) {
  *facts = (struct report_facts){.job = job, .edited = lumos_job_edited(job), .mean_error = LUMOS_ABSENT};
  facts->unprofiled_step = whole_job(job, "unprofiled_step_time", 0);
  facts->profiling_cost = whole_job(job, "profiling_cost", 6);
  facts->rebuild_error = whole_job(job, "rebuild_error", 6);
  facts->transplant_error = whole_job(job, "transplant_error", 6);
  facts->step_spread = whole_job(job, "step_spread", 6);
  struct cells cells = {0};
  for (size_t i = 0; i < job->metrics.count; i++) {
    struct cell cell;
    if (!read_cell(job, &job->metrics.items[i], &cell)) {
      continue;
    }
    if (cell.step != LUMOS_ABSENT_INT) {
      lumos_vector_push(&cells, cell);
    } else if (cell.rank == LUMOS_NONE && cell.figure == FIGURE_REPLAY_ERROR) {
      facts->mean_error = cell.value;
    }
  }
  lumos_vector_sort(&cells, compare_cells);
  rows_of(&cells, facts);
  lumos_vector_free(&cells);
  choose_steps(facts);
  sum_ranks(facts);
  facts->all = sum_of(job, facts->steps.items, facts->steps.count, LUMOS_NONE);
  facts->job_all = sum_of(job, facts->job_steps.items, facts->job_steps.count, LUMOS_NONE);
  facts->step_range = range_of_step(facts);
  find_doubt(facts);
  for (size_t i = 0; i < job->lanes.count; i++) {
    facts->has_streams |= job->lanes.items[i].kind == LUMOS_STREAM && job->lanes.items[i].task_count > 0;
  }
}

void report_facts_free(struct report_facts *facts) {
  lumos_vector_free(&facts->steps);
  lumos_vector_free(&facts->ranks);
  lumos_vector_free(&facts->job_steps);
}

enum report_timeline report_facts_spoken(const struct report_facts *facts) {
  bool measured = facts->all.figures[MEASURED].of[FIGURE_STEP_TIME] != LUMOS_ABSENT;
  return measured && !facts->edited ? MEASURED : SIMULATED;
}

const struct report_row *report_facts_whole(const struct report_facts *facts, enum report_timeline timeline) {
  const int64_t *of = facts->job_all.figures[timeline].of;
  return of[FIGURE_STEP_TIME] != LUMOS_ABSENT && of[FIGURE_IDLE] != LUMOS_ABSENT ? &facts->job_all : &facts->all;
}

int64_t report_facts_step_time(const struct report_facts *facts, enum report_timeline timeline) {
  int64_t mean = report_row_mean(&facts->job_all, timeline, FIGURE_STEP_TIME);
  return mean != LUMOS_ABSENT ? mean : report_row_mean(&facts->all, timeline, FIGURE_STEP_TIME);
}

const struct report_rows *report_facts_job_rows(const struct report_facts *facts) {
  return facts->job_steps.count > 0 ? &facts->job_steps : &facts->steps;
}

bool report_leaves_out(const struct report_facts *facts) {
  const struct report_rows *rows = report_facts_job_rows(facts);
  bool any = false;
  for (size_t i = 0; i < rows->count; i++) {
    any |= rows->items[i].left_out;
  }
  return any;
}

bool report_leaves_measured_out(const struct report_facts *facts) {
  const struct report_rows *rows = report_facts_job_rows(facts);
  bool any = false;
  for (size_t i = 0; i < rows->count; i++) {
    any |= rows->items[i].left_out_too;
  }
  return any;
}

static bool differs(const struct report_row *row, enum report_figure figure) {
  enum { VISIBLE = 100 }; /* one part in so many of the step: 9 pixels of a bar as long as it, on the page */
  int64_t measured = report_row_mean(row, MEASURED, figure), simulated = report_row_mean(row, SIMULATED, figure);
  bool drawn = figure != FIGURE_HOST_STEP_TIME && measured != LUMOS_ABSENT && simulated != LUMOS_ABSENT;
  return drawn && llabs(report_sum(simulated, -measured)) > report_row_mean(row, MEASURED, FIGURE_STEP_TIME) / VISIBLE;
}

bool report_facts_differ(const struct report_facts *facts) {
  bool any = facts->edited && facts->all.figures[MEASURED].of[FIGURE_STEP_TIME] != LUMOS_ABSENT;
  for (size_t i = 0; i < facts->ranks.count && !any; i++) {
    for (int figure = 0; figure < FIGURE_UNEXPLAINED_LAG && !any; figure++) { /* step times, and their parts */
      any = differs(&facts->ranks.items[i], (enum report_figure)figure);
    }
  }
  return any;
}

int64_t report_world(const struct lumos_job *job) {
  int32_t world = job->ranks.count > 0 ? job->ranks.items[0].world : LUMOS_ABSENT_INT;
  return world == LUMOS_ABSENT_INT ? LUMOS_ABSENT : world;
}

int64_t report_row_share(const struct report_facts *facts, const struct report_row *row, enum report_timeline timeline,
                         enum report_figure figure) {
  return report_share(report_row_mean(row, timeline, figure), report_facts_step_time(facts, timeline));
}

int64_t report_row_mean(const struct report_row *row, enum report_timeline timeline, enum report_figure figure) {
  int64_t sum = row->figures[timeline].of[figure];
  int64_t steps = timeline == MEASURED ? row->measured : row->steps;
  return sum == LUMOS_ABSENT || steps == 0 ? LUMOS_ABSENT : sum / steps;
}

/* The first place that has the figure: the job's simulated steps, then the ranks', then measured ones. */
static const struct report_figures *carrier(const struct report_facts *facts, enum report_figure figure) {
  const struct report_row *rows[] = {&facts->all, &facts->job_all};
  for (int timeline = TIMELINES - 1; timeline >= 0; timeline--) {
    for (int i = 0; i < 2; i++) {
      if (rows[i]->figures[timeline].of[figure] != LUMOS_ABSENT) {
        return &rows[i]->figures[timeline];
      }
    }
  }
  return NULL;
}

int64_t report_trust(const struct report_facts *facts, enum report_figure figure) {
  const struct report_figures *figures = carrier(facts, figure);
  if (figures == NULL) {
    return LUMOS_ABSENT;
  }
  return report_figure_is_share(figure) ? figures->of[figure]
                                        : report_share(figures->of[figure], figures->of[FIGURE_STEP_TIME]);
}

struct report_coverage report_coverage_of(const struct lumos_job *job) {
  struct report_coverage sum = {LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT};
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_coverage *coverage = &job->ranks.items[i].coverage;
    int64_t weight = lumos_rank_weight(&job->ranks.items[i]);
    sum.device_tasks = report_sum(sum.device_tasks, report_product(coverage->device_tasks, weight));
    sum.launched = report_sum(sum.launched, report_product(coverage->launched, weight));
    sum.collectives = report_sum(sum.collectives, report_product(coverage->collectives, weight));
    sum.joined = report_sum(sum.joined, report_product(coverage->joined, weight));
  }
  return sum;
}

struct report_mfu report_mfu(const struct report_facts *facts, enum report_timeline timeline) {
  enum { MODEL, SHAPES, FROM };
  static const char *const names[FROM] = {[MODEL] = "model", [SHAPES] = "shapes"};
  const struct lumos_job *job = facts->job;
  int64_t sums[FROM] = {0}, counts[FROM] = {0};
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    bool measured = metric->source == LUMOS_METRIC_MEASURED;
    if (measured != (timeline == MEASURED) || metric->scope.rank != LUMOS_ABSENT_INT ||
        strcmp(lumos_string(job->strings, metric->name), "mfu") != 0 ||
        !report_step_counts(facts, metric->scope.step)) {
      continue;
    }
    int64_t value = report_decimal_as(metric->value, 6); /* LUMOS_ABSENT: beyond what a stream may say */
    for (int from = 0; from < FROM; from++) {
      bool is = value != LUMOS_ABSENT && strcmp(lumos_string(job->strings, metric->scope.kind), names[from]) == 0;
      sums[from] = report_sum(sums[from], is ? value : 0);
      counts[from] += is;
    }
  }
  int from = counts[MODEL] > 0 ? MODEL : SHAPES;
  return (struct report_mfu){counts[from] > 0 ? sums[from] / counts[from] : LUMOS_ABSENT, from == MODEL};
}

bool report_step_counts(const struct report_facts *facts, int32_t step) {
  for (size_t i = 0; i < facts->job_steps.count; i++) {
    if (facts->job_steps.items[i].step == step) {
      return !facts->job_steps.items[i].left_out;
    }
  }
  return facts->job_steps.count == 0;
}

int64_t report_rank_steps(const struct report_facts *facts) { return facts->all.steps > 1 ? facts->all.steps : 1; }
