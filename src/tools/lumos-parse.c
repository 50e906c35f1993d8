/* lumos-parse: Kineto traces in, a stream of tasks out; or a stream checked. */
#include "tools/tool.h"

#include "base/progress.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <lumos/stream.h>
#include <lumos/trace.h>
#include <stdlib.h>
#include <string.h>

struct options {
  const char *output, *steps;
  struct lumos_option_list ranks;
  bool stacks, strict, validate, edited;
};

LUMOS_VECTOR_TYPE(rank_list, int32_t);

/* "3" or "0,1,2" onto the end of `ranks`. */
static bool add_ranks(const char *text, struct rank_list *ranks, struct lumos_error *error) {
  const char *at = text;
  do {
    char *behind = NULL;
    long rank = *at >= '0' && *at <= '9' ? strtol(at, &behind, 10) : -1;
    if (rank < 0 || rank >= INT32_MAX || (*behind != ',' && *behind != '\0')) {
      return lumos_fail(error, "option --rank: '%s' is no list of rank numbers; give one for each file, as --rank 0,1",
                        text);
    }
    lumos_vector_push(ranks, (int32_t)rank);
    at = *behind == ',' ? behind + 1 : NULL;
  } while (at != NULL);
  return true;
}

static bool read_options(const struct options *options, struct lumos_trace_options *out, struct rank_list *ranks,
                         struct lumos_error *error) {
  *out = (struct lumos_trace_options){.stacks = options->stacks, .strict = options->strict, .edited = options->edited};
  if (options->steps != NULL && !lumos_steps_parse(options->steps, out, error)) {
    return false;
  }
  for (size_t i = 0; i < options->ranks.count; i++) {
    if (!add_ranks(options->ranks.items[i], ranks, error)) {
      return false;
    }
  }
  out->ranks = ranks->items;
  out->rank_count = ranks->count;
  return true;
}

/* The progress line, one file after the other. */
struct shown {
  struct lumos_progress progress;
  const char *name;
};

static void show_progress(void *context, const char *name, uint64_t done, uint64_t total) {
  struct shown *shown = context;
  if (shown->name != name) {
    lumos_progress_finish(&shown->progress);
    lumos_progress_begin(&shown->progress, name, true);
    shown->name = name;
  }
  lumos_progress_update(&shown->progress, done, total);
}

static bool parse_traces(const struct lumos_operands *operands, const struct options *options,
                         const struct lumos_trace_options *trace, struct lumos_error *error) {
  struct shown shown = {.name = NULL};
  struct lumos_trace_options watched = *trace;
  watched.watcher = (struct lumos_watcher){show_progress, &shown};
  struct lumos_job *job = lumos_trace_parse(operands->items, operands->count, &watched, error);
  lumos_progress_finish(&shown.progress);
  if (job == NULL) {
    return false;
  }
  tool_warn(job, "lumos-parse", (enum lumos_stage)0);
  bool good = tool_write(job, options->output, error);
  lumos_job_free(job);
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
  const struct lumos_read_options read = {.edited = options->edited};
  struct lumos_job *job = lumos_streams_open(&path, 1, &read, error);
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
  if (options->steps != NULL || options->ranks.count > 0 || options->stacks || options->strict) {
    return lumos_fail(error, "--validate changes nothing: --steps, --rank, --stacks and --strict are for traces");
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
  if (!tool_input_given(
          operands, "name traces or folders of traces, as in 'lumos-parse rank*.json.gz'; --help says more", error)) {
    return false;
  }
  if (options->validate) {
    return validate(operands, options, error);
  }
  struct lumos_trace_options trace;
  struct rank_list ranks = {0};
  bool good = read_options(options, &trace, &ranks, error) && parse_traces(operands, options, &trace, error);
  lumos_vector_free(&ranks);
  return good;
}

int main(int argc, char **argv) {
  struct options options = {0};
  const struct lumos_option table[] = {
      {LUMOS_OPTION_TEXT, 0, "steps", "all|last|N|N-M", &options.steps,
       "Which profiler steps to keep; the default is all that were recorded completely. A trace without step marks is "
       "one step, 0."},
      {LUMOS_OPTION_LIST, 'r', "rank", "N[,N...]", &options.ranks,
       "The ranks of the files, in their order, where the traces do not name them. May be given again."},
      {LUMOS_OPTION_FLAG, 0, "stacks", NULL, &options.stacks, "Keep Python functions as spans."},
      {LUMOS_OPTION_FLAG, 0, "strict", NULL, &options.strict,
       "Fail (exit status 1) at the first invalid event instead of skipping it."},
      {LUMOS_OPTION_FLAG, 0, "validate", NULL, &options.validate,
       "Read streams instead of traces, check every rule of the format, and print one line for each."},
      TOOL_OUTPUT_OPTION(&options.output),
      TOOL_EDITED_OPTION(&options.edited),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "From traces to a page",
      "lumos-parse rank*.json.gz | lumos-sim | lumos-render -o report.html",
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
