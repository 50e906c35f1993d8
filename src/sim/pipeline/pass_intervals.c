/* The intervals of passes, read off the streams of a rank, then what they leave of the step. */
#include "sim/pipeline/pass_intervals.h"

#include "sim/clock.h"
#include <stdlib.h>

/* An interval ends where its stream waits for more than one part in so many of the step. Chosen: less is no
 * interruption that a picture of the step shows. */
enum { GAP_PART = 100 };

bool lumos_is_pass_work(const struct lumos_task *task) {
  bool update = task->phase == LUMOS_OPTIMIZER_PHASE;
  return (update || lumos_is_pass(task->phase)) && !lumos_is_communication(task->kind);
}

bool lumos_time_within(const struct lumos_passes *passes, uint32_t task, int64_t *start, int64_t *end) {
  if (!lumos_task_interval(passes->job, passes->runs, task, start, end)) {
    return false;
  }
  *start = *start < passes->step.start ? passes->step.start : *start;
  *end = *end > passes->step.end ? passes->step.end : *end;
  return *start < *end;
}

/* LUMOS_ABSENT_INT: the layer does not tell. */
static int32_t chunk_of(const struct lumos_passes *passes, uint32_t stage, int32_t layer) {
  if (layer == LUMOS_ABSENT_INT || passes->stages.items[stage].chunks == 1) {
    return LUMOS_ABSENT_INT;
  }
  size_t low = 0;
  size_t high = passes->owners.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (passes->owners.items[middle].layer < layer) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool own = low < passes->owners.count && passes->owners.items[low].layer == layer &&
             passes->owners.items[low].stage == stage;
  return own ? passes->owners.items[low].chunk : LUMOS_ABSENT_INT;
}

/* A collective of a pass, which may bridge a gap between its tasks. */
struct bridge {
  int64_t start, end;
  uint32_t task;
};
LUMOS_VECTOR_TYPE(bridges, struct bridge);

static int compare_bridges(const void *left, const void *right) {
  const struct bridge *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : LUMOS_ORDER(a->task, b->task);
}

/* Sends and receives wait for another stage, and collectives of the optimizer for all of them: they bridge nothing. */
static void find_bridges(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage,
                         struct bridges *found) {
  const struct lumos_job *job = passes->job;
  const struct lumos_rank *rank = &job->ranks.items[stage->rank];
  for (uint32_t i = rank->task_first; i < rank->task_first + rank->task_count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    struct bridge bridge = {.task = i};
    if (task->kind == LUMOS_COLLECTIVE && lumos_is_pass(task->phase) && lumos_on_stream(job, task) &&
        lumos_time_within(passes, i, &bridge.start, &bridge.end)) {
      lumos_vector_push(found, bridge);
    }
  }
  lumos_vector_sort(found, compare_bridges);
}

/* A stream while it is read. */
struct reading {
  struct lumos_passes *passes;
  const struct bridges *bridges;
  size_t bridge; /* the first that has not been looked at */
  struct lumos_pass_interval open;
  int64_t reach; /* its end, or that of a collective that goes on behind it */
  bool is_open;
  uint32_t stage;
  uint8_t track;
};

static bool same_pass(const struct lumos_pass_interval *pass, const struct lumos_task *task) {
  return pass->phase == task->phase && pass->step == task->step && pass->micro_batch == task->micro_batch;
}

static void close_interval(struct reading *reading) {
  if (reading->is_open) {
    reading->open.chunk = reading->open.chunk == LUMOS_ABSENT_INT ? 0 : reading->open.chunk;
    lumos_vector_push(&reading->passes->list, reading->open);
    reading->is_open = false;
  }
}

/* How far the open interval reaches at this instant. */
static void follow_bridges(struct reading *reading, int64_t until, int64_t gap) {
  for (; reading->bridge < reading->bridges->count; reading->bridge++) {
    const struct bridge *bridge = &reading->bridges->items[reading->bridge];
    if (bridge->start > until) {
      return;
    }
    bool own = reading->is_open && same_pass(&reading->open, &reading->passes->job->tasks.items[bridge->task]);
    if (own && bridge->start <= reading->reach + gap && bridge->end > reading->reach) {
      reading->reach = bridge->end;
    }
  }
}

static bool continues(const struct reading *reading, const struct lumos_task *task, int64_t start, int32_t chunk,
                      int64_t gap) {
  const struct lumos_pass_interval *open = &reading->open;
  bool chunk_fits = chunk == LUMOS_ABSENT_INT || open->chunk == LUMOS_ABSENT_INT || chunk == open->chunk;
  return reading->is_open && same_pass(open, task) && chunk_fits && start - reading->reach <= gap;
}

