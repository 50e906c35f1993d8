/* Every task of a stream is counted once at each level, in one walk; what it counts for is a row, found by its key. A
 * level's rows are then written by time, the longest first, and what is behind the first of them as one row.
 */
#include "sim/rollup.h"

#include "base/numbering.h"
#include "sim/metrics.h"
#include "sim/origin.h"
#include <stdlib.h>
#include <string.h>

enum level { KERNELS, KINDS, OPS, MODULES, MODULES_WHOLE, LAYERS, PHASES, LEVELS };

/* What a level's metric is called, and the share of the time that has a place at it. */
static const struct {
  const char *time, *count, *coverage;
  bool by_phase;
} levels[LEVELS] = {
    [KERNELS] = {"kernel_time", "kernel_count", NULL, false},
    [KINDS] = {"kind_time", "kind_count", NULL, false},
    [OPS] = {"op_time", NULL, "op_coverage", true},
    [MODULES] = {"module_time", NULL, "module_coverage", true},
    [MODULES_WHOLE] = {"module_whole_time", NULL, NULL, true},
    [LAYERS] = {"layer_time", NULL, "layer_coverage", true},
    [PHASES] = {"phase_time", NULL, "phase_coverage", true},
};

enum { LONGEST = 200 }; /* rows of a level in a step, chosen to bound a report; of layers and phases there are few */

static const char nothing[] = "(none)", others[] = "(rest)";

/* Key of a row: step (index of the job's), level, phase, and what at that level; 0: nothing. */
struct row {
  uint64_t key;
  int64_t time, count;
};

struct rollup {
  struct lumos_job *job;
  const struct lumos_timeline *timeline;
  struct lumos_origins origins;
  const struct lumos_run *runs; /* NULL: durations are the tasks' own */
  bool kinds_alone;
  LUMOS_VECTOR(struct row) rows;
  struct lumos_numbering numbering; /* of their keys */
};

static uint64_t key_of(size_t step, enum level level, uint8_t phase, uint32_t what) {
  return ((uint64_t)step * LEVELS + (uint64_t)level) << 35U | (uint64_t)(phase & 7U) << 32U | what;
}
static size_t group_of(uint64_t key) { return (size_t)(key >> 35U); } /* step and level */
static uint8_t phase_of(uint64_t key) { return (uint8_t)(key >> 32U & 7U); }
static uint32_t what_of(uint64_t key) { return (uint32_t)key; }

/* Layers are numbered from 0, and other parts of a model have a place among them: both in one number, 0 for neither. */
static uint32_t place_of(const struct lumos_task *task) {
  return task->layer != LUMOS_ABSENT_INT ? (uint32_t)task->layer + LUMOS_PART_OPTIMIZER + 1U : task->part;
}

/* ---- Adding up ---- */

static void add_saturated(int64_t *sum, int64_t time) {
  if (__builtin_add_overflow(*sum, time, sum)) {
    *sum = INT64_MAX;
  }
}

static int64_t multiplied(int64_t time, int64_t weight) {
  int64_t product = 0;
  return __builtin_mul_overflow(time, weight, &product) ? INT64_MAX : product;
}

static void count_for(struct rollup *rollup, uint64_t key, int64_t time, int64_t count) {
  uint32_t number = lumos_number_of(&rollup->numbering, key);
  if (number == rollup->rows.count) {
    lumos_vector_push(&rollup->rows, ((struct row){.key = key}));
  }
  struct row *row = &rollup->rows.items[number];
  add_saturated(&row->time, time);
  row->count += count;
}

static void count_task(struct rollup *rollup, size_t step, uint32_t index, int64_t weight) {
  const struct lumos_task *task = &rollup->job->tasks.items[index];
  int64_t time = multiplied(rollup->runs == NULL ? task->dur : rollup->runs[index].dur, weight);
  if (rollup->kinds_alone) {
    count_for(rollup, key_of(step, KINDS, 0, task->kind), time, weight);
    return;
  }
  uint32_t span = lumos_launch_span(rollup->job, task);
  struct lumos_origin origin = {LUMOS_NO_STRING, 0};
  if (span != LUMOS_NONE) {
    origin = lumos_origin_of(&rollup->origins, span);
  }
  const uint32_t what[LEVELS] = {[KERNELS] = task->name,    [KINDS] = task->kind,      [OPS] = origin.op,
                                 [MODULES] = origin.module, [LAYERS] = place_of(task), [PHASES] = task->phase};
  for (int level = 0; level < LEVELS; level++) {
    if (level != MODULES_WHOLE) {
      uint8_t phase = levels[level].by_phase ? task->phase : 0;
      count_for(rollup, key_of(step, (enum level)level, phase, what[level]), time, weight);
    }
  }
}

