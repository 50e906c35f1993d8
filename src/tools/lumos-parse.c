/* lumos-parse: Kineto traces in, a stream of tasks out; or a word on what they hold; or a stream checked. */
#include "tools/checking.h"
#include "tools/parsing.h"

#include "base/utf8.h"
#include <lumos/stream.h>
#include <string.h>
#include <unistd.h>

struct options {
  struct tool_parsing parsing;
  const char *output;
  bool check, json, validate;
};

static bool parse_traces(const struct lumos_operands *operands, const struct options *options,
                         struct lumos_error *error) {
  struct lumos_progress progress;
  struct lumos_job *job = tool_parsing_read(operands, &options->parsing, &progress, error);
  if (job == NULL) {
    return false;
  }
  tool_warn(job, "lumos-parse", (enum lumos_stage)0);
  bool good = tool_write(job, options->output, error);
  tool_close(job);
  return good;
}

static bool to_terminal(const char *output) {
  return (output == NULL || strcmp(output, "-") == 0) && tool_wants_colour(STDOUT_FILENO);
}

static bool write_check(const struct lumos_job *job, const struct lumos_checkup *found, const struct options *options,
                        struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, options->output, error)) {
    return false;
  }
  if (options->json) {
    tool_write_checkup_json(job, found, &output.text);
  } else {
    tool_write_checkup(job, found, to_terminal(options->output), &output.text);
  }
  return lumos_output_commit(&output, error);
}

/* What was found as an exit status; it has been printed. */
static bool judge(const struct lumos_checkup *found, bool strict, struct lumos_error *error) {
  if (found->grade == LUMOS_GRADE_F) {
    return lumos_fail(error, "the traces hold neither CPU nor GPU work; record with torch.profiler");
  }
  size_t gaps = 0;
  for (size_t i = 0; i < found->count; i++) {
    gaps += lumos_is_gap(&found->findings[i]);
  }
  return !strict || gaps == 0 ||
         lumos_fail_check(error, "--strict: %zu gap%s in what was recorded, grade %s", gaps, gaps == 1 ? "" : "s",
                          lumos_grade_name(found->grade));
}

static bool check_traces(const struct lumos_operands *operands, const struct options *options,
                         struct lumos_error *error) {
  struct tool_parsing parsing = options->parsing;
  parsing.strict = false; /* an invalid event is one of the gaps */
  struct lumos_progress progress;
  struct lumos_job *job = tool_parsing_read(operands, &parsing, &progress, error);
  if (job == NULL) {
    return false;
  }
  tool_warn(job, "lumos-parse", (enum lumos_stage)0);
  struct lumos_checkup found;
  lumos_checkup_take(job, &found);
  bool good = write_check(job, &found, options, error) && judge(&found, options->parsing.strict, error);
  tool_close(job);
  return good;
}

/* Lines of a job's stream: one for every record, and the first and the last. */
static size_t count_records(const struct lumos_job *job) {
  return job->ranks.count + job->groups.count + job->lanes.count + job->spans.count + job->tasks.count +
         job->deps.count + job->collectives.count + job->metrics.count + job->notes.count + job->foreign.count + 2;
}

/* One line that is safe for a terminal, whatever the file is called. */
static void say_valid(const struct lumos_job *job, const char *path, struct lumos_text *out) {
  struct lumos_text line = LUMOS_TEXT_BUFFER;
  lumos_text_format(&line, "%s: valid: stage %s, %zu records, %zu ranks, %zu tasks",
                    strcmp(path, "-") == 0 ? "standard input" : path, lumos_stage_name(job->stage), count_records(job),
                    job->ranks.count, job->tasks.count);
  lumos_utf8_make_printable(line.bytes, line.length);
  lumos_text_add(out, line.bytes, line.length);
  lumos_text_char(out, '\n');
  lumos_text_free(&line);
}

