/* Read the grid, predict every configuration in a process of its own, and write them in the order of what they are worth. */
#include <lumos/sweep.h>

#include "sweep/farm.h"
#include "sweep/predict.h"
#include <lumos/watch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1 };

struct sweeping {
  const struct lumos_job *job;
  const struct lumos_sweep *sweep;
  struct sweep_configurations all;
  struct sweep_plan *plans;
  struct sweep_figures *figures;
  LUMOS_VECTOR(uint32_t) asked; /* configurations that are predicted: what the farm's pieces are */
};

/* ---- Predicting ---- */

static void predict(void *context, size_t index, void *answer) {
  const struct sweeping *sweeping = context;
  uint32_t at = sweeping->asked.items[index];
  struct lumos_job *own = (struct lumos_job *)(uintptr_t)sweeping->job; /* this process's copy */
  own->watcher = (struct lumos_watcher){NULL, NULL};
  struct sweep_figures figures = sweep_predict(own, sweeping->sweep, &sweeping->all.items[at], &sweeping->plans[at]);
  memcpy(answer, &figures, sizeof figures);
}

static void lose(void *context, size_t index, int signal, void *answer) {
  struct sweep_figures figures = {.predicted = false};
  (void)context;
  (void)index;
  if (signal != 0) {
    (void)snprintf(figures.why, sizeof figures.why, "its process was ended by signal %d; give it more memory, or -j 1",
                   signal);
  } else {
    (void)snprintf(figures.why, sizeof figures.why,
                   "its process ended before it was predicted; give it more memory, or -j 1");
  }
  memcpy(answer, &figures, sizeof figures);
}

static void tell(void *context, size_t done) {
  const struct sweeping *sweeping = context;
  lumos_watch(&sweeping->job->watcher, "sweep", LUMOS_WATCH_NOTHING, done, sweeping->asked.count);
}

static void plan_all(struct sweeping *sweeping) {
  for (uint32_t i = 0; i < sweeping->all.count; i++) {
    struct lumos_error error = {0};
    if (sweep_plan_make(&sweeping->plans[i], sweeping->job, sweeping->sweep, &sweeping->all.items[i], &error)) {
      lumos_vector_push(&sweeping->asked, i);
    } else {
      memcpy(sweeping->figures[i].why, error.text, sizeof error.text);
    }
  }
}

static bool predict_all(struct sweeping *sweeping, struct lumos_error *error) {
  struct sweep_figures *answers = lumos_allocate_zeroed(sweeping->asked.count + 1, sizeof *answers);
  const struct sweep_farm farm = {.count = sweeping->asked.count,
                                  .processes = sweeping->sweep->processes,
                                  .size = sizeof *answers,
                                  .piece = predict,
                                  .lost = lose,
                                  .step = tell,
                                  .context = sweeping};
  bool done = sweep_farm_run(&farm, answers, error);
  for (size_t i = 0; done && i < sweeping->asked.count; i++) {
    sweeping->figures[sweeping->asked.items[i]] = answers[i];
  }
  free(answers);
  return done;
}

/* ---- Writing ---- */

static void put_name(struct lumos_text *out, const char *name) {
  lumos_text_char(out, '"');
  for (; *name != '\0'; name++) {
    lumos_text_char(out, *name == '-' ? '_' : *name);
  }
  lumos_text_put(out, "\":");
}

static void put_axes(struct lumos_text *out, const struct sweep_configuration *configuration) {
  for (int axis = 0; axis < SWEEP_AXES; axis++) {
    const char *value = configuration->values[axis];
    if (value != NULL) {
      bool number = strspn(value, "0123456789") == strlen(value) && (value[0] != '0' || value[1] == '\0');
      lumos_text_char(out, ',');
      put_name(out, sweep_axis_name((enum sweep_axis)axis));
      if (number) {
        lumos_text_put(out, value);
      } else {
        lumos_text_json_string(out, value, strlen(value));
      }
    }
  }
}

static void put_integer(struct lumos_text *out, const char *name, int64_t value) {
  if (value != LUMOS_ABSENT) {
    lumos_text_format(out, ",\"%s\":%lld", name, (long long)value);
  }
}

static void put_decimal(struct lumos_text *out, const char *name, int64_t units, int decimals) {
  if (units != LUMOS_ABSENT) {
    lumos_text_format(out, ",\"%s\":", name);
    lumos_text_decimal(out, units, decimals);
  }
}

static void put_plan(struct lumos_text *out, const struct sweep_configuration *configuration,
                     const struct sweep_plan *plan) {
  if (configuration->values[SWEEP_DP] == NULL && plan->replicas > 0) {
    put_integer(out, "dp", plan->replicas);
  }
  if (configuration->values[SWEEP_MICRO_BATCHES] == NULL && plan->micro_batches > 0) {
    put_integer(out, "micro_batches", plan->micro_batches);
  }
  put_integer(out, "gpus", plan->gpus);
  if (configuration->values[SWEEP_GLOBAL_BATCH] == NULL) {
    put_integer(out, "global_batch", plan->global_batch);
  }
}

