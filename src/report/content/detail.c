/* Choosing the tasks that a page embeds. */
#include "report/content/detail.h"

#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

/* The longest tasks, found in two looks at all of them: how many take how long, roughly, tells what time is surely long
 * enough; only of those about as long as the last of them has to be known which are longer. */
enum {
  FINE = 4, /* bits of a time below its highest one that count */
  TIMES = 64 << FINE
};

struct candidate {
  int64_t duration;
  uint32_t task;
};

struct longest {
  size_t limit;
  size_t counts[TIMES];    /* by rough time */
  size_t seen, last, left; /* `left` of those of rough time `last`, and all that take longer */
  LUMOS_VECTOR(struct candidate) of_last;
};

/* Grows with the duration, which is not negative. */
static size_t rough(int64_t duration) {
  uint64_t time = (uint64_t)duration;
  if (time >> FINE == 0) {
    return time;
  }
  size_t more = 63 - FINE - (size_t)__builtin_clzll(time);
  return ((more + 1) << FINE) + ((time >> more) & ((1U << FINE) - 1));
}

static void look(struct longest *longest, int64_t duration) {
  longest->seen++;
  longest->counts[rough(duration)]++;
}

static void find_last(struct longest *longest) {
  longest->left = longest->limit;
  longest->last = TIMES - 1;
  while (longest->last > 0 && longest->counts[longest->last] < longest->left) {
    longest->left -= longest->counts[longest->last--];
  }
}

static void take(struct longest *longest, int64_t duration, uint32_t task, uint8_t *chosen) {
  size_t time = rough(duration);
  if (time > longest->last) {
    chosen[task] = 1;
  } else if (time == longest->last) {
    lumos_vector_push(&longest->of_last, ((struct candidate){duration, task}));
  }
}

static int compare_candidates(const void *left, const void *right) {
  const struct candidate *a = left, *b = right;
  return a->duration != b->duration ? LUMOS_ORDER(b->duration, a->duration) : LUMOS_ORDER(a->task, b->task);
}

/* Returns the shortest duration among them; LUMOS_ABSENT: all tasks are. */
static int64_t take_last(struct longest *longest, uint8_t *chosen) {
  int64_t shortest = LUMOS_ABSENT;
  lumos_vector_sort(&longest->of_last, compare_candidates);
  for (size_t i = 0; i < longest->of_last.count && i < longest->left; i++) {
    chosen[longest->of_last.items[i].task] = 1;
    shortest = longest->of_last.items[i].duration;
  }
  lumos_vector_free(&longest->of_last);
  return longest->seen > longest->limit ? shortest : LUMOS_ABSENT;
}

/* The longer of a task's two durations. False: it is not simulated. */
static bool longer_of(const struct lumos_job *job, uint32_t task, int64_t *longer) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (task >= job->runs.count || job->runs.items[task].start == LUMOS_ABSENT ||
      job->runs.items[task].dur == LUMOS_ABSENT) {
    return false;
  }
  *longer = job->runs.items[task].dur;
  if (record->start != LUMOS_ABSENT) {
    int64_t duration = report_recorded_duration(job, record); /* LUMOS_ABSENT is less than all */
    *longer = duration > *longer ? duration : *longer;
  }
  *longer = *longer < 0 ? 0 : report_bounded(*longer);
  return true;
}

/* Does it in one of the timelines? */
static bool runs_in(const struct report_clock *clock, uint32_t task, int64_t from, int64_t until) {
  bool runs = false;
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    int64_t start = 0;
    int64_t duration = 0;
    runs = runs || (report_task_time(clock, (enum report_timeline)timeline, task, &start, &duration) && start < until &&
                    start + duration > from);
  }
  return runs;
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

