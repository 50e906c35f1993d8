/* Opportunities: the step, simulated again, if a kind of work took no time, or half of its time.
 *
 * A kind of work is all that the host does; the time from a launch to the device; kernels of a kind, copies and memsets; all
 * communication, and that of each group; and what tasks of a step take longer than the same tasks of like ranks do, at the
 * median. What a factor changes is what --scale changes (transform/scaling.h), so an opportunity is a what-if. Nothing is
 * subtracted: what another constraint would hold up all the same is no gain.
 */
#include "sim/metrics.h"

#include "graph/typical.h"
#include "transform/scaling.h"
#include <stdlib.h>
#include <string.h>

enum subject { HOST, LAUNCHES, KIND, COMMUNICATION, GROUP, STRAGGLERS };

struct work {
  enum subject subject;
  uint8_t kind;          /* of KIND */
  lumos_string_id group; /* of GROUP: its id */
};

struct factor {
  const char *name; /* of the metric */
  int64_t millionths;
};

static const struct factor factors[] = {{"opportunity_free", 0}, {"opportunity_half", LUMOS_SCALING_UNIT / 2}};

struct search {
  struct lumos_job *job;
  struct lumos_engine engine;
  struct lumos_stretches stretches;
  LUMOS_VECTOR(struct work) works;
  uint8_t *chosen;           /* by task */
  int64_t *usual;            /* by task: the median of like ranks' */
  struct lumos_times *times; /* by task */
  struct lumos_run *runs;
};

/* ---- which works there are ---- */

static void find_kinds(struct search *search) {
  bool seen[LUMOS_TASK_KINDS] = {false};
  bool communicates = false;
  for (size_t t = 0; t < search->job->tasks.count; t++) {
    const struct lumos_task *task = &search->job->tasks.items[t];
    bool communication = lumos_is_communication(task->kind);
    communicates = communicates || communication;
    seen[task->kind] = seen[task->kind] || (!communication && lumos_on_stream(search->job, task));
  }
  for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    if (seen[kind]) {
      lumos_vector_push(&search->works, ((struct work){.subject = KIND, .kind = (uint8_t)kind}));
    }
  }
  if (communicates) {
    lumos_vector_push(&search->works, ((struct work){.subject = COMMUNICATION}));
  }
}

static int compare_ids(const void *left, const void *right) {
  lumos_string_id a = *(const lumos_string_id *)left, b = *(const lumos_string_id *)right;
  return (a > b) - (a < b);
}

/* Groups that communicate. One alone is all communication. */
static void find_groups(struct search *search) {
  LUMOS_VECTOR(lumos_string_id) groups = {0};
  for (size_t i = 0; i < search->job->details.count; i++) {
    lumos_string_id group = search->job->details.items[i].comm.group;
    if (search->job->details.items[i].comm.op != LUMOS_NO_STRING && group != LUMOS_NO_STRING) {
      lumos_vector_push(&groups, group);
    }
  }
  if (groups.count > 0) {
    qsort(groups.items, groups.count, sizeof *groups.items, compare_ids);
  }
  for (size_t i = 0; i < groups.count; i++) {
    if (groups.items[0] != groups.items[groups.count - 1] && (i == 0 || groups.items[i] != groups.items[i - 1])) {
      lumos_vector_push(&search->works, ((struct work){.subject = GROUP, .group = groups.items[i]}));
    }
  }
  lumos_vector_free(&groups);
}

/* ---- like ranks ---- */

struct piece { /* a stretch of a stream, and what it launches */
  uint64_t hash;
  uint32_t stretch;
};

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15); }

static int compare_pieces(const void *left, const void *right) {
  const struct piece *a = left, *b = right;
  if (a->hash != b->hash) {
    return a->hash < b->hash ? -1 : 1;
  }
  return (a->stretch > b->stretch) - (a->stretch < b->stretch);
}

static struct piece piece_of(const struct search *search, uint32_t index) {
  const struct lumos_stretch *stretch = &search->stretches.items[index];
  const struct lumos_lane *lane = &search->job->lanes.items[stretch->lane];
  uint64_t hash = mix(mix(mix(1, lane->native), (uint32_t)stretch->step), stretch->count);
  for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
    const struct lumos_task *task = &search->job->tasks.items[t];
    hash = mix(hash, lumos_is_communication(task->kind) ? task->kind : task->name);
  }
  return (struct piece){hash, index};
}

