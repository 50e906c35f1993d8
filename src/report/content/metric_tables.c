#include "report/content/metric_tables.h"

#include "report/content/tables.h"
#include "report/draw/palette.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <lumos/metric.h>
#include <stdlib.h>
#include <string.h>

/* ---- The tables ---- */

/* What tells rows apart. */
enum key {
  KEY_END,
  KEY_RANK,
  KEY_PEER,
  KEY_KIND,
  KEY_GROUP,
  KEY_OP,
  KEY_MODULE,
  KEY_NAME,
  KEY_PHASE,
  KEY_LAYER,
  KEY_LANE,
  KEY_STAGE
};

enum { KEYS = 2, MOST_FIGURES = 11 };

struct figure {
  const char *metric, *kind; /* kind: only those of that kind; NULL: whatever the row is of */
  struct report_column column;
  int decimals; /* the column counts in units of 10^-decimals of the metric's */
  bool mean;    /* of what there is; else the sum over a step's */
  bool common;  /* of the job: every row has it */
};

struct layout {
  const char *name;
  const char *caption; /* ", the mean over the steps" follows */
  const char *whole;   /* the metric of a step that the first figure's share is of; NULL: it has no share */
  enum key keys[KEYS];
  struct report_column key_columns[KEYS];
  struct figure figures[MOST_FIGURES];
  bool needs_second; /* rows without the second figure are left out */
  bool in_order;     /* rows in the order of their keys; else the largest first figure first */
  bool simulated;    /* of the simulated timeline, like the parts of what the first figure is the whole of */
  bool of_a_step;    /* of one step alone */
  bool per_rank;     /* sums are over ranks: shown as the mean of a rank */
};

#define TIME(key, heading, metric_name) \
  { metric_name, NULL, {key, heading, metric_name, COLUMN_MS}, 0, false, false }
#define OF_KIND(key, heading, metric_name, of_kind) \
  { metric_name, of_kind, {key, heading, metric_name, COLUMN_MS}, 0, false, false }
#define COUNT(key, heading, metric_name) \
  { metric_name, NULL, {key, heading, metric_name, COLUMN_COUNT}, 0, false, false }
#define NUMBER(key, heading, metric_name) \
  { metric_name, NULL, {key, heading, metric_name, COLUMN_MEAN}, 3, false, false }
#define MEAN(key, heading, metric_name, kind, decimals) \
  { metric_name, NULL, {key, heading, metric_name, kind}, decimals, true, false }
#define PART(of_kind, heading) \
  { "memory_part", of_kind, {of_kind, heading, "memory_part", COLUMN_BYTES}, 0, true, false }
#define NAMED(key, heading, term) \
  { key, heading, term, COLUMN_NAME }
#define WORD(key, heading, term) \
  { key, heading, term, COLUMN_TEXT }

