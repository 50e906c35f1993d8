/* The chain of each of the job's steps, and what it consists of.
 *
 * A part counts for the task for whose sake it is: where that one runs, and for what passes before it, by its own op,
 * module, layer, phase and rank. So at every level the parts add up to the step.
 */
#include "sim/critical.h"

#include "sim/clock.h"
#include "sim/metrics.h"
#include "sim/tally.h"
#include <stdlib.h>

enum { MOST_ROWS = 50 }; /* of a level in a step, the longest. Chosen: it bounds a report */

/* --- The task that ends a step --- */

uint32_t *lumos_job_steps_of(const struct lumos_timeline *timeline) {
  uint32_t *of = lumos_allocate((timeline->steps.count + 1) * sizeof *of);
  for (uint32_t k = 0; k < timeline->job.count; k++) {
    for (uint32_t i = timeline->sharers_first[k]; i < timeline->sharers_first[k + 1]; i++) {
      of[timeline->sharers[i]] = k;
    }
  }
  return of;
}

uint8_t *lumos_steps_with_streams(const struct lumos_job *job, const struct lumos_timeline *timeline,
                                  const struct lumos_stretches *stretches) {
  uint8_t *with = lumos_allocate_zeroed(timeline->steps.count + 1, sizeof *with);
  uint32_t guess = 0;
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[stretches->items[i].lane];
    if (lane->kind == LUMOS_STREAM) {
      uint32_t step = lumos_step_index(&timeline->steps, lane->rank, stretches->items[i].step, &guess);
      with[step == LUMOS_NONE ? timeline->steps.count : step] = 1;
    }
  }
  return with;
}

/* The first task of a stretch that ends at an instant. */
static uint32_t ending_at(const struct lumos_job *job, const struct lumos_stretch *stretch, int64_t instant) {
  for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
    int64_t start = 0;
    int64_t end = 0;
    if (lumos_task_interval(job, job->runs.items, t, &start, &end) && end == instant) {
      return t;
    }
  }
  return LUMOS_NONE;
}

void lumos_find_last_tasks(const struct lumos_job *job, const struct lumos_timeline *timeline,
                           const struct lumos_stretches *stretches, uint32_t *last) {
  uint32_t *job_step = lumos_job_steps_of(timeline);
  uint8_t *with_streams = lumos_steps_with_streams(job, timeline, stretches);
  for (size_t k = 0; k < timeline->job.count; k++) {
    last[k] = LUMOS_NONE;
  }
  uint32_t guess = 0;
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    const struct lumos_lane *lane = &job->lanes.items[stretch->lane];
    uint32_t step = lumos_step_index(&timeline->steps, lane->rank, stretch->step, &guess);
    if (step == LUMOS_NONE || with_streams[step] != (lane->kind == LUMOS_STREAM)) {
      continue;
    }
    uint32_t k = job_step[step];
    if (last[k] == LUMOS_NONE && timeline->steps.items[step].end == timeline->job.items[k].end) {
      last[k] = ending_at(job, stretch, timeline->job.items[k].end);
    }
  }
  free(job_step);
  free(with_streams);
}

/* --- What a part goes to --- */

/* What passes between two tasks, by what held the later one. */
static const char *const lag_names[LUMOS_CONSTRAINT_KINDS] = {
    [LUMOS_HELD_BY_NOTHING] = "outside",           [LUMOS_HELD_BY_ITSELF] = "outside",
    [LUMOS_HELD_BY_THREAD] = "host_gap",           [LUMOS_HELD_BY_STREAM] = "stream_gap",
    [LUMOS_HELD_BY_LAUNCH] = "launch_latency",     [LUMOS_HELD_BY_WAIT] = "wait_return",
    [LUMOS_HELD_BY_COLLECTIVE] = "collective_lag", [LUMOS_HELD_BY_EVENT] = "event_latency",
    [LUMOS_HELD_BY_HANDOVER] = "handover",         [LUMOS_HELD_BY_BOUNDARY] = "outside",
    [LUMOS_HELD_BY_RESOURCE] = "resource_wait",    [LUMOS_HELD_BY_QUEUE] = "full_queue",
    [LUMOS_HELD_BY_OTHER] = "other_dependency",
};

/* Kinds of parts as numbers: kinds of tasks, then what passes between tasks, by constraint, then what is
 * unexplained. */
enum { FIRST_LAG = LUMOS_TASK_KINDS, UNEXPLAINED = FIRST_LAG + LUMOS_CONSTRAINT_KINDS };

static uint32_t kind_of(const struct lumos_job *job, const struct lumos_path_part *part) {
  switch ((enum lumos_path_what)part->what) {
    case LUMOS_PATH_RUN:
      return job->tasks.items[part->task].kind;
    case LUMOS_PATH_UNEXPLAINED:
      return UNEXPLAINED;
    case LUMOS_PATH_OUTSIDE:
      return FIRST_LAG + LUMOS_HELD_BY_NOTHING;
    case LUMOS_PATH_LAG:
      break;
  }
  return FIRST_LAG + (uint32_t)part->kind;
}

