/* The range of a prediction: low and high hold what a recording of the changed job, of as many steps, would show with a
 * chance of 90 %.
 *
 * Sources of error, each as one standard deviation. They are taken to be independent, and add up as squares:
 *
 *   common errors   of durations that a model gave (common_error records). The job runs again with all of one error's
 *                   durations, on threads the lags before them too, as much longer as holds 95 %, a factor of
 *                   1 + 1.645 sigma (or up), and again divided by 1 + 1.645 sigma: what a figure does until there need
 *                   not be in proportion. How much later or earlier it comes out, by 1.645, is its error on that side; a
 *                   side on which nothing moves has none. What happens keeps the order of the prediction
 *                   (retiming.h): what another order would do is no error of these durations.
 *   own errors      of single durations (dur_error, and transfer_error of transfers that a model gave), independent of
 *                   each other, but that kernels of one name are off together where a model gave their durations:
 *                   DRAWS runs, each with every one of them drawn anew, by nothing but the draw and the place. By side,
 *                   the root mean square of how far these runs lie from the prediction. Where ranks wait for the
 *                   slowest all of them may be later.
 *   replay, steps   what the replay of the recording is off by, as far as the change moves what it carries over; and
 *                   how far the means of two recordings of so many steps lie apart (model_error.c): shares of the step.
 *                   Where simulated steps differ more than measured ones did, by how much they do: in a pipeline bound
 *                   by its CPUs one slow stretch holds up every stage.
 *   rebuild         how far the rebuilt recorded configuration is off (metric rebuild_error): a share of the step.
 *   settling        where calls that waited for the GPU are gone, a CPU gets ahead step by step; and of one recorded
 *                   step three are built, of which the second may still differ. How far the last step then lies from
 *                   the mean, beyond where it lay as measured, says by how much steps have not settled. Else steps
 *                   differ as what they do does.
 *   change          what a change does to the durations of tasks that it does not name: kernels beside communication
 *                   share its SMs and memory, clocks follow the load. It grows with the part of the step that is spent
 *                   otherwise than it was measured: CHANGE_SHARE of that time. What the overlap of compute and
 *                   communication grows or shrinks by costs what the recording's own overlaps cost (beside.h): where
 *                   kernels are predicted to take what they took, a step may be longer by that where more of them are
 *                   beside communication, and shorter where less are; where it was added to them, or taken off
 *                   (transform/contend.h), either by the error of that. CUDA graphs may end overlap, which makes steps
 *                   longer by that, or shorter by what kernels then no longer lose.
 *
 * The time of kernels, and of a kind of them, has the errors of its tasks' durations, and those of steps.
 *
 * half width = 1.645 sqrt(sum of squares), by side: a normal distribution has 90 % within. Errors of the step as a
 * whole may lie in any one of its parts: a part has them all, in nanoseconds. No time is below 0.
 */
#include "sim/ranges.h"

#include "base/hash.h"
#include "base/parallel.h"
#include "base/text.h"
#include "sim/clock.h"
#include "sim/retiming.h"
#include "sim/rollup.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen, by how far changes of emulated jobs are off (tests/cli/ranges.sh, the list of chances of 11, by the least mean
 * of how wide a range is and 20 times how far beyond it the truth lies): a hundredth or two of the time that moves, half
 * of that where tasks are built of recorded ones, of which it is known what they lose beside communication; delays are
 * carried over as they are, and say nothing any more once half of the step has moved; and a thousandth that any change
 * moves, three where tasks come from other places of the recording. */
static const double CHANGE_SHARE = 0.015, CHANGE_REBUILT = 0.0075, CARRIED_SHARE = 2, LEAST_SHARE = 0.001,
                    LEAST_REBUILT = 0.003;
/* Of many tasks one job at a time, for each takes memory. */
enum { MOST_WORKERS = 8, WORKERS_OF_MANY = 4, DRAWS = 8, MILLION = 1000000, MANY_TASKS = 1 << 22 };

/* ---- the job with durations of one common error longer, or shorter ---- */

struct shifted {
  struct lumos_variant variant;
  const struct lumos_job *job;
  lumos_string_id error;
  double factor;
};

static int64_t times_factor(const struct shifted *shifted, int64_t time) {
  double changed = (double)time * shifted->factor;
  return changed < (double)LUMOS_TIME_LIMIT ? llround(changed) : time;
}

static struct lumos_times shifted_times(void *context, uint32_t task, struct lumos_times own) {
  const struct shifted *shifted = context;
  const struct lumos_task *of = &shifted->job->tasks.items[task];
  if (lumos_detail_of(shifted->job, of)->common_error != shifted->error) {
    return own;
  }
  own.dur = times_factor(shifted, own.dur);
  own.lag = lumos_on_stream(shifted->job, of) ? own.lag : times_factor(shifted, own.lag);
  return own;
}

static int64_t shifted_transfer(void *context, uint32_t collective, int64_t own) {
  const struct shifted *shifted = context;
  bool has = shifted->job->collectives.items[collective].common_error == shifted->error;
  return has ? times_factor(shifted, own) : own;
}

