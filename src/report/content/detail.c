/* Choosing the tasks that a page embeds. */
#include "report/content/detail.h"

#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

/* The longest tasks seen so far: a heap with the shortest of them, the first to go, on top. */
struct candidate {
  int64_t duration;
  uint32_t task;
};

struct longest {
  LUMOS_VECTOR(struct candidate) items;
  size_t limit;
  int64_t seen;
};

/* Of equally long ones the first tasks stay. */
static bool goes_before(struct candidate left, struct candidate right) {
  return left.duration != right.duration ? left.duration < right.duration : left.task > right.task;
}

static void rise(struct candidate *heap, size_t at, struct candidate candidate) {
  for (; at > 0 && goes_before(candidate, heap[(at - 1) / 2]); at = (at - 1) / 2) {
    heap[at] = heap[(at - 1) / 2];
  }
  heap[at] = candidate;
}

static void sink(struct candidate *heap, size_t count, struct candidate candidate) {
  size_t at = 0;
  for (size_t below = 1; below < count; below = 2 * at + 1) {
    below += below + 1 < count && goes_before(heap[below + 1], heap[below]);
    if (!goes_before(heap[below], candidate)) {
      break;
    }
    heap[at] = heap[below];
    at = below;
  }
  heap[at] = candidate;
}

static void consider(struct longest *longest, int64_t duration, uint32_t task) {
  struct candidate candidate = {duration, task};
  longest->seen++;
  if (longest->items.count < longest->limit) {
    lumos_vector_push(&longest->items, candidate);
    rise(longest->items.items, longest->items.count - 1, candidate);
  } else if (goes_before(longest->items.items[0], candidate)) {
    sink(longest->items.items, longest->items.count, candidate);
  }
}

/* Mark them, and free the list. */
static void choose(struct longest *longest, uint8_t *chosen) {
  for (size_t i = 0; i < longest->items.count; i++) {
    chosen[longest->items.items[i].task] = 1;
  }
  lumos_vector_free(&longest->items);
}

/* When a task runs, and the longer of its durations. False: it is not simulated. */
struct task_times {
  int64_t start[TIMELINES], end[TIMELINES], longer;
};

static bool times_of(const struct report_clock *clock, uint32_t task, struct task_times *times) {
  int64_t duration = 0;
  if (!report_task_time(clock, SIMULATED, task, &times->start[SIMULATED], &duration)) {
    return false;
  }
  times->end[SIMULATED] = times->start[SIMULATED] + duration;
  times->longer = duration;
  times->start[MEASURED] = times->start[SIMULATED];
  times->end[MEASURED] = times->end[SIMULATED];
  if (report_task_time(clock, MEASURED, task, &times->start[MEASURED], &duration)) {
    times->end[MEASURED] = times->start[MEASURED] + duration;
    times->longer = duration > times->longer ? duration : times->longer;
  }
  return true;
}

static bool runs_in(const struct task_times *times, int64_t from, int64_t until) {
  return (times->start[SIMULATED] < until && times->end[SIMULATED] > from) ||
         (times->start[MEASURED] < until && times->end[MEASURED] > from);
}

/* The lanes that are drawn, in the order of the pictures. */
static size_t drawn_lanes(const struct report_timelines *timelines) {
  return timelines->open.count + timelines->folded.count;
}

static const struct lumos_lane *drawn_lane(const struct report_timelines *timelines, size_t number) {
  const struct report_lane *lane = number < timelines->open.count
                                       ? &timelines->open.items[number]
                                       : &timelines->folded.items[number - timelines->open.count];
  return &timelines->job->lanes.items[lane->lane];
}

static size_t drawn_tasks(const struct report_timelines *timelines) {
  size_t tasks = 0;
  for (size_t i = 0; i < drawn_lanes(timelines); i++) {
    tasks += drawn_lane(timelines, i)->task_count;
  }
  return tasks;
}