static const char *kind_name(uint32_t kind) {
  if (kind < FIRST_LAG) {
    return kind == LUMOS_OTHER_HOST ? "other_host" : lumos_task_kind_name((enum lumos_task_kind)kind);
  }
  return kind == UNEXPLAINED ? "unexplained" : lag_names[kind - FIRST_LAG];
}

const char *lumos_path_part_kind(const struct lumos_job *job, const struct lumos_path_part *part) {
  return kind_name(kind_of(job, part));
}

/* --- Levels --- */

enum level { BY_KIND, BY_PHASE, BY_OP, BY_MODULE, BY_LAYER, BY_RANK, LEVELS };

static const char *const level_names[LEVELS] = {"critical_path_kind",   "critical_path_phase", "critical_path_op",
                                                "critical_path_module", "critical_path_layer", "critical_path_rank"};
static const char nothing[] = "(none)", others[] = "(rest)";

/* Sums by level. Parts that follow each other are mostly of one op, layer or rank, so they are added up before they go
 * into a tally. */
struct sums {
  struct lumos_tally tallies[LEVELS];
  uint32_t places[LEVELS]; /* of what is pending */
  int64_t pending[LEVELS];
  int64_t of_task; /* pending at all levels but BY_KIND, which alone tells the parts of one task apart */
  uint32_t task;   /* that was looked at last; LUMOS_NONE: none */
  uint32_t span;   /* of it, and where that comes from */
  struct lumos_origin origin;
};

/* Where the parts for a task's sake count, by level but BY_KIND; 0: nowhere. Layers and what else a model has are one
 * number, as in the roll-ups. */
static void find_places(struct lumos_origins *origins, struct sums *sums, uint32_t index, uint32_t places[LEVELS]) {
  const struct lumos_job *job = origins->job;
  const struct lumos_task *task = &job->tasks.items[index];
  uint32_t span = lumos_launch_span(job, task);
  if (span != sums->span) {
    sums->span = span;
    sums->origin = span == LUMOS_NONE ? (struct lumos_origin){LUMOS_NO_STRING, 0} : lumos_origin_of(origins, span);
  }
  places[BY_PHASE] = task->phase;
  places[BY_OP] = sums->origin.op;
  places[BY_MODULE] = sums->origin.module;
  places[BY_LAYER] = task->layer != LUMOS_ABSENT_INT ? (uint32_t)task->layer + LUMOS_PART_OPTIMIZER + 1U : task->part;
  places[BY_RANK] = lumos_rank_of(job, task);
}

static void settle(struct sums *sums, int level) {
  if (sums->pending[level] != 0) {
    lumos_tally_add(&sums->tallies[level], sums->places[level], sums->pending[level]);
    sums->pending[level] = 0;
  }
}

static void move_to(struct sums *sums, int level, uint32_t place) {
  if (place != sums->places[level]) {
    settle(sums, level);
    sums->places[level] = place;
  }
}

static void leave_task(struct sums *sums) {
  for (int level = BY_KIND + 1; level < LEVELS; level++) {
    sums->pending[level] += sums->of_task;
  }
  sums->of_task = 0;
  sums->task = LUMOS_NONE;
}

static void add_part(struct lumos_origins *origins, struct sums *sums, const struct lumos_path_part *part) {
  uint32_t places[LEVELS];
  if (part->task != sums->task) {
    leave_task(sums);
    find_places(origins, sums, part->task, places);
    for (int level = BY_KIND + 1; level < LEVELS; level++) {
      move_to(sums, level, places[level]);
    }
    sums->task = part->task;
  }
  move_to(sums, BY_KIND, kind_of(origins->job, part));
  sums->pending[BY_KIND] += part->to - part->from;
  sums->of_task += part->to - part->from;
}

static void name_place(struct lumos_job *job, const struct lumos_origins *origins, enum level level, uint32_t place,
                       struct lumos_scope *scope) {
  switch (level) {
    case BY_KIND:
      scope->kind = lumos_intern_text(job->strings, kind_name(place));
      break;
    case BY_PHASE:
      scope->phase = (uint8_t)place;
      scope->name = place == 0 ? lumos_intern_text(job->strings, nothing) : LUMOS_NO_STRING;
      break;
    case BY_OP:
      scope->op = place == 0 ? lumos_intern_text(job->strings, nothing) : place;
      break;
    case BY_MODULE:
      scope->module = place == 0 ? lumos_intern_text(job->strings, nothing) : lumos_module_path(origins, job, place);
      break;
    case BY_LAYER:
      if (place > LUMOS_PART_OPTIMIZER) {
        scope->layer = (int32_t)(place - LUMOS_PART_OPTIMIZER - 1U);
      } else {
        scope->name = lumos_intern_text(job->strings, place == 0 ? nothing : lumos_part_name((enum lumos_part)place));
      }
      break;
    case BY_RANK:
      scope->rank = job->ranks.items[place].rank;
      break;
    case LEVELS:
      break;
  }
}

