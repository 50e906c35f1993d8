/* A GPU task counts for every annotation around its launch. Autograd launches the backward pass from a thread of its
 * own, which is in none of the annotations of the thread that called backward(): work of a backward pass counts for
 * those, too, that are open on other threads when it is launched. A name counts once, however often it encloses itself.
 */
#include "sim/annotations.h"

#include "sim/metrics.h"
#include "sim/named_sums.h"
#include "sim/origin.h"
#include <stdlib.h>
#include <string.h>

enum { GPU_TIME, CPU_TIME, COUNT };
enum { DEEPEST = 1000 }; /* spans within spans, as in origin.c */
enum { MOST_NAMES = 64 };

#define NOT_ASKED (LUMOS_NONE - 1)

struct annotations {
  struct lumos_job *job;
  const struct lumos_timeline *timeline;
  uint32_t *around;                /* by span: the annotation that it is or lies in; LUMOS_NONE, NOT_ASKED */
  LUMOS_VECTOR(uint32_t) by_start; /* annotations by lane, then start */
  LUMOS_VECTOR(uint32_t) marks;    /* of steps, by rank, then start */
  struct lumos_named_sums sums;
};

/* What a task was launched in: equal for many in a row, which are added up before their names are. */
struct place {
  uint32_t step, rank, own; /* own: the annotation around the launch */
  uint32_t other;           /* the innermost one that is open on another thread */
};

static uint32_t annotation_around(const struct annotations *annotations, uint32_t span) {
  const struct lumos_span *spans = annotations->job->spans.items;
  uint32_t way[DEEPEST];
  int length = 0;
  uint32_t found = LUMOS_NONE;
  for (; span != LUMOS_NONE && length < DEEPEST; span = spans[span].parent) {
    if (annotations->around[span] != NOT_ASKED) {
      found = annotations->around[span];
      break;
    }
    way[length++] = span;
    if (spans[span].kind == LUMOS_SPAN_ANNOTATION) {
      found = span;
      break;
    }
  }
  while (length > 0) {
    annotations->around[way[--length]] = found;
  }
  return found;
}

static uint32_t annotation_above(const struct annotations *annotations, uint32_t annotation) {
  return annotation_around(annotations, annotations->job->spans.items[annotation].parent);
}

static int compare_starts(const void *left, const void *right, void *spans) {
  const struct lumos_span *a = (const struct lumos_span *)spans + *(const uint32_t *)left;
  const struct lumos_span *b = (const struct lumos_span *)spans + *(const uint32_t *)right;
  return a->lane != b->lane     ? LUMOS_ORDER(a->lane, b->lane)
         : a->start != b->start ? LUMOS_ORDER(a->start, b->start)
                                : LUMOS_ORDER(a->id, b->id); /* what encloses has the lower id */
}

static int compare_marks(const void *left, const void *right, void *spans) {
  const struct lumos_span *a = (const struct lumos_span *)spans + *(const uint32_t *)left;
  const struct lumos_span *b = (const struct lumos_span *)spans + *(const uint32_t *)right;
  return a->rank != b->rank     ? LUMOS_ORDER(a->rank, b->rank)
         : a->start != b->start ? LUMOS_ORDER(a->start, b->start)
                                : LUMOS_ORDER(a->id, b->id);
}

static void find_annotations(struct annotations *annotations) {
  struct lumos_job *job = annotations->job;
  for (uint32_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    if (span->kind == LUMOS_SPAN_ANNOTATION && span->lane != LUMOS_NONE) {
      lumos_vector_push(&annotations->by_start, i);
    } else if (span->kind == LUMOS_SPAN_STEP && span->lane != LUMOS_NONE) {
      lumos_vector_push(&annotations->marks, i);
    }
  }
  lumos_vector_sort_by(&annotations->by_start, compare_starts, job->spans.items);
  lumos_vector_sort_by(&annotations->marks, compare_marks, job->spans.items);
}

/* ---- GPU time ---- */

static int64_t end_of(const struct lumos_span *span) { return span->start + span->dur; }

