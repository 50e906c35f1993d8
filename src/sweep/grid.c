/* Axes and their values, and all combinations of them. */
#include "sweep/grid.h"

#include <lumos/rebuild.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONFIGURATIONS = 100000 };

static const char *const names[SWEEP_AXES] = {
    [SWEEP_HIDDEN] = "hidden",
    [SWEEP_FFN] = "ffn",
    [SWEEP_HEADS] = "heads",
    [SWEEP_KV_HEADS] = "kv-heads",
    [SWEEP_HEAD_DIM] = "head-dim",
    [SWEEP_SEQ] = "seq",
    [SWEEP_MICRO_BATCH] = "micro-batch",
    [SWEEP_VOCAB] = "vocab",
    [SWEEP_TP] = "tp",
    [SWEEP_CP] = "cp",
    [SWEEP_EP] = "ep",
    [SWEEP_PP] = "pp",
    [SWEEP_DP] = "dp",
    [SWEEP_VP] = "vp",
    [SWEEP_SCHEDULE] = "schedule",
    [SWEEP_LAYERS] = "layers",
    [SWEEP_MICRO_BATCHES] = "micro-batches",
    [SWEEP_BUCKET_MB] = "bucket-mb",
    [SWEEP_OVERLAP_GRADIENTS] = "overlap-gradients",
    [SWEEP_DISTRIBUTED_OPTIMIZER] = "distributed-optimizer",
    [SWEEP_RECOMPUTE] = "recompute",
    [SWEEP_SEQUENCE_PARALLEL] = "sequence-parallel",
    [SWEEP_GLOBAL_BATCH] = "global-batch",
};

const char *sweep_axis_name(enum sweep_axis axis) { return names[axis]; }

/* ---- Reading ---- */

/* A mistake that would be one of every configuration is told at once. */
static bool check_value(const char *name, const char *value, struct lumos_error *error) {
  static const char *const words[] = {"schedule", "overlap-gradients", "distributed-optimizer", "recompute",
                                      "sequence-parallel"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(name, words[i]) == 0) {
      struct lumos_rebuild unused = {0};
      return lumos_rebuild_ask(&unused, name, value, error);
    }
  }
  bool number = value[0] >= '1' && value[0] <= '9' && strspn(value, "0123456789") == strlen(value);
  return number || lumos_fail(error, "--sweep: %s: '%.40s' is not a whole number from 1 on", name, value);
}

static bool read_values(struct sweep_values *values, const char *name, char *text, struct lumos_error *error) {
  enum { MOST = sizeof values->of / sizeof *values->of };
  for (char *at = text; at != NULL;) {
    char *comma = strchr(at, ',');
    if (comma != NULL) {
      *comma = '\0';
    }
    if (*at == '\0') {
      return lumos_fail(error, "--sweep: %s lacks a value; write %s=VALUE,VALUE", name, name);
    }
    if (values->count == MOST) {
      return lumos_fail(error, "--sweep: %s has more than %d values; sweep them in several runs", name, MOST);
    }
    for (int i = 0; i < values->count; i++) {
      if (strcmp(values->of[i], at) == 0) {
        return lumos_fail(error, "--sweep: %s has %.40s twice", name, at);
      }
    }
    if (!check_value(name, at, error)) {
      return false;
    }
    values->of[values->count++] = at;
    at = comma == NULL ? NULL : comma + 1;
  }
  return true;
}

static bool read_axis(struct sweep_grid *grid, char *text, struct lumos_error *error) {
  char *equals = strchr(text, '=');
  if (equals == NULL) {
    return lumos_fail(error, "--sweep: '%.60s' does not read NAME=VALUE,VALUE", text);
  }
  *equals = '\0';
  for (int axis = 0; axis < SWEEP_AXES; axis++) {
    if (strcmp(text, names[axis]) == 0) {
      return grid->axes[axis].count > 0
                 ? lumos_fail(error, "--sweep: %s comes twice; give all its values at once", text)
                 : read_values(&grid->axes[axis], names[axis], equals + 1, error);
    }
  }
  struct lumos_text all = LUMOS_TEXT_BUFFER;
  for (int axis = 0; axis < SWEEP_AXES; axis++) {
    lumos_text_format(&all, "%s%s", axis == 0 ? "" : axis == SWEEP_AXES - 1 ? " or " : ", ", names[axis]);
  }
  lumos_text_char(&all, '\0');
  bool known = lumos_fail(error, "--sweep: '%.40s' is nothing that can be swept; take %s", text, all.bytes);
  lumos_text_free(&all);
  return known;
}

bool sweep_grid_read(struct sweep_grid *grid, const char *text, struct lumos_error *error) {
  char *rest = NULL;
  int64_t all = 1;
  *grid = (struct sweep_grid){.text = lumos_allocate(strlen(text) + 1)};
  memcpy(grid->text, text, strlen(text) + 1);
  for (char *axis = strtok_r(grid->text, " \t\n", &rest); axis != NULL; axis = strtok_r(NULL, " \t\n", &rest)) {
    if (!read_axis(grid, axis, error)) {
      sweep_grid_free(grid);
      return false;
    }
  }
  for (int axis = 0; axis < SWEEP_AXES; axis++) {
    all *= grid->axes[axis].count > 0 && all <= MOST_CONFIGURATIONS ? grid->axes[axis].count : 1;
  }
  if (all > MOST_CONFIGURATIONS) {
    sweep_grid_free(grid);
    return lumos_fail(error, "--sweep: there would be over %d configurations; leave out some values",
                      MOST_CONFIGURATIONS);
  }
  return true;
}

