/* Choosing the tasks that a page embeds. */
#include "report/content/detail.h"

#include "report/text/numbers.h"
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
  const struct report_timelines *timelines = detail->from.timelines;
  const struct lumos_report_options *options = detail->from.options;
  int64_t origin = report_timelines_origin(timelines);
  int64_t from = report_sum(origin, options->detail_from);
  int64_t until = report_sum(origin, options->detail_until);
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
      if (options->has_detail && runs_in(&times, from, until)) {
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
  struct task_times times;
  return task != LUMOS_NONE && drawn[job->tasks.items[task].lane] && times_of(job, task, &times);
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
  detail->ordinals = lumos_allocate((job->tasks.count + 1) * sizeof detail->ordinals[0]);
  for (size_t task = 0; task < job->tasks.count; task++) {
    detail->ordinals[task] = LUMOS_NONE;
  }
  for (size_t i = 0; i < drawn_lanes(detail->from.timelines); i++) {
    const struct lumos_lane *lane = drawn_lane(detail->from.timelines, i);
    for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
      if (chosen[task] != 0) {
        detail->ordinals[task] = (uint32_t)detail->embedded++;
      }
    }
  }
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
  detail->ordinals = NULL;
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