/* Behind the first rows. Only names can be many. */
static void name_rest(struct lumos_job *job, enum level level, struct lumos_scope *scope) {
  lumos_string_id rest = lumos_intern_text(job->strings, others);
  scope->op = level == BY_OP ? rest : LUMOS_NO_STRING;
  scope->module = level == BY_MODULE ? rest : LUMOS_NO_STRING;
}

static void add_time(struct lumos_job *job, const char *name, const struct lumos_scope *scope, int64_t ns) {
  lumos_metric_add(job, name, scope, LUMOS_METRIC_SIMULATED, (struct lumos_decimal){ns, 0});
}

static bool write_level(struct lumos_job *job, const struct lumos_origins *origins, enum level level,
                        const struct lumos_step *step, struct lumos_tally *tally) {
  bool may_be_many = level == BY_OP || level == BY_MODULE;
  lumos_tally_sort(tally, level == BY_OP ? job->strings : NULL);
  int64_t sum = 0;
  int64_t rest = 0;
  struct lumos_scope scope = lumos_everywhere;
  scope.step = step->step;
  for (size_t i = 0; i < tally->rows.count; i++) {
    const struct lumos_tally_row *row = &tally->rows.items[i];
    struct lumos_scope own = scope;
    sum += row->sum;
    if (i >= MOST_ROWS && may_be_many) {
      rest += row->sum;
    } else if (row->sum > 0) {
      name_place(job, origins, level, row->key, &own);
      add_time(job, level_names[level], &own, row->sum);
    }
  }
  if (rest > 0) {
    name_rest(job, level, &scope);
    add_time(job, level_names[level], &scope, rest);
  }
  return sum == step->end - step->start;
}

static void write_crossings(struct lumos_job *job, const struct lumos_crossings *crossings, int32_t step) {
  for (int kind = 0; kind < LUMOS_CONSTRAINT_KINDS; kind++) {
    for (int evidence = LUMOS_RECORDED; evidence <= LUMOS_UNEXPLAINED; evidence++) {
      const struct lumos_crossing *crossing = &crossings->of[kind][evidence];
      if (crossing->count == 0) {
        continue;
      }
      struct lumos_scope scope = lumos_everywhere;
      scope.step = step;
      scope.kind = lumos_intern_text(job->strings, lumos_constraint_kind_name((enum lumos_constraint_kind)kind));
      scope.name = lumos_intern_text(job->strings, lumos_evidence_name((enum lumos_evidence)evidence));
      add_time(job, "critical_path_crossings", &scope, crossing->count);
      add_time(job, "critical_path_crossing_time", &scope, crossing->time);
    }
  }
}

static void write_step(struct lumos_job *job, struct lumos_origins *origins, const struct lumos_path_parts *parts,
                       const struct lumos_crossings *crossings, const struct lumos_step *step, struct sums *sums) {
  size_t first = job->metrics.count;
  struct lumos_scope scope = lumos_everywhere;
  scope.step = step->step;
  int64_t length = 0;
  for (size_t i = 0; i < parts->count; i++) {
    add_part(origins, sums, &parts->items[i]);
    length += parts->items[i].to - parts->items[i].from;
  }
  bool adds_up = length == step->end - step->start;
  leave_task(sums);
  add_time(job, "critical_path", &scope, length);
  for (int level = 0; level < LEVELS; level++) {
    settle(sums, level);
    adds_up = write_level(job, origins, (enum level)level, step, &sums->tallies[level]) && adds_up;
    lumos_tally_clear(&sums->tallies[level]);
  }
  write_crossings(job, crossings, step->step);
  if (!adds_up) {
    lumos_metrics_drop(job, first, "the critical path of a step");
  }
}

void lumos_path_of_step(const struct lumos_job *job, const struct lumos_held *bindings, const struct lumos_step *step,
                        uint32_t last, struct lumos_path_parts *parts, struct lumos_crossings *crossings) {
  parts->count = 0;
  if (last == LUMOS_NONE) { /* the step ends where the recording of a rank begins, or with the step before */
    lumos_path_walk(job, bindings, step->start, step->end, parts);
  } else {
    lumos_path_walk_from(job, bindings, last, step->start, step->end, parts, crossings);
  }
}

void lumos_write_critical_path(struct lumos_job *job, const struct lumos_held *bindings,
                               const struct lumos_timeline *simulated, const struct lumos_stretches *stretches,
                               struct lumos_origins *origins) {
  uint32_t *last = lumos_allocate((simulated->job.count + 1) * sizeof *last);
  struct lumos_path_parts parts = {0};
  struct sums sums = {.task = LUMOS_NONE, .span = LUMOS_NONE};
  lumos_find_last_tasks(job, simulated, stretches, last);
  for (size_t k = 0; k < simulated->job.count; k++) {
    const struct lumos_step *step = &simulated->job.items[k];
    struct lumos_crossings crossings = {0};
    lumos_path_of_step(job, bindings, step, last[k], &parts, &crossings);
    write_step(job, origins, &parts, &crossings, step, &sums);
  }
  for (int level = 0; level < LEVELS; level++) {
    lumos_tally_free(&sums.tallies[level]);
  }
  lumos_vector_free(&parts);
  free(last);
}
