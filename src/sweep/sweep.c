/* Read the grid, predict every configuration in a process of its own, and write them in the order of what they are worth. */
#include <lumos/sweep.h>

#include "sweep/page.h"
#include "sweep/pool.h"
#include "sweep/predict.h"
#include "sweep/rows.h"
#include "transform/edit.h"
#include <lumos/rebuild.h>
#include <lumos/watch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sweeping {
  const struct lumos_job *job;
  const struct lumos_sweep *sweep;
  struct sweep_configurations all;
  struct sweep_plan *plans;
  struct sweep_figures *figures;
  LUMOS_VECTOR(uint32_t) asked; /* configurations that are predicted: what the pool's pieces are */
  struct lumos_rebuild_base *base;
};

/* ---- Predicting ---- */

static void predict(void *context, size_t index, void *answer) {
  const struct sweeping *sweeping = context;
  uint32_t at = sweeping->asked.items[index];
  struct lumos_job *own = (struct lumos_job *)(uintptr_t)sweeping->job; /* this process's copy */
  own->watcher = (struct lumos_watcher){NULL, NULL};
  struct sweep_figures figures =
      sweep_predict(own, sweeping->base, sweeping->sweep, &sweeping->all.items[at], &sweeping->plans[at]);
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

/* Parts are dealt out one by one, so that each has some of all kinds. */
static bool is_of_part(const struct lumos_sweep *sweep, uint32_t at) {
  return sweep->parts <= 1 || at % (uint32_t)sweep->parts == (uint32_t)sweep->part - 1;
}

static void plan_all(struct sweeping *sweeping) {
  for (uint32_t i = 0; i < sweeping->all.count; i++) {
    struct lumos_error error = {0};
    if (!is_of_part(sweeping->sweep, i)) {
      continue;
    }
    if (sweep_plan_make(&sweeping->plans[i], sweeping->job, sweeping->sweep, &sweeping->all.items[i], &error)) {
      lumos_vector_push(&sweeping->asked, i);
    } else {
      memcpy(sweeping->figures[i].why, error.text, sizeof error.text);
    }
  }
}

/* What all of them begin with is found before they part. One alone finds it by itself, with threads of its own. */
static void prepare(struct sweeping *sweeping) {
  enum lumos_schedule *schedules = lumos_allocate_zeroed(sweeping->asked.count + 1, sizeof *schedules);
  for (size_t i = 0; i < sweeping->asked.count; i++) {
    const char *name = sweeping->all.items[sweeping->asked.items[i]].values[SWEEP_SCHEDULE];
    struct lumos_rebuild asked = {0};
    struct lumos_error error = {0};
    schedules[i] = name != NULL && lumos_rebuild_ask(&asked, "schedule", name, &error) ? asked.schedule : 0;
  }
  sweeping->base =
      sweeping->asked.count > 1 ? lumos_rebuild_prepare(sweeping->job, schedules, sweeping->asked.count) : NULL;
  free(schedules);
}

static bool predict_all(struct sweeping *sweeping, struct lumos_error *error) {
  struct sweep_figures *answers = lumos_allocate_zeroed(sweeping->asked.count + 1, sizeof *answers);
  const struct sweep_pool pool = {.count = sweeping->asked.count,
                                  .processes = sweeping->sweep->processes,
                                  .size = sizeof *answers,
                                  .piece = predict,
                                  .lost = lose,
                                  .step = tell,
                                  .context = sweeping};
  bool done = sweep_pool_run(&pool, answers, error);
  for (size_t i = 0; done && i < sweeping->asked.count; i++) {
    sweeping->figures[sweeping->asked.items[i]] = answers[i];
  }
  free(answers);
  return done;
}

/* ---- What comes out ---- */

static void put_name(struct lumos_text *out, const char *name) {
  lumos_text_put(out, out->length > 0 ? ",\"" : "\"");
  for (; *name != '\0'; name++) {
    lumos_text_char(out, (char)(*name == '-' ? '_' : *name));
  }
  lumos_text_put(out, "\":");
}

/* What was asked, and what that leaves open. */
static void put_axes(struct lumos_text *out, const struct sweep_configuration *configuration,
                     const struct sweep_plan *plan) {
  char room[SWEEP_NUMBER];
  for (int axis = 0; axis < SWEEP_AXES; axis++) {
    const char *value = sweep_value(configuration, plan, (enum sweep_axis)axis, room);
    if (value != NULL) {
      bool number =
          strspn(value, "0123456789") == strlen(value) && strlen(value) < 16 && (value[0] != '0' || value[1] == '\0');
      put_name(out, sweep_axis_name((enum sweep_axis)axis));
      if (number) {
        lumos_text_put(out, value);
      } else {
        lumos_text_json_string(out, value, strlen(value));
      }
    }
  }
  if (plan->gpus > 0) {
    put_name(out, "gpus");
    lumos_text_integer(out, plan->gpus);
  }
}

static struct sweep_row row_of(const struct sweeping *sweeping, uint32_t at) {
  const struct sweep_figures *figures = &sweeping->figures[at];
  struct lumos_text axes = LUMOS_TEXT_BUFFER;
  put_axes(&axes, &sweeping->all.items[at], &sweeping->plans[at]);
  lumos_text_char(&axes, '\0');
  struct sweep_row row = {.number = (int64_t)at + 1,
                          .axes = sweep_copy(axes.bytes),
                          .predicted = figures->predicted,
                          .step = figures->step,
                          .low = figures->low,
                          .high = figures->high,
                          .rate = figures->rate,
                          .mfu = figures->mfu,
                          .bubble = figures->bubble,
                          .memory = figures->memory,
                          .capacity = figures->capacity,
                          .why = figures->predicted ? NULL : sweep_copy(figures->why)};
  lumos_text_free(&axes);
  return row;
}

static void list_rows(const struct sweeping *sweeping, const char *grid, struct sweep_rows *rows) {
  const struct lumos_sweep *sweep = sweeping->sweep;
  *rows = (struct sweep_rows){.grid = sweep_copy(grid),
                              .gpus = sweep->gpus > 0 ? sweep->gpus : LUMOS_ABSENT,
                              .configurations = (int64_t)sweeping->all.count,
                              .part = sweep->parts > 0 ? sweep->part : 1,
                              .parts = sweep->parts > 0 ? sweep->parts : 1};
  for (uint32_t i = 0; i < sweeping->all.count; i++) {
    if (is_of_part(sweep, i)) {
      lumos_vector_push(&rows->items, row_of(sweeping, i));
    }
  }
  sweep_rows_sort(rows);
}

/* ---- The sweep ---- */

static bool read_grid(const struct lumos_job *job, const struct lumos_sweep *sweep, struct lumos_text *text,
                      struct sweep_grid *grid, struct lumos_error *error) {
  const char *asked = sweep->grid == NULL ? "auto" : sweep->grid + strspn(sweep->grid, " ");
  size_t word = strcspn(asked, " \t\n");
  if (word == 4 && strncmp(asked, "auto", word) == 0) {
    sweep_grid_for(job, sweep->gpus, asked + word + strspn(asked + word, " \t\n"), text);
  } else {
    lumos_text_put(text, asked);
  }
  lumos_text_char(text, '\0');
  return sweep_grid_read(grid, text->bytes, error);
}

static bool write_rows(const struct sweep_rows *rows, const struct lumos_sweep *sweep, struct lumos_text *out,
                       struct lumos_error *error) {
  if (sweep_rows_predicted(rows) == 0 && rows->parts == 1) {
    return lumos_fail(error, "none of %zu configurations can be predicted; the first one: %.700s", rows->items.count,
                      rows->items.count > 0 ? rows->items.items[0].why : "");
  }
  if (!sweep->page) {
    sweep_rows_put(rows, out);
    return true;
  }
  return sweep_page(rows, out, error);
}

bool lumos_sweep_begin(struct lumos_job *job, struct lumos_error *error) { return lumos_edit_begin(job, error); }

bool lumos_sweep(const struct lumos_job *job, const struct lumos_sweep *sweep, struct lumos_text *out,
                 struct lumos_error *error) {
  struct sweeping sweeping = {.job = job, .sweep = sweep};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct sweep_grid grid;
  struct sweep_rows rows = {0};
  if (!read_grid(job, sweep, &text, &grid, error)) {
    lumos_text_free(&text);
    return false;
  }
  const struct lumos_model_description *model = job->models.count > 0 ? &job->models.items[0] : NULL;
  sweep_list(&grid, model == NULL || model->sizes.pp <= 1, &sweeping.all);
  sweeping.plans = lumos_allocate_zeroed(sweeping.all.count + 1, sizeof *sweeping.plans);
  sweeping.figures = lumos_allocate_zeroed(sweeping.all.count + 1, sizeof *sweeping.figures);
  plan_all(&sweeping);
  prepare(&sweeping);
  bool done = predict_all(&sweeping, error);
  lumos_rebuild_base_free(sweeping.base);
  if (done) {
    list_rows(&sweeping, text.bytes, &rows);
    done = write_rows(&rows, sweep, out, error);
  }
  sweep_rows_free(&rows);
  free(sweeping.plans);
  free(sweeping.figures);
  lumos_vector_free(&sweeping.all);
  lumos_vector_free(&sweeping.asked);
  sweep_grid_free(&grid);
  lumos_text_free(&text);
  return done;
}

bool lumos_sweep_join(const char *const *paths, size_t count, const struct lumos_sweep *sweep, struct lumos_text *out,
                      struct lumos_error *error) {
  struct sweep_rows rows = {0};
  bool done = count > 0 || lumos_fail(error, "there is nothing to join; name the files of all parts");
  for (size_t i = 0; i < count && done; i++) {
    done = sweep_rows_read(&rows, paths[i], error);
  }
  if (done && sweep_rows_whole(&rows, error)) {
    sweep_rows_sort(&rows);
    done = write_rows(&rows, sweep, out, error);
  } else {
    done = false;
  }
  sweep_rows_free(&rows);
  return done;
}