bool report_detail_spans(const struct report_detail *detail, const struct report_clock *clock, uint32_t task) {
  const struct report_timelines *timelines = detail->from.timelines;
  int64_t start = 0, duration = 0;
  return detail->from.jobs == 0 || (report_task_time(clock, detail->from.shown, task, &start, &duration) &&
                                    start < timelines->end && start + duration > timelines->begin);
}

/* On the page, of this job. */
static size_t room_for(const struct report_detail *detail, size_t tasks) {
  return detail->from.jobs == 0 ? tasks : tasks / detail->from.jobs;
}

/* Those that are looked for among the tasks of drawn lanes. */
struct search {
  const struct report_detail *detail;
  const struct report_timelines *timelines;
  struct longest longest, window;
  int64_t from, until; /* of the window, job time */
  bool has_window;
  uint16_t *times; /* of every task that was looked at one more than its rough time */
  uint8_t *chosen; /* NULL: the first look */
};

static void search_lane(struct search *search, const struct lumos_lane *lane) {
  const struct lumos_job *job = search->timelines->job;
  const struct report_clock clock = report_clock_of(job, (uint32_t)(lane - job->lanes.items));
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    int64_t longer = 0;
    if (!longer_of(job, task, &longer) || !report_detail_spans(search->detail, &clock, task)) {
      continue;
    }
    bool in_window = search->has_window && runs_in(&clock, task, search->from, search->until);
    if (search->chosen == NULL) {
      look(&search->longest, longer);
      search->times[task] = (uint16_t)(1 + rough(longer));
    } else {
      take(&search->longest, longer, task, search->chosen);
    }
    if (in_window && search->chosen == NULL) {
      look(&search->window, longer);
    } else if (in_window) {
      take(&search->window, longer, task, search->chosen);
    }
  }
}

/* The second look, without a window: by what the first one has seen. */
static void take_lane(struct search *search, const struct lumos_lane *lane) {
  size_t last = search->longest.last + 1;
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    int64_t longer = 0;
    if (search->times[task] > last) {
      search->chosen[task] = 1;
    } else if (search->times[task] == last && longer_of(search->timelines->job, task, &longer)) {
      take(&search->longest, longer, task, search->chosen);
    }
  }
}

static void search_lanes(struct search *search) {
  for (size_t i = 0; i < drawn_lanes(search->timelines); i++) {
    if (search->chosen == NULL || search->has_window) {
      search_lane(search, drawn_lane(search->timelines, i));
    } else {
      take_lane(search, drawn_lane(search->timelines, i));
    }
  }
}

/* All tasks where there is room for them. */
static void choose_long(struct report_detail *detail, uint8_t *chosen) {
  const struct report_timelines *timelines = detail->from.timelines;
  const struct lumos_report_options *options = detail->from.options;
  int64_t origin = report_timelines_origin(timelines);
  bool fits = detail->from.jobs > 0 || drawn_tasks(timelines) <= REPORT_EMBEDDED;
  struct search search = {.detail = detail,
                          .timelines = timelines,
                          .longest.limit = room_for(detail, fits ? REPORT_EMBEDDED : REPORT_LONGEST),
                          .window.limit = REPORT_WINDOW,
                          .from = report_sum(origin, options->detail_from),
                          .until = report_sum(origin, options->detail_until),
                          .has_window = options->has_detail,
                          .times = lumos_allocate_zeroed(timelines->job->tasks.count + 1, sizeof(uint16_t))};
  search_lanes(&search);
  find_last(&search.longest);
  find_last(&search.window);
  search.chosen = chosen;
  search_lanes(&search);
  detail->shortest = take_last(&search.longest, chosen);
  (void)take_last(&search.window, chosen);
  detail->tasks = (int64_t)search.longest.seen;
  detail->window_tasks = (int64_t)search.window.seen;
  free(search.times);
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
  int64_t longer = 0;
  if (task == LUMOS_NONE || !drawn[job->tasks.items[task].lane] || !longer_of(job, task, &longer)) {
    return false;
  }
  if (detail->from.jobs == 0) {
    return true;
  }
  const struct report_clock clock = report_clock_of(job, job->tasks.items[task].lane);
  return report_detail_spans(detail, &clock, task);
}