static void count_all(struct rollup *rollup, const struct lumos_stretches *stretches) {
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    uint32_t step = lumos_job_step(rollup->timeline, stretch->step);
    if (step != LUMOS_NONE && rollup->job->lanes.items[stretch->lane].kind == LUMOS_STREAM) {
      int64_t weight = lumos_task_weight(rollup->job, &rollup->job->tasks.items[stretch->first]);
      for (uint32_t n = 0; n < stretch->count; n++) {
        count_task(rollup, step, stretch->first + n, weight);
      }
    }
  }
}

/* What counts for a module counts for those around it, too. */
static void count_whole_modules(struct rollup *rollup) {
  size_t own = rollup->rows.count;
  for (size_t i = 0; i < own; i++) {
    struct row row = rollup->rows.items[i];
    if (group_of(row.key) % LEVELS == MODULES) {
      for (uint32_t module = what_of(row.key); module != 0; module = rollup->origins.modules.items[module].parent) {
        count_for(rollup, key_of(group_of(row.key) / LEVELS, MODULES_WHOLE, phase_of(row.key), module), row.time,
                  row.count);
      }
    }
  }
}

/* ---- Writing ---- */

static void name_module(struct rollup *rollup, uint32_t module, struct lumos_scope *scope) {
  scope->module = module == 0 ? lumos_intern_text(rollup->job->strings, nothing)
                              : lumos_module_path(&rollup->origins, rollup->job, module);
}

/* The place of a row at its level, in words; `rest`: of many rows. */
static void name_row(struct rollup *rollup, enum level level, const struct row *row, bool rest,
                     struct lumos_scope *scope) {
  struct lumos_strings *strings = rollup->job->strings;
  uint32_t what = what_of(row->key);
  const char *general = rest ? others : nothing;
  scope->phase = levels[level].by_phase && !rest ? phase_of(row->key) : 0;
  switch (level) {
    case OPS:
      scope->op = rest || what == 0 ? lumos_intern_text(strings, general) : what;
      break;
    case MODULES:
    case MODULES_WHOLE:
      if (rest) {
        scope->module = lumos_intern_text(strings, general);
      } else {
        name_module(rollup, what, scope);
      }
      break;
    case KINDS:
      scope->kind = lumos_intern_text(strings, lumos_task_kind_name((enum lumos_task_kind)what));
      break;
    case LAYERS:
      if (what > LUMOS_PART_OPTIMIZER && !rest) {
        scope->layer = (int32_t)(what - LUMOS_PART_OPTIMIZER - 1U);
      } else {
        scope->name = lumos_intern_text(strings, rest || what == 0 ? general : lumos_part_name((enum lumos_part)what));
      }
      break;
    case PHASES:
      scope->name = what == 0 ? lumos_intern_text(strings, general) : LUMOS_NO_STRING;
      break;
    default:
      scope->name = rest || what == 0 ? lumos_intern_text(strings, general) : what;
  }
}

static void write_row(struct rollup *rollup, size_t step, enum level level, const struct row *row, bool rest) {
  struct lumos_scope scope = lumos_everywhere;
  scope.step = rollup->timeline->job.items[step].step;
  name_row(rollup, level, row, rest, &scope);
  lumos_metric_add(rollup->job, levels[level].time, &scope, rollup->timeline->source,
                   (struct lumos_decimal){row->time, 0});
  if (levels[level].count != NULL) {
    lumos_metric_add(rollup->job, levels[level].count, &scope, rollup->timeline->source,
                     (struct lumos_decimal){row->count, 0});
  }
}

/* By step and level, the longest first, then by name, or as the recording has them. */
static int compare_rows(const void *left, const void *right, void *context) {
  const struct row *a = left, *b = right;
  const struct lumos_strings *strings = context;
  if (group_of(a->key) != group_of(b->key)) {
    return group_of(a->key) < group_of(b->key) ? -1 : 1;
  }
  if (a->time != b->time) {
    return a->time > b->time ? -1 : 1;
  }
  enum level level = (enum level)(group_of(a->key) % LEVELS);
  if ((level == KERNELS || level == OPS) && what_of(a->key) != what_of(b->key)) {
    return strcmp(lumos_string(strings, what_of(a->key)), lumos_string(strings, what_of(b->key)));
  }
  return LUMOS_ORDER(a->key, b->key);
}