static void find_uses(const struct lumos_job *job, uint8_t *threads, uint8_t *streams, uint8_t *transfers) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    lumos_string_id error = lumos_detail_of(job, task)->common_error;
    (lumos_on_stream(job, task) ? streams : threads)[error] = 1;
  }
  for (size_t c = 0; c < job->collectives.count; c++) {
    transfers[job->collectives.items[c].common_error] = 1;
  }
}

/* ---- the job with every duration that has an error of its own drawn anew ---- */

struct drawn {
  struct lumos_variant variant;
  const struct lumos_job *job;
  const uint64_t *names; /* by string: hashes, for what number a string has depends on what was read before it */
  uint64_t draw;
};

/* Where a model gave the durations, kernels of one name are off together: by how much is what the model does not know
 * of that kernel. Else each task varies by itself. */
static uint64_t place_of(const struct drawn *drawn, uint32_t task) {
  const struct lumos_task *of = &drawn->job->tasks.items[task];
  return of->dur_source == LUMOS_MODELLED ? drawn->names[of->name] : task;
}

/* SplitMix64 (Steele, Lea, Flood 2014): a hash of a counter, so that a number depends on its place alone. */
static uint64_t hash(uint64_t x) {
  x += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

/* Where a task, kernel or transfer lies, in standard deviations. Draws come in pairs of opposite numbers, so that both
 * sides of the prediction have as many; and over all draws each place has each of the sizes once: the middles of equal
 * parts of a normal distribution, scaled so that the mean of their squares is 1. */
static double number_of(const struct drawn *drawn, uint64_t place) {
  static const double sizes[DRAWS / 2] = {0.1705, 0.5298, 0.9617, 1.6630};
  uint64_t pair = drawn->draw / 2, chance = hash(hash(pair) ^ place);
  double size = sizes[(hash(place) + pair) % (DRAWS / 2)];
  return ((chance >> 32 & 1) != 0) == (drawn->draw % 2 != 0) ? size : -size;
}

static int64_t drawn_time(int64_t time, double changed) {
  return changed <= 0 ? 0 : changed < (double)LUMOS_TIME_LIMIT ? llround(changed) : time;
}

/* Errors of durations are of their logarithms: twice as long is as far off as half as long. */
static struct lumos_times drawn_times(void *context, uint32_t task, struct lumos_times own) {
  const struct drawn *drawn = context;
  struct lumos_decimal error = lumos_detail_of(drawn->job, &drawn->job->tasks.items[task])->dur_error;
  if (error.units != LUMOS_ABSENT) {
    double number = number_of(drawn, place_of(drawn, task));
    own.dur = drawn_time(own.dur, (double)own.dur * exp(lumos_decimal_value(error) * number));
  }
  return own;
}

static bool has_own_error(const struct lumos_collective *collective) {
  return collective->dur_source == LUMOS_MODELLED && collective->transfer_error != LUMOS_ABSENT;
}

static int64_t drawn_transfer(void *context, uint32_t collective, int64_t own) {
  const struct drawn *drawn = context;
  const struct lumos_collective *of = &drawn->job->collectives.items[collective];
  double number = number_of(drawn, drawn->job->tasks.count + collective);
  return has_own_error(of) ? drawn_time(own, (double)own + (double)of->transfer_error * number) : own;
}

/* ---- runs ---- */

struct trial { /* one common error, in one direction, or one draw of all own errors */
  struct shifted shifted;
  struct drawn drawn;
  bool draws;
  size_t error; /* of job->common_errors */
};
LUMOS_VECTOR_TYPE(range_trials, struct trial);

struct lumos_ranging {
  struct range_trials trials;
  uint64_t *names; /* by string, for draws */
};

/* ---- figures ---- */

struct sides { /* squares, in ns, of how far a figure may be above, and below, what is predicted */
  double up, down;
};

struct ranges {
  struct lumos_job *job;
  LUMOS_VECTOR(size_t) figures; /* metrics that get a range: of the timeline, then times of kernels */
  size_t kinds;                 /* the first of these */
  struct sides *sides;          /* by figure */
  const char *largest;
  double largest_share;
  double step;        /* the mean of the job's steps, ns */
  double steps_share; /* how far two means of so many steps lie apart, of that */
  int32_t uncounted;
  bool known, steps_alone;
  struct lumos_breakdown breakdown; /* what no run changes of it, for all of them */
};

/* ---- runs of trials ---- */

/* What a thread runs trials with, `width` at once. Names of figures are the job's strings; those that only a trial has
 * come behind these. */
struct worker {
  struct lumos_retiming retiming;
  struct lumos_run *runs;
  struct lumos_strings *strings;
  struct lumos_unrecorded *unrecorded;
  unsigned known;                /* bit w: times of that one are in range */
  double *values[LUMOS_RETIMED]; /* by figure: what that one makes of it; NAN: it does not say */
};

struct search {
  const struct ranges *ranges;
  const struct lumos_engine *engine;
  const struct lumos_stretches *stretches;
  struct range_trials trials;
  const struct lumos_retiming *retiming;
  struct worker *workers;
  size_t worker_count;
  unsigned width;
  size_t first; /* the trial that the first worker begins at; the next ones have those behind it */
};

static const struct lumos_variant *variant_of(const struct search *search, size_t i) {
  struct trial *trial = &search->trials.items[i];
  struct lumos_variant *variant = trial->draws ? &trial->drawn.variant : &trial->shifted.variant;
  variant->context = trial->draws ? (void *)&trial->drawn : (void *)&trial->shifted;
  return variant;
}

static void find_trials(const struct lumos_job *job, struct range_trials *trials) {
  size_t strings = lumos_strings_count(job->strings) + 1U;
  uint8_t *threads = lumos_allocate_zeroed(strings, 1), *streams = lumos_allocate_zeroed(strings, 1),
          *transfers = lumos_allocate_zeroed(strings, 1);
  find_uses(job, threads, streams, transfers);
  for (size_t i = 0; i < job->common_errors.count; i++) {
    const struct lumos_common_error *error = &job->common_errors.items[i];
    double sigma = lumos_decimal_value(error->sigma),
           up = error->up.units == LUMOS_ABSENT ? sigma : lumos_decimal_value(error->up);
    if ((threads[error->id] || streams[error->id] || transfers[error->id]) && sigma > 0) {
      struct lumos_variant variant = {.times = shifted_times,
                                      .threads = threads[error->id] != 0,
                                      .streams = streams[error->id] != 0,
                                      .transfer = transfers[error->id] != 0 ? shifted_transfer : NULL};
      if (up > 0) {
        double longer = 1 + LUMOS_WITHIN_90 * up;
        lumos_vector_push(trials, ((struct trial){.shifted = {variant, job, error->id, longer}, .error = i}));
      }
      double shorter = 1 / (1 + LUMOS_WITHIN_90 * sigma);
      lumos_vector_push(trials, ((struct trial){.shifted = {variant, job, error->id, shorter}, .error = i}));
    }
  }
  free(threads);
  free(streams);
  free(transfers);
}

/* `names`: by string. */
static void find_draws(const struct lumos_job *job, uint64_t *names, struct range_trials *trials) {
  struct lumos_variant variant = {.times = drawn_times};
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_detail_of(job, task)->dur_error.units != LUMOS_ABSENT) {
      *(lumos_on_stream(job, task) ? &variant.streams : &variant.threads) = true;
      names[task->name] =
          names[task->name] == 0 ? lumos_hash_text(lumos_string(job->strings, task->name)) : names[task->name];
    }
  }
  for (size_t c = 0; c < job->collectives.count && variant.transfer == NULL; c++) {
    variant.transfer = has_own_error(&job->collectives.items[c]) ? drawn_transfer : NULL;
  }
  bool any = variant.threads || variant.streams || variant.transfer != NULL;
  for (uint64_t draw = 0; draw < DRAWS && any; draw++) {
    lumos_vector_push(trials, ((struct trial){.drawn = {variant, job, names, draw}, .draws = true}));
  }
}

