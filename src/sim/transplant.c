/* The transplant: does the graph of one step tell the time of another?
 *
 * Step i keeps its graph, edges and lags, and gets the durations, transfers and host gaps of a later step j of the same
 * structure; what comes out is held against the measured time of step j. A replay may carry what it does not
 * understand; here nothing is taken from step j but how long its work took.
 *
 * All steps are done in one run, each with the step that lies `distance` further on, so that those before a step leave
 * it the backlog that step j found. The distance is the one of 1 to 4 that gives the most like steps, the nearest of
 * such: where every other step does something more, every other step is like it. Two steps are like where the common
 * subsequences of their names, lane by lane, cover 98 % of the device tasks of either, and 95 % of the time of either's
 * threads, of which no gap counts that is not taken: one allocation of 90 ms that the other step lacks is one call of
 * thousands.
 *
 * Of several ranks together the first step keeps its own beginning, rank by rank, for that lies before the recording.
 * Where the ranks ended the step before step j further apart than that before step i, the first to come waited for the
 * last in step j, and in the transplant need not: each rank's error has the difference in it. So on the public trace of
 * nanogpt on 8 H100s: the step before the first one ended on all within 0.1 ms, the one before its donor on rank 1 0.8
 * ms after the others, which puts the ranks' errors 1.8 % of the step apart, 0.8 % above and 0.9 % below; of the next
 * step, which begins within the recording, they are 0.1 to 0.3 %.
 */
#include "sim/metrics.h"

#include "sim/align.h"
#include "sim/clock.h"
#include <stdlib.h>
#include <string.h>

/* Steps, and per cent of device tasks and of host time. Chosen: a program may alternate between kinds of step.
 * Measured: nanogpt's odd and even steps, which differ, have 829 and 900 device tasks; like steps of hta-diff, whose
 * host has many a call more in one than in the other, have 97.7 % of its time in common. */
enum { MOST_DISTANCE = 4, LIKE_PERCENT = 98, LIKE_HOST_PERCENT = 95 };

/* Of what a step's threads do, and of the time before it, as far as it is their own. */
struct host_time {
  int64_t all, matched; /* of the tasks that have a donor */
  int64_t given;        /* of the donors */
};

struct lumos_transplant {
  const struct lumos_job *job;
  const struct lumos_stretches *stretches;
  const struct lumos_steps_list *steps;
  uint32_t distance;
  uint32_t *donor;        /* by task: the one whose time it takes, or LUMOS_NONE */
  uint32_t *device;       /* by step: its device tasks */
  uint32_t *matched;      /* by step: those of them that have a donor */
  struct host_time *host; /* by step */
  uint32_t like;          /* steps that have a like one */
  uint32_t possible;      /* steps that have one at this distance */
  bool done;              /* the run came to its end: */
  struct lumos_timeline timeline;
};

/* --- Like steps --- */

static bool covers(uint32_t matched, uint32_t left, uint32_t right) {
  uint32_t larger = left > right ? left : right;
  return larger > 0 && (uint64_t)matched * 100 >= (uint64_t)larger * LIKE_PERCENT;
}

static bool covers_time(int64_t matched, int64_t all) {
  return (__int128)matched * 100 >= (__int128)all * LIKE_HOST_PERCENT;
}

static bool has_other(const struct lumos_transplant *transplant, uint32_t step) {
  const struct lumos_steps_list *steps = transplant->steps;
  return step + transplant->distance < steps->count &&
         steps->items[step + transplant->distance].rank == steps->items[step].rank;
}

/* Enough device tasks in common, if all of the shorter step have a partner in the longer one? */
static bool may_be_like(const struct lumos_transplant *transplant, uint32_t step) {
  if (!has_other(transplant, step)) {
    return false;
  }
  uint32_t left = transplant->device[step], right = transplant->device[step + transplant->distance];
  return covers(left < right ? left : right, left, right);
}

static bool is_like(const struct lumos_transplant *transplant, uint32_t step) {
  if (!has_other(transplant, step)) {
    return false;
  }
  uint32_t other = step + transplant->distance;
  const struct host_time *host = &transplant->host[step];
  return covers(transplant->matched[step], transplant->device[step], transplant->device[other]) &&
         covers_time(host->matched, host->all) && covers_time(host->given, transplant->host[other].all);
}

