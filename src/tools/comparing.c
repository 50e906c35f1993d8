/* See comparing.h. */
#include "tools/comparing.h"

#include "tools/numbers.h"
#include <string.h>

static bool find_format(const char *name, enum lumos_compare_format *format, struct lumos_error *error) {
  static const char *const names[] = {
      [LUMOS_COMPARE_TEXT] = "text", [LUMOS_COMPARE_MARKDOWN] = "markdown", [LUMOS_COMPARE_JSON] = "json"};
  *format = LUMOS_COMPARE_TEXT;
  for (size_t i = 0; name != NULL && i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) {
      *format = (enum lumos_compare_format)i;
      return true;
    }
  }
  return name == NULL ||
         lumos_fail(error, "option --format: '%s' is not a format; the formats are text, markdown, json", name);
}

/* Each input is a job of its own: what is read of it is warned of as such. */
static struct lumos_job *read_job(const char *name, const char *path, const struct tool_input *input,
                                  struct lumos_progress *progress, struct lumos_error *error) {
  const struct lumos_operands one = {.items = &path, .count = 1};
  enum lumos_stage before = (enum lumos_stage)0;
  struct lumos_job *job = tool_read(&one, input, progress, &before, error);
  if (job != NULL) {
    tool_warn(job, name, before);
  }
  return job;
}

static bool write_comparison(const struct lumos_comparison *comparison, enum lumos_compare_format format,
                             const struct tool_comparing *comparing, struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, comparing->output, error)) {
    return false;
  }
  lumos_comparison_write(comparison, format, comparing->full, &output.text);
  return lumos_output_commit(&output, error);
}

static bool compare_read(const char *name, const struct lumos_operands *operands,
                         const struct tool_comparing *comparing, const struct lumos_compare_options *options,
                         enum lumos_compare_format format, struct lumos_error *error) {
  struct lumos_progress progress[2];
  struct lumos_job *jobs[2] = {NULL, NULL};
  struct lumos_comparison *comparison = NULL;
  for (int side = 0; side < 2 && (side == 0 || jobs[0] != NULL); side++) {
    jobs[side] = read_job(name, operands->items[side], &comparing->input, &progress[side], error);
  }
  if (jobs[1] != NULL) {
    comparison = lumos_compare(jobs[0], jobs[1], options, error);
  }
  tool_close(jobs[0]);
  tool_close(jobs[1]);
  bool good = comparison != NULL && write_comparison(comparison, format, comparing, error);
  lumos_comparison_free(comparison);
  return good;
}

bool tool_compare(const char *name, const struct lumos_operands *operands, const struct tool_comparing *comparing,
                  struct lumos_error *error) {
  enum lumos_compare_format format = LUMOS_COMPARE_TEXT;
  static const char *const steps_options[2] = {"--steps-a", "--steps-b"};
  struct lumos_compare_options options = {{NULL, NULL}, {0, 0}};
  struct tool_numbers steps[2] = {{0}, {0}};
  bool good = find_format(comparing->format, &format, error);
  for (int side = 0; good && side < 2; side++) {
    if (comparing->steps[side] != NULL) {
      good = tool_numbers_read(comparing->steps[side], &steps[side]) ||
             lumos_fail(error, "option %s: '%s' is not a list of steps; give numbers and spans, as 3,5-9",
                        steps_options[side], comparing->steps[side]);
      options.steps[side] = steps[side].items;
      options.step_counts[side] = steps[side].count;
    }
  }
  good = good && (operands->count == 2 ||
                  lumos_fail(error,
                             "two jobs are compared, and %zu %s named; put the traces of one job into a folder, "
                             "as in 'lumos-compare before/ after/'; --help says more",
                             operands->count, operands->count == 1 ? "is" : "are"));
  good = good && lumos_output_try(comparing->output, error) &&
         compare_read(name, operands, comparing, &options, format, error);
  lumos_vector_free(&steps[0]);
  lumos_vector_free(&steps[1]);
  return good;
}