/* A task may stand on the chain several times in a row: with its lag, and with what it runs. */
static void search_chain(const struct report_detail *detail, const bool *drawn, struct longest *longest,
                         uint8_t *chosen) {
  uint32_t last = LUMOS_NONE;
  for (size_t i = 0; i < detail->from.chain->parts.count; i++) {
    uint32_t task = detail->from.chain->parts.items[i].task;
    if (task != last && can_be_embedded(detail, drawn, task)) {
      int64_t duration = detail->from.timelines->job->runs.items[task].dur;
      if (chosen == NULL) {
        look(longest, duration);
      } else {
        take(longest, duration, task, chosen);
      }
    }
    last = task;
  }
}

static void choose_chain(struct report_detail *detail, const bool *drawn, uint8_t *chosen) {
  struct longest longest = {.limit = REPORT_CHAIN};
  if (detail->from.chain != NULL) {
    search_chain(detail, drawn, &longest, NULL);
    find_last(&longest);
    search_chain(detail, drawn, &longest, chosen);
    (void)take_last(&longest, chosen);
  }
  detail->chain_tasks = (int64_t)longest.seen;
}

/* What the chosen tasks refer to, as long as there is room: first what launched them, then what held them; each in the
 * order of tasks, so that the same job gives the same bytes. */
enum { CHOSEN = 1, REFERRED = 2 };

static void refer(const struct report_detail *detail, const bool *drawn, uint32_t task, uint8_t *chosen,
                  size_t *count) {
  if (*count < room_for(detail, REPORT_EMBEDDED) && can_be_embedded(detail, drawn, task) && chosen[task] == 0) {
    chosen[task] = REFERRED;
    (*count)++;
  }
}

static void choose_referred(const struct report_detail *detail, const bool *drawn, uint8_t *chosen) {
  const struct lumos_job *job = detail->from.timelines->job;
  const struct lumos_held *bindings = detail->from.bindings;
  size_t count = 0;
  for (size_t task = 0; task < job->tasks.count; task++) {
    count += chosen[task] == CHOSEN;
  }
  for (size_t task = 0; task < job->tasks.count; task++) {
    if (chosen[task] == CHOSEN) {
      refer(detail, drawn, job->tasks.items[task].call, chosen, &count);
    }
  }
  for (uint32_t task = 0; bindings != NULL && task < job->tasks.count; task++) {
    if (chosen[task] == CHOSEN) {
      refer(detail, drawn, lumos_held_of(bindings, task).start.src, chosen, &count);
      refer(detail, drawn, lumos_held_of(bindings, task).end.src, chosen, &count);
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
    lumos_text_put(out, options->has_detail ? ", " : ", and ");
    put_most(REPORT_CHAIN, detail->chain_tasks, out);
    lumos_text_format(out, " on the critical path of step %d", detail->from.chain->step);
  }
  if (options->has_detail) {
    lumos_text_put(out, ", and ");
    put_most(REPORT_WINDOW, detail->window_tasks, out);
    lumos_text_put(out, " from ");
    report_put_time_range(out, options->detail_from, options->detail_until);
  }
  lumos_text_put(out, ". What launched and what held them is there, too. The others are in the columns alone.");
}

void report_put_detail(const struct report_detail *detail, struct lumos_text *out) {
  lumos_text_put(out, "The page holds ");
  if (detail->shortest == LUMOS_ABSENT) {
    lumos_text_put(out, "all ");
    report_put_counted(out, detail->tasks, "drawn task");
    lumos_text_put(out, " one by one.");
  } else {
    report_put_part(out, detail->embedded, detail->tasks, "tasks");
    lumos_text_put(out, " one by one");
    put_choice(detail, out);
  }
}