/* A rank's steps in `steps`: from `first` on, `count` of them. */
struct range {
  uint32_t first, count;
};

/* The steps of the rank behind those of `before`. */
static struct range steps_after(const struct lumos_steps_list *steps, struct range before, uint32_t rank) {
  struct range range = {before.first + before.count, 0};
  while (range.first + range.count < steps->count && steps->items[range.first + range.count].rank == rank) {
    range.count++;
  }
  return range;
}

/* A lane's tasks by step, in order: those of the n-th step of its rank are tasks[first[n] .. first[n + 1]). */
struct sorted_lane {
  uint32_t *tasks, *names, *first;
};

/* Of a stretch the step, or LUMOS_NONE. */
static uint32_t step_of(const struct lumos_transplant *transplant, const struct lumos_stretch *stretch,
                        uint32_t *guess) {
  uint32_t rank = transplant->job->lanes.items[stretch->lane].rank;
  return lumos_step_index(transplant->steps, rank, stretch->step, guess);
}

/* `stretches`: the lane's. Those of no step that is known are left out. */
static struct sorted_lane sort_lane(const struct lumos_transplant *transplant, const struct lumos_stretch *stretches,
                                    size_t count, struct range range) {
  struct sorted_lane sorted = {.first = lumos_allocate_zeroed((size_t)range.count + 2, sizeof(uint32_t))};
  uint32_t guess = range.first;
  for (size_t i = 0; i < count; i++) {
    uint32_t step = step_of(transplant, &stretches[i], &guess);
    sorted.first[step == LUMOS_NONE ? 0 : step - range.first + 2] += step == LUMOS_NONE ? 0 : stretches[i].count;
  }
  for (uint32_t n = 2; n < range.count + 2; n++) {
    sorted.first[n] += sorted.first[n - 1];
  }
  sorted.tasks = lumos_allocate(sorted.first[range.count + 1] * sizeof *sorted.tasks);
  sorted.names = lumos_allocate(sorted.first[range.count + 1] * sizeof *sorted.names);
  for (size_t i = 0; i < count; i++) {
    uint32_t step = step_of(transplant, &stretches[i], &guess);
    for (uint32_t t = stretches[i].first; step != LUMOS_NONE && t < stretches[i].first + stretches[i].count; t++) {
      uint32_t at = sorted.first[step - range.first + 1]++;
      sorted.tasks[at] = t;
      sorted.names[at] = transplant->job->tasks.items[t].name;
    }
  }
  return sorted;
}

static bool is_handed(const struct lumos_job *job, uint32_t t) {
  return lumos_detail_of(job, &job->tasks.items[t])->own_lag != LUMOS_ABSENT;
}

/* Does a task take its donor's gap, too? One of them counts from a hand-over, the other from the task before it: not
 * then. */
static bool shares_gap(const struct lumos_job *job, uint32_t t, uint32_t donor) {
  return is_handed(job, t) == is_handed(job, donor);
}

/* A task's own time, and that of the thread before it where that is asked for. */
static int64_t time_of(const struct lumos_job *job, uint32_t t, bool gap) {
  struct lumos_times own = lumos_own_times(job, t);
  return own.dur + (gap && own.lag > 0 ? own.lag : 0);
}

/* Pair the lane's tasks of every step with those of the step that may be like it. */
static void pair_lane(struct lumos_transplant *transplant, const struct lumos_stretch *stretches, size_t stretch_count,
                      struct range range, uint32_t *partners) {
  struct sorted_lane sorted = sort_lane(transplant, stretches, stretch_count, range);
  bool stream = transplant->job->lanes.items[stretches->lane].kind == LUMOS_STREAM;
  for (uint32_t n = 0; n + transplant->distance < range.count; n++) {
    uint32_t from = sorted.first[n], other = sorted.first[n + transplant->distance];
    uint32_t count = sorted.first[n + 1] - from;
    if (!may_be_like(transplant, range.first + n)) {
      continue;
    }
    size_t pairs = lumos_align(sorted.names + from, count, sorted.names + other,
                               sorted.first[n + transplant->distance + 1] - other, partners);
    transplant->matched[range.first + n] += stream ? (uint32_t)pairs : 0;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t task = sorted.tasks[from + i];
      uint32_t donor = partners[i] == UINT32_MAX ? LUMOS_NONE : sorted.tasks[other + partners[i]];
      transplant->donor[task] = donor;
      if (!stream && donor != LUMOS_NONE) {
        struct host_time *host = &transplant->host[range.first + n];
        bool gap = shares_gap(transplant->job, task, donor);
        host->matched = lumos_time_sum(host->matched, time_of(transplant->job, task, gap));
        host->given = lumos_time_sum(host->given, time_of(transplant->job, donor, gap));
      }
    }
  }
  free(sorted.tasks);
  free(sorted.names);
  free(sorted.first);
}

