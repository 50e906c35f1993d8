/* Opportunities: the step, simulated again, if a kind of work (work.h) took no time, or half of its time; and with
 * single changes that an engineer can make (improvements.h).
 *
 * An opportunity is a what-if (scaled_work.h): nothing is subtracted, so what another constraint would hold up all the
 * same is no gain. What cannot matter is not simulated:
 *   - The gains of all steps together are how much earlier the last one ends. Its end hangs on a chain of constraints
 *     (path.h), from before the first step on, and without a kind of work that chain still takes what it has of other
 *     work. A kind of which the chain has less than 0.5 % of the steps is left out.
 *   - With half of the work a step takes at least as long as without it. What would bring less than 0.5 % even if it
 *     took no time is left out, too.
 *
 * What is simulated need not be run: the run that finds the chain tells of several jobs at once (retiming.h), of all in
 * which calls keep its order. For the others the engine runs.
 */
#include "sim/opportunity.h"

#include "sim/clock.h"
#include "sim/cured.h"
#include "sim/improvements.h"
#include "sim/opportunity_range.h"
#include "sim/scaled_work.h"

#include "base/parallel.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { LEAST_PART = 200 }; /* one in so many of the steps: 0.5 %. Chosen: less is not worth a change */
/* Each worker holds some 25 bytes a task, and retiming one job at once another 10; of a job that fills the memory as it
 * is there is one. Chosen. */
enum { MOST_WORKERS = 8, MANY_TASKS = 1 << 22 };

static const int64_t factors[] = {0, LUMOS_SCALING_UNIT / 2};
enum { FACTORS = sizeof factors / sizeof *factors };

struct trial { /* a kind of work with a factor, or a change */
  struct lumos_work work;
  int64_t millionths; /* LUMOS_ABSENT: a change */
  enum lumos_improvement change;
  struct lumos_assumed assumed; /* of a change */
  bool useless;                 /* there is nothing to change */
  int64_t *steps;               /* what the job's steps take: one each; NULL: the job cannot go on so */
  bool known;                   /* that was found without the engine */
};
LUMOS_VECTOR_TYPE(trials, struct trial);

struct worker { /* made when it is first needed */
  struct lumos_engine engine;
  struct lumos_run *runs; /* NULL: not made */
};

struct search {
  const struct lumos_job *job;
  const struct lumos_engine *engine;
  const struct lumos_times *medians;
  struct lumos_improvements improvements;
  struct trials changes;         /* that may help */
  struct lumos_stretches ends;   /* for runs of nodes, where the engine has them */
  struct lumos_steps_list steps; /* of the job, as simulated */
  struct lumos_opportunity_range range;
  struct lumos_retiming *retiming;
  struct worker workers[MOST_WORKERS];
  pthread_mutex_t lock; /* of what follows */
  struct trials *trials;
  size_t next;
};

/* ---- runs: those in which the order holds several at once, the others on all cores ---- */

static void keep_steps(struct search *search, struct trial *trial, const struct lumos_run *runs) {
  struct lumos_timeline timeline;
  lumos_timeline_make(&timeline, search->job, runs, &search->ends);
  if (timeline.job.count == search->steps.count) {
    trial->steps = lumos_allocate(timeline.job.count * sizeof *trial->steps);
    for (size_t k = 0; k < timeline.job.count; k++) {
      trial->steps[k] = timeline.job.items[k].end - timeline.job.items[k].start;
    }
  }
  lumos_timeline_free(&timeline);
}

static struct worker *worker_of(struct search *search, size_t index) {
  struct worker *worker = &search->workers[index];
  if (worker->runs == NULL) {
    lumos_engine_copy(&worker->engine, search->engine);
    worker->runs = lumos_engine_room(&worker->engine, search->ends.places != NULL);
  }
  return worker;
}

struct changed { /* the variant of a trial */
  struct lumos_scaled_work scaled;
  struct lumos_improved improved;
  const struct lumos_variant *variant; /* of one of them */
};