static bool validate_stream(const char *path, const struct options *options, struct lumos_text *out,
                            struct lumos_error *error) {
  struct lumos_progress progress;
  lumos_progress_begin(&progress);
  const struct lumos_read_options reading = {.edited = options->parsing.input.edited,
                                             .watcher = lumos_progress_watcher(&progress)};
  struct lumos_job *job = lumos_streams_open(&path, 1, &reading, error);
  lumos_progress_wipe(&progress);
  bool good = job != NULL && lumos_job_check(job, error);
  if (good) {
    say_valid(job, path, out);
  }
  lumos_job_free(job);
  return good;
}

static bool validate(const struct lumos_operands *operands, const struct options *options, struct lumos_error *error) {
  static const char *const standard_input[] = {"-"};
  const char *const *paths = operands->count > 0 ? operands->items : standard_input;
  size_t count = operands->count > 0 ? operands->count : 1;
  if (tool_parsing_asked(&options->parsing)) {
    return lumos_fail(
        error,
        "--validate changes nothing: --steps, --rank, --run, --files-from, --stacks and --strict are for traces");
  }
  struct lumos_output output;
  bool good = lumos_output_open(&output, options->output, error);
  for (size_t i = 0; good && i < count; i++) {
    good = validate_stream(paths[i], options, &output.text, error);
  }
  if (good) {
    return lumos_output_commit(&output, error);
  }
  lumos_output_discard(&output);
  return false;
}

static bool parse(const struct lumos_operands *operands, void *given, struct lumos_error *error) {
  const struct options *options = given;
  if (!tool_parsing_given(operands, &options->parsing,
                          "name traces or folders of traces, as in 'lumos-parse rank*.json.gz'; --help says more",
                          error) ||
      !lumos_output_try(options->output, error)) {
    return false;
  }
  if (options->validate) {
    return options->check ? lumos_fail(error, "--check is for traces and --validate for streams; choose one")
                          : validate(operands, options, error);
  }
  if (options->json && !options->check) {
    return lumos_fail(error, "--json says how --check prints; give it as well");
  }
  if (options->check) {
    return check_traces(operands, options, error);
  }
  return parse_traces(operands, options, error);
}

int main(int argc, char **argv) {
  struct options options = {0};
  const struct lumos_option table[] = {
      TOOL_PARSING_OPTIONS(&options.parsing),
      {LUMOS_OPTION_FLAG, 0, "check", NULL, &options.check,
       "Instead of the stream, print a grade, what the traces hold, what they lack, what each gap costs the analysis "
       "and how to record it. With --strict, exit with status 1 where something is missing."},
      {LUMOS_OPTION_FLAG, 0, "json", NULL, &options.json, "With --check: print it as one JSON object."},
      {LUMOS_OPTION_FLAG, 0, "validate", NULL, &options.validate,
       "Read streams instead of traces, check every rule of the format, and print one line for each."},
      TOOL_OUTPUT_OPTION(&options.output),
      TOOL_INPUT_OPTIONS(&options.parsing.input),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "From traces to a page",
      "lumos-parse rank*.json.gz | lumos-sim | lumos-render -o report.html",
      "What do these traces lack?",
      "lumos-parse --check rank*.json.gz",
      "The matrix products of the last step",
      "lumos-parse --steps last rank0.json.gz | jq -c 'select(.type==\"task\" and .kind==\"gemm\") | [.name,.dur]'",
      NULL,
  };
  const struct lumos_command command = {
      .name = "lumos-parse",
      .summary = "Read PyTorch profiler (Kineto) traces and write the stream of their tasks.",
      .usage = "[OPTION]... [TRACE|FOLDER|STREAM|-]...",
      .description =
          "Reads traces as JSON, plain or compressed with gzip or zstd; of a folder every .json, .json.gz and "
          ".json.zst directly in it. The files are the ranks of one job. Streams of lumos-parse are joined in.",
      .examples = examples,
      .options = table,
  };
  return tool_main(&command, argc, argv, parse, &options);
}