struct lumos_ranging *lumos_ranging_open(const struct lumos_job *job) {
  struct lumos_ranging *ranging = lumos_allocate_zeroed(1, sizeof *ranging);
  if (!lumos_job_is_untied(job)) {
    find_trials(job, &ranging->trials);
    ranging->names = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *ranging->names);
    find_draws(job, ranging->names, &ranging->trials);
  }
  if (ranging->trials.count == 0) {
    lumos_ranging_free(ranging);
    return NULL;
  }
  return ranging;
}

void lumos_ranging_free(struct lumos_ranging *ranging) {
  if (ranging != NULL) {
    lumos_vector_free(&ranging->trials);
    free(ranging->names);
    free(ranging);
  }
}

/* ---- what they do to the figures ---- */

static double value_of(const struct lumos_metric *metric) { return lumos_decimal_value(metric->value); }

static bool has_range(const struct lumos_job *job, const struct lumos_metric *metric) {
  return metric->scope.step != LUMOS_ABSENT_INT && metric->value.decimals == 0 &&
         strcmp(lumos_string(job->strings, metric->unit), "ns") == 0;
}

/* Of the job: its steps' own figures. */
static bool is_of_job(const struct lumos_metric *metric) {
  return metric->scope.rank == LUMOS_ABSENT_INT && metric->scope.step != LUMOS_ABSENT_INT &&
         lumos_scope_is_whole(&metric->scope);
}

static void find_figures(struct ranges *ranges, struct lumos_metric_span span) {
  const struct lumos_job *job = ranges->job;
  lumos_string_id kind_time = lumos_intern_text(job->strings, "kind_time");
  lumos_string_id device_time = lumos_intern_text(job->strings, "device_time");
  lumos_string_id step_time = lumos_intern_text(job->strings, "step_time");
  for (size_t i = span.first; i < span.end; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (ranges->steps_alone ? metric->name == step_time && is_of_job(metric) : has_range(job, metric)) {
      lumos_vector_push(&ranges->figures, i);
    }
  }
  ranges->kinds = ranges->figures.count;
  for (size_t i = span.end; i < job->metrics.count && !ranges->steps_alone; i++) {
    if (job->metrics.items[i].name == kind_time || job->metrics.items[i].name == device_time) {
      lumos_vector_push(&ranges->figures, i);
    }
  }
}