static void make_changed(const struct search *search, struct trial *trial, struct changed *changed) {
  if (trial->millionths == LUMOS_ABSENT) {
    trial->useless = !lumos_improve(&changed->improved, &search->improvements, trial->change);
    trial->assumed = changed->improved.assumed;
    changed->variant = &changed->improved.variant;
  } else {
    lumos_scaled_work_make(&changed->scaled, search->job, &trial->work, trial->millionths, search->medians);
    changed->variant = &changed->scaled.variant;
  }
}

static void free_changed(const struct trial *trial, struct changed *changed) {
  if (trial->millionths == LUMOS_ABSENT) {
    lumos_improved_free(&changed->improved);
  } else {
    lumos_scaled_work_free(&changed->scaled);
  }
}

/* A trial has no steps where its tasks wait for each other, or take too long. */
static void try(struct search *search, struct worker *worker, struct trial *trial) {
  struct changed changed;
  make_changed(search, trial, &changed);
  const struct lumos_engine_order order = {.variant = changed.variant, .nodes_only = search->ends.places != NULL};
  struct lumos_error error = {0};
  if (!trial->useless && lumos_engine_do(&worker->engine, &order, worker->runs, &error)) {
    keep_steps(search, trial, worker->runs);
  }
  free_changed(trial, &changed);
}

static struct trial *take(struct search *search) {
  (void)pthread_mutex_lock(&search->lock);
  while (search->next < search->trials->count && search->trials->items[search->next].known) {
    search->next++;
  }
  struct trial *trial = search->next < search->trials->count ? &search->trials->items[search->next++] : NULL;
  (void)pthread_mutex_unlock(&search->lock);
  return trial;
}

/* A worker is a piece, so that its engine is made once for all of its runs. */
static bool work_through(void *context, size_t index, bool callers) {
  struct search *search = context;
  (void)callers;
  for (struct trial *trial = take(search); trial != NULL; trial = take(search)) {
    try(search, worker_of(search, index), trial);
  }
  return true;
}

/* Returns how many the engine has to be asked for. */
static size_t retime(struct search *search, struct trials *trials, size_t first, unsigned width) {
  struct lumos_retiming *retiming = search->retiming;
  size_t left = 0, count = trials->count - first < width ? trials->count - first : width;
  lumos_retiming_begin(retiming, width);
  for (unsigned w = 0; w < count; w++) {
    struct changed changed;
    struct trial *trial = &trials->items[first + w];
    make_changed(search, trial, &changed);
    lumos_retiming_change(retiming, search->engine, w, changed.variant);
    free_changed(trial, &changed);
  }
  unsigned kept = lumos_retiming_run(retiming);
  struct lumos_run *runs = lumos_engine_room(search->engine, true);
  for (unsigned w = 0; w < count; w++) {
    struct trial *trial = &trials->items[first + w];
    trial->known = trial->useless || (kept >> w & 1) != 0;
    left += !trial->known;
    if (trial->known && !trial->useless) {
      lumos_retiming_ends(retiming, search->engine, w, runs);
      keep_steps(search, trial, runs);
    }
  }
  free(runs);
  return left;
}

static void run_all(struct search *search, struct trials *trials) {
  bool many = search->job->tasks.count > MANY_TASKS;
  unsigned width = many ? 1 : LUMOS_RETIMED;
  size_t left = search->retiming->usable ? 0 : trials->count;
  for (size_t first = 0; first < trials->count && search->retiming->usable; first += width) {
    left += retime(search, trials, first, width);
  }
  lumos_retiming_rest(search->retiming);
  search->trials = trials;
  search->next = 0;
  size_t most = many ? 1 : MOST_WORKERS;
  (void)lumos_parallel(left < most ? left : most, search->job->threads, work_through, search);
}

/* ---- what matters ---- */

static int64_t whole_of(const struct search *search) {
  const struct lumos_steps_list *steps = &search->steps;
  return steps->count == 0 ? 0 : steps->items[steps->count - 1].end - steps->items[0].start;
}

static bool matters(const struct search *search, int64_t time) {
  return time > 0 && time >= whole_of(search) / LEAST_PART;
}

/* Before the first step, too, there may be work that holds it up. */
static int64_t first_start(const struct lumos_job *job) {
  int64_t first = INT64_MAX;
  for (size_t t = 0; t < job->tasks.count; t++) {
    first = job->runs.items[t].start < first ? job->runs.items[t].start : first;
  }
  return first;
}