static void pair_all(struct lumos_transplant *transplant) {
  const struct lumos_job *job = transplant->job;
  for (size_t t = 0; t < job->tasks.count; t++) {
    transplant->donor[t] = LUMOS_NONE;
  }
  uint32_t *partners = lumos_allocate(job->tasks.count * sizeof *partners);
  struct range range = {0, 0};
  uint32_t ranks = 0; /* up to which the range has come */
  const struct lumos_stretch *stretches = transplant->stretches->items;
  for (size_t first = 0, count = 0; first < transplant->stretches->count; first += count) {
    uint32_t lane = stretches[first].lane;
    for (; ranks <= job->lanes.items[lane].rank; ranks++) {
      range = steps_after(transplant->steps, range, ranks);
    }
    for (count = 1; first + count < transplant->stretches->count && stretches[first + count].lane == lane;) {
      count++;
    }
    pair_lane(transplant, stretches + first, count, range, partners);
  }
  free(partners);
  for (uint32_t step = 0; step < transplant->steps->count; step++) {
    transplant->like += is_like(transplant, step);
    transplant->possible += has_other(transplant, step);
  }
}

/* Device tasks and host time of every step. */
static void count_work(struct lumos_transplant *transplant) {
  uint32_t guess = 0;
  for (size_t i = 0; i < transplant->stretches->count; i++) {
    const struct lumos_stretch *stretch = &transplant->stretches->items[i];
    uint32_t step = step_of(transplant, stretch, &guess);
    if (step == LUMOS_NONE) {
      continue;
    }
    if (transplant->job->lanes.items[stretch->lane].kind == LUMOS_STREAM) {
      transplant->device[step] += stretch->count;
      continue;
    }
    for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
      transplant->host[step].all = lumos_time_sum(transplant->host[step].all, time_of(transplant->job, t, true));
    }
  }
}

static void free_pairs(struct lumos_transplant *transplant) {
  free(transplant->donor);
  free(transplant->device);
  free(transplant->matched);
  free(transplant->host);
}

static struct lumos_transplant pair_at(const struct lumos_job *job, const struct lumos_stretches *stretches,
                                       const struct lumos_steps_list *steps, uint32_t distance) {
  struct lumos_transplant transplant = {.job = job, .stretches = stretches, .steps = steps, .distance = distance};
  transplant.donor = lumos_allocate(job->tasks.count * sizeof *transplant.donor);
  transplant.device = lumos_allocate_zeroed(steps->count, sizeof *transplant.device);
  transplant.matched = lumos_allocate_zeroed(steps->count, sizeof *transplant.matched);
  transplant.host = lumos_allocate_zeroed(steps->count, sizeof *transplant.host);
  count_work(&transplant);
  pair_all(&transplant);
  return transplant;
}

/* The nearest distance at which most steps have a like one. */
static struct lumos_transplant find_like_steps(const struct lumos_job *job, const struct lumos_stretches *stretches,
                                               const struct lumos_steps_list *steps) {
  struct lumos_transplant best = pair_at(job, stretches, steps, 1);
  for (uint32_t distance = 2; distance <= MOST_DISTANCE && best.like < best.possible; distance++) {
    struct lumos_transplant other = pair_at(job, stretches, steps, distance);
    if (other.like > best.like) {
      struct lumos_transplant worse = best;
      best = other;
      other = worse;
    }
    free_pairs(&other);
  }
  return best;
}

/* --- The job with the times of like steps, as a variant --- */

static int64_t length(const struct lumos_step *step) { return step->end - step->start; }

