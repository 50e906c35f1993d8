/* Opportunities read from their metrics, and what they say in words and as a table. */
#include "report/content/opportunities.h"

#include "report/content/advice.h"
#include "report/content/alike.h"
#include "report/content/tables.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include "sim/work.h"
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

enum { MOST = 256 }; /* a stream that names more is no measure of what would help */

/* NULL: there are too many. */
static struct report_opportunity *find(struct report_opportunity_list *list, const struct lumos_scope *scope) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i].kind == scope->kind && list->items[i].group == scope->group) {
      return &list->items[i];
    }
  }
  if (list->count == MOST) {
    return NULL;
  }
  lumos_vector_push(list, ((struct report_opportunity){scope->kind, scope->group, LUMOS_ABSENT, LUMOS_ABSENT, {0, 0}}));
  return &list->items[list->count - 1];
}

/* The simulated time of a step that counts; LUMOS_ABSENT. */
static int64_t step_that_counts(const struct report_facts *facts, int32_t step) {
  for (size_t i = 0; i < facts->job_steps.count; i++) {
    const struct report_row *row = &facts->job_steps.items[i];
    if (row->step == step) {
      return row->left_out ? LUMOS_ABSENT : row->figures[SIMULATED].of[FIGURE_STEP_TIME];
    }
  }
  return LUMOS_ABSENT;
}

/* Sums over the steps, of which means are made when all are read. */
static void add_metric(const struct report_facts *facts, const struct lumos_metric *metric, bool half,
                       struct report_opportunity_list *list) {
  const struct lumos_scope *scope = &metric->scope;
  bool of_one = (scope->kind == LUMOS_NO_STRING) != (scope->group == LUMOS_NO_STRING);
  bool counts = of_one && metric->value.decimals == 0 && metric->value.units != LUMOS_ABSENT &&
                step_that_counts(facts, scope->step) != LUMOS_ABSENT;
  struct report_opportunity *opportunity = counts ? find(list, scope) : NULL;
  if (opportunity != NULL) {
    int64_t *sum = half ? &opportunity->half : &opportunity->free;
    *sum = report_sum(*sum, metric->value.units);
    if (half) {
      report_range_add(&opportunity->range, metric);
    }
  }
}

static int by_gain(const void *left_item, const void *right_item, void *context) {
  const struct lumos_strings *strings = context;
  const struct report_opportunity *left = left_item;
  const struct report_opportunity *right = right_item;
  if (left->half != right->half) { /* one that is not known comes last */
    return left->half == LUMOS_ABSENT || (right->half != LUMOS_ABSENT && left->half > right->half) ? 1 : -1;
  }
  if (left->free != right->free) {
    return left->free < right->free ? -1 : 1;
  }
  int order = strcmp(lumos_string(strings, left->kind), lumos_string(strings, right->kind));
  return order != 0 ? order : strcmp(lumos_string(strings, left->group), lumos_string(strings, right->group));
}

/* Of the sums; then the best comes first. */
static void take_means(struct report_opportunity_list *list, int64_t steps, struct lumos_strings *strings) {
  for (size_t i = 0; i < list->count; i++) {
    struct report_opportunity *item = &list->items[i];
    item->half = item->half == LUMOS_ABSENT ? LUMOS_ABSENT : item->half / steps;
    item->range = report_range_mean(item->range, item->half == LUMOS_ABSENT ? 0 : steps);
    item->free = item->free == LUMOS_ABSENT ? LUMOS_ABSENT : item->free / steps;
  }
  lumos_vector_sort_by(list, by_gain, strings);
}

void report_opportunities_read(const struct report_facts *facts, struct report_opportunities *opportunities) {
  const struct lumos_job *job = facts->job;
  const struct report_row *all = &facts->job_all;
  *opportunities = (struct report_opportunities){.job = job,
                                                 .step = report_row_mean(all, SIMULATED, FIGURE_STEP_TIME),
                                                 .none = lumos_job_has_note(job, "sim.no_opportunity")};
  if (!facts->has_streams) { /* half of the host would be half of the step */
    opportunities->none = false;
    return;
  }
  for (size_t i = 0; i < job->metrics.count && opportunities->step > 0; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const char *name = lumos_string(job->strings, metric->name);
    bool half = strcmp(name, "opportunity_half") == 0;
    if (half || strcmp(name, "opportunity_free") == 0) {
      add_metric(facts, metric, half, &opportunities->list);
    } else if (strcmp(name, "opportunity_change") == 0) {
      add_metric(facts, metric, true, &opportunities->changes);
    }
  }
  take_means(&opportunities->list, all->steps, job->strings);
  take_means(&opportunities->changes, all->steps, job->strings);
  report_practice_read(facts, opportunities->list.count > 0, &opportunities->practice);
}