/* The chain that the end of the last step hangs on. */
static void find_chain(const struct search *search, const struct lumos_held *bindings, struct lumos_path_parts *chain) {
  const struct lumos_steps_list *steps = &search->steps;
  if (steps->count > 0) {
    lumos_path_walk(search->job, bindings, first_start(search->job), steps->items[steps->count - 1].end, chain);
  }
}

/* Works of whose time a change takes no more than all away. Of the others it is not known, for they move what is none's
 * as well. */
static const struct {
  enum lumos_improvement change;
  enum lumos_work_subject of;
} limits[] = {{LUMOS_IMPROVE_LAUNCHES, LUMOS_WORK_HOST},
              {LUMOS_IMPROVE_NETWORK, LUMOS_WORK_COMMUNICATION},
              {LUMOS_IMPROVE_GRADIENTS, LUMOS_WORK_COMMUNICATION},
              {LUMOS_IMPROVE_STRAGGLER, LUMOS_WORK_STRAGGLERS}};

/* `times`: of the works, on the chain. */
static void find_changes(struct search *search, const struct lumos_works *works, const int64_t *times) {
  bool limited[LUMOS_IMPROVEMENTS] = {false};
  for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
    limited[limits[k].change] = true;
    for (size_t i = 0; i < works->count; i++) {
      bool matter = works->items[i].subject == limits[k].of && matters(search, times[i]);
      limited[limits[k].change] = limited[limits[k].change] && !matter;
    }
  }
  for (int change = 0; change < LUMOS_IMPROVEMENTS; change++) {
    if (!limited[change]) {
      struct trial trial = {.millionths = LUMOS_ABSENT, .change = (enum lumos_improvement)change};
      lumos_vector_push(&search->changes, trial);
    }
  }
}

static void find_trials(struct search *search, const struct lumos_path_parts *chain, struct trials *trials) {
  struct lumos_works works = {0};
  lumos_find_works(search->job, search->medians != NULL, &works);
  int64_t *times = lumos_allocate(works.count * sizeof *times);
  lumos_works_on_path(search->job, &works, search->medians, chain, times);
  for (size_t i = 0; i < works.count; i++) {
    if (matters(search, times[i])) {
      lumos_vector_push(trials, ((struct trial){.work = works.items[i], .millionths = factors[0]}));
    }
  }
  find_changes(search, &works, times);
  free(times);
  lumos_vector_free(&works);
}

static int64_t gain_of(const struct search *search, const struct trial *trial) {
  int64_t gain = 0;
  for (size_t k = 0; k < search->steps.count; k++) {
    gain += search->steps.items[k].end - search->steps.items[k].start - trial->steps[k];
  }
  return gain;
}

/* Those that are left have a partner with the other factor, at the same place of `half`; changes stand behind. */
static void halve(const struct search *search, struct trials *free_ones, struct trials *half) {
  size_t kept = 0;
  for (size_t i = 0; i < free_ones->count; i++) {
    struct trial *trial = &free_ones->items[i];
    if (trial->steps != NULL && !matters(search, gain_of(search, trial))) {
      free(trial->steps);
      continue;
    }
    lumos_vector_push(half, ((struct trial){.work = trial->work, .millionths = factors[1]}));
    free_ones->items[kept++] = *trial;
  }
  free_ones->count = kept;
  for (size_t i = 0; i < search->changes.count; i++) {
    lumos_vector_push(half, search->changes.items[i]);
  }
}

/* ---- metrics ---- */

/* The mean of those that count: of several not the first, which begins before the change. */
static double mean_step(const struct search *search, const int64_t *steps) {
  size_t first = search->steps.count > 1;
  double sum = 0;
  for (size_t k = first; k < search->steps.count; k++) {
    sum += (double)steps[k];
  }
  return sum / (double)(search->steps.count - first);
}

struct told { /* how a trial is told */
  const char *metric, *kind;
  struct lumos_width width; /* of the range */
  double least;             /* where it ends, ns */
};

