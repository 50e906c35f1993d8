/* Read the grid, predict every configuration in a process of its own, and write them in the order of what they are
 * worth. */
#include <lumos/sweep.h>

#include "sweep/page.h"
#include "sweep/pool.h"
#include "sweep/predict.h"
#include "sweep/rows.h"
#include "transform/edit.h"
#include <lumos/rebuild.h>
#include <lumos/watch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct sweeping {
  const struct lumos_job *job;
  const struct lumos_sweep *sweep;
  struct sweep_configurations all;
  struct sweep_plan *plans;
  struct sweep_figures *figures;
  LUMOS_VECTOR(uint32_t) asked; /* configurations that can be predicted, those first that may be the best */
  struct lumos_rebuild_base *base;
  LUMOS_VECTOR(uint32_t)
  groups;         /* where in `asked` configurations of other sizes begin, while they are in the order of these */
  int64_t *least; /* by configuration: ns of a step; LUMOS_ABSENT: not known. Seen by all processes */
  struct sweep_figures *answers; /* by place in `asked` */
  double most;                   /* that the best so far takes, for comparison */
};

/* ---- Predicting ---- */

/* Its figures, and the least that it takes, without axes. */
static struct sweep_row figures_row(const struct sweeping *sweeping, uint32_t at, const struct sweep_figures *figures) {
  int64_t least = sweeping->least[at];
  bool known = least != LUMOS_ABSENT;
  return (struct sweep_row){.number = (int64_t)at + 1,
                            .predicted = figures->predicted,
                            .step = figures->step,
                            .low = figures->low,
                            .high = figures->high,
                            .rate = figures->rate,
                            .least = least,
                            .most_rate =
                                known ? sweep_rate(sweeping->job, &sweeping->all.items[at], &sweeping->plans[at], least)
                                      : LUMOS_ABSENT,
                            .mfu = figures->mfu,
                            .bubble = figures->bubble,
                            .memory = figures->memory,
                            .capacity = figures->capacity};
}

/* Can it not be the best any more? */
static bool skip(void *context, size_t index) {
  struct sweeping *sweeping = context;
  const struct sweep_figures nothing = {.predicted = false};
  const struct sweep_row row = figures_row(sweeping, sweeping->asked.items[index], &nothing);
  sweeping->answers[index].skipped = sweep_row_exceeds(&row, sweeping->most);
  return sweeping->answers[index].skipped;
}

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

