#include "sweep/predict.h"

#include "rebuild/roles.h"
#include "report/content/facts.h"

#include <lumos/rebuild.h>
#include <lumos/sim.h>
#include <lumos/transform.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is left open ---- */

enum { MOST = 1 << 20 }; /* products of three of them are numbers */

static bool read_number(const struct sweep_configuration *configuration, enum sweep_axis axis, int64_t recorded,
                        int64_t *number, struct lumos_error *error) {
  const char *text = configuration->values[axis];
  char *end = NULL;
  *number = text == NULL ? recorded : strtoll(text, &end, 10);
  return text == NULL || (*text >= '0' && *text <= '9' && *end == '\0' && *number > 0 && *number <= MOST) ||
         lumos_fail(error, "%s: '%.40s' is not a whole number from 1 to %d", sweep_axis_name(axis), text, MOST);
}

static bool find_replicas(struct sweep_plan *plan, int64_t asked, int64_t recorded, int64_t gpus, int64_t of_replica,
                          struct lumos_error *error) {
  plan->replicas = asked;
  if (asked == 0 && gpus > 0) {
    plan->replicas = gpus / of_replica;
    if (plan->replicas == 0 || plan->replicas * of_replica != gpus) {
      return lumos_fail(error, "%lld GPUs cannot be divided among replicas of %lld", (long long)gpus,
                        (long long)of_replica);
    }
  }
  int64_t replicas = plan->replicas > 0 ? plan->replicas : recorded;
  plan->gpus = replicas * of_replica;
  return gpus <= 0 || plan->gpus == gpus ||
         lumos_fail(error, "it takes %lld GPUs, not %lld", (long long)plan->gpus, (long long)gpus);
}

static bool find_micro_batches(struct sweep_plan *plan, int64_t asked, int64_t global, int64_t sequences,
                               struct lumos_error *error) {
  plan->micro_batches = asked;
  if (asked == 0 && global > 0 && sequences > 0) {
    plan->micro_batches = global / sequences;
    if (plan->micro_batches * sequences != global) {
      return lumos_fail(error, "a step's %lld sequences cannot be divided among micro-batches of %lld in all replicas",
                        (long long)global, (long long)sequences);
    }
  }
  return true;
}

static int64_t wide(int32_t value) { return value > 0 ? value : 0; }
static int64_t or_one(int32_t value) { return value > 0 ? value : 1; }

/* Where nothing says how many sequences a micro-batch has, micro-batches are counted in their place. */
static bool find_batch(struct sweep_plan *plan, const struct lumos_model_description *model, int64_t passes,
                       const struct sweep_configuration *configuration, struct lumos_error *error) {
  int64_t batch, count, global, recorded = or_one(model->sizes.dp);
  int64_t replicas = plan->replicas > 0 ? plan->replicas : recorded;
  if (!read_number(configuration, SWEEP_MICRO_BATCH, wide(model->micro_batch), &batch, error) ||
      !read_number(configuration, SWEEP_MICRO_BATCHES, 0, &count, error)) {
    return false;
  }
  int64_t was = (model->micro_batch > 0 ? model->micro_batch : 1) * wide(model->micro_batches) * recorded;
  if (!read_number(configuration, SWEEP_GLOBAL_BATCH, was, &global, error)) {
    return false;
  }
  if (configuration->values[SWEEP_GLOBAL_BATCH] != NULL && batch == 0) {
    return lumos_fail(error, "how many sequences a micro-batch has is not known; give micro-batches, not global-batch");
  }
  if (global == 0 && count == 0 && replicas != recorded && passes == 0) {
    return lumos_fail(error, "how many micro-batches a step has is not known; give micro-batches");
  }
  if (!find_micro_batches(plan, count, global, (batch > 0 ? batch : 1) * replicas, error)) {
    return false;
  }
  int64_t micro_batches = plan->micro_batches > 0 ? plan->micro_batches : passes;
  if (batch > 0 && micro_batches > 0) {
    plan->global_batch = batch * micro_batches * replicas;
  }
  return true;
}