/* All tasks where there is room for them. */
static void choose_long(struct report_detail *detail, uint8_t *chosen) {
  const struct report_timelines *timelines = detail->from.timelines;
  const struct lumos_report_options *options = detail->from.options;
  int64_t origin = report_timelines_origin(timelines);
  int64_t from = report_sum(origin, options->detail_from);
  int64_t until = report_sum(origin, options->detail_until);
  struct longest longest = {.limit = drawn_tasks(timelines) <= REPORT_EMBEDDED ? REPORT_EMBEDDED : REPORT_LONGEST};
  struct longest window = {.limit = REPORT_WINDOW};
  for (size_t i = 0; i < drawn_lanes(timelines); i++) {
    const struct lumos_lane *lane = drawn_lane(timelines, i);
    const struct report_clock clock = report_clock_of(timelines->job, (uint32_t)(lane - timelines->job->lanes.items));
    for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
      struct task_times times;
      if (!times_of(&clock, task, &times)) {
        continue;
      }
      consider(&longest, times.longer, task);
      if (options->has_detail && runs_in(&times, from, until)) {
        consider(&window, times.longer, task);
      }
    }
  }
  detail->tasks = longest.seen;
  detail->shortest = longest.seen > (int64_t)longest.limit ? longest.items.items[0].duration : LUMOS_ABSENT;
  choose(&longest, chosen);
  choose(&window, chosen);
  detail->window_tasks = window.seen;
}

/* A byte a lane: is it drawn? */
static bool *find_drawn(const struct report_timelines *timelines) {
  bool *drawn = lumos_allocate_zeroed(timelines->job->lanes.count + 1, sizeof drawn[0]);
  for (size_t i = 0; i < drawn_lanes(timelines); i++) {
    drawn[drawn_lane(timelines, i) - timelines->job->lanes.items] = true;
  }
  return drawn;
}

static bool can_be_embedded(const struct report_detail *detail, const bool *drawn, uint32_t task) {
  const struct lumos_job *job = detail->from.timelines->job;
  return task != LUMOS_NONE && drawn[job->tasks.items[task].lane] && task < job->runs.count &&
         job->runs.items[task].start != LUMOS_ABSENT && job->runs.items[task].dur != LUMOS_ABSENT;
}

/* A task may stand on the chain several times in a row: with its lag, and with what it runs. */
static void choose_chain(struct report_detail *detail, const bool *drawn, uint8_t *chosen) {
  struct longest longest = {.limit = REPORT_CHAIN};
  uint32_t last = LUMOS_NONE;
  for (size_t i = 0; detail->from.chain != NULL && i < detail->from.chain->parts.count; i++) {
    uint32_t task = detail->from.chain->parts.items[i].task;
    if (task != last && can_be_embedded(detail, drawn, task)) {
      consider(&longest, detail->from.timelines->job->runs.items[task].dur, task);
    }
    last = task;
  }
  detail->chain_tasks = longest.seen;
  choose(&longest, chosen);
}

/* What the chosen tasks refer to, as long as there is room: first what launched them, then what held them; each in the
 * order of tasks, so that the same job gives the same bytes. */
enum { CHOSEN = 1, REFERRED = 2 };

static void refer(const struct report_detail *detail, const bool *drawn, uint32_t task, uint8_t *chosen,
                  size_t *count) {
  if (*count < REPORT_EMBEDDED && can_be_embedded(detail, drawn, task) && chosen[task] == 0) {
    chosen[task] = REFERRED;
    (*count)++;
  }
}