static const struct layout layouts[METRIC_TABLES] = {
    [METRICS_PATH_KINDS] = {.name = "pathkinds",
                            .caption = "The critical path by what runs or passes on it",
                            .whole = "critical_path",
                            .keys = {KEY_KIND},
                            .key_columns = {NAMED("kind", "what", "critical_path_kind")},
                            .figures = {TIME("time", "time", "critical_path_kind")}},
    [METRICS_PATH_OPS] = {.name = "pathops",
                          .caption = "The critical path by op",
                          .whole = "critical_path",
                          .keys = {KEY_OP},
                          .key_columns = {NAMED("op", "op", "critical_path_op")},
                          .figures = {TIME("time", "time", "critical_path_op")}},
    [METRICS_PATH_MODULES] = {.name = "pathmodules",
                              .caption = "The critical path by module",
                              .whole = "critical_path",
                              .keys = {KEY_MODULE},
                              .key_columns = {NAMED("module", "module", "critical_path_module")},
                              .figures = {TIME("time", "time", "critical_path_module")}},
    [METRICS_PATH_LAYERS] = {.name = "pathlayers",
                             .caption = "The critical path by layer",
                             .whole = "critical_path",
                             .keys = {KEY_LAYER},
                             .key_columns = {NAMED("layer", "layer", "critical_path_layer")},
                             .figures = {TIME("time", "time", "critical_path_layer")}},
    [METRICS_PATH_RANKS] = {.name = "pathranks",
                            .caption = "The critical path by rank",
                            .whole = "critical_path",
                            .keys = {KEY_RANK},
                            .key_columns = {NAMED("rank", "rank", "rank")},
                            .figures = {TIME("time", "time", "critical_path_rank")}},
    [METRICS_PATH_CROSSINGS] = {.name = "pathcrossings",
                                .caption =
                                    "Dependencies that the critical path crosses, with what passes between their tasks",
                                .whole = "critical_path",
                                .keys = {KEY_KIND, KEY_NAME},
                                .key_columns = {NAMED("dependency", "dependency", "critical_path_crossings"),
                                                WORD("evidence", "evidence", "evidence")},
                                .figures = {TIME("time", "time", "critical_path_crossing_time"),
                                            COUNT("count", "count", "critical_path_crossings")}},
    [METRICS_IDLE] = {.simulated = true,
                      .name = "idle",
                      .caption = "Why the GPU was idle, by rank, in the simulated steps",
                      .whole = NULL,
                      .keys = {KEY_RANK},
                      .key_columns = {NAMED("rank", "rank", "rank")},
                      .figures = {TIME("idle", "idle", "idle"), TIME("host", "CPU-bound", "idle_host"),
                                  TIME("sync", "CPU blocked in synchronization", "idle_sync"),
                                  TIME("launch", "launch latency", "idle_launch"),
                                  TIME("dependency", "waiting for other work", "idle_dependency"),
                                  TIME("unexplained", "unexplained", "idle_unexplained")},
                      .in_order = true},
    [METRICS_IDLE_OPS] =
        {.simulated = true,
         .name = "idleops",
         .caption = "Idle time that is CPU-bound or blocked in synchronization, by the op that the CPU was at",
         .whole = "idle",
         .keys = {KEY_OP},
         .key_columns = {NAMED("op", "op", "idle_at_op")},
         .figures = {TIME("time", "time", "idle_at_op")}},
    [METRICS_IDLE_STREAMS] = {.simulated = true,
                              .name = "idlestreams",
                              .caption = "Why each stream was idle, in the simulated steps",
                              .whole = NULL,
                              .keys = {KEY_RANK, KEY_LANE},
                              .key_columns = {NAMED("rank", "rank", "rank"), WORD("stream", "stream", "lane")},
                              .figures = {TIME("idle", "idle", "stream_idle"),
                                          TIME("not_recorded", "outside the recording", "stream_not_recorded"),
                                          TIME("host", "CPU-bound", "stream_idle_host"),
                                          TIME("sync", "CPU blocked in synchronization", "stream_idle_sync"),
                                          TIME("launch", "launch latency", "stream_idle_launch"),
                                          TIME("dependency", "waiting for other work", "stream_idle_dependency"),
                                          TIME("unexplained", "unexplained", "stream_idle_unexplained")},
                              .in_order = true},
    [METRICS_GROUPS] =
        {.name = "groups",
         .caption = "Communication by group and operation, summed over ranks",
         .whole = NULL,
         .keys = {KEY_GROUP, KEY_OP},
         .key_columns = {NAMED("group", "group", NULL), WORD("op", "operation", NULL)},
         .figures = {TIME("time", "time", "collective_time"),
                     TIME("transfer", "transfer", "collective_transfer"),
                     TIME("wait", "waiting", "collective_wait"),
                     TIME("unsplit", "transfer or waiting", "collective_unsplit"),
                     COUNT("count", "count", "collective_count"),
                     {"collective_bytes", NULL, {"bytes", "bytes", "collective_bytes", COLUMN_BYTES}, 0, false, false},
                     {"collective_bus_bandwidth",
                      NULL,
                      {"bus_bandwidth", "bus bandwidth", "collective_bus_bandwidth", COLUMN_GBS},
                      3,
                      true,
                      false}}},
    [METRICS_WAITS] = {.name = "waits",
                       .caption = "Who waits for whom in communication",
                       .whole = NULL,
                       .keys = {KEY_RANK, KEY_PEER},
                       .key_columns = {NAMED("rank", "rank", "rank"), WORD("peer", "waits for", "wait_for")},
                       .figures = {TIME("time", "time", "wait_for")}},
    [METRICS_STRAGGLERS] =
        {.name = "stragglers",
         .caption = "How late each rank arrives at communication, and why",
         .whole = "step_time",
         .keys = {KEY_RANK},
         .key_columns = {NAMED("rank", "rank", "rank")},
         .figures = {TIME("delay", "own delay", "straggler_delay"),
                     OF_KIND("compute", "by its GPU", "late_arrival", "compute"),
                     OF_KIND("host", "by its CPU", "late_arrival", "host"),
                     OF_KIND("inherited", "inherited", "late_arrival", "inherited"),
                     TIME("waits", "waits itself", "collective_wait"),
                     COUNT("last", "arrives last", "last_arrivals"),
                     {"straggler", NULL, {"straggler", "straggler", "straggler", COLUMN_SHARE}, 6, true, false},
                     OF_KIND("unknown", "late, cause unknown", "late_arrival", "unknown")},
         .in_order = true},
    [METRICS_BUBBLES] = {.name = "bubbles",
                         .caption = "Pipeline bubble by stage, in communication, beside that of a schedule with passes "
                                    "of equal length",
                         .whole = "step_time",
                         .keys = {KEY_STAGE},
                         .key_columns = {NAMED("stage", "stage", "stage")},
                         .figures = {TIME("bubble", "bubble", "bubble"),
                                     {.metric = "bubble_theory",
                                      .column = {"theory", "in theory", "bubble_theory", COLUMN_SHARE},
                                      .decimals = 6,
                                      .mean = true,
                                      .common = true}},
                         .in_order = true},
    [METRICS_MODULES] = {.name = "modules",
                         .caption = "GPU time by module",
                         .whole = "device_time",
                         .per_rank = true,
                         .keys = {KEY_MODULE},
                         .key_columns = {NAMED("module", "module", "module_time")},
                         .figures = {TIME("time", "itself", "module_time"),
                                     TIME("whole", "with what is in it", "module_whole_time")}},
    [METRICS_PHASES] = {.name = "phases",
                        .caption = "GPU time by phase",
                        .whole = "device_time",
                        .per_rank = true,
                        .keys = {KEY_PHASE},
                        .key_columns = {NAMED("phase", "phase", "phase")},
                        .figures = {TIME("time", "time", "phase_time")}},
    [METRICS_MFU] = {.name = "mfu",
                     .caption = "Model FLOPs of a step beside what the GPUs could do in its time",
                     .whole = NULL,
                     .keys = {KEY_KIND},
                     .key_columns = {NAMED("from", "from", "mfu")},
                     .figures = {MEAN("mfu", "MFU", "mfu", COLUMN_SHARE, 6), MEAN("hfu", "HFU", "hfu", COLUMN_SHARE, 6),
                                 MEAN("model", "model", "model_flops", COLUMN_TFLOP, 3),
                                 MEAN("peak", "peak", "peak_flops", COLUMN_TFLOP, 3)}},
    [METRICS_OCCUPANCY] = {.name = "occupancy",
                           .caption = "How full kernels make the SMs, the mean over their time, by rank",
                           .whole = NULL,
                           .keys = {KEY_RANK},
                           .key_columns = {NAMED("rank", "rank", "rank")},
                           .figures = {MEAN("occupancy", "occupancy", "occupancy", COLUMN_SHARE, 6)},
                           .in_order = true},
    [METRICS_RATES] = {.name = "rates",
                       .caption = "Achieved FLOP/s and bandwidth of kernels with known shapes",
                       .whole = "device_time",
                       .per_rank = true,
                       .needs_second = true,
                       .keys = {KEY_NAME},
                       .key_columns = {NAMED("name", "kernel", NULL)},
                       .figures = {TIME("time", "time", "kernel_time"),
                                   MEAN("flops_rate", "achieved", "flops_rate", COLUMN_TFLOPS, 3),
                                   MEAN("flops_share", "of the peak", "flops_share", COLUMN_SHARE, 6),
                                   MEAN("bytes_rate", "bandwidth", "bytes_rate", COLUMN_GBS, 3),
                                   MEAN("bytes_share", "of the bandwidth", "bytes_share", COLUMN_SHARE, 6)}},
    [METRICS_KINDS] = {.name = "kinds",
                       .caption = "GPU time by kind of kernel, summed over streams that run side by side",
                       .whole = "device_time",
                       .keys = {KEY_KIND},
                       .key_columns = {NAMED("kind", "kind", "kind")},
                       .figures = {TIME("time", "GPU time", "kind_time"), NUMBER("count", "kernels", "kind_count")},
                       .per_rank = true},
    [METRICS_ANNOTATIONS] = {.name = "annotations",
                             .caption =
                                 "GPU and CPU time by the program\xE2\x80\x99s own annotations, which may lie in "
                                 "each other",
                             .whole = "device_time",
                             .keys = {KEY_NAME},
                             .key_columns = {NAMED("name", "annotation", NULL)},
                             .figures = {TIME("gpu", "GPU time", "annotation_gpu_time"),
                                         TIME("cpu", "CPU time", "annotation_cpu_time"),
                                         NUMBER("count", "count", "annotation_count")},
                             .per_rank = true},
    [METRICS_CALLS] = {.name = "calls",
                       .caption = "Calls into the runtime and driver, by CPU time",
                       .keys = {KEY_NAME},
                       .key_columns = {NAMED("name", "call", NULL)},
                       .figures = {TIME("time", "total", "call_time"), NUMBER("count", "calls", "call_count"),
                                   MEAN("median", "median", "call_median", COLUMN_US, 0),
                                   MEAN("p99", "99th percentile", "call_p99", COLUMN_US, 0),
                                   NUMBER("long", "over 50 \xC2\xB5s", "long_call_count"),
                                   NUMBER("launched", "launched", "launched_count"),
                                   NUMBER("short", "shorter than the launch", "short_kernel_count")},
                       .per_rank = true},
    [METRICS_COPIES] =
        {.name = "copies",
         .caption = "Copies and memsets, beside what the link can do",
         .whole = "device_time",
         .keys = {KEY_NAME},
         .key_columns = {NAMED("name", "direction", NULL)},
         .figures = {TIME("time", "GPU time", "copy_time"),
                     NUMBER("count", "count", "copy_count"),
                     {"copy_bytes", NULL, {"bytes", "bytes", "copy_bytes", COLUMN_BYTES}, 0, false, false},
                     MEAN("bandwidth", "achieved", "copy_bandwidth", COLUMN_GBS, 3),
                     MEAN("link", "link", "copy_link", COLUMN_GBS, 3)},
         .per_rank = true},
    [METRICS_MEMORY] = {.name = "memory",
                        .caption = "Memory that each rank's GPU needs at the peak of a step, and what for",
                        .keys = {KEY_RANK},
                        .key_columns = {NAMED("rank", "rank", "rank")},
                        .figures = {MEAN("peak", "peak", "memory_peak", COLUMN_BYTES, 0),
                                    MEAN("recorded", "recorded peak", "memory_recorded_peak", COLUMN_BYTES, 0),
                                    MEAN("reserved", "reserved", "memory_reserved_peak", COLUMN_BYTES, 0),
                                    PART("parameters", "parameters"), PART("gradients", "gradients"),
                                    PART("optimizer", "optimizer"), PART("activations", "activations"),
                                    PART("head", "head and loss"), PART("temporary", "temporary"),
                                    PART("libraries", "libraries"),
                                    MEAN("capacity", "GPU has", "memory_capacity", COLUMN_BYTES, 0)},
                        .in_order = true,
                        .of_a_step = true},
};

