/* What nests in a call cuts it into segments, each a task. The call is its last segment, which knows the first; it
 * lasts from that one's start to its own end. Tasks are walked backwards, so that a call is known before its segments
 * come.
 */
#include "sim/calls.h"

#include "sim/metrics.h"
#include "sim/named_sums.h"
#include <stdlib.h>
#include <string.h>

#define LONG_CALL 50000 /* ns, as HTA has it: a launch takes 2 to 10 us, so this one waited for something */

/* LAUNCHED: tasks that a call launched alone; SHORT: of these such that run for less time than the call takes, which is
 * no long one. */
enum { TIME, COUNT, LONG, LAUNCHED, FIGURES = LUMOS_NAMED_FIGURES };

struct call_time {
  lumos_string_id name;
  int32_t weight; /* of its rank */
  int64_t time;
};

/* A way through the calls of a job's threads. */
struct walk {
  const struct lumos_job *job;
  const struct lumos_timeline *timeline;
  LUMOS_VECTOR(uint32_t) cut; /* calls whose segments are still to come */
};

struct calls {
  struct lumos_job *job;
  const struct lumos_timeline *timeline;
  struct walk walk;
  struct lumos_named_sums sums, short_kernels;
  LUMOS_VECTOR(struct call_time) times;
};

static bool is_call(uint8_t kind) {
  return kind == LUMOS_LAUNCH || kind == LUMOS_SYNC || kind == LUMOS_EVENT || kind == LUMOS_ALLOC ||
         kind == LUMOS_OTHER_HOST;
}

static int64_t start_of(const struct walk *walk, uint32_t task) {
  return walk->timeline->runs == NULL ? walk->job->tasks.items[task].start : walk->timeline->runs[task].start;
}

static int64_t time_of(const struct walk *walk, uint32_t task) {
  return walk->timeline->runs == NULL ? walk->job->tasks.items[task].dur : walk->timeline->runs[task].dur;
}

static uint32_t first_segment(const struct walk *walk, uint32_t call) {
  uint32_t first = lumos_detail_of(walk->job, &walk->job->tasks.items[call])->first_segment;
  return first == LUMOS_NONE || first > call ? call : first;
}

static int64_t length_of(const struct walk *walk, uint32_t call) {
  uint32_t first = first_segment(walk, call);
  return first == call ? time_of(walk, call) : start_of(walk, call) + time_of(walk, call) - start_of(walk, first);
}

/* An earlier segment of a call that was met. */
static bool is_segment(struct walk *walk, uint32_t index) {
  const struct lumos_task *tasks = walk->job->tasks.items;
  while (walk->cut.count > 0 && first_segment(walk, walk->cut.items[walk->cut.count - 1]) > index) {
    walk->cut.count--;
  }
  for (size_t i = 0; i < walk->cut.count; i++) {
    uint32_t call = walk->cut.items[i];
    bool own = lumos_detail_of(walk->job, &tasks[index])->first_segment != LUMOS_NONE;
    if (first_segment(walk, call) == index ||
        (!own && tasks[index].name == tasks[call].name && tasks[index].kind == tasks[call].kind &&
         tasks[index].span == tasks[call].span)) {
      return true;
    }
  }
  return false;
}

static void walk_stretch(struct walk *walk, uint32_t step, const struct lumos_stretch *stretch,
                         lumos_call_visitor *visit, void *context) {
  for (uint32_t t = stretch->first + stretch->count; t-- > stretch->first;) {
    if (is_call(walk->job->tasks.items[t].kind) && (walk->cut.count == 0 || !is_segment(walk, t))) {
      visit(context, step, t, length_of(walk, t));
      if (first_segment(walk, t) < t) {
        lumos_vector_push(&walk->cut, t);
      }
    }
  }
}

