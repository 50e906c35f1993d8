/* Adding up the layers, in one walk over the tasks; and what they say in words and as a table. */
#include "report/content/layers.h"

#include "report/content/tables.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* ---- Adding up ---- */

static int compare_numbers(const void *left, const void *right) {
  const int32_t *a = left;
  const int32_t *b = right;
  return *a < *b ? -1 : *a > *b;
}

LUMOS_VECTOR_TYPE(numbers, int32_t);

/* Every layer once, ascending. Neighbouring tasks are mostly of one layer. */
static void find_layers(const struct lumos_job *job, struct numbers *found) {
  int32_t before = LUMOS_ABSENT_INT;
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task->layer != LUMOS_ABSENT_INT && task->layer != before && lumos_on_stream(job, task)) {
      before = task->layer;
      lumos_vector_push(found, before);
    }
  }
  if (found->count == 0) {
    return;
  }
  lumos_vector_sort(found, compare_numbers);
  size_t kept = 1;
  for (size_t i = 1; i < found->count; i++) {
    if (found->items[i] != found->items[kept - 1]) {
      found->items[kept++] = found->items[i];
    }
  }
  found->count = kept;
}

static void make_rows(const struct numbers *numbers, struct report_layers *layers) {
  for (int place = 0; place < PLACES; place++) {
    size_t rows = place == PLACE_LAYER ? numbers->count : 1;
    for (size_t i = 0; i < rows; i++) {
      struct report_layer row = {.place = (enum report_place)place, .layer = LUMOS_ABSENT_INT, .last_rank = LUMOS_NONE};
      row.layer = place == PLACE_LAYER ? numbers->items[i] : LUMOS_ABSENT_INT;
      lumos_vector_push(&layers->list, row);
    }
  }
  layers->layers = numbers->count;
}