static bool is_alike(const struct lumos_metric *a, const struct lumos_metric *b) {
  return a->name == b->name && a->scope.rank == b->scope.rank && a->scope.step == b->scope.step &&
         a->scope.stage == b->scope.stage && a->scope.kind == b->scope.kind;
}

/* The number of the step that does not count, the first of several, which begins before the change; LUMOS_ABSENT_INT:
 * all count. */
static int32_t uncounted_step(const struct lumos_job *job, enum lumos_source source) {
  lumos_string_id step_time = lumos_intern_text(job->strings, "step_time");
  int32_t first = INT32_MAX, last = INT32_MIN;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->name == step_time && metric->source == (uint8_t)source && is_of_job(metric)) {
      first = metric->scope.step < first ? metric->scope.step : first;
      last = metric->scope.step > last ? metric->scope.step : last;
    }
  }
  return first < last ? first : LUMOS_ABSENT_INT;
}

double lumos_mean_step(const struct lumos_job *job, const char *name, enum lumos_source source) {
  lumos_string_id id = lumos_intern_text(job->strings, name);
  int32_t uncounted = uncounted_step(job, source);
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->name == id && metric->source == (uint8_t)source && is_of_job(metric) &&
        metric->scope.step != uncounted) {
      sum += value_of(metric);
      count++;
    }
  }
  return count == 0 ? NAN : sum / (double)count;
}

/* How much longer than the mean the last step that counts is, by the mean; 0: it is the only one, or there is none. */
static double last_above_mean(const struct lumos_job *job, enum lumos_source source) {
  lumos_string_id step_time = lumos_intern_text(job->strings, "step_time");
  int32_t uncounted = uncounted_step(job, source), number = INT32_MIN;
  double mean = lumos_mean_step(job, "step_time", source), last = mean;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->name == step_time && metric->source == (uint8_t)source && is_of_job(metric) &&
        metric->scope.step != uncounted && metric->scope.step > number) {
      number = metric->scope.step;
      last = value_of(metric);
    }
  }
  return mean > 0 ? last / mean - 1 : 0;
}

static size_t count_steps(const struct lumos_job *job, enum lumos_source source) {
  lumos_string_id step_time = lumos_intern_text(job->strings, "step_time");
  size_t count = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    count += metric->name == step_time && metric->source == (uint8_t)source && is_of_job(metric);
  }
  return count;
}

double lumos_unsettled(const struct lumos_job *job) {
  bool alike = count_steps(job, LUMOS_METRIC_MEASURED) == 1; /* all steps are built of one */
  return alike || lumos_job_has_note(job, LUMOS_NOTE_WAITS_GONE)
             ? fabs(last_above_mean(job, LUMOS_METRIC_SIMULATED) - last_above_mean(job, LUMOS_METRIC_MEASURED))
             : 0;
}

/* A source's share of the job's mean step, one standard deviation. */
static void tell_source(struct ranges *ranges, const char *name, double share) {
  struct lumos_scope scope = lumos_everywhere;
  if (!(share > 0) || share >= MILLION) {
    return;
  }
  scope.name = lumos_intern_text(ranges->job->strings, name);
  lumos_metric_add(ranges->job, "prediction_error", &scope, LUMOS_METRIC_SIMULATED,
                   (struct lumos_decimal){llround(share * MILLION), 6});
  if (share > ranges->largest_share) {
    ranges->largest = name;
    ranges->largest_share = share;
  }
}

/* The figures of a run that is not the job's, in the order of those that are, and behind them the time of kinds.
 * Returns how many come before these. */
static size_t figures_of(const struct ranges *ranges, const struct lumos_stretches *stretches,
                         const struct worker *worker, struct lumos_job *shadow) {
  struct lumos_timeline timeline;
  const struct lumos_breakdown *breakdown = &ranges->breakdown;
  *shadow = *ranges->job;
  memset(&shadow->metrics, 0, sizeof shadow->metrics);
  memset(&shadow->notes, 0, sizeof shadow->notes);
  shadow->strings = worker->strings;
  lumos_timeline_make(&timeline, shadow, worker->runs, stretches);
  int64_t *kept = lumos_allocate(timeline.steps.count * sizeof *kept);
  struct lumos_idle *idle = lumos_allocate(timeline.steps.count * sizeof *idle);
  lumos_write_timeline(shadow, &breakdown->coupling, &timeline, kept, idle, worker->unrecorded);
  free(kept);
  free(idle);
  size_t kinds = shadow->metrics.count;
  lumos_write_kinds(shadow, &timeline, stretches);
  lumos_timeline_free(&timeline);
  lumos_vector_free(&shadow->notes);
  return kinds;
}

