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

/* What is compared: the first job stays, the others only where a page or timelines show all. */
struct comparisons {
  const char *name; /* of the tool */
  const struct tool_comparing *comparing;
  const struct lumos_operands *operands;
  struct lumos_compare_options options;
  enum lumos_compare_format format;
  struct lumos_job *jobs[LUMOS_COMPARE_JOBS];
  struct lumos_progress progress[LUMOS_COMPARE_JOBS]; /* of reading and simulating each */
  struct lumos_comparison *of[LUMOS_COMPARE_JOBS];    /* of the others, one less */
  struct lumos_text lines, whole; /* a line for each comparison, then all of them; of two jobs the comparison alone */
};

static bool needs_all(const struct comparisons *all) {
  return all->format == LUMOS_COMPARE_HTML || all->comparing->trace != NULL;
}

static struct lumos_compared compared(const struct comparisons *all) {
  return (struct lumos_compared){(const struct lumos_comparison *const *)all->of, all->jobs, all->operands->count - 1};
}

/* "C: No difference: ...", and what stands before the comparison of which it is the first sentence. */
static void begin_of_several(struct comparisons *all, const struct lumos_comparison *comparison, size_t job) {
  bool markdown = all->format == LUMOS_COMPARE_MARKDOWN;
  const char *a = comparison->names[0], *other = comparison->names[1];
  if (all->format == LUMOS_COMPARE_JSON) {
    lumos_text_put(&all->whole, job == 1 ? "[" : ",\n");
    return;
  }
  lumos_text_format(&all->lines, markdown ? "- **%s**: " : "%s: ", other);
  lumos_comparison_verdict(comparison, &all->lines);
  lumos_text_char(&all->lines, '\n');
  lumos_text_format(&all->whole, markdown ? "\n### %s against %s\n\n" : "\n%s against %s\n\n", other, a);
}

static void put_comparison(struct comparisons *all, size_t job) {
  const struct lumos_comparison *comparison = all->of[job - 1];
  if (all->operands->count > 2) {
    begin_of_several(all, comparison, job);
  }
  lumos_comparison_write(comparison, all->format, all->comparing->full, &all->whole);
}

/* All is there before a byte of it is written. */
static bool write_all(struct comparisons *all, struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, all->comparing->output, error)) {
    return false;
  }
  lumos_text_add(&output.text, all->lines.bytes, all->lines.length);
  lumos_text_add(&output.text, all->whole.bytes, all->whole.length);
  lumos_text_put(&output.text, all->operands->count > 2 && all->format == LUMOS_COMPARE_JSON ? "]\n" : "");
  return lumos_output_commit(&output, error);
}

static bool read_operand(struct comparisons *all, size_t job, struct lumos_error *error) {
  all->jobs[job] = read_job(all->name, all->operands->items[job], &all->comparing->input, &all->progress[job], error);
  return all->jobs[job] != NULL;
}

static void close_operand(struct comparisons *all, size_t job) {
  if (all->jobs[job] != NULL) {
    tool_wipe(all->jobs[job]);
    tool_close(all->jobs[job]);
    all->jobs[job] = NULL;
  }
}

static bool compare_with_first(struct comparisons *all, size_t job, struct lumos_error *error) {
  all->options.other = job;
  all->of[job - 1] = lumos_compare(all->jobs[0], all->jobs[job], &all->options, error);
  return all->of[job - 1] != NULL;
}

static void diagnose(struct comparisons *all, size_t job) {
  struct lumos_job *const jobs[2] = {all->jobs[0], all->jobs[job]};
  lumos_comparison_diagnose(all->of[job - 1], jobs);
  tool_wipe(jobs[0]);
  tool_wipe(jobs[1]);
}

/* One after the other, so that two jobs are in memory at a time. */
static bool compare_one_by_one(struct comparisons *all, struct lumos_error *error) {
  bool good = read_operand(all, 0, error);
  for (size_t job = 1; good && job < all->operands->count; job++) {
    good = read_operand(all, job, error) && compare_with_first(all, job, error);
    if (good) {
      diagnose(all, job);
      put_comparison(all, job);
    }
    close_operand(all, job);
  }
  return good;
}