/* Time in the units in which configurations are compared: of a token on a GPU, or of a step. */
static double cost(const struct sweep_figures *figures, int64_t step) {
  return figures->rate != LUMOS_ABSENT ? (double)step / (double)figures->step / (double)figures->rate : (double)step;
}

static void put_predicted(struct lumos_text *out, const struct sweeping *sweeping, uint32_t at, size_t place,
                          const struct sweep_figures *best) {
  const struct sweep_figures *figures = &sweeping->figures[at];
  bool known = figures->low != LUMOS_ABSENT && best->high != LUMOS_ABSENT;
  bool could = place == 1 || (known && cost(figures, figures->low) <= cost(best, best->high));
  lumos_text_format(out, "{\"type\":\"configuration\",\"place\":%zu", place);
  put_axes(out, &sweeping->all.items[at]);
  put_plan(out, &sweeping->all.items[at], &sweeping->plans[at]);
  put_integer(out, "step_time", figures->step);
  put_integer(out, "low", figures->low);
  put_integer(out, "high", figures->high);
  put_decimal(out, "tokens_per_second_per_gpu", figures->rate, 3);
  put_decimal(out, "mfu", figures->mfu, 6);
  put_decimal(out, "bubble", figures->bubble, 6);
  lumos_text_format(out, ",\"could_be_best\":%s}\n", could ? "true" : "false");
}

static void put_refused(struct lumos_text *out, const struct sweeping *sweeping, uint32_t at) {
  const char *why = sweeping->figures[at].why;
  lumos_text_put(out, "{\"type\":\"refused\"");
  put_axes(out, &sweeping->all.items[at]);
  lumos_text_put(out, ",\"why\":");
  lumos_text_json_string(out, why, strlen(why));
  lumos_text_put(out, "}\n");
}

static int by_cost(const void *left, const void *right, void *context) {
  const struct sweeping *sweeping = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  double one = cost(&sweeping->figures[a], sweeping->figures[a].step);
  double other = cost(&sweeping->figures[b], sweeping->figures[b].step);
  return one < other ? -1 : one > other ? 1 : LUMOS_ORDER(a, b);
}

static bool put_all(struct lumos_text *out, struct sweeping *sweeping, const char *grid, struct lumos_error *error) {
  LUMOS_VECTOR(uint32_t) predicted = {0};
  for (uint32_t i = 0; i < sweeping->all.count; i++) {
    if (sweeping->figures[i].predicted) {
      lumos_vector_push(&predicted, i);
    }
  }
  if (predicted.count == 0) {
    return lumos_fail(error, "none of %zu configurations can be predicted; the first one: %.700s", sweeping->all.count,
                      sweeping->figures[0].why);
  }
  lumos_vector_sort_by(&predicted, by_cost, sweeping);
  lumos_text_format(out, "{\"type\":\"sweep\",\"format\":%d,\"grid\":", FORMAT);
  lumos_text_json_string(out, grid, strlen(grid));
  if (sweeping->sweep->gpus > 0) {
    put_integer(out, "gpus", sweeping->sweep->gpus);
  }
  lumos_text_format(out, ",\"configurations\":%zu,\"predicted\":%zu,\"refused\":%zu}\n", sweeping->all.count,
                    predicted.count, sweeping->all.count - predicted.count);
  for (size_t i = 0; i < predicted.count; i++) {
    put_predicted(out, sweeping, predicted.items[i], i + 1, &sweeping->figures[predicted.items[0]]);
  }
  for (uint32_t i = 0; i < sweeping->all.count; i++) {
    if (!sweeping->figures[i].predicted) {
      put_refused(out, sweeping, i);
    }
  }
  lumos_vector_free(&predicted);
  return true;
}

bool lumos_sweep(const struct lumos_job *job, const struct lumos_sweep *sweep, struct lumos_text *out,
                 struct lumos_error *error) {
  struct sweeping sweeping = {.job = job, .sweep = sweep};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct sweep_grid grid;
  const char *asked = sweep->grid == NULL ? "auto" : sweep->grid + strspn(sweep->grid, " ");
  size_t word = strcspn(asked, " \t\n");
  if (word == 4 && strncmp(asked, "auto", word) == 0) {
    sweep_grid_for(job, sweep->gpus, asked + word + strspn(asked + word, " \t\n"), &text);
  } else {
    lumos_text_put(&text, asked);
  }
  lumos_text_char(&text, '\0');
  if (!sweep_grid_read(&grid, text.bytes, error)) {
    lumos_text_free(&text);
    return false;
  }
  sweep_list(&grid, &sweeping.all);
  sweeping.plans = lumos_allocate_zeroed(sweeping.all.count + 1, sizeof *sweeping.plans);
  sweeping.figures = lumos_allocate_zeroed(sweeping.all.count + 1, sizeof *sweeping.figures);
  plan_all(&sweeping);
  bool done = predict_all(&sweeping, error) && put_all(out, &sweeping, text.bytes, error);
  free(sweeping.plans);
  free(sweeping.figures);
  lumos_vector_free(&sweeping.all);
  lumos_vector_free(&sweeping.asked);
  sweep_grid_free(&grid);
  lumos_text_free(&text);
  return done;
}