static size_t row_of_layer(const struct report_layers *layers, int32_t layer) {
  size_t low = PLACE_LAYER;
  size_t high = PLACE_LAYER + layers->layers;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (layers->list.items[middle].layer < layer) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The row of a place behind the layers. */
static size_t row_behind(const struct report_layers *layers, enum report_place place) {
  return layers->layers + (size_t)place - 1;
}

static size_t row_of(const struct report_layers *layers, const struct lumos_task *task) {
  if (task->layer != LUMOS_ABSENT_INT) {
    return row_of_layer(layers, task->layer);
  }
  switch (task->part) {
    case LUMOS_PART_EMBEDDING:
      return 0;
    case LUMOS_PART_HEAD:
      return row_behind(layers, PLACE_HEAD);
    case LUMOS_PART_OPTIMIZER:
      return row_behind(layers, PLACE_OPTIMIZER);
    default:
      break;
  }
  bool pass = task->phase >= LUMOS_FORWARD && task->phase <= LUMOS_WEIGHT;
  bool update = task->phase == LUMOS_OPTIMIZER_PHASE;
  return row_behind(layers, update ? PLACE_OPTIMIZER : pass ? PLACE_PASS : PLACE_NONE);
}

static enum report_work work_of(uint8_t phase) {
  switch (phase) {
    case LUMOS_FORWARD:
      return WORK_FORWARD;
    case LUMOS_BACKWARD:
      return WORK_BACKWARD;
    case LUMOS_WEIGHT:
      return WORK_WEIGHT;
    default:
      return WORK_OTHER;
  }
}

/* How many steps each rank has, by its index. */
static int64_t *steps_by_rank(const struct report_facts *facts) {
  int64_t *steps = lumos_allocate_zeroed(facts->job->ranks.count + 1, sizeof *steps);
  for (size_t i = 0; i < facts->steps.count; i++) {
    const struct report_row *row = &facts->steps.items[i];
    if (row->rank < facts->job->ranks.count && !row->left_out) {
      steps[row->rank] += row->steps;
    }
  }
  return steps;
}

static void add_task(struct report_layers *layers, const struct lumos_task *task, const int64_t *steps) {
  uint32_t rank = lumos_rank_of(layers->job, task);
  struct report_layer *row = &layers->list.items[row_of(layers, task)];
  enum report_work work = work_of(task->phase);
  int64_t *sum = lumos_is_communication(task->kind) ? &row->communication[work] : &row->compute[work];
  int64_t weight = lumos_rank_weight(&layers->job->ranks.items[rank]);
  int64_t duration = task->dur > 0 ? report_product(task->dur, weight) : 0;
  *sum = report_sum(*sum, duration);
  row->total = report_sum(row->total, duration);
  layers->whole = report_sum(layers->whole, duration);
  layers->weight |= work == WORK_WEIGHT;
  if (row->last_rank != rank) { /* tasks are in the order of ranks */
    row->last_rank = rank;
    row->ranks += weight;
    row->rank_steps = report_sum(row->rank_steps, report_product(steps[rank] > 0 ? steps[rank] : 1, weight));
  }
}

int64_t report_layer_mean(const struct report_layer *layer, int64_t sum) {
  return layer->rank_steps > 0 ? sum / layer->rank_steps : LUMOS_ABSENT;
}

static int compare_times(const void *left, const void *right) {
  const int64_t *a = left;
  const int64_t *b = right;
  return *a < *b ? -1 : *a > *b;
}

static const struct report_layer *layer_at(const struct report_layers *layers, size_t number) {
  return &layers->list.items[PLACE_LAYER + number];
}

/* The lower of two middle ones. */
static int64_t median_of(const struct report_layers *layers) {
  int64_t *times = lumos_allocate((layers->layers + 1) * sizeof *times);
  for (size_t i = 0; i < layers->layers; i++) {
    times[i] = report_layer_mean(layer_at(layers, i), layer_at(layers, i)->total);
  }
  qsort(times, layers->layers, sizeof *times, compare_times);
  int64_t low = times[(layers->layers - 1) / 2], high = times[layers->layers / 2];
  int64_t median = low + (high - low) / 2;
  free(times);
  return median;
}

void report_layers_read(const struct report_facts *facts, struct report_layers *layers) {
  *layers = (struct report_layers){.job = facts->job, .median = LUMOS_ABSENT, .rank_steps = report_rank_steps(facts)};
  struct numbers numbers = {0};
  find_layers(facts->job, &numbers);
  if (numbers.count > 0) {
    make_rows(&numbers, layers);
    int64_t *steps = steps_by_rank(facts);
    int32_t step = LUMOS_ABSENT_INT;
    bool counts = false; /* tasks of a step mostly stand together */
    for (size_t i = 0; i < facts->job->tasks.count; i++) {
      const struct lumos_task *task = &facts->job->tasks.items[i];
      if (task->step != step) {
        step = task->step;
        counts = step != LUMOS_ABSENT_INT && report_step_counts(facts, step);
      }
      if (counts && lumos_on_stream(facts->job, task)) {
        add_task(layers, task, steps);
      }
    }
    free(steps);
    layers->median = median_of(layers);
  }
  lumos_vector_free(&numbers);
}

void report_layers_free(struct report_layers *layers) { lumos_vector_free(&layers->list); }

int64_t report_layer_excess(const struct report_layers *layers, const struct report_layer *layer) {
  int64_t mean = report_layer_mean(layer, layer->total);
  return layer->place != PLACE_LAYER || mean == LUMOS_ABSENT ? LUMOS_ABSENT
                                                             : report_share(mean - layers->median, layers->median);
}

/* ---- Words ---- */

void report_put_place(const struct report_layer *layer, struct lumos_text *out) {
  static const char *const names[PLACES] = {
      [PLACE_EMBEDDING] = "embedding", [PLACE_LAYER] = "layer",           [PLACE_HEAD] = "head",
      [PLACE_OPTIMIZER] = "optimizer", [PLACE_PASS] = "passes, no layer", [PLACE_NONE] = "no phase"};
  lumos_text_put(out, names[layer->place]);
  if (layer->place == PLACE_LAYER) {
    lumos_text_format(out, " %d", layer->layer);
  }
}

const struct report_layer *report_longest_layer(const struct report_layers *layers) {
  const struct report_layer *longest = layer_at(layers, 0);
  for (size_t i = 1; i < layers->layers; i++) {
    const struct report_layer *layer = layer_at(layers, i);
    longest = report_layer_mean(layer, layer->total) > report_layer_mean(longest, longest->total) ? layer : longest;
  }
  return longest;
}

static int64_t total_of(const struct report_layers *layers, enum report_place place) {
  int64_t total = 0;
  for (size_t i = 0; i < layers->list.count; i++) {
    total = layers->list.items[i].place == place ? report_sum(total, layers->list.items[i].total) : total;
  }
  return total;
}

/* "Of all GPU time 99.6 % is assigned: 78.2 % to layers, ..." */
static void put_assigned(const struct report_layers *layers, struct lumos_text *out) {
  int64_t ends = report_sum(total_of(layers, PLACE_EMBEDDING), total_of(layers, PLACE_HEAD));
  lumos_text_put(out, "Of all GPU time ");
  report_put_share(out, report_share(layers->whole - total_of(layers, PLACE_NONE), layers->whole));
  lumos_text_put(out, " is assigned: ");
  report_put_share(out, report_share(total_of(layers, PLACE_LAYER), layers->whole));
  lumos_text_put(out, " to layers, ");
  report_put_share(out, report_share(ends, layers->whole));
  lumos_text_put(out, " to embedding and head, ");
  report_put_share(out, report_share(total_of(layers, PLACE_OPTIMIZER), layers->whole));
  lumos_text_put(out, " to the optimizer (kernels of any kind that it launches), ");
  report_put_share(out, report_share(total_of(layers, PLACE_PASS), layers->whole));
  lumos_text_put(out, " to passes but no layer, such as sends and gradient all-reduces.");
}

/* "; 97.1 % of that is communication, waiting included" where it is most. */
static void put_communicating(const struct report_layers *layers, struct lumos_text *out) {
  int64_t communication = 0, all = total_of(layers, PLACE_LAYER);
  for (size_t i = 0; i < layers->layers; i++) {
    for (int work = 0; work < WORKS; work++) {
      communication = report_sum(communication, layer_at(layers, i)->communication[work]);
    }
  }
  if (communication > all / 2) {
    lumos_text_put(out, "; ");
    report_put_share(out, report_share(communication, all));
    lumos_text_put(out, " of the layers\xE2\x80\x99 time is communication, waiting included");
  }
}

/* "; the head takes 6.75 ms" where embedding or head take longer than any layer. */
static void put_longer_end(const struct report_layers *layers, const struct report_layer *longest,
                           struct lumos_text *out) {
  for (size_t i = 0; i < layers->list.count; i++) {
    const struct report_layer *end = &layers->list.items[i];
    int64_t time = report_layer_mean(end, end->total);
    if ((end->place == PLACE_HEAD || end->place == PLACE_EMBEDDING) && time != LUMOS_ABSENT &&
        time > report_layer_mean(longest, longest->total)) {
      lumos_text_put(out, end->place == PLACE_HEAD ? "; the head takes " : "; the embedding takes ");
      report_put_time(out, time);
    }
  }
}

void report_put_layers_finding(const struct report_layers *layers, struct lumos_text *out) {
  if (layers->layers == 0) {
    return;
  }
  const struct report_layer *longest = report_longest_layer(layers);
  lumos_text_put(out, layers->layers == 1 ? "The one layer takes " : "Each of ");
  if (layers->layers > 1) {
    report_put_counted(out, (int64_t)layers->layers, "layer");
    lumos_text_put(out, " takes ");
  }
  report_put_time(out, layers->median);
  lumos_text_put(out, " of GPU time in a step");
  if (layers->layers > 1) {
    lumos_text_put(out, " (median), the longest of them ");
    report_put_time(out, report_layer_mean(longest, longest->total));
    lumos_text_format(out, " (layer %d, ", longest->layer);
    report_put_share(out, report_layer_excess(layers, longest));
    lumos_text_put(out, " more)");
  }
  put_communicating(layers, out);
  put_longer_end(layers, longest, out);
}

void report_put_layers_reading(const struct report_layers *layers, struct lumos_text *out) {
  lumos_text_put(out, "GPU time of a step, the mean over the ranks that run the layer. Work side by side adds up, "
                      "and communication includes waiting");
  report_put_which_durations(layers->job, out);
  lumos_text_put(out, ". The dashed line is the median layer. Layers more than 10 % above it are marked. ");
  put_assigned(layers, out);
}

/* ---- The table ---- */

static int64_t time_or_absent(const struct report_layer *layer, int64_t sum) {
  return sum > 0 ? report_layer_mean(layer, sum) : LUMOS_ABSENT;
}

static void put_row(const struct report_layers *layers, const struct report_layer *layer, struct report_table *table) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_place(layer, &text);
  report_table_copy(table, &text);
  lumos_text_free(&text);
  report_table_number(table, layer->ranks);
  for (int work = WORK_FORWARD; work < WORK_OTHER; work++) {
    if (work != WORK_WEIGHT || layers->weight) {
      report_table_number(table, time_or_absent(layer, layer->compute[work]));
      report_table_number(table, time_or_absent(layer, layer->communication[work]));
    }
  }
  report_table_number(table, report_layer_mean(layer, layer->total));
  report_table_number(table, report_layer_excess(layers, layer));
  report_table_number(table, report_share(layer->total, layers->whole));
}

