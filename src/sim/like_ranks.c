/* Times of tasks at the median over ranks that run the same kernels in the same order in a step of a stream.
 *
 * Kernels are compared one by one. Of the host it is what a thread does from one launch to the next that is compared,
 * by the kernel that is launched, for the same work need not show the same rows; each of its tasks takes its share of
 * what the median is less. What a thread waits for is not its own, and is left as it is.
 *
 * What is above the median is taken away only as far as the sum over the step is above the median of the ranks' sums:
 * with all of it the step would be free of the irregularities that every rank has, slow or not.
 */
#include "sim/work.h"

#include "base/hash.h"
#include "graph/typical.h"
#include "sim/clock.h"
#include "sim/steps.h"
#include <stdlib.h>
#include <string.h>

struct piece { /* a stretch of a stream, and what it runs */
  uint64_t hash;
  uint32_t stretch;
};
LUMOS_VECTOR_TYPE(pieces, struct piece);

static int compare_pieces(const void *left, const void *right) {
  const struct piece *a = left, *b = right;
  return a->hash != b->hash ? LUMOS_ORDER(a->hash, b->hash) : LUMOS_ORDER(a->stretch, b->stretch);
}

static struct piece piece_of(const struct lumos_job *job, const struct lumos_stretches *stretches, uint32_t index) {
  const struct lumos_stretch *stretch = &stretches->items[index];
  const struct lumos_lane *lane = &job->lanes.items[stretch->lane];
  uint64_t hash =
      lumos_hash_mix(lumos_hash_mix(lumos_hash_mix(1, lane->native), (uint32_t)stretch->step), stretch->count);
  for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    hash = lumos_hash_mix(hash, lumos_is_communication(task->kind) ? task->kind : task->name);
  }
  return (struct piece){hash, index};
}

static void find_pieces(const struct lumos_job *job, const struct lumos_stretches *stretches, struct pieces *pieces) {
  for (uint32_t i = 0; i < stretches->count; i++) {
    if (job->lanes.items[stretches->items[i].lane].kind == LUMOS_STREAM) {
      lumos_vector_push(pieces, piece_of(job, stretches, i));
    }
  }
  lumos_vector_sort(pieces, compare_pieces);
}

/* Of a piece: what it takes in all, and what its parts take above their medians. */
struct total {
  int64_t whole, above;
  int64_t excess; /* by what the whole is above the median of wholes, at most all that is above */
};

struct medians {
  const struct lumos_job *job;
  const struct lumos_stretches *stretches;
  const uint8_t *launches; /* by task: a call that puts work on a stream */
  const uint8_t *covered;  /* by task: its lag is another thread's time */
  int64_t *values;         /* room for one of each piece */
  int64_t *weights;        /* by piece, as how many ranks it counts; NULL: all alike */
  struct total *kernels;   /* by piece */
  struct total *hosts;     /* by piece */
  struct lumos_times *times;
};

static uint32_t task_of(const struct medians *medians, const struct piece *piece, uint32_t i) {
  return medians->stretches->items[piece->stretch].first + i;
}

/* Of host tasks; what is not known before the run is 0. */
static struct lumos_times own_times(const struct medians *medians, uint32_t t) {
  struct lumos_times own = lumos_own_times(medians->job, t);
  return (struct lumos_times){lumos_call_waits(medians->job, &medians->job->tasks.items[t]) ? 0 : own.dur,
                              medians->covered[t] ? 0 : own.lag};
}

/* The first task behind the last launch before a call on its thread. */
static uint32_t first_for(const struct medians *medians, uint32_t call) {
  const struct lumos_lane *lane = &medians->job->lanes.items[medians->job->tasks.items[call].lane];
  uint32_t first = call;
  while (first > lane->task_first && !medians->launches[first - 1]) {
    first--;
  }
  return first;
}

static int64_t host_time(const struct medians *medians, uint32_t call) {
  int64_t sum = 0;
  for (uint32_t t = first_for(medians, call); t <= call; t++) {
    struct lumos_times own = own_times(medians, t);
    sum = lumos_time_sum(sum, lumos_time_sum(own.dur, own.lag));
  }
  return sum;
}

static int64_t part_of(int64_t time, int64_t part, int64_t whole) { return (int64_t)((__int128)time * part / whole); }

static void shorten_host(const struct medians *medians, uint32_t call, int64_t from, int64_t to) {
  for (uint32_t t = first_for(medians, call); t <= call; t++) {
    struct lumos_times own = own_times(medians, t), *result = &medians->times[t];
    result->dur -= own.dur - part_of(own.dur, to, from);
    result->lag -= own.lag - part_of(own.lag, to, from);
  }
}

/* The kernels, or what the host does for them, at one place of pieces that run the same. */
struct place {
  const struct piece *pieces;
  size_t count;
  uint32_t index;
};

typedef int64_t time_at(const struct medians *medians, uint32_t task);

static int64_t kernel_time(const struct medians *medians, uint32_t t) {
  const struct lumos_task *task = &medians->job->tasks.items[t];
  return lumos_is_communication(task->kind) ? 0 : task->dur;
}

static int64_t launching_time(const struct medians *medians, uint32_t t) {
  return host_time(medians, medians->job->tasks.items[t].call);
}

static int64_t median_at(const struct medians *medians, const struct place *place, time_at *of) {
  for (size_t p = 0; p < place->count; p++) {
    medians->values[p] = of(medians, task_of(medians, &place->pieces[p], place->index));
  }
  return lumos_weighted_median(medians->values, medians->weights, place->count);
}