void report_opportunities_free(struct report_opportunities *opportunities) {
  lumos_vector_free(&opportunities->list);
  lumos_vector_free(&opportunities->changes);
}

int64_t report_opportunity_gain(const struct report_opportunities *opportunities, int64_t time) {
  return time == LUMOS_ABSENT ? LUMOS_ABSENT : report_sum(opportunities->step, -time);
}

int64_t report_opportunity_gain_share(const struct report_opportunities *opportunities, int64_t time) {
  return report_share(report_opportunity_gain(opportunities, time), opportunities->step);
}

struct report_range report_opportunity_gain_range(const struct report_opportunities *opportunities,
                                                  const struct report_opportunity *opportunity) {
  struct report_range range = opportunity->range;
  return report_range_known(range) ? (struct report_range){report_opportunity_gain(opportunities, range.high),
                                                           report_opportunity_gain(opportunities, range.low)}
                                   : range;
}

/* Has any of them a range? */
static bool report_opportunities_have_ranges(const struct report_opportunities *opportunities) {
  bool any = false;
  for (size_t i = 0; i < opportunities->list.count; i++) {
    any |= report_range_known(opportunities->list.items[i].range);
  }
  return any;
}

const struct report_opportunity *report_best_opportunity(const struct report_opportunities *opportunities) {
  const struct report_opportunity *best = opportunities->list.count == 0 ? NULL : &opportunities->list.items[0];
  return best != NULL && report_opportunity_gain(opportunities, best->half) > 0 ? best : NULL;
}

/* ---- Words ---- */

/* A kind of work: its name, and its time in a sentence (NULL: "the time in <name>"). */
struct subject {
  const char *kind, *name, *time;
  enum report_paint paint;
};

static const struct subject subjects[] = {
    {"host", "CPU time", "CPU time", (enum report_paint)LUMOS_OP},
    {"launch", "launch latency", "launch latency", (enum report_paint)LUMOS_LAUNCH},
    {"communication", "all communication", NULL, PAINT_COMMUNICATION},
    {"stragglers", "uneven ranks", "what every rank takes longer than the median of similar ranks", PAINT_WAIT},
    {"gemm", "GEMM kernels", NULL, (enum report_paint)LUMOS_GEMM},
    {"attention", "attention kernels", NULL, (enum report_paint)LUMOS_ATTENTION},
    {"elementwise", "elementwise kernels", NULL, (enum report_paint)LUMOS_ELEMENTWISE},
    {"norm", "normalization kernels", NULL, (enum report_paint)LUMOS_NORM},
    {"reduction", "reduction kernels", NULL, (enum report_paint)LUMOS_REDUCTION},
    {"optimizer", "optimizer kernels", NULL, (enum report_paint)LUMOS_OPTIMIZER},
    {"embedding", "embedding kernels", NULL, (enum report_paint)LUMOS_EMBEDDING},
    {"copy", "copies", NULL, (enum report_paint)LUMOS_COPY},
    {"memset", "memsets", NULL, (enum report_paint)LUMOS_MEMSET},
    {"other", "other GPU work", NULL, (enum report_paint)LUMOS_OTHER_DEVICE},
};

/* NULL: a kind that this version does not know. */
static const struct subject *subject_named(const char *kind) {
  for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
    if (strcmp(kind, subjects[i].kind) == 0) {
      return &subjects[i];
    }
  }
  return NULL;
}

/* NULL: a group, too. */
static const struct subject *subject_of(const struct lumos_job *job, const struct report_opportunity *opportunity) {
  return subject_named(lumos_string(job->strings, opportunity->kind));
}