/* ---- Reading ---- */

#define KEY_ABSENT REPORT_KEY_ABSENT
#define KEY_REST REPORT_KEY_REST
#define KEY_STRING ((int64_t)1 << 40) /* a name where others have a number */

struct row {
  const struct layout *layout;
  int64_t keys[KEYS];
  int64_t sums[MOST_FIGURES]; /* LUMOS_ABSENT: none */
  int64_t counts[MOST_FIGURES];
};
LUMOS_VECTOR_TYPE(row_list, struct row);

struct cell {
  int64_t keys[KEYS];
  size_t figure;
  int64_t value;
};
LUMOS_VECTOR_TYPE(cell_list, struct cell);

static size_t count_figures(const struct layout *layout) {
  size_t count = 0;
  while (count < MOST_FIGURES && layout->figures[count].metric != NULL) {
    count++;
  }
  return count;
}

static int64_t key_of(const struct lumos_scope *scope, enum key key) {
  switch (key) {
    case KEY_RANK:
      return scope->rank == LUMOS_ABSENT_INT ? KEY_ABSENT : scope->rank;
    case KEY_PEER:
      return scope->peer == LUMOS_ABSENT_INT ? KEY_ABSENT : scope->peer;
    case KEY_KIND:
      return scope->kind == LUMOS_NO_STRING ? KEY_ABSENT : (int64_t)scope->kind;
    case KEY_GROUP:
      return scope->group == LUMOS_NO_STRING ? KEY_ABSENT : (int64_t)scope->group;
    case KEY_OP:
      return scope->op == LUMOS_NO_STRING ? KEY_ABSENT : (int64_t)scope->op;
    case KEY_MODULE:
      return scope->module == LUMOS_NO_STRING ? KEY_ABSENT : (int64_t)scope->module;
    case KEY_NAME:
      return scope->name == LUMOS_NO_STRING ? KEY_ABSENT : (int64_t)scope->name;
    case KEY_PHASE:
      return scope->phase != 0                ? (int64_t)scope->phase
             : scope->name != LUMOS_NO_STRING ? KEY_STRING + (int64_t)scope->name
                                              : KEY_ABSENT;
    case KEY_LAYER:
      return scope->layer != LUMOS_ABSENT_INT ? (int64_t)scope->layer
             : scope->name != LUMOS_NO_STRING ? KEY_STRING + (int64_t)scope->name
                                              : KEY_ABSENT;
    case KEY_STAGE:
      return scope->stage == LUMOS_ABSENT_INT ? KEY_ABSENT : scope->stage;
    case KEY_LANE:
      return scope->lane == LUMOS_NONE ? KEY_ABSENT : (int64_t)scope->lane;
    default:
      return KEY_ABSENT;
  }
}

