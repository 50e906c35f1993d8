/* Steps as the profiler marks them. A step mark lasts from one call of profiler.step() to the next; the time between
 * two marks belongs to the first of them, so that every host task between the first mark's start and the last one's end
 * has a step.
 *
 * Where a number is missing and there is work between the marks around it, a mark is lost. One step has the time
 * between them; several cannot be told apart, and no step of that length ever was, so the steps that are kept lie on
 * one side of them.
 *
 * A step of which nothing but the mark was recorded, between others, is one in which the host does something that no
 * row shows, such as an evaluation.
 */
#include "trace/steps.h"

#include "trace/classify.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare_marks(const void *a, const void *b) {
  const struct trace_mark *left = a, *right = b;
  return left->start != right->start ? (left->start > right->start) - (left->start < right->start)
                                     : (left->number > right->number) - (left->number < right->number);
}

static struct trace_mark mark_of(int64_t number, int64_t start, int64_t end, bool unfinished) {
  return (struct trace_mark){.number = number,
                             .start = start,
                             .end = end,
                             .unfinished = unfinished,
                             .host_start = LUMOS_ABSENT,
                             .host_end = LUMOS_ABSENT,
                             .device_end = LUMOS_ABSENT};
}

static void collect_marks(const struct trace *trace, struct trace_steps *steps) {
  for (size_t i = 0; i < trace->host.count; i++) {
    const struct trace_host *row = &trace->host.items[i];
    if (row->class == TRACE_STEP) {
      lumos_vector_push(&steps->marks, mark_of(row->key, row->start, row->end, row->unfinished));
    }
  }
  lumos_vector_sort(&steps->marks, compare_marks);
}

/* Numbers must rise with time, or a step would mean two stretches of the recording. */
static void drop_repeated(struct trace_steps *steps) {
  size_t kept = 0;
  for (size_t i = 0; i < steps->marks.count; i++) {
    if (kept == 0 || steps->marks.items[i].number > steps->marks.items[kept - 1].number) {
      steps->marks.items[kept++] = steps->marks.items[i];
    }
  }
  steps->dropped = (int64_t)(steps->marks.count - kept);
  steps->marks.count = kept;
}

static bool is_work(const struct trace_host *row) { return row->class == TRACE_OP || row->class == TRACE_CALL; }

/* In which marks does an op or call start, on whatever thread? */
static void find_working(const struct trace *trace, struct trace_steps *steps) {
  struct trace_mark *mark = NULL; /* of the row before; [start, end) is what it holds */
  int64_t start = 0, end = 0;
  for (size_t i = 0; i < trace->host.count; i++) {
    const struct trace_host *row = &trace->host.items[i];
    if (!is_work(row)) {
      continue;
    }
    if (mark == NULL || row->start < start || row->start >= end) {
      int64_t at = trace_mark_at(steps, row->start);
      size_t count = steps->marks.count;
      mark = at >= 0 && at < (int64_t)count ? &steps->marks.items[at] : NULL;
      if (mark == NULL) {
        continue;
      }
      start = mark->start;
      end = at + 1 < (int64_t)count ? mark[1].start : mark->end;
    }
    mark->works = true;
  }
}

static int64_t missing_before(const struct trace_mark *mark) { return mark->number - mark[-1].number - 1; }

/* Put a mark without a name into every gap between two marks whose numbers say that some are missing. */
static void fill_gaps(struct trace_steps *steps) {
  size_t gaps = 0;
  for (size_t i = 1; i < steps->marks.count; i++) {
    const struct trace_mark *mark = &steps->marks.items[i];
    gaps += missing_before(mark) > 0 && mark[-1].end < mark->start;
  }
  lumos_vector_reserve(&steps->marks, gaps);
  size_t place = steps->marks.count + gaps;
  size_t next = steps->marks.count;
  steps->marks.count += gaps;
  while (place > next) {
    const struct trace_mark mark = steps->marks.items[--next];
    const struct trace_mark *before = &steps->marks.items[next - 1];
    int64_t missing = missing_before(&steps->marks.items[next]);
    bool gap = missing > 0 && before->end < mark.start;
    steps->marks.items[--place] = mark;
    if (gap) {
      struct trace_mark *made = &steps->marks.items[--place];
      *made = mark_of(before->number + 1, before->end, mark.start, false);
      made->unmarked = missing;
    }
  }
}

/* Of the gaps those in which work begins are steps whose marks are lost. */
static void keep_lost(struct trace_steps *steps) {
  size_t kept = 0;
  for (size_t i = 0; i < steps->marks.count; i++) {
    const struct trace_mark mark = steps->marks.items[i];
    if (mark.unmarked > 0 && !mark.works) {
      continue; /* the numbers jump, no more */
    }
    steps->restored += mark.unmarked == 1;
    steps->merged += mark.unmarked > 1 ? mark.unmarked : 0;
    steps->marks.items[kept++] = mark;
  }
  steps->marks.count = kept;
}