static void widen_layers(struct lumos_pass_interval *pass, int32_t layer) {
  if (layer != LUMOS_ABSENT_INT) {
    bool first = pass->layer_first == LUMOS_ABSENT_INT;
    pass->layer_first = first || layer < pass->layer_first ? layer : pass->layer_first;
    pass->layer_last = first || layer > pass->layer_last ? layer : pass->layer_last;
  }
}

static void read_task(struct reading *reading, uint32_t number) {
  const struct lumos_passes *passes = reading->passes;
  const struct lumos_task *task = &passes->job->tasks.items[number];
  int64_t start = 0;
  int64_t end = 0;
  if (!lumos_is_pass_work(task) || !lumos_time_within(passes, number, &start, &end)) {
    return;
  }
  int64_t gap = lumos_passes_window(passes) / GAP_PART;
  int32_t chunk = chunk_of(passes, reading->stage, task->layer);
  follow_bridges(reading, start, gap);
  if (!continues(reading, task, start, chunk, gap)) {
    close_interval(reading);
    reading->open = (struct lumos_pass_interval){
        start,       end,           task->step, task->micro_batch, chunk, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT,
        task->phase, reading->track};
    reading->reach = end;
    reading->is_open = true;
  }
  struct lumos_pass_interval *open = &reading->open;
  open->chunk = open->chunk == LUMOS_ABSENT_INT ? chunk : open->chunk;
  open->end = end > open->end ? end : open->end;
  reading->reach = open->end > reading->reach ? open->end : reading->reach;
  widen_layers(open, task->layer);
}

static int compare_passes(const void *left, const void *right) {
  const struct lumos_pass_interval *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : LUMOS_ORDER(a->track, b->track);
}

static int compare_numbers(const void *left, const void *right) {
  const int32_t *a = left;
  const int32_t *b = right;
  return *a < *b ? -1 : *a > *b;
}

static int32_t count_micro_batches(const struct lumos_pass_interval *passes, size_t count) {
  int32_t *numbers = lumos_allocate((count + 1) * sizeof *numbers);
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if (lumos_is_pass(passes[i].phase) && passes[i].micro_batch != LUMOS_ABSENT_INT) {
      numbers[found++] = passes[i].micro_batch;
    }
  }
  if (found > 0) {
    qsort(numbers, found, sizeof *numbers, compare_numbers);
  }
  int32_t distinct = found > 0;
  for (size_t i = 1; i < found; i++) {
    distinct += numbers[i] != numbers[i - 1];
  }
  free(numbers);
  return distinct;
}

/* ---- What runs while no pass does ---- */

struct interval {
  int64_t start, end;
};
LUMOS_VECTOR_TYPE(intervals, struct interval);

static int compare_intervals(const void *left, const void *right) {
  const struct interval *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : LUMOS_ORDER(a->end, b->end);
}

static void unite(struct intervals *found) {
  if (found->count == 0) {
    return;
  }
  lumos_vector_sort(found, compare_intervals);
  size_t kept = 1;
  for (size_t i = 1; i < found->count; i++) {
    struct interval *last = &found->items[kept - 1];
    if (found->items[i].start <= last->end) {
      last->end = found->items[i].end > last->end ? found->items[i].end : last->end;
    } else {
      found->items[kept++] = found->items[i];
    }
  }
  found->count = kept;
}

static bool is_track(const struct lumos_pipeline_stage *stage, uint32_t lane) {
  for (int i = 0; i < stage->tracks; i++) {
    if (stage->lanes[i] == lane) {
      return true;
    }
  }
  return false;
}

/* Is it communication within the stage, or work of no pass? LUMOS_FORWARD: neither. */
static uint8_t aside(const struct lumos_passes *passes, const struct lumos_reaches *reaches,
                     const struct lumos_pipeline_stage *stage, const struct lumos_task *task) {
  if (lumos_is_communication(task->kind)) {
    bool within = lumos_on_stream(passes->job, task) && lumos_stays_within(passes->job, reaches, task);
    return within ? LUMOS_EXCHANGE : LUMOS_FORWARD;
  }
  return !lumos_is_pass_work(task) && is_track(stage, task->lane) ? LUMOS_OTHER_PHASE : LUMOS_FORWARD;
}

/* When the rank does what is `wanted`: disjoint, ascending. */
static void find_aside(const struct lumos_passes *passes, const struct lumos_reaches *reaches,
                       const struct lumos_pipeline_stage *stage, uint8_t wanted, struct intervals *found) {
  const struct lumos_job *job = passes->job;
  const struct lumos_rank *rank = &job->ranks.items[stage->rank];
  for (uint32_t i = rank->task_first; i < rank->task_first + rank->task_count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    struct interval interval = {0, 0};
    if (aside(passes, reaches, stage, task) == wanted && lumos_time_within(passes, i, &interval.start, &interval.end)) {
      lumos_vector_push(found, interval);
    }
  }
  unite(found);
}