void lumos_walk_calls(const struct lumos_job *job, const struct lumos_timeline *timeline,
                      const struct lumos_stretches *stretches, lumos_call_visitor *visit, void *context) {
  struct walk walk = {.job = job, .timeline = timeline};
  for (size_t i = stretches->count; i-- > 0;) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    uint32_t step = lumos_job_step(timeline, stretch->step);
    if (step != LUMOS_NONE && job->lanes.items[stretch->lane].kind == LUMOS_THREAD) {
      walk_stretch(&walk, step, stretch, visit, context);
    }
  }
  lumos_vector_free(&walk.cut);
}

static void add_call(void *context, uint32_t step, uint32_t index, int64_t time) {
  struct calls *calls = context;
  const struct lumos_task *task = &calls->job->tasks.items[index];
  int64_t weight = lumos_task_weight(calls->job, task);
  lumos_named_add(&calls->sums, step, task->name, TIME, time, weight);
  lumos_named_add(&calls->sums, step, task->name, COUNT, 1, weight);
  lumos_named_add(&calls->sums, step, task->name, LONG, time > LONG_CALL, weight);
  if (lumos_named_counts(&calls->sums, step)) {
    lumos_vector_push(&calls->times, ((struct call_time){task->name, (int32_t)weight, time}));
  }
}

/* Calls that launch several tasks, as a graph's launch does, say nothing of one of them. */
static uint8_t *count_launched(const struct lumos_job *job) {
  uint8_t *launched = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    if (call != LUMOS_NONE) {
      launched[call] = launched[call] == 0 ? 1 : 2;
    }
  }
  return launched;
}

static void add_streams(struct calls *calls, const struct lumos_stretches *stretches) {
  const struct lumos_job *job = calls->job;
  uint8_t *launched = count_launched(job);
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    uint32_t step = lumos_job_step(calls->timeline, stretch->step);
    if (step == LUMOS_NONE || job->lanes.items[stretch->lane].kind != LUMOS_STREAM) {
      continue;
    }
    for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
      uint32_t call = job->tasks.items[t].call;
      if (call != LUMOS_NONE && launched[call] == 1) {
        int64_t length = length_of(&calls->walk, call);
        int64_t weight = lumos_task_weight(job, &job->tasks.items[t]);
        lumos_named_add(&calls->sums, step, job->tasks.items[call].name, LAUNCHED, 1, weight);
        lumos_named_add(&calls->short_kernels, step, job->tasks.items[call].name, 0,
                        length <= LONG_CALL && time_of(&calls->walk, t) < length, weight);
      }
    }
  }
  free(launched);
}

/* ---- Quantiles ---- */

/* The times of every name stand together afterwards, in no order: from begin[name + 1] until begin[name + 2].
 * O(calls + strings). */
static struct call_time *group_by_name(const struct calls *calls, uint32_t *begin) {
  uint32_t strings = lumos_strings_count(calls->job->strings);
  for (size_t i = 0; i < calls->times.count; i++) {
    begin[calls->times.items[i].name + 1]++;
  }
  for (uint32_t name = 0; name <= strings + 1; name++) {
    begin[name + 1] += begin[name];
  }
  struct call_time *times = lumos_allocate((calls->times.count + 1) * sizeof *times);
  for (size_t i = 0; i < calls->times.count; i++) { /* ends become beginnings, one place after the other */
    times[--begin[calls->times.items[i].name + 1]] = calls->times.items[i];
  }
  return times;
}

/* The time that belongs at `place`; no longer one is left before it. Quickselect with a median of three: O(count) but
 * for times chosen against it. */
static int64_t select_time(struct call_time *times, size_t count, size_t place) {
  size_t low = 0;
  size_t high = count - 1;
  while (low < high) {
    int64_t a = times[low].time, b = times[low + (high - low) / 2].time, c = times[high].time;
    int64_t less = a < b ? a : b, more = a < b ? b : a;
    int64_t pivot = c < less ? less : c > more ? more : c;
    size_t left = low, right = high;
    while (true) {
      while (times[left].time < pivot) {
        left++;
      }
      while (times[right].time > pivot) {
        right--;
      }
      if (left >= right) {
        break;
      }
      struct call_time swapped = times[left];
      times[left++] = times[right];
      times[right--] = swapped;
    }
    if (place <= right) {
      high = right;
    } else {
      low = right + 1;
    }
  }
  return times[place].time;
}

