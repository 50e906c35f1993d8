/* Choosing the tasks that a page embeds. */
#include "report/detail.h"

#include "report/numbers.h"
#include <stdlib.h>

/* The longest tasks seen so far: at twice the limit the list is cut back to it. */
struct candidate {
  int64_t duration;
  uint32_t task;
};

struct longest {
  LUMOS_VECTOR(struct candidate) items;
  size_t limit;
  int64_t seen, least; /* no shorter one is wanted any more */
};

static int compare_candidates(const void *left, const void *right) {
  const struct candidate *a = left;
  const struct candidate *b = right;
  if (a->duration != b->duration) {
    return a->duration > b->duration ? -1 : 1;
  }
  return a->task < b->task ? -1 : a->task > b->task;
}

static void cut_back(struct longest *longest) {
  if (longest->items.count > longest->limit) {
    qsort(longest->items.items, longest->items.count, sizeof longest->items.items[0], compare_candidates);
    longest->items.count = longest->limit;
    longest->least = longest->items.items[longest->limit - 1].duration;
  }
}

static void consider(struct longest *longest, int64_t duration, uint32_t task) {
  longest->seen++;
  if (duration < longest->least) {
    return;
  }
  struct candidate candidate = {duration, task};
  lumos_vector_push(&longest->items, candidate);
  if (longest->items.count >= 2 * longest->limit) {
    cut_back(longest);
  }
}

/* Mark them, and free the list. */
static void choose(struct longest *longest, uint8_t *chosen) {
  cut_back(longest);
  for (size_t i = 0; i < longest->items.count; i++) {
    chosen[longest->items.items[i].task] = 1;
  }
  lumos_vector_free(&longest->items);
}

/* When a task runs, and the longer of its durations. False: it is not simulated. */
struct task_times {
  int64_t start[TIMELINES], end[TIMELINES], longer;
};

static bool times_of(const struct lumos_job *job, uint32_t task, struct task_times *times) {
  int64_t duration = 0;
  if (!report_task_time(job, SIMULATED, task, &times->start[SIMULATED], &duration)) {
    return false;
  }
  times->end[SIMULATED] = times->start[SIMULATED] + duration;
  times->longer = duration;
  times->start[MEASURED] = times->start[SIMULATED];
  times->end[MEASURED] = times->end[SIMULATED];
  if (report_task_time(job, MEASURED, task, &times->start[MEASURED], &duration)) {
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
  const struct report_timelines *timelines = detail->timelines;
  int64_t origin = report_timelines_origin(timelines);
  struct longest longest = {.limit = drawn_tasks(timelines) <= REPORT_EMBEDDED ? REPORT_EMBEDDED : REPORT_LONGEST};
  struct longest window = {.limit = REPORT_WINDOW};
  for (size_t i = 0; i < drawn_lanes(timelines); i++) {
    const struct lumos_lane *lane = drawn_lane(timelines, i);
    for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
      struct task_times times;
      if (!times_of(timelines->job, task, &times)) {
        continue;
      }
      consider(&longest, times.longer, task);
      if (detail->has_window &&
          runs_in(&times, report_sum(origin, detail->window_from), report_sum(origin, detail->window_until))) {
        consider(&window, times.longer, task);
      }
    }
  }
  choose(&longest, chosen);
  choose(&window, chosen);
  detail->tasks = longest.seen;
  detail->shortest = longest.seen > (int64_t)longest.limit ? longest.least : LUMOS_ABSENT;
  detail->window_tasks = window.seen;
}

/* What the chosen tasks refer to, as long as there is room. */
enum { CHOSEN = 1, REFERRED = 2 };

static void refer(const struct report_detail *detail, const bool *drawn, uint32_t task, uint8_t *chosen,
                  size_t *count) {
  const struct lumos_job *job = detail->timelines->job;
  struct task_times times;
  if (task != LUMOS_NONE && *count < REPORT_EMBEDDED && chosen[task] == 0 && drawn[job->tasks.items[task].lane] &&
      times_of(job, task, &times)) {
    chosen[task] = REFERRED;
    (*count)++;
  }
}