/* What belongs nowhere at its level; the phase `other` is none of those that a training step has. */
static bool is_nowhere(const struct row *row) {
  bool phases = group_of(row->key) % LEVELS == PHASES;
  return what_of(row->key) == 0 || (phases && what_of(row->key) == LUMOS_OTHER_PHASE);
}

/* The rows of a level in a step. Their sum is the device time, or something was lost. */
static void write_level(struct rollup *rollup, size_t step, enum level level, const struct row *rows, size_t count,
                        int64_t whole) {
  size_t first = rollup->job->metrics.count;
  struct row rest = {.key = key_of(step, level, 0, 0)};
  int64_t sum = 0;
  int64_t without = 0;
  for (size_t i = 0; i < count; i++) {
    add_saturated(&sum, rows[i].time);
    add_saturated(&without, is_nowhere(&rows[i]) ? rows[i].time : 0);
    if (i < LONGEST || level == LAYERS) {
      write_row(rollup, step, level, &rows[i], false);
    } else {
      add_saturated(&rest.time, rows[i].time);
      rest.count += rows[i].count;
    }
  }
  if (rest.count > 0 && level != MODULES_WHOLE) {
    write_row(rollup, step, level, &rest, true);
  }
  if (levels[level].coverage != NULL && whole > 0) {
    struct lumos_metric_place place = {rollup->timeline->source, LUMOS_ABSENT_INT,
                                       rollup->timeline->job.items[step].step};
    lumos_metric_share(rollup->job, levels[level].coverage, place, whole - without, whole);
  }
  if (level != MODULES_WHOLE && sum != whole) {
    lumos_metrics_drop(rollup->job, first, levels[level].time);
  }
}

static void write_step(struct rollup *rollup, size_t step, const struct row *rows, const struct row *end) {
  int64_t whole = 0;
  for (const struct row *row = rows; row < end && group_of(row->key) % LEVELS == KERNELS; row++) {
    add_saturated(&whole, row->time);
  }
  struct lumos_metric_place place = {rollup->timeline->source, LUMOS_ABSENT_INT,
                                     rollup->timeline->job.items[step].step};
  lumos_metric_time(rollup->job, "device_time", place, whole);
  while (rows < end) {
    size_t count = 1;
    while (rows + count < end && group_of(rows[count].key) == group_of(rows->key)) {
      count++;
    }
    enum level level = (enum level)(group_of(rows->key) % LEVELS);
    write_level(rollup, step, level, rows, count, whole);
    rows += count;
  }
}

static void write_all(struct rollup *rollup) {
  const struct row *rows = rollup->rows.items;
  size_t count = rollup->rows.count;
  if (count > 1) {
    qsort_r(rollup->rows.items, count, sizeof *rows, compare_rows, rollup->job->strings);
  }
  for (size_t first = 0; first < count;) {
    size_t step = group_of(rows[first].key) / LEVELS;
    size_t last = first;
    while (last < count && group_of(rows[last].key) / LEVELS == step) {
      last++;
    }
    write_step(rollup, step, rows + first, rows + last);
    first = last;
  }
}

void lumos_write_rollups(struct lumos_job *job, const struct lumos_timeline *timeline,
                         const struct lumos_stretches *stretches) {
  struct rollup rollup = {.job = job, .timeline = timeline, .runs = timeline->runs};
  lumos_origins_begin(&rollup.origins, job);
  count_all(&rollup, stretches);
  count_whole_modules(&rollup);
  write_all(&rollup);
  lumos_origins_free(&rollup.origins);
  lumos_vector_free(&rollup.rows);
  lumos_numbering_free(&rollup.numbering);
}

void lumos_write_kinds(struct lumos_job *job, const struct lumos_timeline *timeline,
                       const struct lumos_stretches *stretches) {
  struct rollup rollup = {.job = job, .timeline = timeline, .runs = timeline->runs, .kinds_alone = true};
  int64_t *sums = lumos_allocate_zeroed(timeline->job.count + 1, sizeof *sums);
  count_all(&rollup, stretches);
  for (size_t i = 0; i < rollup.rows.count; i++) {
    size_t step = group_of(rollup.rows.items[i].key) / LEVELS;
    add_saturated(&sums[step], rollup.rows.items[i].time);
    write_row(&rollup, step, KINDS, &rollup.rows.items[i], false);
  }
  for (size_t k = 0; k < timeline->job.count; k++) {
    struct lumos_metric_place place = {timeline->source, LUMOS_ABSENT_INT, timeline->job.items[k].step};
    lumos_metric_time(job, "device_time", place, sums[k]);
  }
  free(sums);
  lumos_vector_free(&rollup.rows);
  lumos_numbering_free(&rollup.numbering);
}