static int by_time(const void *left, const void *right) {
  const struct call_time *a = left, *b = right;
  return LUMOS_ORDER(a->time, b->time);
}

/* The same where a rank stands for several: of times in order, each as often as its rank counts. */
static int64_t weighted_time(const struct call_time *times, size_t count, int64_t place) {
  size_t i = 0;
  for (; i + 1 < count && place >= times[i].weight; i++) {
    place -= times[i].weight;
  }
  return times[i].time;
}

static void write_quantile(const struct calls *calls, const char *metric, lumos_string_id name, int64_t value) {
  struct lumos_scope scope = lumos_everywhere;
  scope.name = name;
  lumos_metric_add(calls->job, metric, &scope, calls->timeline->source, (struct lumos_decimal){value, 0});
}

/* Nearest ranks, so that a quantile is a time that there was. */
static void write_name(const struct calls *calls, bool alike, struct call_time *times, size_t count) {
  lumos_string_id name = times[0].name;
  int64_t weight = (int64_t)count;
  if (!alike) {
    qsort(times, count, sizeof *times, by_time);
    weight = 0;
    for (size_t i = 0; i < count; i++) {
      weight += times[i].weight;
    }
  }
  int64_t tail = weight - weight / 100 - 1, middle = (weight - 1) / 2;
  write_quantile(calls, "call_p99", name,
                 alike ? select_time(times, count, (size_t)tail) : weighted_time(times, count, tail));
  write_quantile(calls, "call_median", name,
                 alike ? select_time(times, count, (size_t)middle) : weighted_time(times, count, middle));
}

/* Of each name once, in the order of the rows. */
static void write_quantiles(const struct calls *calls) {
  uint32_t strings = lumos_strings_count(calls->job->strings);
  uint32_t *begin = lumos_allocate_zeroed((size_t)strings + 3, sizeof *begin);
  struct call_time *times = group_by_name(calls, begin);
  uint8_t *written = lumos_allocate_zeroed((size_t)strings + 1, 1);
  bool alike = lumos_ranks_weigh_alike(calls->job);
  for (size_t i = 0; i < calls->sums.rows.count; i++) {
    lumos_string_id name = calls->sums.rows.items[i].name;
    size_t count = begin[name + 2] - begin[name + 1];
    if (!written[name] && count > 0) {
      write_name(calls, alike, times + begin[name + 1], count);
      written[name] = 1;
    }
  }
  free(written);
  free(times);
  free(begin);
}

static void write_rows(struct calls *calls) {
  static const char *const metrics[FIGURES] = {"call_time", "call_count", "long_call_count", "launched_count"};
  lumos_named_sort(&calls->sums);
  lumos_named_sort(&calls->short_kernels);
  for (size_t i = 0; i < calls->sums.rows.count; i++) {
    const struct lumos_named_row *row = &calls->sums.rows.items[i];
    for (int figure = 0; figure < FIGURES; figure++) {
      if (figure != LAUNCHED || row->of[LAUNCHED] > 0) {
        lumos_named_write(&calls->sums, row, metrics[figure], figure);
      }
    }
  }
  for (size_t i = 0; i < calls->short_kernels.rows.count; i++) {
    lumos_named_write(&calls->short_kernels, &calls->short_kernels.rows.items[i], "short_kernel_count", 0);
  }
}

void lumos_write_calls(struct lumos_job *job, const struct lumos_timeline *timeline,
                       const struct lumos_stretches *stretches) {
  struct calls calls = {.job = job, .timeline = timeline, .walk = {.job = job, .timeline = timeline}};
  lumos_named_begin(&calls.sums, job, timeline);
  lumos_named_begin(&calls.short_kernels, job, timeline);
  lumos_walk_calls(job, timeline, stretches, add_call, &calls);
  add_streams(&calls, stretches);
  write_rows(&calls);
  write_quantiles(&calls);
  lumos_named_free(&calls.sums);
  lumos_named_free(&calls.short_kernels);
  lumos_vector_free(&calls.times);
}