/* Among so many from `next` on. */
static size_t find_alike(const struct lumos_job *shadow, const struct lumos_metric *own, size_t next, size_t count) {
  for (size_t i = next; i < shadow->metrics.count && i - next < count; i++) {
    if (is_alike(own, &shadow->metrics.items[i])) {
      return i;
    }
  }
  return shadow->metrics.count;
}

/* Of a kind's time: steps stand in the same order, the kinds of a step in another, so it is near `next`. */
static size_t find_kind(const struct lumos_job *shadow, const struct lumos_metric *own, size_t kinds, size_t next) {
  size_t count = shadow->metrics.count, below = next - kinds, above = count - next;
  for (size_t way = 0; way < above || way <= below; way++) {
    if (way < above && is_alike(own, &shadow->metrics.items[next + way])) {
      return next + way;
    }
    if (way > 0 && way <= below && is_alike(own, &shadow->metrics.items[next - way])) {
      return next - way;
    }
  }
  return count;
}

/* Of the times of the job's steps alone, which are all figures then. */
static void read_steps(const struct search *search, const struct worker *worker, double *values) {
  const struct ranges *ranges = search->ranges;
  struct lumos_timeline timeline;
  lumos_timeline_make(&timeline, ranges->job, worker->runs, search->stretches);
  for (size_t i = 0; i < ranges->figures.count; i++) {
    uint32_t k = lumos_job_step(&timeline, ranges->job->metrics.items[ranges->figures.items[i]].scope.step);
    values[i] = k == LUMOS_NONE ? NAN : (double)(timeline.job.items[k].end - timeline.job.items[k].start);
  }
  lumos_timeline_free(&timeline);
}

static void read_figures(const struct search *search, const struct worker *worker, double *values) {
  enum { MOST_MISSING = 64 }; /* both stand in the same order, and few are missing */
  const struct ranges *ranges = search->ranges;
  struct lumos_job shadow;
  size_t kinds = figures_of(ranges, search->stretches, worker, &shadow);
  for (size_t i = 0, next = 0; i < ranges->figures.count; i++) {
    const struct lumos_metric *own = &ranges->job->metrics.items[ranges->figures.items[i]];
    next = i == ranges->kinds ? kinds : next;
    size_t found =
        i < ranges->kinds ? find_alike(&shadow, own, next, MOST_MISSING) : find_kind(&shadow, own, kinds, next);
    values[i] = found == shadow.metrics.count ? NAN : value_of(&shadow.metrics.items[found]);
    next = found == shadow.metrics.count ? next : found + 1;
  }
  lumos_vector_free(&shadow.metrics);
}

static bool run_trials(void *context, size_t index, bool callers) {
  struct search *search = context;
  struct worker *worker = &search->workers[index];
  size_t first = search->first + index * search->width;
  unsigned width = 0;
  (void)callers; /* nobody is told */
  lumos_retiming_begin(&worker->retiming, search->width);
  for (; width < search->width && first + width < search->trials.count; width++) {
    lumos_retiming_change(&worker->retiming, search->engine, width, variant_of(search, first + width));
  }
  worker->known = lumos_retiming_run(&worker->retiming);
  for (unsigned w = 0; w < width && (worker->known >> w & 1) != 0; w++) {
    if (search->stretches->places != NULL) {
      lumos_retiming_nodes(&worker->retiming, search->engine, w, worker->runs);
    } else {
      lumos_retiming_runs(&worker->retiming, search->engine, w, variant_of(search, first + w), worker->runs);
    }
    (search->ranges->steps_alone ? read_steps : read_figures)(search, worker, worker->values[w]);
  }
  return true;
}

static void open_worker(struct worker *worker, const struct search *search) {
  const struct ranges *ranges = search->ranges;
  *worker = (struct worker){.retiming = lumos_retiming_beside(search->retiming),
                            .runs = lumos_engine_room(search->engine, search->stretches->places != NULL),
                            .strings = lumos_strings_copied(ranges->job->strings)};
  if (!ranges->steps_alone) {
    worker->unrecorded = lumos_unrecorded_beside(ranges->breakdown.unrecorded);
  }
  for (unsigned w = 0; w < search->width; w++) {
    worker->values[w] = lumos_allocate(ranges->figures.count * sizeof *worker->values[w]);
  }
}

static void open_search(struct search *search) {
  const struct lumos_job *job = search->engine->job;
  bool many = job->tasks.count > MANY_TASKS;
  size_t width = many ? 1 : LUMOS_RETIMED, most = many ? WORKERS_OF_MANY : MOST_WORKERS;
  size_t pieces = (search->trials.count + width - 1) / width;
  search->width = (unsigned)width;
  search->worker_count = lumos_parallel_threads(pieces < most ? pieces : most, job->threads);
  search->workers = lumos_allocate(search->worker_count * sizeof *search->workers);
  for (size_t w = 0; w < search->worker_count; w++) {
    open_worker(&search->workers[w], search);
  }
}