/* By step, how much later it begins when every like step takes as long as its other one. */
static int64_t *find_shifts(const struct lumos_transplant *transplant) {
  const struct lumos_steps_list *steps = transplant->steps;
  int64_t *shifts = lumos_allocate_zeroed(steps->count, sizeof *shifts);
  for (uint32_t step = 0; step + 1 < steps->count; step++) {
    if (steps->items[step + 1].rank == steps->items[step].rank) {
      shifts[step + 1] = shifts[step];
      if (is_like(transplant, step)) {
        shifts[step + 1] += length(&steps->items[step + transplant->distance]) - length(&steps->items[step]);
      }
    }
  }
  return shifts;
}

/* A run's times, from those of like steps. */
struct donation {
  const struct lumos_transplant *transplant;
  int64_t *transfers; /* by collective */
  int64_t *shifts;    /* by step */
};

/* What is the donor's own; what the graph explains is found anew. */
static struct lumos_times donated_times(void *context, uint32_t t, struct lumos_times own) {
  const struct donation *donation = context;
  const struct lumos_job *job = donation->transplant->job;
  uint32_t donor = donation->transplant->donor[t];
  if (donor == LUMOS_NONE) {
    return own;
  }
  struct lumos_times donors = lumos_own_times(job, donor);
  own.dur = donors.dur;
  if (shares_gap(job, t, donor)) {
    own.lag = donors.lag;
  }
  return own;
}

/* The collective in which all of a collective's members' donors are, or LUMOS_NONE. A member of several takes part in
 * them in the same order as its donor. */
static uint32_t donor_of_collective(const struct lumos_transplant *transplant, const struct lumos_coupling *coupling,
                                    uint32_t c) {
  const struct lumos_collective *collective = &transplant->job->collectives.items[c];
  uint32_t found = LUMOS_NONE;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t member = transplant->job->members.items[collective->member_first + m];
    uint32_t donor = transplant->donor[member];
    uint32_t first = coupling->first[member], count = coupling->first[member + 1] - first;
    if (donor == LUMOS_NONE || coupling->first[donor + 1] - coupling->first[donor] != count) {
      return LUMOS_NONE;
    }
    uint32_t place = 0;
    while (place < count && coupling->of[first + place] != c) {
      place++;
    }
    if (place == count || (m > 0 && coupling->of[coupling->first[donor] + place] != found)) {
      return LUMOS_NONE;
    }
    found = coupling->of[coupling->first[donor] + place];
  }
  return found;
}

static int64_t *find_transfers(const struct lumos_transplant *transplant, const struct lumos_coupling *coupling) {
  const struct lumos_job *job = transplant->job;
  int64_t *transfers = lumos_allocate(job->collectives.count * sizeof *transfers);
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    uint32_t donor = donor_of_collective(transplant, coupling, c);
    transfers[c] = job->collectives.items[donor == LUMOS_NONE ? c : donor].transfer;
  }
  return transfers;
}

static int64_t donated_transfer(void *context, uint32_t collective, int64_t own) {
  const struct donation *donation = context;
  (void)own;
  return donation->transfers[collective];
}

static bool is_first_of_rank(const struct lumos_steps_list *steps, uint32_t step) {
  return step == 0 || steps->items[step - 1].rank != steps->items[step].rank;
}

/* How far the host is ahead of its step, before which the step before ends on the device. */
static int64_t lead(const struct lumos_transplant *transplant, uint32_t t, uint32_t step) {
  int64_t start = lumos_measured_start(transplant->job, t);
  return start == LUMOS_ABSENT ? 0 : transplant->steps->items[step].start - start;
}

/* What comes from outside the recording keeps its place in its step. But a thread that begins in the first step begins
 * as far ahead as in the step that it takes its times from: what holds it there is not in the recording. */
static int64_t moved_boundary(void *context, uint32_t dep, int64_t own) {
  const struct donation *donation = context;
  const struct lumos_transplant *transplant = donation->transplant;
  uint32_t t = transplant->job->deps.items[dep].dst, donor = transplant->donor[t], guess = 0;
  const struct lumos_task *task = &transplant->job->tasks.items[t];
  uint32_t step = task->step == LUMOS_ABSENT_INT
                      ? LUMOS_NONE
                      : lumos_step_index(transplant->steps, lumos_rank_of(transplant->job, task), task->step, &guess);
  if (step == LUMOS_NONE) {
    return own;
  }
  if (donor == LUMOS_NONE || lumos_on_stream(transplant->job, task) || !is_first_of_rank(transplant->steps, step)) {
    return own + donation->shifts[step];
  }
  return own + lead(transplant, t, step) - lead(transplant, donor, step + transplant->distance);
}