static struct told told_of(const struct search *search, const struct trial *trial) {
  double step = mean_step(search, trial->steps);
  if (trial->millionths == LUMOS_ABSENT) {
    return (struct told){"opportunity_change", lumos_improvement_name(trial->change, &trial->assumed),
                         lumos_improvement_width(&search->range, &trial->assumed, step),
                         lumos_improvement_least(&search->range, &trial->assumed)};
  }
  return (struct told){trial->millionths == 0 ? "opportunity_free" : "opportunity_half", lumos_work_name(&trial->work),
                       lumos_opportunity_width(&search->range, &trial->work, trial->millionths, step), 0};
}

static void set_range(struct lumos_metric *metric, const struct told *told) {
  double value = lumos_decimal_value(metric->value), high = value * (1 + told->width.above);
  double low = fmax(value * (1 - told->width.below), fmin(told->least, value));
  if (isfinite(high) && high < (double)LUMOS_TIME_LIMIT) {
    metric->low = (struct lumos_decimal){low > 0 ? llround(low) : 0, 0};
    metric->high = (struct lumos_decimal){llround(high), 0};
  }
}

/* The job's steps, one by one. */
static void write_trial(struct lumos_job *job, const struct search *search, const struct trial *trial) {
  if (trial->steps == NULL) {
    lumos_job_note(
        job, "sim.opportunity_blocked", LUMOS_INFO, 1, NULL,
        "opportunities have no result: with less of a kind of work the tasks of the graph wait for each other", NULL);
    return;
  }
  struct told told = told_of(search, trial);
  for (size_t k = 0; k < search->steps.count; k++) {
    struct lumos_scope scope = lumos_everywhere;
    scope.step = search->steps.items[k].step;
    scope.kind = told.kind == NULL ? LUMOS_NO_STRING : lumos_intern_text(job->strings, told.kind);
    scope.group = trial->work.group;
    lumos_metric_add(job, told.metric, &scope, LUMOS_METRIC_SIMULATED, (struct lumos_decimal){trial->steps[k], 0});
    set_range(&job->metrics.items[job->metrics.count - 1], &told);
  }
}

/* Why a slow rank that is slow no more would gain less than it costs. Of a job that fills the memory it is not
 * asked. */
static void write_cured(const struct search *search, struct lumos_job *job, const struct trial *change) {
  struct lumos_improved improved;
  if (change->change != LUMOS_IMPROVE_STRAGGLER || change->steps == NULL || job->tasks.count > MANY_TASKS) {
    return;
  }
  if (lumos_improve(&improved, &search->improvements, change->change)) {
    struct lumos_stretches whole = search->ends;
    whole.places = NULL;
    lumos_write_cured_path(job, search->engine, &improved.variant, &whole);
  }
  lumos_improved_free(&improved);
}

/* What would save too little is left out, as of work. */
static void write_changes(struct lumos_job *job, const struct search *search, struct trial *changes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!changes[i].useless && (changes[i].steps == NULL || matters(search, gain_of(search, &changes[i])))) {
      write_cured(search, job, &changes[i]);
      write_trial(job, search, &changes[i]);
    }
    free(changes[i].steps);
  }
}

/* Does the chain hang on times that no change moves? */
static bool is_held(const struct search *search, const struct lumos_path_parts *chain) {
  int64_t first = search->steps.count == 0 ? 0 : search->steps.items[0].start, time = 0;
  for (size_t i = 0; i < chain->count; i++) {
    const struct lumos_path_part *part = &chain->items[i];
    bool after = part->from > first && part->what == LUMOS_PATH_OUTSIDE;
    time += after ? part->to - part->from : 0;
  }
  return matters(search, time);
}

static void tell_nothing(struct lumos_job *job, bool is_held) {
  const char *text = "no kind of work alone would shorten the steps by 0.5 %, even if it took no time";
  const char *held =
      "no kind of work alone would shorten the simulated steps by 0.5 %, even if it took no time. The steps depend on "
      "starts outside the recording, which keep their measured times. A real run might gain more";
  lumos_job_note(job, "sim.no_opportunity", LUMOS_INFO, LUMOS_ABSENT, NULL, is_held ? held : text, NULL);
}