static void close_search(struct search *search) {
  for (size_t i = 0; i < search->worker_count; i++) {
    struct worker *worker = &search->workers[i];
    lumos_retiming_rest(&worker->retiming);
    free(worker->runs);
    lumos_strings_free(worker->strings);
    lumos_unrecorded_leave(worker->unrecorded);
    for (unsigned w = 0; w < search->width; w++) {
      free(worker->values[w]);
    }
  }
  free(search->workers);
}

/* What a trial makes of the figures; NULL: it cannot run. Trials are asked for in order. */
static const double *values_of_trial(struct search *search, size_t i) {
  size_t at_once = search->worker_count * search->width, place = i % at_once;
  struct worker *worker = &search->workers[place / search->width];
  unsigned w = (unsigned)(place % search->width);
  if (place == 0) {
    size_t left = (search->trials.count - i + search->width - 1) / search->width;
    search->first = i;
    (void)lumos_parallel(left < search->worker_count ? left : search->worker_count, search->engine->job->threads,
                         run_trials, search);
  }
  return (worker->known >> w & 1) != 0 ? worker->values[w] : NULL;
}

/* Of the runs of one common error, or of all draws, by figure: the sums of squares of how far they lie from the
 * prediction, by side, and how many do; and of the job's mean step. */
struct group {
  struct sides *sums, *counts;
  struct sides step, of;
  double deviations; /* that its runs are off by */
};

static struct group new_group(size_t figures, const struct trial *trial) {
  return (struct group){.deviations = trial->draws ? 1 : LUMOS_WITHIN_90,
                        .sums = lumos_allocate_zeroed(figures, sizeof(struct sides)),
                        .counts = lumos_allocate_zeroed(figures, sizeof(struct sides))};
}

static void add_shift(struct sides *sum, struct sides *count, double shift) {
  *(shift > 0 ? &sum->up : &sum->down) += shift * shift;
  *(shift > 0 ? &count->up : &count->down) += 1;
}

static void add_values(struct ranges *ranges, const double *values, struct group *group) {
  double moved = 0, steps = 0;
  lumos_string_id step_time = lumos_intern_text(ranges->job->strings, "step_time");
  for (size_t i = 0; i < ranges->figures.count; i++) {
    const struct lumos_metric *own = &ranges->job->metrics.items[ranges->figures.items[i]];
    if (isnan(values[i])) {
      group->sums[i] = (struct sides){NAN, NAN};
      continue;
    }
    double shift = (values[i] - value_of(own)) / group->deviations;
    add_shift(&group->sums[i], &group->counts[i], shift);
    if (own->name == step_time && is_of_job(own) && own->scope.step != ranges->uncounted) {
      moved += shift;
      steps++;
    }
  }
  add_shift(&group->step, &group->of, steps > 0 ? moved / steps : 0);
}

/* On each side a figure has the mean square of the runs that lie there. The larger side of the job's mean step, one
 * standard deviation, is what is reported of the source. */
static void close_group(struct ranges *ranges, struct group *group, const struct trial *trial) {
  const struct lumos_job *job = ranges->job;
  struct sides step = group->step, of = group->of;
  for (size_t i = 0; i < ranges->figures.count; i++) {
    struct sides sum = group->sums[i], count = group->counts[i];
    ranges->sides[i].up += count.up > 0 || isnan(sum.up) ? sum.up / fmax(count.up, 1) : 0;
    ranges->sides[i].down += count.down > 0 || isnan(sum.down) ? sum.down / fmax(count.down, 1) : 0;
  }
  double moved = sqrt(fmax(of.up > 0 ? step.up / of.up : 0, of.down > 0 ? step.down / of.down : 0));
  tell_source(ranges,
              trial->draws ? "durations of single tasks"
                           : lumos_string(job->strings, job->common_errors.items[trial->error].name),
              moved / ranges->step);
  free(group->sums);
  free(group->counts);
}

/* Both directions of a common error stand together, and all draws. */
static bool ends_group(const struct range_trials *trials, size_t i) {
  const struct trial *trial = &trials->items[i];
  return i + 1 == trials->count || trial[1].draws != trial->draws || (!trial->draws && trial[1].error != trial->error);
}

static void add_runs(struct ranges *ranges, const struct lumos_ranging *ranging, const struct lumos_engine *engine,
                     const struct lumos_retiming *ordered, const struct lumos_stretches *stretches) {
  struct search search = {
      .ranges = ranges, .engine = engine, .stretches = stretches, .trials = ranging->trials, .retiming = ordered};
  struct lumos_job *job = ranges->job;
  ranges->known = ordered->usable;
  if (!ranges->steps_alone) {
    lumos_breakdown_open(&ranges->breakdown, job, 0);
  }
  open_search(&search);
  struct group group = {.sums = NULL};
  for (size_t i = 0; i < search.trials.count && ranges->known; i++) {
    group = group.sums == NULL ? new_group(ranges->figures.count, &search.trials.items[i]) : group;
    const double *values = values_of_trial(&search, i);
    ranges->known = values != NULL;
    if (ranges->known) {
      add_values(ranges, values, &group);
    }
    if (ends_group(&search.trials, i)) {
      close_group(ranges, &group, &search.trials.items[i]);
      group.sums = NULL;
    }
  }
  if (group.sums != NULL) {
    free(group.sums);
    free(group.counts);
  }
  close_search(&search);
  if (!ranges->steps_alone) {
    lumos_breakdown_close(&ranges->breakdown);
  }
}

