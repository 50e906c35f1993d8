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

/* What several comparisons add to: a line for each, then all of them; of two jobs the comparison alone. */
struct comparisons {
  const struct tool_comparing *comparing;
  enum lumos_compare_format format;
  size_t jobs;
  struct lumos_text lines, whole;
};

/* "job 3: No difference: ...", and what stands before the comparison of which it is the first sentence. */
static void begin_of_several(struct comparisons *all, const struct lumos_comparison *comparison, size_t job) {
  bool markdown = all->format == LUMOS_COMPARE_MARKDOWN;
  if (all->format == LUMOS_COMPARE_JSON) {
    lumos_text_put(&all->whole, job == 1 ? "[" : ",\n");
    return;
  }
  lumos_text_format(&all->lines, markdown ? "- **job %zu**: " : "job %zu: ", job + 1);
  lumos_comparison_verdict(comparison, &all->lines);
  lumos_text_char(&all->lines, '\n');
  lumos_text_format(&all->whole,
                    markdown ? "\n### Job %zu (B) against job 1 (A)\n\n" : "\nJob %zu (B) against job 1 (A)\n\n",
                    job + 1);
}

static bool put_comparison(struct comparisons *all, const struct lumos_comparison *comparison,
                           struct lumos_job *const jobs[2], size_t job, struct lumos_error *error) {
  if (all->format == LUMOS_COMPARE_HTML) {
    return lumos_comparison_page(comparison, jobs[0], jobs[1], &all->comparing->page, &all->whole, error);
  }
  if (all->jobs > 2) {
    begin_of_several(all, comparison, job);
  }
  lumos_comparison_write(comparison, all->format, all->comparing->full, &all->whole);
  return true;
}

/* All is there before a byte of it is written. */
static bool write_all(struct comparisons *all, struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, all->comparing->output, error)) {
    return false;
  }
  lumos_text_add(&output.text, all->lines.bytes, all->lines.length);
  lumos_text_add(&output.text, all->whole.bytes, all->whole.length);
  lumos_text_put(&output.text, all->jobs > 2 && all->format == LUMOS_COMPARE_JSON ? "]\n" : "");
  return lumos_output_commit(&output, error);
}

/* The job of an operand beside the first one. */
static bool compare_one(const char *name, const char *path, struct lumos_job *first, size_t job,
                        const struct lumos_compare_options *options, struct comparisons *all,
                        struct lumos_error *error) {
  struct lumos_progress progress;
  const struct tool_comparing *comparing = all->comparing;
  struct lumos_job *jobs[2] = {first, read_job(name, path, &comparing->input, &progress, error)};
  struct lumos_comparison *comparison = jobs[1] == NULL ? NULL : lumos_compare(jobs[0], jobs[1], options, error);
  bool good =
      comparison != NULL &&
      (comparing->trace == NULL || lumos_comparison_timelines(comparison, jobs[0], jobs[1], comparing->trace, error)) &&
      put_comparison(all, comparison, jobs, job, error);
  if (jobs[1] != NULL) {
    tool_wipe(jobs[1]);
    tool_close(jobs[1]);
  }
  lumos_comparison_free(comparison);
  return good;
}

static bool compare_read(const char *name, const struct lumos_operands *operands,
                         const struct tool_comparing *comparing, const struct lumos_compare_options *options,
                         enum lumos_compare_format format, struct lumos_error *error) {
  struct lumos_progress progress;
  struct comparisons all = {comparing, format, operands->count, LUMOS_TEXT_BUFFER, LUMOS_TEXT_BUFFER};
  struct lumos_job *first = read_job(name, operands->items[0], &comparing->input, &progress, error);
  bool good = first != NULL;
  for (size_t i = 1; good && i < operands->count; i++) {
    good = compare_one(name, operands->items[i], first, i, options, &all, error);
  }
  good = good && write_all(&all, error);
  tool_close(first);
  lumos_text_free(&all.lines);
  lumos_text_free(&all.whole);
  return good;
}

/* A page and timelines are of two jobs. */
static bool check_count(const struct tool_comparing *comparing, enum lumos_compare_format format, size_t count,
                        struct lumos_error *error) {
  if (count < 2) {
    return lumos_fail(error,
                      "two jobs are compared, and %zu %s named; put the traces of one job into "
                      "a folder, as in 'lumos-compare before/ after/'; --help says more",
                      count, count == 1 ? "is" : "are");
  }
  if (count > 2 && (format == LUMOS_COMPARE_HTML || comparing->trace != NULL)) {
    return lumos_fail(error, "%s compares two jobs, and %zu are named; leave it out, or name two",
                      comparing->trace != NULL ? "option --trace" : "the page", count);
  }
  return true;
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
  good = good && check_count(comparing, format, operands->count, error);
  good = good && lumos_output_try(comparing->output, error) && lumos_output_try(comparing->trace, error) &&
         compare_read(name, operands, comparing, &options, format, error);
  lumos_vector_free(&steps[0]);
  lumos_vector_free(&steps[1]);
  return good;
}