/* Of the metrics without a step all count. */
static bool step_counts(const struct report_facts *facts, int32_t step) {
  return step == LUMOS_ABSENT_INT || (facts->job_steps.count > 0 && report_step_counts(facts, step));
}

/* How many parts a sum over the job's steps has. */
static int64_t parts_of(const struct report_facts *facts, const struct layout *layout) {
  return layout->per_rank ? report_rank_steps(facts) : facts->job_all.steps;
}

/* The timeline that the layout or else the verdict speaks of, where the metric has it. */
static enum lumos_source source_of(const struct report_facts *facts, const struct layout *layout, const char *name) {
  bool measured = !layout->simulated && report_facts_spoken(facts) == MEASURED;
  enum lumos_source wanted = measured ? LUMOS_METRIC_MEASURED : LUMOS_METRIC_SIMULATED;
  enum lumos_source found = wanted;
  lumos_string_id id = lumos_interned(facts->job->strings, name, strlen(name));
  for (size_t i = 0; i < facts->job->metrics.count && id != LUMOS_NO_STRING; i++) {
    const struct lumos_metric *metric = &facts->job->metrics.items[i];
    if (metric->name == id) {
      found = (enum lumos_source)metric->source;
      if (found == wanted) {
        break;
      }
    }
  }
  return found;
}

static bool keys_of(const struct lumos_job *job, const struct layout *layout, const struct figure *figure,
                    const struct lumos_scope *scope, int64_t keys[KEYS]) {
  bool any = false;
  bool by_rank = false;
  for (int i = 0; i < KEYS; i++) {
    bool is_fixed = layout->keys[i] == KEY_KIND && figure->kind != NULL;
    keys[i] = is_fixed ? KEY_ABSENT : key_of(scope, layout->keys[i]);
    any = any || keys[i] != KEY_ABSENT;
    by_rank = by_rank || layout->keys[i] == KEY_RANK;
  }
  const char *kind = lumos_string(job->strings, scope->kind);
  if (figure->kind != NULL && strcmp(kind, figure->kind) != 0) {
    return false;
  }
  if (!any && strcmp(kind, "rest") == 0) {
    keys[0] = KEY_REST;
    any = true;
  }
  bool of_lane = scope->lane == LUMOS_NONE || layout->keys[1] == KEY_LANE;
  return any && of_lane && by_rank == (scope->rank != LUMOS_ABSENT_INT);
}

static int compare_keys(const int64_t *left, const int64_t *right) {
  for (int i = 0; i < KEYS; i++) {
    if (left[i] != right[i]) {
      return left[i] < right[i] ? -1 : 1;
    }
  }
  return 0;
}

static int by_keys(const void *left, const void *right) {
  const struct cell *a = left, *b = right;
  return compare_keys(a->keys, b->keys);
}

static void read_figure(const struct report_facts *facts, const struct layout *layout, size_t number,
                        struct cell_list *cells) {
  const struct lumos_job *job = facts->job;
  const struct figure *figure = &layout->figures[number];
  enum lumos_source source = source_of(facts, layout, figure->metric);
  lumos_string_id name = lumos_interned(job->strings, figure->metric, strlen(figure->metric));
  for (size_t i = 0; i < job->metrics.count && name != LUMOS_NO_STRING; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    struct cell cell = {.figure = number};
    if (metric->name == name && metric->source == source && step_counts(facts, metric->scope.step) &&
        keys_of(job, layout, figure, &metric->scope, cell.keys)) {
      cell.value = report_decimal_as(metric->value, figure->decimals);
      lumos_vector_push(cells, cell);
    }
  }
}