/* ---- errors of the step as a whole ---- */

struct lumos_change_errors lumos_change_errors(struct lumos_change change, double replay, struct lumos_beside beside,
                                               bool rebuilt) {
  double least = rebuilt ? LEAST_REBUILT : LEAST_SHARE;
  double either = beside.error * fmax(change.come, change.gone);
  return (struct lumos_change_errors){.carried = fmin(CARRIED_SHARE * change.moved, 1) * replay,
                                      .moved = hypot(least, (rebuilt ? CHANGE_REBUILT : CHANGE_SHARE) * change.moved),
                                      .longer = beside.kept ? beside.lost * change.come : either,
                                      .shorter = beside.kept ? beside.lost / (1 + beside.lost) * change.gone : either};
}

/* Of a job without GPUs, which has no parts, 0. */
static double part_of(const struct ranges *ranges, const char *part, enum lumos_source source) {
  double time = lumos_mean_step(ranges->job, part, source);
  return isnan(time) ? 0 : time;
}

/* NAN where nothing was measured. */
static struct lumos_change find_change(const struct ranges *ranges, bool rebuilt) {
  static const char *const parts[] = {"exposed_compute", "overlapped", "exposed_communication", "exposed_copy", "idle"};
  enum { PARTS = sizeof parts / sizeof *parts };
  double was[PARTS], is[PARTS], more = 0, less = 0;
  for (size_t i = 0; i < PARTS; i++) {
    was[i] = part_of(ranges, parts[i], LUMOS_METRIC_MEASURED);
    is[i] = part_of(ranges, parts[i], LUMOS_METRIC_SIMULATED);
    more += fmax(is[i] - was[i], 0);
    less += fmax(was[i] - is[i], 0);
  }
  double step = ranges->step, measured = lumos_mean_step(ranges->job, "step_time", LUMOS_METRIC_MEASURED);
  const int32_t first[] = {uncounted_step(ranges->job, LUMOS_METRIC_MEASURED), ranges->uncounted};
  struct lumos_overlap overlap = lumos_overlap_changed(ranges->job, first, !rebuilt); /* its ranks are others */
  return isnan(measured) ? (struct lumos_change){NAN, NAN, NAN}
                         : (struct lumos_change){fmax(fmax(more, less), fabs(step - measured)) / step,
                                                 overlap.come / step, overlap.gone / step};
}

static double share_of_error(const struct lumos_job *job, const char *id) {
  const struct lumos_common_error *error = lumos_common_error_of(job, lumos_intern_text(job->strings, id));
  return error == NULL ? 0 : lumos_decimal_value(error->sigma);
}

/* Below 0: it was not rebuilt. */
static double rebuild_share(const struct lumos_job *job) {
  lumos_string_id name = lumos_intern_text(job->strings, "rebuild_error");
  for (size_t i = 0; i < job->metrics.count; i++) {
    if (job->metrics.items[i].name == name) {
      return fabs(value_of(&job->metrics.items[i]));
    }
  }
  return -1;
}

static struct lumos_beside beside_of(const struct lumos_job *job) {
  bool kept = lumos_common_error_of(job, lumos_intern_text(job->strings, LUMOS_ERROR_CONTENDED)) == NULL;
  return (struct lumos_beside){.lost = share_of_error(job, LUMOS_ERROR_BESIDE),
                               .error = share_of_error(job, LUMOS_ERROR_CONTENDED),
                               .kept = kept};
}

/* Where nothing has been taken off, or put on. */
static struct lumos_beside beside_kept(const struct lumos_job *job) {
  struct lumos_beside beside = beside_of(job);
  beside.kept = true;
  return beside;
}

static double overlapped_share(const struct ranges *ranges) {
  return part_of(ranges, "overlapped", LUMOS_METRIC_SIMULATED) / ranges->step;
}

static double simulated_steps_error(const struct ranges *ranges) {
  const struct lumos_job *job = ranges->job;
  lumos_string_id step_time = lumos_intern_text(job->strings, "step_time");
  LUMOS_VECTOR(double) lengths = {0};
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->name == step_time && metric->source == LUMOS_METRIC_SIMULATED && is_of_job(metric) &&
        metric->scope.step != ranges->uncounted) {
      lumos_vector_push(&lengths, value_of(metric));
    }
  }
  double error = lengths.count > 1 ? lumos_steps_error(lengths.items, lengths.count) : 0; /* one does not differ */
  lumos_vector_free(&lengths);
  return error;
}