/* Per cent of the mean step with work. Chosen: one that is shorter is a call of profiler.step() too many, and what it
 * adds to the step behind it is as little. */
enum { SHORTEST_IDLE = 1 };

/* Of the marks first to last, between which all was recorded, those that have no work. */
static void find_idle(struct trace_steps *steps, int64_t first, int64_t last) {
  __int128 working = 0;
  int64_t count = 0;
  for (int64_t i = first; i <= last; i++) {
    const struct trace_mark *mark = &steps->marks.items[i];
    working += mark->works ? mark->end - mark->start : 0;
    count += mark->works;
  }
  for (int64_t i = first; i <= last; i++) {
    struct trace_mark *mark = &steps->marks.items[i];
    mark->idle = !mark->works && (__int128)(mark->end - mark->start) * 100 * count >= working * SHORTEST_IDLE;
    steps->idle += mark->idle;
  }
}

/* A step without work between two with it was recorded as they were: its mark counts as an op that lasts to the next.
 * Else the step would vanish, and the one behind it would last so much longer. */
static void fill_idle_steps(struct trace *trace, struct trace_steps *steps) {
  int64_t first = 0, last = (int64_t)steps->marks.count - 1;
  while (first <= last && !steps->marks.items[first].works) {
    first++;
  }
  while (last >= first && !steps->marks.items[last].works) {
    last--;
  }
  steps->recorded = first <= last;
  find_idle(steps, first, last);
  for (size_t i = 0; i < trace->host.count && steps->idle > 0; i++) {
    struct trace_host *row = &trace->host.items[i];
    int64_t at = row->class == TRACE_STEP ? trace_mark_at(steps, row->start) : TRACE_BEFORE_STEPS;
    struct trace_mark *mark = at >= first && at <= last ? &steps->marks.items[at] : NULL;
    if (mark != NULL && mark->idle && mark->number == row->key && mark->start == row->start) {
      mark->idle = false; /* one row is enough */
      row->alone = true;
      row->end = mark->end;
    }
  }
}

/* Each step lasts to the next mark. A mark that ends with the last row of all, with no sign that the recording went on,
 * was cut by the recording's end. */
static void settle_ends(const struct trace *trace, const struct trace_clock *clock, struct trace_steps *steps) {
  struct trace_mark *last = &steps->marks.items[steps->marks.count - 1];
  bool went_on = trace->record_end != LUMOS_ABSENT && trace->record_end > last->end;
  last->unfinished = last->unfinished || (last->end >= clock->rows_end && !went_on);
  for (size_t i = 0; i + 1 < steps->marks.count; i++) {
    steps->marks.items[i].end = steps->marks.items[i + 1].start;
  }
}

/* The row of work that starts last; NULL: several do, or there are none before it. */
static const struct trace_host *last_work(const struct trace *trace) {
  const struct trace_host *last = NULL;
  bool alone = false;
  for (size_t i = 0; i < trace->host.count; i++) {
    const struct trace_host *row = &trace->host.items[i];
    if (is_work(row) && (last == NULL || row->start >= last->start)) {
      alone = last != NULL && row->start > last->start;
      last = row;
    }
  }
  return alone ? last : NULL;
}

/* When the profiler stops it synchronises the device, and that is no work of the job. Behind the last mark it is left
 * out with all else; without marks it is the call that starts last, in no op. INT64_MAX: there is none. */
static int64_t profiler_stops(const struct trace *trace) {
  const struct trace_host *last = last_work(trace);
  if (last == NULL || last->class != TRACE_CALL ||
      !lumos_trace_matches("devicesynchronize", lumos_string(trace->strings, last->name))) {
    return INT64_MAX;
  }
  for (size_t i = 0; i < trace->host.count; i++) {
    const struct trace_host *row = &trace->host.items[i];
    if (row->class == TRACE_OP && row->lane == last->lane && row->end > last->start) {
      return INT64_MAX;
    }
  }
  return last->start;
}

void lumos_trace_find_steps(struct trace *trace, const struct trace_clock *clock, struct trace_steps *steps) {
  *steps = (struct trace_steps){.base = trace->base};
  collect_marks(trace, steps);
  drop_repeated(steps);
  if (steps->marks.count > 0) {
    fill_gaps(steps);
    find_working(trace, steps);
    keep_lost(steps);
    settle_ends(trace, clock, steps);
    fill_idle_steps(trace, steps);
    steps->ignored = !steps->recorded;
    struct trace_mark *last = &steps->marks.items[steps->marks.count - 1];
    last->end = trace->steps_end > last->end ? trace->steps_end : last->end;
  }
  if (!steps->recorded) {
    steps->marks.count = 0;
    lumos_vector_push(&steps->marks, mark_of(0, INT64_MIN, profiler_stops(trace), false));
  }
}

void lumos_trace_free_steps(struct trace_steps *steps) {
  lumos_vector_free(&steps->marks);
  lumos_vector_free(&steps->carried_ends);
}