static const struct lumos_group *group_of(const struct lumos_job *job, lumos_string_id id) {
  for (size_t i = 0; i < job->groups.count; i++) {
    if (job->groups.items[i].id == id) {
      return &job->groups.items[i];
    }
  }
  return NULL;
}

static void put_group(const struct lumos_job *job, lumos_string_id id, struct lumos_text *out) {
  enum { LONGEST_NAME = 60 };
  const struct lumos_group *group = group_of(job, id);
  lumos_text_put(out, "communication of ");
  if (group != NULL && group->role != 0 && group->role != LUMOS_OTHER_ROLE) {
    lumos_text_format(out, "%s group", lumos_role_name((enum lumos_role)group->role));
  } else {
    lumos_text_put(out, "group ");
    report_put_cut(out, lumos_string(job->strings, id), lumos_string_length(job->strings, id), LONGEST_NAME);
    lumos_text_put(out, group != NULL && group->member_count > 0 ? ", ranks" : "");
  }
  if (group != NULL && group->member_count > 0) {
    lumos_text_char(out, ' ');
    report_put_runs(out, job->group_ranks.items + group->member_first, group->member_count);
  }
}

void report_put_opportunity(const struct report_opportunities *opportunities,
                            const struct report_opportunity *opportunity, struct lumos_text *out) {
  const struct lumos_job *job = opportunities->job;
  const struct subject *subject = subject_of(job, opportunity);
  if (opportunity->group != LUMOS_NO_STRING) {
    put_group(job, opportunity->group, out);
  } else if (subject != NULL) {
    lumos_text_put(out, subject->name);
  } else {
    report_put_cut(out, lumos_string(job->strings, opportunity->kind),
                   lumos_string_length(job->strings, opportunity->kind), 60);
  }
}

/* "CPU time", "the time in GEMM kernels" */
static void put_time_of(const struct report_opportunities *opportunities, const struct report_opportunity *opportunity,
                        struct lumos_text *out) {
  const struct subject *subject = subject_of(opportunities->job, opportunity);
  if (subject != NULL && subject->time != NULL) {
    lumos_text_put(out, subject->time);
  } else {
    lumos_text_put(out, "the time in ");
    report_put_opportunity(opportunities, opportunity, out);
  }
}

void report_put_halving_of(const struct report_opportunities *opportunities,
                           const struct report_opportunity *opportunity, struct lumos_text *out) {
  lumos_text_put(out, "halving ");
  put_time_of(opportunities, opportunity, out);
}

/* " cuts the step to 33.0 ms (-21.6 %)" */
static void put_gain(const struct report_opportunities *opportunities, const struct report_opportunity *opportunity,
                     struct lumos_text *out) {
  lumos_text_put(out, " cuts the step to ");
  report_put_time_beside(out, opportunity->half, opportunities->step);
  lumos_text_put(out, " (\xE2\x88\x92");
  report_put_share(out, report_opportunity_gain_share(opportunities, opportunity->half));
  lumos_text_char(out, ')');
}

/* "Halving CPU time cuts the step to 33.0 ms (-21.6 %)" */
static void report_put_halving(const struct report_opportunities *opportunities,
                               const struct report_opportunity *opportunity, struct lumos_text *out) {
  lumos_text_put(out, "Halving ");
  put_time_of(opportunities, opportunity, out);
  put_gain(opportunities, opportunity, out);
}

void report_put_opportunity_action(const struct report_opportunities *opportunities,
                                   const struct report_opportunity *opportunity, struct lumos_text *out) {
  const struct lumos_job *job = opportunities->job;
  if (!report_put_advice(&opportunities->practice, lumos_string(job->strings, opportunity->kind), out)) {
    report_put_group_advice(&opportunities->practice, job, group_of(job, opportunity->group), out);
  }
}

enum report_paint report_paint_of_opportunity(const struct report_opportunities *opportunities,
                                              const struct report_opportunity *opportunity) {
  const struct subject *subject = subject_of(opportunities->job, opportunity);
  return subject == NULL ? PAINT_COMMUNICATION : subject->paint;
}

void report_put_opportunities_finding(const struct report_opportunities *opportunities, struct lumos_text *out) {
  const struct report_opportunity *best = report_best_opportunity(opportunities);
  if (best == NULL) {
    lumos_text_put(out, "No kind of work alone would shorten the step by 0.5\xC2\xA0%");
  } else {
    report_put_halving(opportunities, best, out);
  }
}