static void fold(const struct layout *layout, const struct cell_list *cells, struct row_list *rows) {
  for (size_t i = 0; i < cells->count; i++) {
    const struct cell *cell = &cells->items[i];
    if (i == 0 || compare_keys(cell->keys, cells->items[i - 1].keys) != 0) {
      struct row row = {.layout = layout, .keys = {cell->keys[0], cell->keys[1]}};
      for (int f = 0; f < MOST_FIGURES; f++) {
        row.sums[f] = LUMOS_ABSENT;
      }
      lumos_vector_push(rows, row);
    }
    struct row *row = &rows->items[rows->count - 1];
    row->sums[cell->figure] = report_sum(row->sums[cell->figure], cell->value);
    row->counts[cell->figure] += cell->value != LUMOS_ABSENT;
  }
}

/* What all rows share: a figure of the job. */
static void read_common(const struct report_facts *facts, const struct layout *layout, size_t number,
                        struct row_list *rows) {
  const struct lumos_job *job = facts->job;
  const struct figure *figure = &layout->figures[number];
  enum lumos_source source = source_of(facts, layout, figure->metric);
  lumos_string_id name = lumos_interned(job->strings, figure->metric, strlen(figure->metric));
  for (size_t i = 0; i < job->metrics.count && name != LUMOS_NO_STRING; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->name == name && metric->source == source) {
      for (size_t row = 0; row < rows->count; row++) {
        rows->items[row].sums[number] = report_decimal_as(metric->value, figure->decimals);
        rows->items[row].counts[number] = 1;
      }
      return;
    }
  }
}

static void keep_known(struct row_list *rows) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->items[i].sums[1] != LUMOS_ABSENT) {
      rows->items[kept++] = rows->items[i];
    }
  }
  rows->count = kept;
}

/* ---- Names of rows ---- */

static void put_group(const struct lumos_job *job, lumos_string_id id, struct lumos_text *out) {
  for (size_t i = 0; i < job->groups.count; i++) {
    const struct lumos_group *group = &job->groups.items[i];
    if (group->id == id && group->role != 0) {
      lumos_text_format(out, "%s ", lumos_role_name((enum lumos_role)group->role));
      break;
    }
  }
  report_put_cut(out, lumos_string(job->strings, id), lumos_string_length(job->strings, id), 80);
}

static void put_name(const struct lumos_job *job, int64_t id, struct lumos_text *out) {
  enum { LONGEST = 200 };
  lumos_string_id name = (lumos_string_id)(id >= KEY_STRING ? id - KEY_STRING : id);
  const char *bytes = lumos_string(job->strings, name);
  if (strcmp(bytes, "(rest)") == 0) {
    lumos_text_put(out, "(all others)");
  } else {
    report_put_cut(out, bytes, lumos_string_length(job->strings, name), LONGEST);
  }
}

static const struct {
  const char *kind, *word;
} words[] = {
    {"host_gap", "CPU gap"},
    {"handover", "hand-over"},
    {"outside", "outside the recording"},
    {"resource_wait", "waiting for SMs"},
    {"wait_return", "return of waits"},
    {"unexplained", "unexplained delay"},
    {"shapes", "recorded shapes"},
};

/* A kind of task as the legend has it, what passes between tasks in words. */
static void put_kind(const struct lumos_job *job, int64_t id, struct lumos_text *out) {
  const char *name = lumos_string(job->strings, (lumos_string_id)id);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(name, words[i].kind) == 0) {
      lumos_text_put(out, words[i].word);
      return;
    }
  }
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    const char *known = kind == LUMOS_OTHER_HOST ? "other_host" : lumos_task_kind_name((enum lumos_task_kind)kind);
    if (strcmp(name, known) == 0) {
      lumos_text_put(out, report_paint_row(report_paint_of_kind((uint8_t)kind))->label);
      return;
    }
  }
  size_t before = out->length;
  put_name(job, id, out);
  for (size_t i = before; i < out->length; i++) {
    if (out->bytes[i] == '_') {
      out->bytes[i] = ' ';
    }
  }
}

static void put_key(const struct lumos_job *job, enum key key, int64_t value, struct lumos_text *out) {
  if (value == KEY_ABSENT || value == KEY_REST) {
    lumos_text_put(out, value == KEY_REST ? "(all others)" : key == KEY_PEER ? "other ranks" : "(not known)");
    return;
  }
  switch (key) {
    case KEY_RANK:
    case KEY_PEER:
      lumos_text_format(out, "rank %d", (int)value);
      break;
    case KEY_STAGE:
      lumos_text_format(out, "stage %d", (int)value);
      break;
    case KEY_KIND:
      put_kind(job, value, out);
      break;
    case KEY_GROUP:
      put_group(job, (lumos_string_id)value, out);
      break;
    case KEY_PHASE:
      if (value < KEY_STRING) {
        lumos_text_put(out, lumos_phase_name((enum lumos_phase)value));
        break;
      }
      put_name(job, value, out);
      break;
    case KEY_LAYER:
      if (value < KEY_STRING) {
        lumos_text_format(out, "layer %d", (int)value);
        break;
      }
      put_name(job, value, out);
      break;
    case KEY_LANE:
      put_name(job, (int64_t)job->lanes.items[value].lane, out);
      break;
    default:
      put_name(job, value, out);
  }
}

/* ---- Laying out ---- */

static bool is_rest(const struct lumos_job *job, const struct row *row) {
  int64_t key = row->keys[0];
  int64_t id = key >= KEY_STRING ? key - KEY_STRING : key;
  return key == KEY_REST || (key > KEY_REST && id >= 0 && id < (int64_t)lumos_strings_count(job->strings) &&
                             strcmp(lumos_string(job->strings, (lumos_string_id)id), "(rest)") == 0);
}