static void search_all(struct search *search, struct lumos_job *job, const struct lumos_held *bindings) {
  struct lumos_path_parts chain = {0};
  struct trials trials[FACTORS] = {{0}, {0}};
  find_chain(search, bindings, &chain);
  find_trials(search, &chain, &trials[0]);
  bool held = is_held(search, &chain);
  lumos_vector_free(&chain); /* it can be as long as the job */
  run_all(search, &trials[0]);
  halve(search, &trials[0], &trials[1]);
  run_all(search, &trials[1]);
  if (trials[0].count == 0) {
    tell_nothing(job, held);
  }
  for (size_t i = 0; i < trials[0].count; i++) {
    for (int f = 0; f < FACTORS; f++) {
      write_trial(job, search, &trials[f].items[i]);
      free(trials[f].items[i].steps);
    }
  }
  write_changes(job, search, trials[1].items + trials[0].count, trials[1].count - trials[0].count);
  lumos_vector_free(&search->changes);
  lumos_vector_free(&trials[0]);
  lumos_vector_free(&trials[1]);
}

void lumos_write_opportunities(struct lumos_job *job, const struct lumos_engine *engine,
                               struct lumos_retiming *retiming, const struct lumos_held *bindings,
                               const struct lumos_stretches *stretches, struct lumos_model_errors errors) {
  struct lumos_times *medians = lumos_like_rank_medians(job);
  struct search search = {.job = job,
                          .engine = engine,
                          .medians = medians,
                          .ends = *stretches,
                          .retiming = retiming,
                          .lock = PTHREAD_MUTEX_INITIALIZER};
  search.ends.places = engine->unordered ? NULL : engine->node_of;
  search.ends.changed = true;
  struct lumos_timeline timeline;
  lumos_timeline_make(&timeline, job, job->runs.items, stretches);
  search.steps = timeline.job;
  lumos_opportunity_range_make(&search.range, job, errors);
  lumos_improvements_open(&search.improvements, job, &timeline.steps, medians);
  search_all(&search, job, bindings);
  lumos_improvements_close(&search.improvements);
  lumos_opportunity_range_free(&search.range);
  lumos_timeline_free(&timeline);
  for (size_t w = 0; w < MOST_WORKERS; w++) {
    if (search.workers[w].runs != NULL) {
      lumos_engine_free(&search.workers[w].engine);
      free(search.workers[w].runs);
    }
  }
  free(medians);
}

/* In an edited stream some tasks are not. */
static bool is_simulated(const struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count && job->stage == LUMOS_STAGE_SIM; t++) {
    if (job->runs.items[t].start == LUMOS_ABSENT || job->runs.items[t].dur == LUMOS_ABSENT) {
      return false;
    }
  }
  return job->stage == LUMOS_STAGE_SIM;
}

bool lumos_find_opportunities(struct lumos_job *job, struct lumos_error *error) {
  if (!is_simulated(job)) {
    return lumos_fail(error, "opportunities are found in a simulated job; run lumos-sim first");
  }
  if (lumos_model_of(job) != LUMOS_MODEL_LUMOS) {
    return true;
  }
  struct lumos_held own = {0}, *bindings = job->bindings == NULL ? &own : job->bindings;
  struct lumos_engine engine;
  struct lumos_retiming retiming;
  struct lumos_error failure = {0};
  lumos_engine_prepare(&engine, job, LUMOS_MODEL_LUMOS);
  const struct lumos_engine_order order = {.notes.bindings = job->bindings == NULL ? &own : NULL, .nodes_only = true};
  struct lumos_run *runs = lumos_engine_room(&engine, order.nodes_only);
  bool done = lumos_retiming_make(&retiming, NULL, &engine, &order, runs, &failure);
  free(runs);
  if (done) {
    struct lumos_stretches stretches;
    lumos_find_stretches(job, &stretches);
    lumos_write_opportunities(job, &engine, &retiming, bindings, &stretches, (struct lumos_model_errors){NAN, NAN});
    lumos_vector_free(&stretches);
  }
  lumos_retiming_free(&retiming);
  lumos_engine_free(&engine);
  lumos_held_free(&own);
  return true;
}