/* Does the host count, for all pieces launch the kernel in the recording, each by a call of its own? */
static bool all_launch(const struct medians *medians, const struct place *place) {
  for (size_t p = 0; p < place->count; p++) {
    uint32_t t = task_of(medians, &place->pieces[p], place->index);
    uint32_t call = medians->job->tasks.items[t].call;
    if (call == LUMOS_NONE || (place->index > 0 && medians->job->tasks.items[t - 1].call == call)) {
      return false;
    }
  }
  return true;
}

static void add_place(const struct medians *medians, const struct place *place, time_at *of, struct total *totals) {
  int64_t median = median_at(medians, place, of);
  for (size_t p = 0; p < place->count; p++) {
    int64_t time = of(medians, task_of(medians, &place->pieces[p], place->index));
    totals[p].whole = lumos_time_sum(totals[p].whole, time);
    totals[p].above = lumos_time_sum(totals[p].above, time > median ? time - median : 0);
  }
}

static void find_excesses(const struct medians *medians, struct total *totals, size_t count) {
  for (size_t p = 0; p < count; p++) {
    medians->values[p] = totals[p].whole;
  }
  int64_t median = lumos_weighted_median(medians->values, medians->weights, count);
  for (size_t p = 0; p < count; p++) {
    int64_t excess = totals[p].whole > median ? totals[p].whole - median : 0;
    totals[p].excess = excess < totals[p].above ? excess : totals[p].above;
  }
}

/* How much of what a time is above the median goes. */
static int64_t less_of(int64_t time, int64_t median, const struct total *total) {
  return time > median && total->excess > 0 ? part_of(time - median, total->excess, total->above) : 0;
}

static void even_kernel(const struct medians *medians, const struct place *place) {
  int64_t median = median_at(medians, place, kernel_time);
  for (size_t p = 0; p < place->count; p++) {
    uint32_t t = task_of(medians, &place->pieces[p], place->index);
    medians->times[t].dur -= less_of(kernel_time(medians, t), median, &medians->kernels[p]);
  }
}

static void even_host(const struct medians *medians, const struct place *place) {
  int64_t median = median_at(medians, place, launching_time);
  for (size_t p = 0; p < place->count; p++) {
    uint32_t t = task_of(medians, &place->pieces[p], place->index);
    int64_t own = launching_time(medians, t);
    int64_t less = median < 0 ? 0 : less_of(own, median, &medians->hosts[p]);
    if (less > 0) {
      shorten_host(medians, medians->job->tasks.items[t].call, own, own - less);
    }
  }
}

static void weigh(const struct medians *medians, const struct piece *pieces, size_t count) {
  for (size_t p = 0; p < count && medians->weights != NULL; p++) {
    uint32_t task = task_of(medians, &pieces[p], 0);
    medians->weights[p] = lumos_task_weight(medians->job, &medians->job->tasks.items[task]);
  }
}

static void take_medians(const struct medians *medians, const struct piece *pieces, size_t count) {
  weigh(medians, pieces, count);
  memset(medians->kernels, 0, count * sizeof *medians->kernels);
  memset(medians->hosts, 0, count * sizeof *medians->hosts);
  struct place place = {pieces, count, 0};
  uint32_t places = medians->stretches->items[pieces[0].stretch].count;
  for (place.index = 0; place.index < places; place.index++) {
    add_place(medians, &place, kernel_time, medians->kernels);
    if (all_launch(medians, &place)) {
      add_place(medians, &place, launching_time, medians->hosts);
    }
  }
  find_excesses(medians, medians->kernels, count);
  find_excesses(medians, medians->hosts, count);
  for (place.index = 0; place.index < places; place.index++) {
    even_kernel(medians, &place);
    if (all_launch(medians, &place)) {
      even_host(medians, &place);
    }
  }
}

static void mark(const struct lumos_job *job, uint8_t *launches, uint8_t *covered) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].call != LUMOS_NONE) {
      launches[job->tasks.items[t].call] = 1;
    }
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    covered[dep->dst] |= dep->kind == LUMOS_HANDOVER;
  }
}

static struct lumos_times *as_they_are(const struct lumos_job *job) {
  struct lumos_times *times = lumos_allocate(job->tasks.count * sizeof *times);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    times[t] = lumos_own_times(job, t);
  }
  return times;
}

struct lumos_times *lumos_like_rank_medians(const struct lumos_job *job) {
  struct lumos_stretches stretches;
  struct pieces pieces = {0};
  lumos_find_stretches(job, &stretches);
  find_pieces(job, &stretches, &pieces);
  uint8_t *launches = lumos_allocate_zeroed(job->tasks.count, 1), *covered = lumos_allocate_zeroed(job->tasks.count, 1);
  mark(job, launches, covered);
  struct medians medians = {.job = job, .stretches = &stretches, .launches = launches, .covered = covered};
  medians.values = lumos_allocate(pieces.count * sizeof *medians.values);
  medians.weights = lumos_ranks_weigh_alike(job) ? NULL : lumos_allocate(pieces.count * sizeof *medians.weights);
  medians.kernels = lumos_allocate(pieces.count * sizeof *medians.kernels);
  medians.hosts = lumos_allocate(pieces.count * sizeof *medians.hosts);
  for (size_t i = 0, end = 0; i < pieces.count; i = end) {
    for (end = i; end < pieces.count && pieces.items[end].hash == pieces.items[i].hash;) {
      end++;
    }
    if (end - i > 1) {
      medians.times = medians.times == NULL ? as_they_are(job) : medians.times;
      take_medians(&medians, pieces.items + i, end - i);
    }
  }
  free(launches);
  free(covered);
  free(medians.values);
  free(medians.weights);
  free(medians.kernels);
  free(medians.hosts);
  lumos_vector_free(&pieces);
  lumos_vector_free(&stretches);
  return medians.times;
}