/* A row of what has no op, module or layer: alone it says nothing. */
static bool is_nothing(const struct lumos_job *job, const struct layout *layout, const struct row *row) {
  bool named = layout->keys[0] == KEY_OP || layout->keys[0] == KEY_MODULE || layout->keys[0] == KEY_LAYER;
  int64_t id = row->keys[0] >= KEY_STRING ? row->keys[0] - KEY_STRING : row->keys[0];
  return named && id >= 0 && strcmp(lumos_string(job->strings, (lumos_string_id)id), "(none)") == 0;
}

static bool is_named(enum key key) { return key >= KEY_KIND && key <= KEY_NAME; }

/* Names by their bytes: what number a string has depends on what was read before it. */
static int compare_names(const struct lumos_job *job, const struct row *left, const struct row *right) {
  for (int i = 0; i < KEYS; i++) {
    int64_t a = left->keys[i], b = right->keys[i];
    bool a_named = a >= KEY_STRING || (a >= 0 && is_named(left->layout->keys[i]));
    bool b_named = b >= KEY_STRING || (b >= 0 && is_named(left->layout->keys[i]));
    int order = a_named && b_named
                    ? strcmp(lumos_string(job->strings, (lumos_string_id)(a >= KEY_STRING ? a - KEY_STRING : a)),
                             lumos_string(job->strings, (lumos_string_id)(b >= KEY_STRING ? b - KEY_STRING : b)))
                : a_named != b_named ? (a_named ? 1 : -1)
                                     : (a > b) - (a < b);
    if (order != 0) {
      return order;
    }
  }
  return 0;
}

static int by_value(const void *left, const void *right, void *context) {
  const struct row *a = left, *b = right;
  bool rest_a = is_rest(context, a), rest_b = is_rest(context, b);
  if (rest_a != rest_b) {
    return rest_a ? 1 : -1;
  }
  return a->sums[0] != b->sums[0] ? LUMOS_ORDER(b->sums[0], a->sums[0]) : compare_names(context, a, b);
}

static int64_t whole_of(const struct report_facts *facts, const struct layout *layout) {
  enum lumos_source source = source_of(facts, layout, layout->whole);
  lumos_string_id name = lumos_interned(facts->job->strings, layout->whole, strlen(layout->whole));
  int64_t sum = LUMOS_ABSENT;
  for (size_t i = 0; i < facts->job->metrics.count && name != LUMOS_NO_STRING; i++) {
    const struct lumos_metric *metric = &facts->job->metrics.items[i];
    if (metric->name == name && metric->source == source && lumos_scope_is_whole(&metric->scope) &&
        metric->scope.rank == LUMOS_ABSENT_INT && metric->scope.step != LUMOS_ABSENT_INT &&
        step_counts(facts, metric->scope.step)) {
      sum = report_sum(sum, report_decimal_as(metric->value, 0));
    }
  }
  return sum == LUMOS_ABSENT || facts->job_all.steps == 0 ? LUMOS_ABSENT : sum / parts_of(facts, layout);
}

static int64_t figure_of(const struct report_facts *facts, const struct layout *layout, const struct row *row,
                         size_t figure) {
  int64_t sum = row->sums[figure];
  int64_t parts = layout->figures[figure].mean ? row->counts[figure] : parts_of(facts, layout);
  return sum == LUMOS_ABSENT || parts == 0 ? LUMOS_ABSENT : sum / parts;
}

static void put_row(const struct report_facts *facts, const struct layout *layout, const struct row *row,
                    struct report_table *table) {
  for (int i = 0; i < KEYS && layout->keys[i] != KEY_END; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    put_key(facts->job, layout->keys[i], row->keys[i], &text);
    report_table_copy(table, &text);
    lumos_text_free(&text);
  }
  size_t figures = count_figures(layout);
  for (size_t f = 0; f < figures; f++) {
    int64_t value = figure_of(facts, layout, row, f);
    report_table_number(table, value);
    if (f == 0 && layout->whole != NULL) {
      report_table_number(table, report_share(value, table->whole));
    }
  }
}

static size_t make_columns(const struct layout *layout, struct report_column columns[REPORT_COLUMNS]) {
  size_t count = 0;
  for (int i = 0; i < KEYS && layout->keys[i] != KEY_END; i++) {
    columns[count++] = layout->key_columns[i];
  }
  size_t figures = count_figures(layout);
  for (size_t f = 0; f < figures; f++) {
    columns[count++] = layout->figures[f].column;
    if (f == 0 && layout->whole != NULL) {
      columns[count++] = (struct report_column){"share", "share", NULL, COLUMN_BAR};
    }
  }
  return count;
}

/* All rows in their order. The caller frees them. */
static struct row_list read_rows(const struct report_facts *facts, const struct layout *layout) {
  struct cell_list cells = {0};
  struct row_list rows = {0};
  size_t figures = count_figures(layout);
  for (size_t f = 0; f < figures && facts->job_all.steps > 0; f++) {
    if (!layout->figures[f].common) {
      read_figure(facts, layout, f, &cells);
    }
  }
  lumos_vector_sort(&cells, by_keys);
  fold(layout, &cells, &rows);
  lumos_vector_free(&cells);
  for (size_t f = 0; f < figures; f++) {
    if (layout->figures[f].common) {
      read_common(facts, layout, f, &rows);
    }
  }
  if (layout->needs_second) {
    keep_known(&rows);
  }
  if (rows.count > 0 && !layout->in_order) {
    lumos_vector_sort_by(&rows, by_value, (void *)(uintptr_t)facts->job);
  }
  if (rows.count == 1 && is_nothing(facts->job, layout, &rows.items[0])) {
    rows.count = 0;
  }
  return rows;
}