static void choose_referred(const struct report_detail *detail, const bool *drawn, uint8_t *chosen) {
  const struct lumos_job *job = detail->from.timelines->job;
  const struct lumos_bindings *bindings = detail->from.bindings;
  size_t count = 0;
  for (size_t task = 0; task < job->tasks.count; task++) {
    count += chosen[task] == CHOSEN;
  }
  for (size_t task = 0; task < job->tasks.count; task++) {
    if (chosen[task] == CHOSEN) {
      refer(detail, drawn, job->tasks.items[task].call, chosen, &count);
    }
  }
  for (size_t task = 0; bindings != NULL && task < job->tasks.count; task++) {
    if (chosen[task] == CHOSEN) {
      refer(detail, drawn, bindings[task].start.src, chosen, &count);
      refer(detail, drawn, bindings[task].end.src, chosen, &count);
    }
  }
}

static void number_chosen(struct report_detail *detail, const uint8_t *chosen) {
  const struct lumos_job *job = detail->from.timelines->job;
  LUMOS_VECTOR(uint32_t) list = {0};
  detail->ordinals = lumos_allocate((job->tasks.count + 1) * sizeof detail->ordinals[0]);
  memset(detail->ordinals, 0xFF, job->tasks.count * sizeof detail->ordinals[0]); /* LUMOS_NONE */
  for (size_t i = 0; i < drawn_lanes(detail->from.timelines); i++) {
    const struct lumos_lane *lane = drawn_lane(detail->from.timelines, i);
    for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
      if (chosen[task] != 0) {
        detail->ordinals[task] = (uint32_t)list.count;
        lumos_vector_push(&list, task);
      }
    }
  }
  detail->embedded = (int64_t)list.count;
  detail->chosen = list.items;
}

void report_detail_read(const struct report_detail_source *from, struct report_detail *detail) {
  *detail = (struct report_detail){.from = *from};
  uint8_t *chosen = lumos_allocate_zeroed(from->timelines->job->tasks.count + 1, sizeof chosen[0]);
  bool *drawn = find_drawn(from->timelines);
  choose_long(detail, chosen);
  choose_chain(detail, drawn, chosen);
  choose_referred(detail, drawn, chosen);
  number_chosen(detail, chosen);
  free(chosen);
  free(drawn);
}

void report_detail_free(struct report_detail *detail) {
  free(detail->ordinals);
  free(detail->chosen);
  detail->ordinals = detail->chosen = NULL;
}

/* "the 20,000 longest of 31,211 tasks" or "all 412 tasks" */
static void put_most(int64_t most, int64_t count, struct lumos_text *out) {
  if (count > most) {
    lumos_text_put(out, "the ");
    report_put_count(out, most);
    lumos_text_put(out, " longest of ");
  } else {
    lumos_text_put(out, "all ");
  }
  report_put_counted(out, count, "task");
}

static void put_choice(const struct report_detail *detail, struct lumos_text *out) {
  const struct lumos_report_options *options = detail->from.options;
  lumos_text_put(out, ": the ");
  report_put_count(out, REPORT_LONGEST);
  lumos_text_put(out, " longest, down to ");
  report_put_time(out, detail->shortest);
  if (detail->chain_tasks > 0) {
    lumos_text_put(out, ", ");
    put_most(REPORT_CHAIN, detail->chain_tasks, out);
    lumos_text_format(out, " on the chain of step %d", detail->from.chain->step);
  }
  if (options->has_detail) {
    lumos_text_put(out, ", ");
    put_most(REPORT_WINDOW, detail->window_tasks, out);
    lumos_text_put(out, " from ");
    report_put_time(out, options->detail_from);
    lumos_text_put(out, " to ");
    report_put_time(out, options->detail_until);
  }
  lumos_text_put(out, ", and what launched and what held them. The others are in the columns alone.");
}

void report_put_detail(const struct report_detail *detail, struct lumos_text *out) {
  lumos_text_put(out, "The page holds ");
  if (detail->shortest == LUMOS_ABSENT) {
    lumos_text_put(out, "all ");
    report_put_counted(out, detail->tasks, "drawn task");
    lumos_text_put(out, " one by one.");
  } else {
    report_put_part(out, detail->embedded, detail->tasks, "task");
    lumos_text_put(out, " one by one");
    put_choice(detail, out);
  }
}