/* The innermost annotation of a lane that is open at an instant. O(log annotations + depth). */
static uint32_t open_at(const struct annotations *annotations, uint32_t lane, int64_t instant) {
  const struct lumos_span *spans = annotations->job->spans.items;
  size_t low = 0;
  size_t high = annotations->by_start.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct lumos_span *span = &spans[annotations->by_start.items[middle]];
    if (span->lane < lane || (span->lane == lane && span->start <= instant)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  uint32_t found = low == 0 ? LUMOS_NONE : annotations->by_start.items[low - 1];
  if (found != LUMOS_NONE && spans[found].lane != lane) {
    return LUMOS_NONE;
  }
  while (found != LUMOS_NONE && end_of(&spans[found]) <= instant) {
    found = annotation_above(annotations, found);
  }
  return found;
}

/* Of several other threads that of the annotation that began last. */
static uint32_t open_elsewhere(const struct annotations *annotations, const struct lumos_task *call) {
  const struct lumos_job *job = annotations->job;
  const struct lumos_rank *rank = &job->ranks.items[lumos_rank_of(job, call)];
  uint32_t found = LUMOS_NONE;
  for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
    uint32_t open = lane == call->lane || job->lanes.items[lane].kind != LUMOS_THREAD
                        ? LUMOS_NONE
                        : open_at(annotations, lane, call->start);
    if (open != LUMOS_NONE && (found == LUMOS_NONE || job->spans.items[open].start > job->spans.items[found].start)) {
      found = open;
    }
  }
  return found;
}

static struct place place_of(const struct annotations *annotations, uint32_t step, const struct lumos_task *task) {
  const struct lumos_job *job = annotations->job;
  struct place place = {step, lumos_rank_of(job, task), LUMOS_NONE, LUMOS_NONE};
  if (task->call != LUMOS_NONE) {
    const struct lumos_task *call = &job->tasks.items[task->call];
    bool backward = task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
    place.own = annotation_around(annotations, lumos_launch_span(job, task));
    place.other = backward && call->start != LUMOS_ABSENT ? open_elsewhere(annotations, call) : LUMOS_NONE;
  }
  return place;
}

/* The names of an annotation and of those around it, each once. */
static int add_names(const struct annotations *annotations, uint32_t annotation, lumos_string_id *names, int count) {
  for (; annotation != LUMOS_NONE && count < MOST_NAMES; annotation = annotation_above(annotations, annotation)) {
    lumos_string_id name = annotations->job->spans.items[annotation].name;
    int known = 0;
    while (known < count && names[known] != name) {
      known++;
    }
    names[known] = name;
    count += known == count;
  }
  return count;
}

static void add_gpu_time(struct annotations *annotations, const struct place *place, int64_t time) {
  lumos_string_id names[MOST_NAMES];
  int count = add_names(annotations, place->own, names, 0);
  count = add_names(annotations, place->other, names, count);
  int64_t weight = lumos_rank_weight(&annotations->job->ranks.items[place->rank]);
  for (int i = 0; i < count; i++) {
    lumos_named_add(&annotations->sums, place->step, names[i], GPU_TIME, time, weight);
  }
}

static void add_stream(struct annotations *annotations, uint32_t step, const struct lumos_stretch *stretch) {
  const struct lumos_run *runs = annotations->timeline->runs;
  struct place place = {0};
  int64_t time = 0;
  for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
    const struct lumos_task *task = &annotations->job->tasks.items[t];
    struct place own = place_of(annotations, step, task);
    if (t > stretch->first && (own.own != place.own || own.other != place.other)) {
      add_gpu_time(annotations, &place, time);
      time = 0;
    }
    place = own;
    if (__builtin_add_overflow(time, runs == NULL ? task->dur : runs[t].dur, &time)) {
      time = INT64_MAX;
    }
  }
  add_gpu_time(annotations, &place, time);
}

/* ---- CPU time ---- */

/* The first task of the lane that does not start before an instant. */
static uint32_t first_from(const struct lumos_job *job, const struct lumos_lane *lane, int64_t instant) {
  uint32_t low = lane->task_first, high = lane->task_first + lane->task_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (job->tasks.items[middle].start < instant) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The mark of the rank's step in which a span starts, on whichever thread; NULL. O(log marks). */
static const struct lumos_span *mark_around(const struct annotations *annotations, const struct lumos_span *span) {
  const struct lumos_span *spans = annotations->job->spans.items, *found = NULL;
  size_t low = 0, high = annotations->marks.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct lumos_span *mark = &spans[annotations->marks.items[middle]];
    bool before = mark->rank < span->rank || (mark->rank == span->rank && mark->start <= span->start);
    found = before ? mark : found;
    low = before ? middle + 1 : low;
    high = before ? high : middle;
  }
  return found != NULL && found->rank == span->rank && span->start < end_of(found) ? found : NULL;
}