/* ". Share: of the GPU time, 41.48 ms" */
static void put_whole(const char *metric, int64_t whole, struct lumos_text *out) {
  const struct lumos_metric_definition *definition = lumos_metric_definition(metric);
  bool idle = strcmp(metric, "idle") == 0;
  lumos_text_format(out, ". Share: of the %s, ", idle || definition == NULL ? "idle time" : definition->term);
  report_put_time(out, whole);
}

void report_metric_table(const struct report_facts *facts, enum report_metric_table number,
                         struct report_table *table) {
  const struct layout *layout = &layouts[number];
  struct report_column columns[REPORT_COLUMNS];
  size_t column_count = make_columns(layout, columns);
  report_table_begin_own(table, layout->name, columns, column_count);
  struct row_list rows = read_rows(facts, layout);
  lumos_text_put(&table->caption, layout->caption);
  lumos_text_put(&table->caption, layout->per_rank    ? ", the mean per step and rank"
                                  : layout->of_a_step ? ""
                                                      : ", the mean over the job\xE2\x80\x99s steps");
  if (layout->whole != NULL) {
    table->whole = whole_of(facts, layout);
    put_whole(layout->whole, table->whole, &table->caption);
  }
  for (size_t i = 0; i < rows.count; i++) {
    put_row(facts, layout, &rows.items[i], table);
  }
  lumos_vector_free(&rows);
}

void report_metric_entries(const struct report_facts *facts, enum report_metric_table number,
                           struct report_metric_entries *entries) {
  *entries = (struct report_metric_entries){0};
  struct row_list rows = read_rows(facts, &layouts[number]);
  for (size_t i = 0; i < rows.count; i++) {
    const struct row *row = &rows.items[i];
    struct report_metric_entry entry = {{row->keys[0], row->keys[1]}, figure_of(facts, row->layout, row, 0)};
    lumos_vector_push(entries, entry);
  }
  lumos_vector_free(&rows);
}

/* ---- Findings ---- */

static void put_cell(const struct report_table *table, size_t row, struct lumos_text *out) {
  const struct report_cell *cell = &table->cells.items[row * table->column_count];
  lumos_text_add(out, cell->bytes, cell->length);
}

enum { LARGEST = 3 }; /* kinds that a sentence names */

/* "33.1 % GEMM, 27.2 % collective and 12.3 % elementwise": the largest, with their shares. */
static void put_largest(const struct report_table *kinds, struct lumos_text *out) {
  enum { SHARE = 2 };
  size_t named = report_table_rows(kinds) < LARGEST ? report_table_rows(kinds) : LARGEST;
  for (size_t i = 0; i < named; i++) {
    lumos_text_put(out, i == 0 ? "" : i + 1 == named ? " and " : ", ");
    report_put_share(out, report_table_value(kinds, i, SHARE));
    lumos_text_char(out, ' ');
    put_cell(kinds, i, out);
  }
}

/* Is one of the largest communication, whose kernels wait, too? */
static bool names_communication(const struct report_table *kinds) {
  static const enum lumos_task_kind communication[] = {LUMOS_COLLECTIVE, LUMOS_P2P};
  for (size_t row = 0; row < report_table_rows(kinds) && row < LARGEST; row++) {
    const struct report_cell *cell = &kinds->cells.items[row * kinds->column_count];
    for (size_t i = 0; i < sizeof communication / sizeof communication[0]; i++) {
      const char *label = report_paint_row((enum report_paint)communication[i])->label;
      if (strlen(label) == cell->length && memcmp(label, cell->bytes, cell->length) == 0) {
        return true;
      }
    }
  }
  return false;
}

void report_put_kinds_finding(const struct report_table *kinds, struct lumos_text *out) {
  if (report_table_rows(kinds) > 0) {
    lumos_text_put(out, "GPU time is ");
    put_largest(kinds, out);
    lumos_text_put(out, names_communication(kinds) ? "; communication includes its waiting" : "");
  }
}

/* "The critical path is 41.2 % GEMM, 20.3 % CPU gap and 9.1 % launch latency; 98.0 % of it is on rank 1" */
void report_put_path_finding(const struct report_facts *facts, const struct report_table *kinds,
                             const struct report_table *ranks, struct lumos_text *out) {
  if (report_table_rows(kinds) == 0) {
    return;
  }
  lumos_text_put(out, "The critical path is ");
  put_largest(kinds, out);
  if (facts->ranks.count > 1 && report_table_rows(ranks) > 0) {
    lumos_text_put(out, "; ");
    report_put_share(out, report_table_value(ranks, 0, 2));
    lumos_text_put(out, " of it is on ");
    put_cell(ranks, 0, out);
  }
}

static bool is_by_model(const struct report_table *mfu, size_t row) {
  const struct report_cell *from = &mfu->cells.items[row * mfu->column_count];
  return from->length == strlen("model") && memcmp(from->bytes, "model", from->length) == 0;
}

/* "Model FLOPs utilisation (MFU): 38.2 % by the recorded shapes; 37.9 % by the model" */
void report_put_mfu_finding(const struct report_table *mfu, struct lumos_text *out) {
  size_t rows = report_table_rows(mfu), first = 0;
  while (first < rows && !is_by_model(mfu, first)) {
    first++; /* the model's is what tiles say */
  }
  for (size_t i = 0; i < rows; i++) {
    size_t row = first == rows ? i : (first + i) % rows;
    if (report_table_value(mfu, row, 1) != LUMOS_ABSENT) {
      lumos_text_put(out, out->length == 0 ? "Model FLOPs utilization (MFU): " : "; ");
      report_put_share(out, report_table_value(mfu, row, 1));
      lumos_text_put(out, " by the ");
      put_cell(mfu, row, out);
    }
  }
}