static bool is_ranked(const struct report_opportunities *opportunities, const struct lumos_work *work) {
  const char *name = lumos_work_name(work);
  for (size_t i = 0; i < opportunities->list.count; i++) {
    const struct report_opportunity *item = &opportunities->list.items[i];
    if (name == NULL ? item->group == work->group
                     : strcmp(name, lumos_string(opportunities->job->strings, item->kind)) == 0) {
      return true;
    }
  }
  return false;
}

/* "attention kernels, copies, communication of 3 groups"; nothing where all work is ranked. Of stragglers it is not
 * known whether there are any. */
static void put_left_out(const struct report_opportunities *opportunities, struct lumos_text *out) {
  struct lumos_works works = {0};
  int64_t groups = 0;
  bool any = false;
  lumos_find_works(opportunities->job, false, &works);
  for (size_t i = 0; i < works.count; i++) {
    const char *name = lumos_work_name(&works.items[i]);
    bool left_out = !is_ranked(opportunities, &works.items[i]);
    const struct subject *subject = left_out && name != NULL ? subject_named(name) : NULL;
    groups += left_out && name == NULL;
    if (subject != NULL) {
      lumos_text_format(out, "%s%s", any ? ", " : "", subject->name);
      any = true;
    }
  }
  if (groups > 0) {
    lumos_text_put(out, any ? ", communication of " : "communication of ");
    report_put_counted(out, groups, "group");
  }
  lumos_vector_free(&works);
}

void report_put_opportunities_reading(const struct report_opportunities *opportunities, struct lumos_text *out) {
  lumos_text_put(out, "Predicted from a step of ");
  report_put_time(out, opportunities->step);
  lumos_text_put(out, ": the job is simulated again with half of each kind of work, and with none. Gains account for "
                      "other bottlenecks and do not add up. ");
  if (opportunities->list.count > 0) {
    lumos_text_put(out, report_opportunities_have_ranges(opportunities)
                            ? "Lines under bars: 90\xC2\xA0% ranges; an arrow at the left end: it may gain nothing. "
                            : "The error of these predictions is unknown. ");
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_left_out(opportunities, &text);
  if (text.length > 0) {
    lumos_text_put(out, "Under 0.5\xC2\xA0% each: ");
    lumos_text_add(out, text.bytes, text.length);
    lumos_text_char(out, '.');
  }
  lumos_text_free(&text);
}

/* ---- What a kind of work takes ---- */

struct time_sum {
  int64_t time, rank_steps;
  uint32_t rank; /* the last one that has some */
};

/* Where the time of a task goes: indices of opportunities, or LUMOS_NONE. */
struct places {
  uint32_t host, launches, communication, stragglers, kinds[LUMOS_TASK_KINDS];
};

struct times {
  const struct report_facts *facts;
  const struct report_opportunities *opportunities;
  struct places places;
  struct lumos_times *medians; /* with stragglers; else NULL */
  const int64_t *transfers;    /* by task: of its collective; LUMOS_ABSENT */
  struct time_sum *sums;       /* by opportunity */
};

static uint32_t index_of(const struct report_opportunities *opportunities, const char *kind) {
  for (uint32_t i = 0; i < opportunities->list.count; i++) {
    if (strcmp(lumos_string(opportunities->job->strings, opportunities->list.items[i].kind), kind) == 0) {
      return i;
    }
  }
  return LUMOS_NONE;
}

static struct places find_places(const struct report_opportunities *opportunities) {
  struct places places = {index_of(opportunities, "host"),
                          index_of(opportunities, "launch"),
                          index_of(opportunities, "communication"),
                          index_of(opportunities, "stragglers"),
                          {0}};
  for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    const char *name = kind == 0 ? NULL : lumos_task_kind_name((enum lumos_task_kind)kind);
    bool host = kind >= LUMOS_OP;
    places.kinds[kind] = name == NULL || host ? LUMOS_NONE : index_of(opportunities, name);
  }
  return places;
}