/* Narrow [first, last] to the longest row of steps without one in between that is several; of several such rows to the
 * last. */
static void narrow_to_unmerged(struct trace_steps *steps) {
  size_t best = steps->last;
  size_t longest = 0;
  size_t length = 0;
  for (size_t i = steps->first; i <= steps->last; i++) {
    length = steps->marks.items[i].unmarked > 1 ? 0 : length + 1;
    if (length > 0 && length >= longest) {
      longest = length;
      best = i;
    }
  }
  steps->first = best + 1 - longest;
  steps->last = best;
}

/* Narrow [first, last] to finished steps; false when there is none. */
static bool narrow_to_finished(struct trace_steps *steps) {
  while (steps->first < steps->last && steps->marks.items[steps->first].unfinished) {
    steps->first++;
  }
  while (steps->last > steps->first && steps->marks.items[steps->last].unfinished) {
    steps->last--;
  }
  return !steps->marks.items[steps->first].unfinished;
}

static bool select_range(struct trace_steps *steps, const struct lumos_trace_options *options, const char *name,
                         struct lumos_error *error) {
  const struct trace_mark *marks = steps->marks.items;
  size_t count = steps->marks.count;
  size_t first = 0;
  while (first < count && marks[first].number < options->first_step) {
    first++;
  }
  size_t end = first;
  while (end < count && marks[end].number <= options->last_step) {
    end++;
  }
  if (first == end) {
    return lumos_fail(error,
                      "%s: no step %" PRId64 " to %" PRId64 "; it holds the steps %" PRId64 " to %" PRId64
                      ", choose among them with --steps",
                      name, options->first_step, options->last_step, marks[0].number, marks[count - 1].number);
  }
  steps->first = first;
  steps->last = end - 1;
  for (size_t i = first; i < end; i++) {
    if (marks[i].unmarked > 1) {
      return lumos_fail(error,
                        "%s: the marks of the steps %" PRId64 " to %" PRId64
                        " are lost, so these steps cannot be separated; choose steps before or after them with --steps",
                        name, marks[i].number, marks[i].number + marks[i].unmarked - 1);
    }
  }
  return true;
}

bool lumos_trace_select_steps(struct trace_steps *steps, const struct lumos_trace_options *options, const char *name,
                              struct lumos_error *error) {
  steps->first = 0;
  steps->last = steps->marks.count - 1;
  if (options->steps == LUMOS_STEPS_RANGE) {
    return select_range(steps, options, name, error);
  }
  if (!narrow_to_finished(steps)) {
    steps->first = 0; /* none is finished: all there is is better than nothing, and a note says so */
    steps->last = steps->marks.count - 1;
  }
  narrow_to_unmerged(steps);
  if (options->steps == LUMOS_STEPS_LAST) {
    steps->first = steps->last;
  }
  return true;
}

static int compare_ends(const void *left, const void *right) {
  return LUMOS_ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

/* Has at most half of the first step's device work started before an instant? As far as it was read. */
static bool comes_early(const struct trace_steps *steps, const struct lumos_job *job, size_t first_task,
                        int64_t instant) {
  size_t before = 0, all = 0;
  for (size_t i = first_task; i < job->tasks.count && steps->first == 0; i++) {
    bool own = job->tasks.items[i].step == (int32_t)steps->marks.items[0].number;
    all += own;
    before += own && job->tasks.items[i].start < instant;
  }
  return before <= all / 2;
}

/* Of a step without device work none is before it. */
static int64_t carried_end(struct trace_steps *steps, const struct lumos_job *job, size_t first_task) {
  const struct trace_mark *first = &steps->marks.items[0];
  const int64_t *ends = steps->carried_ends.items;
  size_t count = steps->carried_ends.count, low = 0;
  lumos_vector_sort(&steps->carried_ends, compare_ends);
  if (first->device_end == LUMOS_ABSENT) {
    count = first->host_end == LUMOS_ABSENT ? count : 0;
  }
  while (count > 0 && first->device_end != LUMOS_ABSENT && ends[count - 1] >= first->device_end) {
    count--;
  }
  while (low < count) { /* how many come early enough */
    size_t middle = low + (count - low) / 2;
    if (comes_early(steps, job, first_task, ends[middle])) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low > 0 && ends[low - 1] > steps->base ? ends[low - 1] : steps->base;
}

int64_t lumos_trace_step_base(struct trace_steps *steps, const struct lumos_job *job, size_t first_task) {
  const struct trace_mark *marks = steps->marks.items;
  int64_t end = carried_end(steps, job, first_task);
  if (end == LUMOS_ABSENT) {
    end = marks[0].host_start != LUMOS_ABSENT ? marks[0].host_start : steps->recorded ? marks[0].start : 0;
  }
  for (size_t i = 0; i < steps->first; i++) {
    int64_t step_end = marks[i].device_end != LUMOS_ABSENT ? marks[i].device_end : marks[i].host_end;
    end = step_end != LUMOS_ABSENT && step_end > end ? step_end : end;
  }
  return end;
}