static bool same_cell(const struct report_cell *left, const struct report_cell *right) {
  return left->length == right->length && memcmp(left->bytes, right->bytes, left->length) == 0;
}

/* The row of the rank for which others wait for at least half of their waiting, of which there is one at most; NULL. */
static const struct report_cell *find_last_rank(const struct report_table *waits) {
  enum { PEER = 1, TIME };
  int64_t all = 0, most = 0;
  const struct report_cell *last = NULL;
  for (size_t row = 0; row < report_table_rows(waits); row++) {
    const struct report_cell *peer = &waits->cells.items[row * waits->column_count + PEER];
    int64_t sum = 0;
    for (size_t other = 0; other < report_table_rows(waits); other++) {
      bool same = same_cell(&waits->cells.items[other * waits->column_count + PEER], peer);
      sum = report_sum(sum, same ? report_table_value(waits, other, TIME) : 0);
    }
    all = report_sum(all, report_table_value(waits, row, TIME));
    last = sum > most ? peer : last;
    most = sum > most ? sum : most;
  }
  return most > all / 2 ? last : NULL;
}

/* What the last rank is late by for a cause that was not recorded; LUMOS_ABSENT: nothing is known of it. */
static int64_t unknown_delay(const struct report_table *stragglers, const struct report_cell *last) {
  enum { UNKNOWN = 9 };
  int64_t unknown = LUMOS_ABSENT;
  for (size_t row = 0; last != NULL && row < report_table_rows(stragglers); row++) {
    bool is_last = same_cell(&stragglers->cells.items[row * stragglers->column_count], last);
    unknown = is_last ? report_table_value(stragglers, row, UNKNOWN) : unknown;
  }
  return unknown;
}

/* Nobody is late by what it does; there may be a rank that others wait for all the same. */
static void put_longest_wait(const struct report_table *waits, const struct report_table *stragglers, bool known,
                             struct lumos_text *out) {
  const struct report_cell *last = known ? find_last_rank(waits) : NULL;
  int64_t unknown = unknown_delay(stragglers, last);
  if (last != NULL) {
    lumos_text_put(out, "Ranks wait most for ");
    lumos_text_add(out, last->bytes, last->length);
    lumos_text_put(out, unknown > 0 ? ", late by " : ", though it is not late compared with similar ranks; ");
    if (unknown > 0) {
      report_put_time(out, unknown);
      lumos_text_put(out, " for a cause that was not recorded; ");
    }
    lumos_text_put(out, "the longest wait is ");
  } else {
    lumos_text_put(out, known ? "No rank is late compared with similar ranks; the longest wait is "
                              : "The longest wait is ");
  }
  report_put_time(out, report_table_value(waits, 0, 2));
  lumos_text_put(out, " per step, of ");
  put_cell(waits, 0, out);
  lumos_text_put(out, " for ");
  lumos_text_add(out, waits->cells.items[1].bytes, waits->cells.items[1].length);
}

bool report_has_late_rank(const struct report_table *waits, const struct report_table *stragglers) {
  enum { DELAY = 1, STRAGGLER = 8 };
  bool any = false, known = false;
  for (size_t row = 0; row < report_table_rows(stragglers); row++) {
    any |= report_table_value(stragglers, row, STRAGGLER) != LUMOS_ABSENT;
    known |= report_table_value(stragglers, row, DELAY) != LUMOS_ABSENT;
  }
  return any || (known && unknown_delay(stragglers, find_last_rank(waits)) > 0);
}

/* "Rank 1 arrives 6.1 ms late (14.5 % of the step)", "..., and 2.0 ms more of which nothing was recorded" */
void report_put_waits_finding(const struct report_table *waits, const struct report_table *stragglers,
                              struct lumos_text *out) {
  enum { DELAY = 1, SHARE, STRAGGLER = 8, UNKNOWN, LEAST = 10 }; /* more of the delay than one in so many is told */
  bool any = false;
  bool known = false;
  for (size_t row = 0; row < report_table_rows(stragglers); row++) {
    known = known || report_table_value(stragglers, row, DELAY) != LUMOS_ABSENT;
    if (report_table_value(stragglers, row, STRAGGLER) != LUMOS_ABSENT) {
      size_t start = out->length;
      put_cell(stragglers, row, out);
      if (!any) {
        out->bytes[start] = 'R';
      }
      lumos_text_put(out, " arrives ");
      report_put_time(out, report_table_value(stragglers, row, DELAY));
      lumos_text_put(out, " late (");
      report_put_share(out, report_table_value(stragglers, row, SHARE));
      lumos_text_put(out, any ? ")" : " of the step)");
      int64_t unknown = report_table_value(stragglers, row, UNKNOWN);
      if (unknown != LUMOS_ABSENT && unknown > report_table_value(stragglers, row, DELAY) / LEAST) {
        lumos_text_put(out, ", and ");
        report_put_time(out, unknown);
        lumos_text_put(out, " more of which nothing was recorded");
      }
      lumos_text_put(out, "; ");
      any = true;
    }
  }
  out->length -= any ? 2 : 0;
  if (!any && report_table_rows(waits) > 0) {
    put_longest_wait(waits, stragglers, known, out);
  }
}