#define HEAD_COLUMNS                                                                \
  {"where", "where", "layer", COLUMN_NAME}, {"ranks", "ranks", NULL, COLUMN_COUNT}, \
      {"forward_compute", "forward, compute", "pass", COLUMN_MS},                   \
      {"forward_communication", "forward, communication", "collective", COLUMN_MS}, \
      {"backward_compute", "backward, compute", "pass", COLUMN_MS}, {               \
    "backward_communication", "backward, communication", "collective", COLUMN_MS    \
  }
#define TAIL_COLUMNS                                                                               \
  {"total", "total", "gpu_time", COLUMN_MS}, {"excess", "above the median", NULL, COLUMN_SHARE}, { \
    "share", "share", NULL, COLUMN_BAR                                                             \
  }

void report_layers_table(const struct report_layers *layers, struct report_table *table) {
  static const struct report_column columns[] = {HEAD_COLUMNS, TAIL_COLUMNS};
  static const struct report_column with_weight[] = {
      HEAD_COLUMNS,
      {"weight_compute", "weight gradient, compute", "weight", COLUMN_MS},
      {"weight_communication", "weight gradient, communication", "collective", COLUMN_MS},
      TAIL_COLUMNS};
  if (layers->weight) {
    report_table_begin(table, "layers", with_weight, sizeof with_weight / sizeof with_weight[0]);
  } else {
    report_table_begin(table, "layers", columns, sizeof columns / sizeof columns[0]);
  }
  if (layers->layers == 0) {
    return;
  }
  report_put_layers_finding(layers, &table->finding);
  table->told = true;
  table->whole = layers->whole / layers->rank_steps;
  lumos_text_put(&table->caption, "Times: in a step, the mean over the ranks that run it; communication includes "
                                  "waiting. Share: of the GPU time per step and rank, ");
  report_put_time(&table->caption, table->whole);
  report_put_which_durations(layers->job, &table->caption);
  for (size_t i = 0; i < layers->list.count; i++) {
    if (layers->list.items[i].total > 0) {
      put_row(layers, &layers->list.items[i], table);
    }
  }
  put_assigned(layers, &table->rest);
}