/* When no interval of the stage is: disjoint, ascending. */
static void find_empty(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage,
                       struct intervals *found) {
  int64_t covered = passes->step.start;
  for (size_t i = stage->first; i < stage->first + stage->count; i++) {
    const struct lumos_pass_interval *pass = &passes->list.items[i];
    if (pass->start > covered) {
      struct interval interval = {covered, pass->start};
      lumos_vector_push(found, interval);
    }
    covered = pass->end > covered ? pass->end : covered;
  }
  if (covered < passes->step.end) {
    struct interval interval = {covered, passes->step.end};
    lumos_vector_push(found, interval);
  }
}

static void add_aside(struct lumos_passes *passes, struct lumos_pipeline_stage *stage, uint8_t phase,
                      struct interval interval) {
  struct lumos_pass_interval pass = {.start = interval.start,
                                     .end = interval.end,
                                     .step = passes->step.step,
                                     .micro_batch = LUMOS_ABSENT_INT,
                                     .layer_first = LUMOS_ABSENT_INT,
                                     .layer_last = LUMOS_ABSENT_INT,
                                     .phase = phase};
  lumos_vector_push(&passes->list, pass);
  stage->count++;
  stage->busy[phase] += interval.end - interval.start;
}

static void sort_intervals(struct lumos_passes *passes, const struct lumos_pipeline_stage *stage) {
  qsort(passes->list.items + stage->first, stage->count, sizeof passes->list.items[0], compare_passes);
}

/* What of the time that is empty so far is taken by this. */
static void read_aside(struct lumos_passes *passes, const struct lumos_reaches *reaches,
                       struct lumos_pipeline_stage *stage, uint8_t phase) {
  struct intervals empty = {0};
  struct intervals found = {0};
  find_empty(passes, stage, &empty);
  find_aside(passes, reaches, stage, phase, &found);
  size_t at = 0;
  for (size_t i = 0; i < empty.count; i++) {
    const struct interval *gap = &empty.items[i];
    while (at < found.count && found.items[at].end <= gap->start) {
      at++;
    }
    for (size_t k = at; k < found.count && found.items[k].start < gap->end; k++) {
      struct interval both = {found.items[k].start > gap->start ? found.items[k].start : gap->start,
                              found.items[k].end < gap->end ? found.items[k].end : gap->end};
      add_aside(passes, stage, phase, both);
    }
  }
  sort_intervals(passes, stage);
  lumos_vector_free(&empty);
  lumos_vector_free(&found);
}

/* What is still empty then is bubble. */
static int64_t bubble_of(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage) {
  struct intervals empty = {0};
  int64_t bubble = 0;
  find_empty(passes, stage, &empty);
  for (size_t i = 0; i < empty.count; i++) {
    bubble += empty.items[i].end - empty.items[i].start;
  }
  lumos_vector_free(&empty);
  return bubble;
}

/* ---- A stage ---- */

/* How long each phase runs: on two streams at once it counts once. */
static void add_up(const struct lumos_passes *passes, struct lumos_pipeline_stage *stage) {
  int64_t covered[LUMOS_PASS_PHASES];
  for (int phase = 0; phase < LUMOS_PASS_PHASES; phase++) {
    covered[phase] = passes->step.start;
  }
  for (size_t i = stage->first; i < stage->first + stage->count; i++) {
    const struct lumos_pass_interval *pass = &passes->list.items[i];
    int64_t from = pass->start > covered[pass->phase] ? pass->start : covered[pass->phase];
    if (pass->end > from) {
      stage->busy[pass->phase] += pass->end - from;
      covered[pass->phase] = pass->end;
    }
  }
}

void lumos_pass_intervals_read(struct lumos_passes *passes, const struct lumos_reaches *reaches, uint32_t number) {
  struct lumos_pipeline_stage *stage = &passes->stages.items[number];
  struct bridges bridges = {0};
  find_bridges(passes, stage, &bridges);
  stage->first = passes->list.count;
  for (int track = 0; track < stage->tracks; track++) {
    const struct lumos_lane *lane = &passes->job->lanes.items[stage->lanes[track]];
    struct reading reading = {.passes = passes, .bridges = &bridges, .stage = number, .track = (uint8_t)track};
    for (uint32_t i = lane->task_first; i < lane->task_first + lane->task_count; i++) {
      read_task(&reading, i);
    }
    close_interval(&reading);
  }
  lumos_vector_free(&bridges);
  stage->count = passes->list.count - stage->first;
  if (stage->count == 0) {
    return;
  }
  sort_intervals(passes, stage);
  add_up(passes, stage);
  stage->micro_batches = count_micro_batches(passes->list.items + stage->first, stage->count);
  read_aside(passes, reaches, stage, LUMOS_OTHER_PHASE);
  read_aside(passes, reaches, stage, LUMOS_EXCHANGE);
  stage->bubble = bubble_of(passes, stage);
}