/* In the order of tasks: the same bytes for the same job. */
static void choose_referred(const struct report_detail *detail, uint8_t *chosen) {
  const struct lumos_job *job = detail->timelines->job;
  bool *drawn = lumos_allocate_zeroed(job->lanes.count + 1, sizeof drawn[0]);
  for (size_t i = 0; i < drawn_lanes(detail->timelines); i++) {
    drawn[drawn_lane(detail->timelines, i) - job->lanes.items] = true;
  }
  size_t count = 0;
  for (size_t task = 0; task < job->tasks.count; task++) {
    count += chosen[task] == CHOSEN;
  }
  for (size_t task = 0; task < job->tasks.count; task++) {
    if (chosen[task] == CHOSEN) {
      refer(detail, drawn, job->tasks.items[task].call, chosen, &count);
      if (detail->bindings != NULL) {
        refer(detail, drawn, detail->bindings[task].start.src, chosen, &count);
        refer(detail, drawn, detail->bindings[task].end.src, chosen, &count);
      }
    }
  }
  free(drawn);
}

static void number_chosen(struct report_detail *detail, const uint8_t *chosen) {
  const struct lumos_job *job = detail->timelines->job;
  detail->ordinals = lumos_allocate((job->tasks.count + 1) * sizeof detail->ordinals[0]);
  for (size_t task = 0; task < job->tasks.count; task++) {
    detail->ordinals[task] = LUMOS_NONE;
  }
  for (size_t i = 0; i < drawn_lanes(detail->timelines); i++) {
    const struct lumos_lane *lane = drawn_lane(detail->timelines, i);
    for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
      if (chosen[task] != 0) {
        detail->ordinals[task] = (uint32_t)detail->embedded++;
      }
    }
  }
}

void report_detail_read(const struct report_timelines *timelines, const struct lumos_report_options *options,
                        const struct lumos_bindings *bindings, struct report_detail *detail) {
  *detail = (struct report_detail){.timelines = timelines,
                                   .bindings = bindings,
                                   .has_window = options->has_detail,
                                   .window_from = options->detail_from,
                                   .window_until = options->detail_until};
  uint8_t *chosen = lumos_allocate_zeroed(timelines->job->tasks.count + 1, sizeof chosen[0]);
  choose_long(detail, chosen);
  choose_referred(detail, chosen);
  number_chosen(detail, chosen);
  free(chosen);
}

void report_detail_free(struct report_detail *detail) {
  free(detail->ordinals);
  detail->ordinals = NULL;
}

static void put_window(const struct report_detail *detail, struct lumos_text *out) {
  lumos_text_put(out, " Of the span from ");
  report_put_time(out, detail->window_from);
  lumos_text_put(out, " to ");
  report_put_time(out, detail->window_until);
  if (detail->window_tasks > REPORT_WINDOW) {
    lumos_text_put(out, " the ");
    report_put_count(out, REPORT_WINDOW);
    lumos_text_put(out, " longest of ");
  } else {
    lumos_text_put(out, " all ");
  }
  report_put_counted(out, detail->window_tasks, "task");
  lumos_text_char(out, '.');
}

void report_put_detail(const struct report_detail *detail, struct lumos_text *out) {
  if (detail->shortest == LUMOS_ABSENT) {
    lumos_text_put(out, "The page holds all ");
    report_put_counted(out, detail->tasks, "drawn task");
    lumos_text_put(out, " one by one.");
  } else {
    lumos_text_put(out, "The page holds ");
    report_put_part(out, detail->embedded, detail->tasks, "task");
    lumos_text_put(out, " one by one: the ");
    report_put_count(out, REPORT_LONGEST);
    lumos_text_put(out, " longest, down to ");
    report_put_time(out, detail->shortest);
    lumos_text_put(out, ", and what launched and what held them.");
    if (detail->has_window) {
      put_window(detail, out);
    }
    lumos_text_put(out, " The others are in the columns alone.");
  }
}
