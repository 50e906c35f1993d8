/* Read the grid, predict its configurations, and write them in the order of what they are worth. */
#include <lumos/sweep.h>

#include "sweep/page.h"
#include "sweep/predict_all.h"
#include "sweep/rows.h"
#include "transform/edit.h"
#include <stdlib.h>
#include <string.h>

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
  struct sweep_row row = sweep_figures_row(sweeping, at);
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
    if (sweep_is_of_part(sweep, i)) {
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
  sweeping.least = lumos_allocate((sweeping.all.count + 1) * sizeof *sweeping.least);
  for (size_t i = 0; i < sweeping.all.count; i++) {
    sweeping.least[i] = LUMOS_ABSENT;
  }
  bool done = sweep_predict_all(&sweeping, error);
  if (done) {
    list_rows(&sweeping, text.bytes, &rows);
    done = write_rows(&rows, sweep, out, error);
  }
  sweep_rows_free(&rows);
  free(sweeping.plans);
  free(sweeping.figures);
  free(sweeping.least);
  lumos_vector_free(&sweeping.all);
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