static bool check_ranks(int64_t tp, int64_t cp, struct lumos_error *error) {
  return tp * cp <= MOST ||
         lumos_fail(error, "tp %lld times cp %lld is more than %d", (long long)tp, (long long)cp, MOST);
}

int64_t sweep_passes(const struct lumos_job *job) {
  int32_t micro_batches = job->models.count > 0 ? job->models.items[0].micro_batches : 0;
  return micro_batches > 0 ? micro_batches : rebuild_goes_back(job) ? 0 : 1;
}

bool sweep_plan_make(struct sweep_plan *plan, const struct lumos_job *job, const struct lumos_sweep *sweep,
                     int64_t passes, const struct sweep_configuration *configuration, struct lumos_error *error) {
  const struct lumos_model_description *model =
      job->models.count > 0 ? &job->models.items[0] : &lumos_model_description_empty;
  int64_t tp, cp, pp, dp;
  *plan = (struct sweep_plan){.gpus = LUMOS_ABSENT, .global_batch = LUMOS_ABSENT};
  return read_number(configuration, SWEEP_TP, or_one(model->sizes.tp), &tp, error) &&
         read_number(configuration, SWEEP_CP, or_one(model->sizes.cp), &cp, error) && check_ranks(tp, cp, error) &&
         read_number(configuration, SWEEP_PP, or_one(model->sizes.pp), &pp, error) &&
         read_number(configuration, SWEEP_DP, 0, &dp, error) &&
         find_replicas(plan, dp, or_one(model->sizes.dp), sweep->gpus, tp * cp * pp, error) &&
         find_batch(plan, model, passes, configuration, error);
}

/* ---- The change ---- */

const char *sweep_value(const struct sweep_configuration *configuration, const struct sweep_plan *plan,
                        enum sweep_axis axis, char room[SWEEP_NUMBER]) {
  int64_t number = axis == SWEEP_DP              ? plan->replicas
                   : axis == SWEEP_MICRO_BATCHES ? plan->micro_batches
                   : axis == SWEEP_GLOBAL_BATCH  ? plan->global_batch
                                                 : 0;
  if (configuration->values[axis] != NULL || number <= 0) {
    return configuration->values[axis];
  }
  (void)snprintf(room, SWEEP_NUMBER, "%lld", (long long)number);
  return room;
}

/* Other sizes than the recorded ones: these change nothing. */
static bool has_sizes(const struct lumos_job *job, const struct sweep_configuration *configuration) {
  const struct lumos_model_description *model =
      job->models.count > 0 ? &job->models.items[0] : &lumos_model_description_empty;
  const int32_t recorded[SWEEP_AXES] = {[SWEEP_MICRO_BATCH] = model->micro_batch,
                                        [SWEEP_SEQ] = model->sequence,
                                        [SWEEP_HIDDEN] = model->hidden,
                                        [SWEEP_FFN] = model->ffn,
                                        [SWEEP_HEADS] = model->heads,
                                        [SWEEP_KV_HEADS] = model->kv_heads,
                                        [SWEEP_HEAD_DIM] = model->head_dim,
                                        [SWEEP_VOCAB] = model->vocabulary};
  bool any = false;
  for (int axis = SWEEP_FIRST_SIZE; axis <= SWEEP_LAST_SIZE; axis++) {
    const char *value = configuration->values[axis];
    any |= value != NULL && (recorded[axis] <= 0 || strtoll(value, NULL, 10) != recorded[axis]);
  }
  return any;
}

static bool resize(struct lumos_job *job, const struct sweep_configuration *configuration, struct lumos_error *error) {
  struct lumos_text sizes = LUMOS_TEXT_BUFFER;
  for (int axis = SWEEP_FIRST_SIZE; axis <= SWEEP_LAST_SIZE; axis++) {
    if (configuration->values[axis] != NULL) {
      lumos_text_format(&sizes, "%s%s=%s", sizes.length == 0 ? "" : ",", sweep_axis_name((enum sweep_axis)axis),
                        configuration->values[axis]);
    }
  }
  lumos_text_char(&sizes, '\0');
  bool done = lumos_transform_sizes(job, sizes.bytes, error);
  lumos_text_free(&sizes);
  return done;
}