void sweep_grid_free(struct sweep_grid *grid) {
  free(grid->text);
  grid->text = NULL;
}

/* ---- Of a job's own ---- */

/* Is the axis among those that are given beside "auto"? */
static bool is_given(const char *given, enum sweep_axis axis) {
  size_t length = strlen(names[axis]);
  for (const char *at = strstr(given, names[axis]); at != NULL; at = strstr(at + 1, names[axis])) {
    if (at[length] == '=' && (at == given || strchr(" \t\n", at[-1]) != NULL)) {
      return true;
    }
  }
  return false;
}

static void put_powers(struct lumos_text *out, const char *given, enum sweep_axis axis, int32_t first, int32_t most) {
  if (is_given(given, axis)) {
    return;
  }
  lumos_text_format(out, "%s%s=", out->length > 0 ? " " : "", names[axis]);
  for (int32_t value = first; value <= most; value *= 2) {
    lumos_text_format(out, "%s%d", value == first ? "" : ",", value);
  }
}

void sweep_grid_for(const struct lumos_job *job, int32_t gpus, const char *given, struct lumos_text *out) {
  enum { MOST_SHARDS = 8 };
  const struct lumos_model_description *model =
      job->models.count > 0 ? &job->models.items[0] : &lumos_model_description_empty;
  int32_t tp = model->sizes.tp > 0 ? model->sizes.tp : 1, pp = model->sizes.pp > 0 ? model->sizes.pp : 1;
  int32_t dp = model->sizes.dp > 0 ? model->sizes.dp : 1, cp = model->sizes.cp > 0 ? model->sizes.cp : 1;
  int32_t room = gpus > 0 ? gpus : tp * cp * pp * dp;
  if (tp > 1) {
    put_powers(out, given, SWEEP_TP, 2, room < MOST_SHARDS ? room : MOST_SHARDS);
  }
  if (cp > 1) {
    put_powers(out, given, SWEEP_CP, 1, room < MOST_SHARDS ? room : MOST_SHARDS);
  }
  if (model->sizes.ep > 1) {
    put_powers(out, given, SWEEP_EP, 1, room < MOST_SHARDS ? room : MOST_SHARDS);
  }
  int32_t stages = model->layers > 0 && model->layers < room ? model->layers : room;
  put_powers(out, given, SWEEP_PP, 1, stages);
  if (stages > 1 && !is_given(given, SWEEP_SCHEDULE)) {
    lumos_text_put(out, " schedule=1f1b,zb-h1,interleaved");
    lumos_text_put(out, is_given(given, SWEEP_VP) ? "" : " vp=1,2");
  }
  if (model->micro_batch > 0 && model->hidden > 0 && model->sequence > 0) { /* shapes were recorded */
    int32_t least = model->micro_batch;
    while (least % 2 == 0) {
      least /= 2;
    }
    put_powers(out, given, SWEEP_MICRO_BATCH, least, 2 * model->micro_batch);
  }
  lumos_text_format(out, "%s%s", out->length > 0 ? " " : "", given);
}

/* ---- Combinations ---- */

static bool is(const char *value, const char *text) { return value != NULL && strcmp(value, text) == 0; }

/* A pipeline of one stage has neither schedule nor chunks, and only an interleaved one has several of these: of such
 * that differ in nothing else the first is taken, without them. */
static bool take(const struct sweep_grid *grid, bool one_stage, struct sweep_configuration *configuration) {
  const char **values = configuration->values;
  const struct sweep_values *schedules = &grid->axes[SWEEP_SCHEDULE], *chunks = &grid->axes[SWEEP_VP];
  bool first_chunks = chunks->count == 0 || values[SWEEP_VP] == chunks->of[0];
  if (is(values[SWEEP_PP], "1") || (values[SWEEP_PP] == NULL && one_stage)) {
    bool first = first_chunks && (schedules->count == 0 || values[SWEEP_SCHEDULE] == schedules->of[0]);
    values[SWEEP_SCHEDULE] = values[SWEEP_VP] = NULL;
    return first;
  }
  if (values[SWEEP_SCHEDULE] == NULL || values[SWEEP_VP] == NULL) {
    return true;
  }
  if (!is(values[SWEEP_SCHEDULE], "interleaved")) {
    values[SWEEP_VP] = "1";
    return first_chunks;
  }
  return !is(values[SWEEP_VP], "1") || chunks->count == 1;
}

void sweep_list(const struct sweep_grid *grid, bool one_stage, struct sweep_configurations *all) {
  int at[SWEEP_AXES] = {0};
  for (int axis = 0; axis >= 0;) {
    struct sweep_configuration configuration = {{NULL}};
    for (int i = 0; i < SWEEP_AXES; i++) {
      configuration.values[i] = grid->axes[i].count > 0 ? grid->axes[i].of[at[i]] : NULL;
    }
    if (take(grid, one_stage, &configuration)) {
      lumos_vector_push(all, configuration);
    }
    for (axis = SWEEP_AXES - 1; axis >= 0 && ++at[axis] >= grid->axes[axis].count; axis--) {
      at[axis] = 0;
    }
  }
}