static int64_t *find_transfers(const struct lumos_job *job) {
  int64_t *transfers = lumos_allocate((job->tasks.count + 1) * sizeof *transfers);
  for (size_t t = 0; t < job->tasks.count; t++) {
    transfers[t] = LUMOS_ABSENT;
  }
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    for (uint32_t m = 0; m < collective->member_count; m++) {
      transfers[job->members.items[collective->member_first + m]] = collective->transfer;
    }
  }
  return transfers;
}

static int64_t steps_of_rank(const struct report_facts *facts, uint32_t rank) {
  for (size_t i = 0; i < facts->ranks.count; i++) {
    if (facts->ranks.items[i].rank == rank) {
      return facts->ranks.items[i].steps;
    }
  }
  return 0;
}

static void add_time(struct times *times, uint32_t index, uint32_t rank, int64_t time) {
  if (index == LUMOS_NONE || time <= 0) {
    return;
  }
  struct time_sum *sum = &times->sums[index];
  int64_t weight = lumos_rank_weight(&times->facts->job->ranks.items[rank]);
  sum->time = report_sum(sum->time, report_product(time, weight));
  if (sum->rank != rank) { /* tasks are in the order of ranks */
    sum->rank = rank;
    sum->rank_steps = report_sum(sum->rank_steps, report_product(steps_of_rank(times->facts, rank), weight));
  }
}

static void add_communication(struct times *times, uint32_t t, uint32_t rank) {
  const struct lumos_task *task = &times->facts->job->tasks.items[t];
  int64_t transfer = times->transfers[t];
  int64_t own = transfer != LUMOS_ABSENT && transfer < task->dur ? transfer : task->dur;
  lumos_string_id group = lumos_detail_of(times->facts->job, task)->comm.group;
  const struct report_opportunity_list *list = &times->opportunities->list;
  add_time(times, times->places.communication, rank, own);
  for (uint32_t i = 0; i < list->count && group != LUMOS_NO_STRING; i++) {
    if (list->items[i].group == group) {
      add_time(times, i, rank, own);
    }
  }
}

static void add_task(struct times *times, uint32_t t) {
  const struct lumos_job *job = times->facts->job;
  const struct lumos_task *task = &job->tasks.items[t];
  uint32_t rank = lumos_rank_of(job, task);
  struct lumos_times own = lumos_own_times(job, t);
  int64_t more = times->medians == NULL ? 0 : own.dur - times->medians[t].dur + own.lag - times->medians[t].lag;
  add_time(times, times->places.stragglers, rank, more);
  if (!lumos_on_stream(job, task)) {
    add_time(times, times->places.host, rank, task->dur);
    return;
  }
  add_time(times, times->places.launches, rank, lumos_timing_of(job, t)->launch_lag);
  if (lumos_is_communication(task->kind)) {
    add_communication(times, t, rank);
  } else {
    add_time(times, times->places.kinds[task->kind], rank, task->dur);
  }
}

/* Tasks of a step mostly stand together. */
static void add_tasks(struct times *times) {
  const struct lumos_job *job = times->facts->job;
  int32_t step = LUMOS_ABSENT_INT;
  bool counts = false;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].step != step) {
      step = job->tasks.items[t].step;
      counts = step != LUMOS_ABSENT_INT && step_that_counts(times->facts, step) != LUMOS_ABSENT;
    }
    if (counts) {
      add_task(times, t);
    }
  }
}

/* By opportunity: the mean over the steps of the ranks that have some. The caller frees it. */
static struct time_sum *find_times(const struct report_facts *facts, const struct report_opportunities *opportunities) {
  struct time_sum *sums = lumos_allocate_zeroed(opportunities->list.count + 1, sizeof *sums);
  int64_t *transfers = find_transfers(facts->job);
  struct times times = {.facts = facts,
                        .opportunities = opportunities,
                        .places = find_places(opportunities),
                        .transfers = transfers,
                        .sums = sums};
  times.medians = times.places.stragglers == LUMOS_NONE ? NULL : lumos_like_rank_medians(facts->job);
  for (size_t i = 0; i < opportunities->list.count; i++) {
    sums[i].rank = LUMOS_NONE;
  }
  if (opportunities->list.count > 0) {
    add_tasks(&times);
  }
  free(times.medians);
  free(transfers);
  return sums;
}