/* Where one job was changed simulated times of all are compared, so that the first has one step beside all others. */
static bool compare_all(struct comparisons *all, struct lumos_error *error) {
  bool good = true;
  for (size_t job = 0; good && job < all->operands->count; job++) {
    good = read_operand(all, job, error);
    all->options.changed |= good && lumos_job_edited(all->jobs[job]);
    all->options.simulated |= good && (lumos_job_edited(all->jobs[job]) || !lumos_job_measured(all->jobs[job]));
  }
  for (size_t job = 1; good && job < all->operands->count; job++) {
    good = compare_with_first(all, job, error);
  }
  for (size_t job = 1; good && job < all->operands->count; job++) {
    diagnose(all, job);
  }
  const struct lumos_compared of = compared(all);
  if (good && all->comparing->trace != NULL) {
    good = lumos_comparison_timelines(&of, all->comparing->trace, error);
  }
  if (good && all->format == LUMOS_COMPARE_HTML) {
    return lumos_comparison_page(&of, &all->comparing->page, &all->whole, error);
  }
  for (size_t job = 1; good && job < all->operands->count; job++) {
    put_comparison(all, job);
  }
  return good;
}

static bool compare_read(struct comparisons *all, struct lumos_error *error) {
  bool good = (needs_all(all) ? compare_all : compare_one_by_one)(all, error) && write_all(all, error);
  for (size_t job = 0; job < all->operands->count; job++) {
    lumos_comparison_free(all->of[job]);
    close_operand(all, job);
  }
  lumos_text_free(&all->lines);
  lumos_text_free(&all->whole);
  return good;
}

static bool check_count(size_t count, struct lumos_error *error) {
  if (count < 2) {
    return lumos_fail(error,
                      "two jobs are compared, and %zu %s named; put the traces of one job into "
                      "a folder, as in 'lumos-compare before/ after/'; --help says more",
                      count, count == 1 ? "is" : "are");
  }
  return count <= LUMOS_COMPARE_JOBS ||
         lumos_fail(error,
                    "%d jobs are compared at most, and %zu are named; put the traces of one job into a folder, or "
                    "compare in several calls",
                    LUMOS_COMPARE_JOBS, count);
}

bool tool_compare(const char *name, const struct lumos_operands *operands, const struct tool_comparing *comparing,
                  struct lumos_error *error) {
  static const char *const steps_options[2] = {"--steps-a", "--steps-b"};
  struct comparisons all = {.name = name,
                            .comparing = comparing,
                            .operands = operands,
                            .format = LUMOS_COMPARE_TEXT,
                            .lines = LUMOS_TEXT_BUFFER,
                            .whole = LUMOS_TEXT_BUFFER};
  struct tool_numbers steps[2] = {{0}, {0}};
  bool good = find_format(comparing, &all.format, error);
  for (int side = 0; good && side < 2; side++) {
    if (comparing->steps[side] != NULL) {
      good = tool_numbers_read(comparing->steps[side], &steps[side]) ||
             lumos_fail(error, "option %s: '%s' is not a list of steps; give numbers and spans, as 3,5-9",
                        steps_options[side], comparing->steps[side]);
      all.options.steps[side] = steps[side].items;
      all.options.step_counts[side] = steps[side].count;
    }
  }
  good = good && check_count(operands->count, error);
  if (good && comparing->trace != NULL && ending_of(comparing->trace) == NULL && ending_of(comparing->output) == NULL) {
    good = lumos_fail(error, "--trace -: the comparison goes to standard output, too; send one of them to a file");
  }
  good = good && lumos_output_try(comparing->output, error) && lumos_output_try(comparing->trace, error) &&
         compare_read(&all, error);
  lumos_vector_free(&steps[0]);
  lumos_vector_free(&steps[1]);
  return good;
}