/* pieces[0 .. count) launch the same on as many ranks. */
static void take_medians(struct search *search, const struct piece *pieces, uint32_t count, int64_t *values) {
  const struct lumos_stretch *first = &search->stretches.items[pieces[0].stretch];
  for (uint32_t i = 0; i < first->count; i++) {
    for (uint32_t p = 0; p < count; p++) {
      values[p] = search->job->tasks.items[search->stretches.items[pieces[p].stretch].first + i].dur;
    }
    int64_t median = lumos_median(values, count);
    for (uint32_t p = 0; p < count; p++) {
      uint32_t t = search->stretches.items[pieces[p].stretch].first + i;
      bool computes = !lumos_is_communication(search->job->tasks.items[t].kind);
      search->usual[t] = computes && median < search->usual[t] ? median : search->usual[t];
    }
  }
}

/* Fills usual; false: no two ranks are alike. */
static bool find_usual(struct search *search) {
  LUMOS_VECTOR(struct piece) pieces = {0};
  for (size_t t = 0; t < search->job->tasks.count; t++) {
    search->usual[t] = search->job->tasks.items[t].dur;
  }
  for (uint32_t i = 0; i < search->stretches.count; i++) {
    if (search->job->lanes.items[search->stretches.items[i].lane].kind == LUMOS_STREAM) {
      lumos_vector_push(&pieces, piece_of(search, i));
    }
  }
  bool alike = false;
  int64_t *values = lumos_allocate(pieces.count * sizeof *values);
  if (pieces.count > 0) {
    qsort(pieces.items, pieces.count, sizeof *pieces.items, compare_pieces);
  }
  for (size_t i = 0, end = 0; i < pieces.count; i = end) {
    for (end = i; end < pieces.count && pieces.items[end].hash == pieces.items[i].hash;) {
      end++;
    }
    if (end - i > 1) {
      alike = true;
      take_medians(search, pieces.items + i, (uint32_t)(end - i), values);
    }
  }
  free(values);
  lumos_vector_free(&pieces);
  return alike;
}

/* ---- changes ---- */

static bool is_of(const struct lumos_job *job, const struct work *work, const struct lumos_task *task) {
  switch (work->subject) {
    case HOST:
      return !lumos_on_stream(job, task);
    case KIND:
      return task->kind == work->kind && lumos_on_stream(job, task);
    case COMMUNICATION:
      return lumos_is_communication(task->kind);
    case GROUP:
      return lumos_is_communication(task->kind) && lumos_detail_of(job, task)->comm.group == work->group;
    default:
      return false;
  }
}

/* One chosen member of a collective chooses all. */
static void choose(struct search *search, const struct work *work) {
  const struct lumos_job *job = search->job;
  for (size_t t = 0; t < job->tasks.count; t++) {
    search->chosen[t] = is_of(job, work, &job->tasks.items[t]);
  }
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    const uint32_t *members = job->members.items + collective->member_first;
    bool any = false;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      any = any || search->chosen[members[m]];
    }
    for (uint32_t m = 0; m < collective->member_count && any; m++) {
      search->chosen[members[m]] = 1;
    }
  }
}

static void *copied(const void *items, size_t count, size_t size) {
  void *copy = lumos_allocate(count * size);
  if (count > 0) {
    memcpy(copy, items, count * size);
  }
  return copy;
}

/* `changed` shares all with the job but what is copied here; the caller frees that. */
static void scale(struct search *search, const struct work *work, int64_t millionths, struct lumos_job *changed) {
  struct lumos_scaling scaling = {
      .job = search->job, .millionths = millionths, .chosen = search->chosen, .lags = work->subject == HOST};
  choose(search, work);
  lumos_scaling_open(&scaling);
  for (uint32_t t = 0; t < changed->tasks.count; t++) {
    search->times[t] = (struct lumos_times){lumos_scaled_dur(&scaling, t), lumos_scaled_lag(&scaling, t)};
    if (lumos_scaling_takes_residual(&scaling, t)) {
      changed->details.items[changed->tasks.items[t].detail].wait.residual = lumos_scaled_residual(&scaling, t);
    }
  }
  for (size_t i = 0; i < changed->deps.count; i++) {
    changed->deps.items[i].lag = lumos_scaled_handover(&scaling, &search->job->deps.items[i]);
  }
  for (uint32_t c = 0; c < changed->collectives.count; c++) {
    changed->collectives.items[c].transfer = lumos_scaled_transfer(&scaling, c);
  }
  lumos_scaling_close(&scaling);
}

/* A lag that counts back from the call's end is no time that a launch takes. */
static void shorten_launches(struct lumos_job *changed, int64_t millionths) {
  for (size_t t = 0; t < changed->timings.count; t++) {
    int64_t *lag = &changed->timings.items[t].launch_lag;
    *lag = *lag > 0 ? *lag * millionths / LUMOS_SCALING_UNIT : *lag;
  }
}

static void even_out(struct search *search, int64_t millionths) {
  for (size_t t = 0; t < search->job->tasks.count; t++) {
    int64_t more = search->job->tasks.items[t].dur - search->usual[t];
    search->times[t].dur = search->usual[t] + more * millionths / LUMOS_SCALING_UNIT;
  }
}