/* ---- Changes ---- */

/* A change: what it is, in a sentence. */
static const struct improvement {
  const char *kind, *name, *doing;
  enum report_paint paint;
} improvements[] = {
    {"cuda_graphs", "CUDA graphs", "Capturing each pass in a CUDA graph", (enum report_paint)LUMOS_OP},
    {"fused_kernels", "fused elementwise and normalization kernels",
     "Fusing neighboring elementwise and normalization kernels", (enum report_paint)LUMOS_ELEMENTWISE},
    {"fused_launches", "fused elementwise and normalization kernels",
     "Launching neighboring elementwise and normalization kernels as one (their shapes are not recorded, so kernel "
     "time "
     "stays)",
     (enum report_paint)LUMOS_ELEMENTWISE},
    {"faster_network", "a network twice as fast", "Doubling the network\xE2\x80\x99s bandwidth", PAINT_COMMUNICATION},
    {"no_straggler", "slow ranks as fast as similar ranks", "Bringing slow ranks to the speed of similar ranks",
     PAINT_WAIT},
    {"overlapped_gradients", "gradients reduced beside the backward pass",
     "Reducing gradients entirely beside the backward pass", PAINT_COMMUNICATION},
    {"moved_layers", "layers moved between stages", "Moving layers between stages", PAINT_WAIT},
    {"balanced_stages", "stages with the same work", "Giving every stage the same work", PAINT_WAIT},
};

/* NULL: this version does not know it. */
static const struct improvement *improvement_of(const struct report_opportunities *opportunities,
                                                const struct report_opportunity *change) {
  for (size_t i = 0; i < sizeof improvements / sizeof improvements[0]; i++) {
    if (strcmp(lumos_string(opportunities->job->strings, change->kind), improvements[i].kind) == 0) {
      return &improvements[i];
    }
  }
  return NULL;
}

void report_put_improving(const struct report_opportunities *opportunities, const struct report_opportunity *change,
                          struct lumos_text *out) {
  const struct improvement *improvement = improvement_of(opportunities, change);
  bool rest = improvement != NULL && strcmp(improvement->kind, "cuda_graphs") == 0 &&
              report_practice_uses_graphs(&opportunities->practice);
  lumos_text_put(out, improvement == NULL ? "The change"
                      : rest              ? "Capturing the rest of each pass in CUDA graphs"
                                          : improvement->doing);
}

void report_put_improvement(const struct report_opportunities *opportunities, const struct report_opportunity *change,
                            struct lumos_text *out) {
  report_put_improving(opportunities, change, out);
  put_gain(opportunities, change, out);
}

void report_put_improvement_action(const struct report_opportunities *opportunities,
                                   const struct report_opportunity *change, struct lumos_text *out) {
  const char *kind = lumos_string(opportunities->job->strings, change->kind);
  if (!report_put_change_advice(&opportunities->practice, kind, out)) {
    lumos_text_put(out, "A newer version of Lumos says what to do.");
  }
}

enum report_paint report_paint_of_improvement(const struct report_opportunities *opportunities,
                                              const struct report_opportunity *change) {
  const struct improvement *improvement = improvement_of(opportunities, change);
  return improvement == NULL ? PAINT_WAIT : improvement->paint;
}

void report_put_improvement_name(const struct report_opportunities *opportunities,
                                 const struct report_opportunity *change, struct lumos_text *out) {
  const struct improvement *improvement = improvement_of(opportunities, change);
  lumos_text_put(out, improvement == NULL ? "" : improvement->name);
  if (improvement == NULL) {
    report_put_cut(out, lumos_string(opportunities->job->strings, change->kind),
                   lumos_string_length(opportunities->job->strings, change->kind), 60);
  }
}

static void put_improvement_row(const struct report_opportunities *opportunities,
                                const struct report_opportunity *change, struct report_table *table) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_improvement_name(opportunities, change, &text);
  report_table_copy(table, &text);
  lumos_text_free(&text);
  report_table_number(table, change->half);
  report_table_number(table, report_opportunity_gain(opportunities, change->half));
  report_table_number(table, report_opportunity_gain_share(opportunities, change->half));
  report_table_number(table, change->range.low);
  report_table_number(table, change->range.high);
}