/* The squares of all of them, as shares of the step. */
static struct sides whole_squares(struct ranges *ranges) {
  const struct lumos_job *job = ranges->job;
  double rebuilt = rebuild_share(job), steps = ranges->steps_share;
  double replicas = share_of_error(job, LUMOS_ERROR_REPLICAS);
  struct lumos_change_errors errors = lumos_change_errors(
      find_change(ranges, rebuilt >= 0), share_of_error(job, LUMOS_ERROR_REPLAY), beside_of(job), rebuilt >= 0);
  double behind = share_of_error(job, LUMOS_ERROR_GRAPHS) * overlapped_share(ranges);
  double unsettled = lumos_unsettled(job);
  const struct {
    const char *name;
    double longer, shorter;
  } sources[] = {
      {"delays that the model does not explain", errors.carried, errors.carried},
      {"differences between steps", steps, steps},
      {"rebuilding", fmax(rebuilt, 0), fmax(rebuilt, 0)},
      {"steps that have not settled", unsettled, unsettled},
      {"what the change does to other tasks", errors.moved, errors.moved},
      {"kernels beside communication", errors.longer, errors.shorter},
      {"GPUs of replicas that were not recorded", replicas, replicas},
      {"communication that comes behind CUDA graphs", behind,
       lumos_change_errors((struct lumos_change){0, 0, behind}, 0, beside_kept(job), false).shorter},
  };
  struct sides sum = {0, 0};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    ranges->known = ranges->known && isfinite(sources[i].longer) && isfinite(sources[i].shorter);
    sum.up += sources[i].longer * sources[i].longer;
    sum.down += sources[i].shorter * sources[i].shorter;
    tell_source(ranges, sources[i].name, fmax(sources[i].longer, sources[i].shorter));
  }
  return sum;
}

/* ---- the ranges ---- */

static void set_ranges(struct ranges *ranges, struct sides whole) {
  lumos_string_id step_time = lumos_intern_text(ranges->job->strings, "step_time");
  double step = ranges->step; /* of the rank or the job; its figures stand behind its length */
  double steps = ranges->steps_share;
  for (size_t i = 0; i < ranges->figures.count; i++) {
    struct lumos_metric *metric = &ranges->job->metrics.items[ranges->figures.items[i]];
    step = metric->name == step_time ? value_of(metric) : lumos_scope_is_whole(&metric->scope) ? step : ranges->step;
    const struct sides *sides = &ranges->sides[i];
    double value = value_of(metric);
    struct sides all = {steps * steps * value * value, steps * steps * value * value};
    if (i < ranges->kinds) {
      all = (struct sides){whole.up * step * step, whole.down * step * step};
    }
    double low = value - LUMOS_WITHIN_90 * sqrt(sides->down + all.down),
           high = value + LUMOS_WITHIN_90 * sqrt(sides->up + all.up);
    if (high < (double)LUMOS_TIME_LIMIT && low <= value) { /* neither is where a run has no such figure */
      metric->low = (struct lumos_decimal){low > 0 ? llround(low) : 0, 0};
      metric->high = (struct lumos_decimal){llround(high), 0};
    }
  }
}

static void tell_largest(const struct ranges *ranges) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "the largest source of uncertainty in this prediction: %s (%.2g %% of the step)",
                    ranges->largest, 100 * ranges->largest_share);
  lumos_text_char(&text, '\0');
  lumos_job_note(ranges->job, "sim.largest_error", LUMOS_INFO, LUMOS_ABSENT, NULL, text.bytes, NULL);
  lumos_text_free(&text);
}

void lumos_write_ranges(struct lumos_job *job, const struct lumos_ranging *ranging, const struct lumos_engine *engine,
                        const struct lumos_retiming *ordered, const struct lumos_stretches *stretches,
                        struct lumos_metric_span span, bool steps_alone) {
  struct ranges ranges = {.job = job, .known = true, .steps_alone = steps_alone};
  ranges.step = lumos_mean_step(job, "step_time", LUMOS_METRIC_SIMULATED);
  ranges.uncounted = uncounted_step(job, LUMOS_METRIC_SIMULATED);
  if (!(ranges.step > 0)) {
    return;
  }
  if (lumos_job_is_untied(job)) { /* what keeps its measured waiting is off by as much as that would change */
    lumos_job_note(job, "sim.range_unknown", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "how sure this prediction is cannot be said, for not all waiting follows the change",
                   "see what the warnings about threads or communication advise to record");
    return;
  }
  ranges.steps_share = fmax(share_of_error(job, LUMOS_ERROR_STEPS), simulated_steps_error(&ranges));
  find_figures(&ranges, span);
  ranges.sides = lumos_allocate_zeroed(ranges.figures.count, sizeof *ranges.sides);
  size_t told = job->metrics.count;
  if (ranging != NULL) {
    add_runs(&ranges, ranging, engine, ordered, stretches);
  }
  struct sides whole = whole_squares(&ranges);
  if (ranges.known) {
    set_ranges(&ranges, whole);
  } else {
    job->metrics.count = told;
    lumos_job_note(job, "sim.range_unknown", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "how sure this prediction is cannot be said: measured steps are missing, or the job cannot run with "
                   "other durations",
                   "change the job as lumos-parse or lumos-graph wrote it");
  }
  if (ranges.known && ranges.largest != NULL) {
    tell_largest(&ranges);
  }
  free(ranges.sides);
  lumos_vector_free(&ranges.figures);
}