static bool ask(const struct sweep_configuration *configuration, const struct sweep_plan *plan,
                struct lumos_rebuild *asked, struct lumos_error *error) {
  *asked = (struct lumos_rebuild){0};
  for (int axis = 0; axis < SWEEP_FIRST_SIZE; axis++) {
    char room[SWEEP_NUMBER];
    const char *value = sweep_value(configuration, plan, (enum sweep_axis)axis, room);
    if (value != NULL && !lumos_rebuild_ask(asked, sweep_axis_name((enum sweep_axis)axis), value, error)) {
      return false;
    }
  }
  return true;
}

/* ---- Figures ---- */

static int64_t metric_of_rank(const struct lumos_job *job, const char *name, int32_t rank) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->scope.rank == rank && metric->source == LUMOS_METRIC_SIMULATED &&
        strcmp(lumos_string(job->strings, metric->name), name) == 0) {
      return report_decimal_as(metric->value, 0);
    }
  }
  return LUMOS_ABSENT;
}

/* Of the rank that needs the largest share of its GPU's memory; all ranks must be known. */
static void find_memory(const struct lumos_job *job, struct sweep_figures *figures) {
  double largest = -1;
  figures->memory = figures->capacity = LUMOS_ABSENT;
  for (size_t r = 0; r < job->ranks.count; r++) {
    int64_t peak = metric_of_rank(job, "memory_peak", job->ranks.items[r].rank);
    int64_t capacity = metric_of_rank(job, "memory_capacity", job->ranks.items[r].rank);
    double share = capacity > 0 ? (double)peak / (double)capacity : (double)peak;
    if (peak == LUMOS_ABSENT) {
      figures->memory = figures->capacity = LUMOS_ABSENT;
      return;
    }
    if (share > largest) {
      largest = share;
      figures->memory = peak;
      figures->capacity = capacity > 0 ? capacity : LUMOS_ABSENT;
    }
  }
}

int64_t sweep_rate(const struct lumos_job *job, const struct sweep_configuration *configuration,
                   const struct sweep_plan *plan, int64_t step) {
  enum { SECOND = 1000000000, THOUSANDTHS = 1000 };
  struct lumos_error error = {0};
  int64_t recorded = job->models.count > 0 ? wide(job->models.items[0].sequence) : 0, sequence;
  if (!read_number(configuration, SWEEP_SEQ, recorded, &sequence, &error)) {
    return LUMOS_ABSENT;
  }
  if (plan->global_batch == LUMOS_ABSENT || sequence == 0 || plan->gpus <= 0 || step <= 0) {
    return LUMOS_ABSENT;
  }
  return (int64_t)((__int128)plan->global_batch * sequence * SECOND * THOUSANDTHS / ((__int128)step * plan->gpus));
}

static void read_figures(const struct lumos_job *job, const struct sweep_configuration *configuration,
                         const struct sweep_plan *plan, struct sweep_figures *figures) {
  struct report_facts facts;
  report_facts_read(job, &facts);
  figures->step = report_facts_step_time(&facts, SIMULATED);
  figures->low = facts.step_range.low;
  figures->high = facts.step_range.high;
  figures->bubble = report_row_share(&facts, report_facts_whole(&facts, SIMULATED), SIMULATED, FIGURE_PIPELINE_BUBBLE);
  figures->mfu = report_mfu(&facts, SIMULATED).share;
  figures->rate = sweep_rate(job, configuration, plan, figures->step);
  find_memory(job, figures);
  figures->predicted = figures->step != LUMOS_ABSENT;
  report_facts_free(&facts);
}

