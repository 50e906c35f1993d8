/* Fuzzer: any bytes as the plan of a sweep: its grid of configurations and, each behind a byte 0, files of predicted
 * ones, which are joined. A grid is refused with a reason, or gives configurations that are no more than its values
 * make. Files are refused with a reason, or become lines that read back to the same lines, and a page that is UTF-8 and
 * whole.
 */
#include "fuzz.h"
#include "sweep/grid.h"

#include <lumos/sweep.h>

enum { MOST_FILES = 8, MOST_LISTED = 2000 };

static void list(const struct sweep_grid *grid, bool one_stage, int64_t most) {
  struct sweep_configurations all = {0};
  sweep_list(grid, one_stage, &all);
  if ((int64_t)all.count > most || all.count == 0) {
    fuzz_fail("a grid gives at least one configuration, and no more than its values make", "");
  }
  for (size_t i = 0; i < all.count; i++) {
    for (int axis = 0; axis < SWEEP_AXES; axis++) {
      const char *value = all.items[i].values[axis];
      if (value != NULL && grid->axes[axis].count == 0) {
        fuzz_fail("what no axis names stays as recorded", sweep_axis_name((enum sweep_axis)axis));
      }
    }
  }
  lumos_vector_free(&all);
}

static void read_grid(const char *text) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct sweep_grid grid;
  if (!sweep_grid_read(&grid, text, &error)) {
    fuzz_expect_reason(&error);
    return;
  }
  int64_t most = 1;
  for (int axis = 0; axis < SWEEP_AXES; axis++) {
    most *= grid.axes[axis].count > 0 ? grid.axes[axis].count : 1;
  }
  if (most <= MOST_LISTED) {
    list(&grid, false, most);
    list(&grid, true, most);
  }
  sweep_grid_free(&grid);
}

/* The grid for a job of this shape, with this text beside "auto". */
static void grid_for(const char *given, int32_t gpus) {
  struct lumos_job *job = lumos_job_new();
  struct lumos_model_description model = lumos_model_description_empty;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  model.sizes.tp = 2;
  model.layers = 6;
  model.micro_batch = 12;
  model.hidden = model.sequence = 128;
  for (int described = 0; described < 2; described++) {
    text.length = 0;
    sweep_grid_for(job, gpus, given, &text);
    lumos_text_char(&text, '\0');
    read_grid(text.bytes);
    lumos_vector_push(&job->models, model);
  }
  lumos_text_free(&text);
  lumos_job_free(job);
}

static bool join(const struct fuzz_file *files, size_t count, bool page, struct lumos_text *out) {
  const char *paths[MOST_FILES];
  struct lumos_error error = {LUMOS_DONE, ""};
  const struct lumos_sweep sweep = {.page = page};
  for (size_t i = 0; i < count; i++) {
    paths[i] = files[i].path;
  }
  bool good = lumos_sweep_join(paths, count, &sweep, out, &error);
  if (!good) {
    fuzz_expect_reason(&error);
  }
  return good;
}

static void read_files(const struct fuzz_file *files, size_t count) {
  struct lumos_text lines = LUMOS_TEXT_BUFFER, again = LUMOS_TEXT_BUFFER, page = LUMOS_TEXT_BUFFER;
  if (join(files, count, false, &lines)) {
    struct fuzz_file file = fuzz_file(lines.bytes, lines.length);
    if (!join(&file, 1, false, &again)) {
      fuzz_fail("a sweep that is written can be read", lines.bytes);
    }
    (void)close(file.descriptor);
    fuzz_expect_same(&lines, &again, "a sweep that is written and read is the same");
    fuzz_expect_utf8(lines.bytes, lines.length, "a sweep");
    if (!join(files, count, true, &page)) {
      fuzz_fail("a sweep has a page", lines.bytes);
    }
    fuzz_expect_utf8(page.bytes, page.length, "the page of a sweep");
    if (page.length < 8 || memcmp(page.bytes + page.length - 8, "</html>\n", 8) != 0) {
      fuzz_fail("the page is whole", "");
    }
  }
  lumos_text_free(&lines);
  lumos_text_free(&again);
  lumos_text_free(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size), *end = text + size;
  struct fuzz_file files[MOST_FILES];
  size_t count = 0;
  read_grid(text);
  grid_for(text, (int32_t)(size % 24));
  for (const char *at = text + strlen(text) + 1; at < end && count < MOST_FILES; at += strlen(at) + 1) {
    files[count++] = fuzz_file(at, strlen(at));
  }
  read_files(files, count);
  for (size_t i = 0; i < count; i++) {
    (void)close(files[i].descriptor);
  }
  free(text);
  return 0;
}
