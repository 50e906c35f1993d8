/* See comparing.h. */
#include "tools/comparing.h"

#include "tools/numbers.h"
#include <string.h>
#include <unistd.h>

/* Names of formats, and endings of files. */
static const struct {
  const char *name;
  enum lumos_compare_format format;
} formats[] = {
    {"html", LUMOS_COMPARE_HTML},         {"text", LUMOS_COMPARE_TEXT},   {"txt", LUMOS_COMPARE_TEXT},
    {"markdown", LUMOS_COMPARE_MARKDOWN}, {"md", LUMOS_COMPARE_MARKDOWN}, {"json", LUMOS_COMPARE_JSON},
};

static bool format_named(const char *name, enum lumos_compare_format *format) {
  for (size_t i = 0; name != NULL && i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(formats[i].name, name) == 0) {
      *format = formats[i].format;
      return true;
    }
  }
  return false;
}

/* What the ending of a file's name says, "" where it has none; NULL: it goes to standard output. */
static const char *ending_of(const char *output) {
  if (output == NULL || strcmp(output, "-") == 0) {
    return NULL;
  }
  const char *slash = strrchr(output, '/');
  const char *base = slash != NULL ? slash + 1 : output;
  const char *dot = strrchr(base, '.');
  return dot != NULL && dot != base ? dot + 1 : "";
}

static bool find_format(const struct tool_comparing *comparing, enum lumos_compare_format *format,
                        struct lumos_error *error) {
  enum lumos_compare_format named = LUMOS_COMPARE_TEXT, ending = LUMOS_COMPARE_TEXT;
  bool is_named = format_named(comparing->format, &named);
  bool has_ending = format_named(ending_of(comparing->output), &ending);
  if (comparing->format != NULL && !is_named) {
    return lumos_fail(
        error, "option --format: '%s' is not a format of comparisons; the formats are html, text, markdown, json",
        comparing->format);
  }
  if (is_named && has_ending && named != ending) {
    return lumos_fail(error, "%s: its ending says %s, but --format says %s; leave one of the two out",
                      comparing->output, ending_of(comparing->output), comparing->format);
  }
  *format = is_named ? named : has_ending ? ending : comparing->otherwise;
  bool to_terminal = ending_of(comparing->output) == NULL && isatty(STDOUT_FILENO);
  return *format != LUMOS_COMPARE_HTML || !to_terminal ||
         lumos_fail(error, "the page would be written to a terminal; use -o page.html, or redirect the output");
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

/* The comparison is whole before a byte of it is written. */
static bool write_comparison(const struct lumos_comparison *comparison, struct lumos_job *const jobs[2],
                             enum lumos_compare_format format, const struct tool_comparing *comparing,
                             struct lumos_error *error) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_output output;
  bool good = true;
  if (format == LUMOS_COMPARE_HTML) {
    good = lumos_comparison_page(comparison, jobs[0], jobs[1], &comparing->page, &text, error);
  } else {
    lumos_comparison_write(comparison, format, comparing->full, &text);
  }
  tool_wipe(jobs[1]);
  good = good && lumos_output_open(&output, comparing->output, error);
  if (good) {
    lumos_text_add(&output.text, text.bytes, text.length);
    good = lumos_output_commit(&output, error);
  }
  lumos_text_free(&text);
  return good;
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
  bool good = comparison != NULL && write_comparison(comparison, jobs, format, comparing, error);
  tool_close(jobs[0]);
  tool_close(jobs[1]);
  lumos_comparison_free(comparison);
  return good;
}

bool tool_compare(const char *name, const struct lumos_operands *operands, const struct tool_comparing *comparing,
                  struct lumos_error *error) {
  enum lumos_compare_format format = LUMOS_COMPARE_TEXT;
  static const char *const steps_options[2] = {"--steps-a", "--steps-b"};
  struct lumos_compare_options options = {{NULL, NULL}, {0, 0}};
  struct tool_numbers steps[2] = {{0}, {0}};
  bool good = find_format(comparing, &format, error);
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