struct sweep_figures sweep_predict(struct lumos_job *job, const struct sweep_start *start,
                                   const struct lumos_sweep *sweep, const struct sweep_configuration *configuration,
                                   const struct sweep_plan *plan) {
  struct sweep_figures figures = {.predicted = false, .why = "nothing says how long a step takes"};
  struct lumos_error error = start->error;
  const struct lumos_simulation simulation = {
      .model = LUMOS_MODEL_LUMOS, .hardware = sweep->hardware, .steps_alone = true};
  struct lumos_rebuild asked;
  if (start->done && ask(configuration, plan, &asked, &error) && lumos_rebuild_from(start->base, job, &asked, &error) &&
      lumos_simulate_as(job, &simulation, &error)) {
    read_figures(job, configuration, plan, &figures);
  } else {
    (void)snprintf(figures.why, sizeof figures.why, "%s", error.text);
  }
  return figures;
}

/* ---- What a group has in common ---- */

static int compare_values(const struct sweep_configuration *one, const struct sweep_configuration *other,
                          enum sweep_axis axis) {
  const char *a = one->values[axis], *b = other->values[axis];
  return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static bool has_stages(const struct sweep_configuration *configuration) {
  const char *stages = configuration->values[SWEEP_PP];
  return stages != NULL && strtoll(stages, NULL, 10) > 1;
}

int sweep_compare_groups(const struct lumos_job *job, const struct sweep_configuration *one,
                         const struct sweep_configuration *other) {
  static const enum sweep_axis shares[] = {SWEEP_TP, SWEEP_CP, SWEEP_EP, SWEEP_SEQUENCE_PARALLEL};
  bool one_stage = job->models.count == 0 || job->models.items[0].sizes.pp <= 1;
  int order = one_stage ? has_stages(one) - has_stages(other) : 0;
  for (size_t i = 0; i < sizeof shares / sizeof *shares && order == 0; i++) {
    order = compare_values(one, other, shares[i]);
  }
  for (int axis = SWEEP_FIRST_SIZE; axis <= SWEEP_LAST_SIZE && order == 0; axis++) {
    order = compare_values(one, other, (enum sweep_axis)axis);
  }
  return order;
}

/* What is asked for of those that can be asked for. The caller frees it; *places: where in the group they are, likewise.
 */
static struct lumos_rebuild *ask_group(const struct sweep_group *group, uint32_t **places, size_t *count) {
  struct lumos_rebuild *asked = lumos_allocate_zeroed(group->count + 1, sizeof *asked);
  struct lumos_error error = {0};
  *places = lumos_allocate((group->count + 1) * sizeof **places);
  *count = 0;
  for (size_t i = 0; i < group->count; i++) {
    uint32_t at = group->indices[i];
    if (ask(&group->configurations[at], &group->plans[at], &asked[*count], &error)) {
      (*places)[(*count)++] = at;
    }
  }
  return asked;
}

static bool resize_for(struct lumos_job *job, const struct sweep_group *group, struct lumos_error *error) {
  const struct sweep_configuration *first = &group->configurations[group->indices[0]];
  return !has_sizes(job, first) || resize(job, first, error);
}

/* One alone prepares for itself, with threads of its own. */
void sweep_start(struct sweep_start *start, struct lumos_job *job, const struct sweep_group *group) {
  *start = (struct sweep_start){.base = NULL};
  start->done = resize_for(job, group, &start->error);
  if (start->done && group->count > 1) {
    uint32_t *places;
    size_t count;
    struct lumos_rebuild *asked = ask_group(group, &places, &count);
    start->base = lumos_rebuild_prepare(job, asked, count);
    free(places);
    free(asked);
  }
}

void sweep_least(struct lumos_job *job, const struct sweep_group *group, int64_t *least) {
  uint32_t *places;
  size_t count;
  struct lumos_rebuild *asked = ask_group(group, &places, &count);
  int64_t *found = lumos_allocate((count + 1) * sizeof *found);
  struct lumos_error error = {0};
  if (resize_for(job, group, &error)) {
    lumos_rebuild_least(job, asked, count, found);
    for (size_t i = 0; i < count; i++) {
      least[places[i]] = found[i];
    }
  }
  free(found);
  free(places);
  free(asked);
}