static void tell(void *context, size_t index, size_t done) {
  struct sweeping *sweeping = context;
  uint32_t at = sweeping->asked.items[index];
  const struct sweep_row row = figures_row(sweeping, at, &sweeping->answers[index]);
  sweeping->most = fmin(sweeping->most, sweep_row_most(&row));
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

/* ---- What they take at least ---- */

/* Numbers that processes which part from this one write into for it to read; LUMOS_ABSENT all. */
static int64_t *share_numbers(size_t count) {
  size_t size = (count + 1) * sizeof(int64_t);
  int64_t *numbers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (numbers == MAP_FAILED) {
    lumos_out_of_memory(size);
  }
  for (size_t i = 0; i < count; i++) {
    numbers[i] = LUMOS_ABSENT;
  }
  return numbers;
}

/* Of a group, in a process of its own; what cannot be found is not known. */
static void bound(void *context, size_t index, void *answer) {
  const struct sweeping *sweeping = context;
  size_t first = sweeping->groups.items[index], groups = sweeping->groups.count;
  size_t end = index + 1 < groups ? sweeping->groups.items[index + 1] : sweeping->asked.count;
  struct lumos_job *own = (struct lumos_job *)(uintptr_t)sweeping->job; /* this process's copy */
  own->watcher = (struct lumos_watcher){NULL, NULL};
  sweep_least(own, sweeping->all.items, sweeping->plans, sweeping->asked.items + first, end - first, sweeping->least);
  *(char *)answer = 1;
}

static void lose_bounds(void *context, size_t index, int signal, void *answer) {
  (void)context;
  (void)index;
  (void)signal;
  (void)answer;
}

static int by_sizes(const void *left, const void *right, void *context) {
  const struct sweeping *sweeping = context;
  const uint32_t *a = left, *b = right;
  return sweep_compare_sizes(&sweeping->all.items[*a], &sweeping->all.items[*b]) != 0
             ? sweep_compare_sizes(&sweeping->all.items[*a], &sweeping->all.items[*b])
             : LUMOS_ORDER(*a, *b);
}

/* Those of which nothing is known first, for they are predicted in any case. */
static int by_least(const void *left, const void *right, void *context) {
  const struct sweeping *sweeping = context;
  const uint32_t *a = left, *b = right;
  const struct sweep_figures nothing = {.predicted = false};
  const struct sweep_row one = figures_row(sweeping, *a, &nothing), other = figures_row(sweeping, *b, &nothing);
  double first = sweep_row_least(&one), second = sweep_row_least(&other);
  return first < second ? -1 : first > second ? 1 : LUMOS_ORDER(*a, *b);
}

/* Find what each takes at least, and put those first that take the least. */
static bool bound_all(struct sweeping *sweeping, struct lumos_error *error) {
  enum { FEW = 2 }; /* of a grid of so many too few can be skipped to pay for it */
  const struct sweep_configuration *all = sweeping->all.items;
  if (sweeping->all.count <= FEW) {
    return true;
  }
  lumos_vector_sort_by(&sweeping->asked, by_sizes, sweeping);
  for (uint32_t i = 0; i < sweeping->asked.count; i++) {
    const uint32_t *asked = &sweeping->asked.items[i];
    if (i == 0 || sweep_compare_sizes(&all[asked[-1]], &all[*asked]) != 0) {
      lumos_vector_push(&sweeping->groups, i);
    }
  }
  char *answers = lumos_allocate_zeroed(sweeping->groups.count + 1, 1);
  const struct sweep_pool pool = {.count = sweeping->groups.count,
                                  .processes = sweeping->sweep->processes,
                                  .size = 1,
                                  .piece = bound,
                                  .lost = lose_bounds,
                                  .context = sweeping};
  bool done = sweep_pool_run(&pool, answers, error);
  free(answers);
  lumos_vector_sort_by(&sweeping->asked, by_least, sweeping);
  return done;
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
  sweeping->answers = answers;
  sweeping->most = INFINITY;
  const struct sweep_pool pool = {.count = sweeping->asked.count,
                                  .processes = sweeping->sweep->processes,
                                  .size = sizeof *answers,
                                  .piece = predict,
                                  .skip = skip,
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
  struct sweep_row row = figures_row(sweeping, at, figures);
  row.axes = sweep_copy(axes.bytes);
  row.skipped = figures->skipped;
  row.why = figures->predicted || figures->skipped ? NULL : sweep_copy(figures->why);
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
  sweep_rows_skip(rows);
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
                      rows->items.count > 0 && rows->items.items[0].why != NULL ? rows->items.items[0].why : "");
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
  sweeping.least = share_numbers(sweeping.all.count);
  plan_all(&sweeping);
  bool done = sweep->all || bound_all(&sweeping, error);
  prepare(&sweeping);
  done = done && predict_all(&sweeping, error);
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
  lumos_vector_free(&sweeping.groups);
  (void)munmap(sweeping.least, (sweeping.all.count + 1) * sizeof *sweeping.least);
  sweep_grid_free(&grid);
  lumos_text_free(&text);
  return done;
}

bool lumos_sweep_join(const char *const *paths, size_t count, const struct lumos_sweep *sweep, struct lumos_text *out,
                      struct lumos_error *error) {
  struct sweep_rows rows = {0};
  bool done = count > 0 || sweep_rows_read(&rows, "-", error);
  for (size_t i = 0; i < count && done; i++) {
    done = sweep_rows_read(&rows, paths[i], error);
  }
  if (done && sweep_rows_whole(&rows, error)) {
    sweep_rows_skip(&rows);
    sweep_rows_sort(&rows);
    done = write_rows(&rows, sweep, out, error);
  } else {
    done = false;
  }
  sweep_rows_free(&rows);
  return done;
}