/* Fills runs; false where the job cannot go on so. */
static bool simulate(struct search *search, const struct work *work, int64_t millionths) {
  const struct lumos_job *job = search->job;
  struct lumos_job changed = *job;
  changed.details.items = copied(job->details.items, job->details.count, sizeof *job->details.items);
  changed.deps.items = copied(job->deps.items, job->deps.count, sizeof *job->deps.items);
  changed.collectives.items = copied(job->collectives.items, job->collectives.count, sizeof *job->collectives.items);
  changed.timings.items = copied(job->timings.items, job->timings.count, sizeof *job->timings.items);
  for (size_t t = 0; t < job->tasks.count; t++) {
    search->times[t] = (struct lumos_times){job->tasks.items[t].dur, job->tasks.items[t].lag};
  }
  if (work->subject == LAUNCHES) {
    shorten_launches(&changed, millionths);
  } else if (work->subject == STRAGGLERS) {
    even_out(search, millionths);
  } else {
    scale(search, work, millionths, &changed);
  }
  const struct lumos_engine_order order = {.changed = &changed, .times = search->times};
  struct lumos_error error = {0};
  bool done = lumos_engine_do(&search->engine, &order, search->runs, &error);
  free(changed.details.items);
  free(changed.deps.items);
  free(changed.collectives.items);
  free(changed.timings.items);
  return done;
}

/* ---- metrics ---- */

static lumos_string_id name_of(struct lumos_job *job, const struct work *work) {
  static const char *const names[] = {
      [HOST] = "host", [LAUNCHES] = "launch", [COMMUNICATION] = "communication", [STRAGGLERS] = "stragglers"};
  if (work->subject == GROUP) {
    return LUMOS_NO_STRING;
  }
  return lumos_intern_text(job->strings, work->subject == KIND ? lumos_task_kind_name((enum lumos_task_kind)work->kind)
                                                               : names[work->subject]);
}

/* The job's steps, one by one. */
static void write_steps(struct search *search, const struct work *work, const char *name) {
  struct lumos_job *job = search->job;
  struct lumos_timeline timeline;
  lumos_timeline_make(&timeline, job, search->runs, &search->stretches);
  for (size_t k = 0; k < timeline.job.count; k++) {
    const struct lumos_step *step = &timeline.job.items[k];
    struct lumos_metric metric = lumos_metric_empty;
    metric.name = lumos_intern_text(job->strings, name);
    metric.unit = lumos_intern_text(job->strings, "ns");
    metric.of = lumos_intern_text(job->strings, "step_time");
    metric.value = (struct lumos_decimal){step->end - step->start, 0};
    metric.scope = lumos_everywhere;
    metric.scope.step = step->step;
    metric.scope.kind = name_of(job, work);
    metric.scope.group = work->group;
    metric.source = LUMOS_METRIC_SIMULATED;
    lumos_vector_push(&job->metrics, metric);
  }
  lumos_timeline_free(&timeline);
}

static void write_work(struct search *search, const struct work *work) {
  for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
    if (simulate(search, work, factors[f].millionths)) {
      write_steps(search, work, factors[f].name);
    } else {
      lumos_job_note(search->job, "sim.opportunity_blocked", LUMOS_INFO, 1, NULL,
                     "opportunities have no result: with less of a kind of work the graph's tasks wait for each other",
                     NULL);
    }
  }
}

bool lumos_find_opportunities(struct lumos_job *job, struct lumos_error *error) {
  if (job->stage != LUMOS_STAGE_SIM) {
    return lumos_fail(error, "opportunities are found in a simulated job; run lumos-sim first");
  }
  struct search search = {.job = job};
  size_t tasks = job->tasks.count;
  lumos_engine_prepare(&search.engine, job, LUMOS_MODEL_LUMOS);
  lumos_find_stretches(job, &search.stretches);
  search.chosen = lumos_allocate(tasks);
  search.usual = lumos_allocate(tasks * sizeof *search.usual);
  search.times = lumos_allocate(tasks * sizeof *search.times);
  search.runs = lumos_allocate(tasks * sizeof *search.runs);
  lumos_vector_push(&search.works, ((struct work){.subject = HOST}));
  lumos_vector_push(&search.works, ((struct work){.subject = LAUNCHES}));
  find_kinds(&search);
  find_groups(&search);
  if (find_usual(&search)) {
    lumos_vector_push(&search.works, ((struct work){.subject = STRAGGLERS}));
  }
  for (size_t i = 0; i < search.works.count; i++) {
    struct work work = search.works.items[i];
    write_work(&search, &work);
  }
  free(search.chosen);
  free(search.usual);
  free(search.times);
  free(search.runs);
  lumos_vector_free(&search.works);
  lumos_vector_free(&search.stretches);
  lumos_engine_free(&search.engine);
  return true;
}