LUMOS_VECTOR_TYPE(boundaries, struct lumos_dep);

/* A stream that begins in the first step is free when it was before the step that it takes its times from. */
static void hold_streams(const struct lumos_transplant *transplant, struct boundaries *added) {
  const struct lumos_job *job = transplant->job;
  uint32_t guess = 0;
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    uint32_t t = lane->task_first, donor = lane->task_count == 0 ? LUMOS_NONE : transplant->donor[t];
    if (lane->kind != LUMOS_STREAM || donor == LUMOS_NONE || donor == lane->task_first) {
      continue;
    }
    uint32_t step = lumos_step_index(transplant->steps, lane->rank, job->tasks.items[t].step, &guess);
    if (!is_first_of_rank(transplant->steps, step)) {
      continue;
    }
    int64_t start = 0, end = 0;
    (void)lumos_task_interval(job, NULL, donor - 1, &start, &end);
    struct lumos_dep hold = lumos_dep_empty;
    int64_t gap = lumos_timing_of(job, t)->gap;
    hold.dst = t;
    hold.at = job->tasks.items[t].start + lead(transplant, t, step) + end -
              transplant->steps->items[step + transplant->distance].start;
    hold.lag = job->tasks.items[donor].lag + (gap == LUMOS_ABSENT ? 0 : gap);
    hold.kind = LUMOS_BOUNDARY;
    hold.from = LUMOS_START;
    hold.to = LUMOS_START;
    hold.evidence = LUMOS_INFERRED;
    hold.mode = LUMOS_FIXED;
    lumos_vector_push(added, hold);
  }
}

/* False where the times of one step block the graph of another. */
static bool run(struct lumos_transplant *transplant, struct lumos_engine *engine) {
  struct donation donation = {.transplant = transplant,
                              .transfers = find_transfers(transplant, &engine->coupling),
                              .shifts = find_shifts(transplant)};
  struct boundaries added = {0};
  hold_streams(transplant, &added);
  const struct lumos_variant variant = {.context = &donation,
                                        .typical_residuals = true,
                                        .times = donated_times,
                                        .threads = true,
                                        .streams = true,
                                        .transfer = donated_transfer,
                                        .boundary = moved_boundary,
                                        .added = added.items,
                                        .added_count = added.count};
  const struct lumos_engine_order order = {.variant = &variant, .nodes_only = transplant->stretches->places != NULL};
  struct lumos_run *runs = lumos_engine_room(engine, order.nodes_only);
  struct lumos_error error = {0};
  bool done = lumos_engine_do(engine, &order, runs, &error);
  if (done) {
    lumos_timeline_make(&transplant->timeline, transplant->job, runs, transplant->stretches);
    transplant->timeline.runs = NULL; /* which are gone */
  }
  free(runs);
  lumos_vector_free(&added);
  free(donation.transfers);
  free(donation.shifts);
  return done;
}

/* --- Metrics --- */

/* Steps told about, by a name, and held against the measured like ones. */
struct comparison {
  const char *name;
  const struct lumos_timeline *own;
};

static bool all_like(const struct lumos_transplant *transplant, const struct lumos_timeline *measured, uint32_t k) {
  bool like = k + transplant->distance < measured->job.count;
  for (uint32_t i = measured->sharers_first[k]; like && i < measured->sharers_first[k + 1]; i++) {
    like = is_like(transplant, measured->sharers[i]);
  }
  return like;
}

/* (own - like) / like of every rank's step that has a like one, its mean size without a scope, and the job's where all
 * its ranks' steps have one. */