static uint32_t first_in(const struct lumos_job *job, const struct lumos_span *span) {
  const struct lumos_lane *lane = &job->lanes.items[span->lane];
  uint32_t task = first_from(job, lane, span->start);
  bool is_there = task < lane->task_first + lane->task_count && job->tasks.items[task].start < end_of(span);
  return is_there ? task : LUMOS_NONE;
}

/* The step of the first task that starts in a span, or else in the step's mark around it; where there is none, of the
 * task before it. */
static int32_t step_of(const struct annotations *annotations, const struct lumos_span *span) {
  const struct lumos_job *job = annotations->job;
  const struct lumos_lane *lane = &job->lanes.items[span->lane];
  const struct lumos_span *mark = mark_around(annotations, span);
  uint32_t task = first_in(job, span);
  task = task == LUMOS_NONE && mark != NULL ? first_in(job, mark) : task;
  if (task == LUMOS_NONE) {
    uint32_t next = first_from(job, lane, span->start);
    task = next > lane->task_first ? next - 1 : next;
    task = task < lane->task_first + lane->task_count ? task : LUMOS_NONE;
  }
  return task == LUMOS_NONE ? LUMOS_ABSENT_INT : job->tasks.items[task].step;
}

static bool encloses_itself(const struct annotations *annotations, uint32_t annotation) {
  lumos_string_id name = annotations->job->spans.items[annotation].name;
  int depth = 0;
  do {
    annotation = annotation_above(annotations, annotation);
  } while (annotation != LUMOS_NONE && annotations->job->spans.items[annotation].name != name && depth++ < DEEPEST);
  return annotation != LUMOS_NONE;
}

static void add_cpu_times(struct annotations *annotations) {
  const struct lumos_job *job = annotations->job;
  for (size_t i = 0; i < annotations->by_start.count; i++) {
    const struct lumos_span *span = &job->spans.items[annotations->by_start.items[i]];
    uint32_t step = lumos_job_step(annotations->timeline, step_of(annotations, span));
    if (step != LUMOS_NONE) {
      bool again = encloses_itself(annotations, annotations->by_start.items[i]);
      int64_t weight = lumos_rank_weight(&job->ranks.items[span->rank]);
      lumos_named_add(&annotations->sums, step, span->name, CPU_TIME, again ? 0 : span->dur, weight);
      lumos_named_add(&annotations->sums, step, span->name, COUNT, 1, weight);
    }
  }
}

/* ---- Writing ---- */

static void write_rows(struct annotations *annotations) {
  lumos_named_sort(&annotations->sums);
  for (size_t i = 0; i < annotations->sums.rows.count; i++) {
    const struct lumos_named_row *row = &annotations->sums.rows.items[i];
    lumos_named_write(&annotations->sums, row, "annotation_gpu_time", GPU_TIME);
    if (annotations->timeline->runs == NULL) {
      lumos_named_write(&annotations->sums, row, "annotation_cpu_time", CPU_TIME);
      lumos_named_write(&annotations->sums, row, "annotation_count", COUNT);
    }
  }
}

void lumos_write_annotations(struct lumos_job *job, const struct lumos_timeline *timeline,
                             const struct lumos_stretches *stretches) {
  struct annotations annotations = {.job = job, .timeline = timeline};
  lumos_named_begin(&annotations.sums, job, timeline);
  find_annotations(&annotations);
  annotations.around = lumos_allocate((job->spans.count + 1) * sizeof *annotations.around);
  for (size_t i = 0; i < job->spans.count; i++) {
    annotations.around[i] = NOT_ASKED;
  }
  for (size_t i = 0; annotations.by_start.count > 0 && i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    uint32_t step = lumos_job_step(timeline, stretch->step);
    if (step != LUMOS_NONE && job->lanes.items[stretch->lane].kind == LUMOS_STREAM) {
      add_stream(&annotations, step, stretch);
    }
  }
  if (timeline->runs == NULL) { /* how long they would last after a change is not known */
    add_cpu_times(&annotations);
  }
  write_rows(&annotations);
  lumos_vector_free(&annotations.by_start);
  lumos_vector_free(&annotations.marks);
  lumos_named_free(&annotations.sums);
  free(annotations.around);
}