void report_improvements_table(const struct report_opportunities *opportunities, struct report_table *table) {
  static const struct report_column columns[] = {
      {"change", "change", NULL, COLUMN_NAME}, {"step", "step with it", "opportunity_change", COLUMN_MS},
      {"gain", "less by", NULL, COLUMN_MS},    {"gain_share", "share", NULL, COLUMN_BAR},
      {"low", "at least", "range", COLUMN_MS}, {"high", "at most", "range", COLUMN_MS},
  };
  report_table_begin(table, "improvements", columns, sizeof columns / sizeof columns[0]);
  table->whole = opportunities->step;
  table->told = true;
  if (opportunities->changes.count > 0) {
    report_put_improvement(opportunities, &opportunities->changes.items[0], &table->finding);
  }
  lumos_text_put(&table->caption, "Shares: of the simulated step, ");
  report_put_time(&table->caption, opportunities->step);
  lumos_text_put(&table->caption, ". Each change is simulated alone; gains do not add up");
  for (size_t i = 0; i < opportunities->changes.count; i++) {
    put_improvement_row(opportunities, &opportunities->changes.items[i], table);
  }
}

/* ---- The table ---- */

static void put_row(const struct report_opportunities *opportunities, const struct report_opportunity *item,
                    const struct time_sum *sum, struct report_table *table) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_opportunity(opportunities, item, &text);
  report_table_copy(table, &text);
  lumos_text_free(&text);
  report_table_number(table, sum->rank_steps > 0 ? sum->time / sum->rank_steps : LUMOS_ABSENT);
  report_table_number(table, item->half);
  report_table_number(table, report_opportunity_gain(opportunities, item->half));
  report_table_number(table, report_opportunity_gain_share(opportunities, item->half));
  report_table_number(table, item->free);
  report_table_number(table, report_opportunity_gain(opportunities, item->free));
  report_table_number(table, report_opportunity_gain_share(opportunities, item->free));
  if (report_opportunities_have_ranges(opportunities)) {
    report_table_number(table, item->range.low);
    report_table_number(table, item->range.high);
  }
}

void report_opportunities_table(const struct report_facts *facts, const struct report_opportunities *opportunities,
                                struct report_table *table) {
  static const struct report_column columns[] = {
      {"work", "kind of work", "kind", COLUMN_NAME},
      {"time", "its time", NULL, COLUMN_MS},
      {"half", "step with half", "opportunity_half", COLUMN_MS},
      {"half_gain", "less by", NULL, COLUMN_MS},
      {"half_gain_share", "share", NULL, COLUMN_BAR},
      {"free", "step without", "opportunity_free", COLUMN_MS},
      {"free_gain", "less by", NULL, COLUMN_MS},
      {"free_gain_share", "share", NULL, COLUMN_SHARE},
      {"half_low", "with half, at least", "range", COLUMN_MS},
      {"half_high", "with half, at most", "range", COLUMN_MS},
  };
  enum { COLUMNS = sizeof columns / sizeof columns[0], OF_RANGES = 2 };
  report_table_begin(table, "opportunities", columns,
                     report_opportunities_have_ranges(opportunities) ? COLUMNS : COLUMNS - OF_RANGES);
  table->whole = opportunities->step;
  table->told = true;
  report_put_opportunities_finding(opportunities, &table->finding);
  lumos_text_put(&table->caption, "Shares: of the simulated step, ");
  report_put_time(&table->caption, opportunities->step);
  lumos_text_put(
      &table->caption,
      ". Its time: what it takes in a step, added up over a rank\xE2\x80\x99s lanes, the mean over the ranks "
      "that have it. Of joined communication only the transfer counts");
  report_put_which_durations(opportunities->job, &table->caption);
  put_left_out(opportunities, &table->rest);
  if (table->rest.length > 0 && opportunities->list.count > 0) {
    lumos_text_put(&table->rest, ": less than 0.5 % each, even if it took no time");
  } else {
    table->rest.length = 0;
  }
  struct time_sum *sums = find_times(facts, opportunities);
  for (size_t i = 0; i < opportunities->list.count; i++) {
    put_row(opportunities, &opportunities->list.items[i], &sums[i], table);
  }
  free(sums);
}