static void write_comparison(struct lumos_job *job, const struct lumos_transplant *transplant,
                             const struct lumos_timeline *measured, struct comparison comparison) {
  enum { UNIT = 1000000000 };
  __int128 sum = 0;
  int64_t compared = 0;
  for (uint32_t step = 0; step < measured->steps.count; step++) {
    if (!is_like(transplant, step) || length(&measured->steps.items[step + transplant->distance]) <= 0) {
      continue;
    }
    int64_t other = length(&measured->steps.items[step + transplant->distance]);
    int64_t difference = length(&comparison.own->steps.items[step]) - other;
    lumos_metric_share(job, comparison.name, lumos_place_of(job, comparison.own, &measured->steps.items[step]),
                       difference, other);
    int64_t weight = lumos_rank_weight(&job->ranks.items[measured->steps.items[step].rank]);
    sum = lumos_weighted_sum(sum, (__int128)(difference < 0 ? -difference : difference) * UNIT / other, weight);
    compared += weight;
  }
  for (uint32_t k = 0; k < measured->job.count; k++) {
    int64_t other = all_like(transplant, measured, k) ? length(&measured->job.items[k + transplant->distance]) : 0;
    if (other > 0) {
      lumos_metric_share(job, comparison.name, lumos_place_of(job, comparison.own, &measured->job.items[k]),
                         length(&comparison.own->job.items[k]) - other, other);
    }
  }
  if (compared > 0) {
    const struct lumos_metric_place everywhere = {comparison.own->source, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    __int128 mean = sum / compared;
    lumos_metric_share(job, comparison.name, everywhere, (int64_t)(mean > INT64_MAX ? INT64_MAX : mean), UNIT);
  }
}

static void write_matched(struct lumos_job *job, const struct lumos_transplant *transplant,
                          const struct lumos_timeline *measured) {
  for (uint32_t step = 0; step < measured->steps.count; step++) {
    if (is_like(transplant, step)) {
      uint32_t left = transplant->device[step], right = transplant->device[step + transplant->distance];
      lumos_metric_share(job, "transplant_matched", lumos_place_of(job, measured, &measured->steps.items[step]),
                         transplant->matched[step], left > right ? left : right);
    }
  }
}

/* Tasks of steps without a like one keep their times. */
static void forget_unlike(struct lumos_transplant *transplant) {
  uint32_t guess = 0;
  for (size_t i = 0; i < transplant->stretches->count; i++) {
    const struct lumos_stretch *stretch = &transplant->stretches->items[i];
    uint32_t step = step_of(transplant, stretch, &guess);
    bool like = step != LUMOS_NONE && is_like(transplant, step);
    for (uint32_t t = stretch->first; !like && t < stretch->first + stretch->count; t++) {
      transplant->donor[t] = LUMOS_NONE;
    }
  }
}

struct lumos_transplant *lumos_transplant_make(const struct lumos_job *job, struct lumos_engine *engine,
                                               const struct lumos_stretches *stretches,
                                               const struct lumos_timeline *measured) {
  struct lumos_transplant *transplant = lumos_allocate(sizeof *transplant);
  *transplant = find_like_steps(job, stretches, &measured->steps);
  if (transplant->like > 0) {
    forget_unlike(transplant);
    transplant->done = run(transplant, engine);
  }
  free(transplant->donor);
  transplant->donor = NULL;
  return transplant;
}

void lumos_transplant_free(struct lumos_transplant *transplant) {
  if (transplant != NULL) {
    lumos_timeline_free(&transplant->timeline);
    free_pairs(transplant);
    free(transplant);
  }
}

void lumos_write_transplant(struct lumos_job *job, const struct lumos_timeline *measured,
                            const struct lumos_transplant *transplant) {
  if (transplant->like == 0) {
    if (transplant->possible > 0) {
      lumos_job_note(job, "sim.no_like_steps", LUMOS_INFO, transplant->possible, NULL,
                     "steps have no similar step with the same work, so there is no cross-step error", NULL);
    }
    return;
  }
  if (!transplant->done) {
    lumos_job_note(job, "sim.transplant_blocked", LUMOS_INFO, LUMOS_ABSENT, NULL,
                   "with the durations of another step the tasks of the graph wait for each other, so there is no "
                   "cross-step error",
                   NULL);
  } else if (transplant->timeline.steps.count == measured->steps.count) {
    write_comparison(job, transplant, measured, (struct comparison){"transplant_error", &transplant->timeline});
    write_comparison(job, transplant, measured, (struct comparison){"step_spread", measured});
    write_matched(job, transplant, measured);
  }
}
