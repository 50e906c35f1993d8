/* lumos-graph: tasks in, execution graph out. */
#include "tools/tool.h"

#include "base/text.h"
#include <inttypes.h>
#include <lumos/graph.h>
#include <lumos/models.h>
#include <lumos/program.h>
#include <string.h>

struct options {
  const char *model_file; /* NULL: none */
  bool check_models;
};

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* The file is read before the work of the graph, so that a mistake in it is told at once. */
static bool build(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  const struct options *options = stream->context;
  struct lumos_model_description model = lumos_model_description_empty;
  if ((options->model_file != NULL && !lumos_program_model_read(options->model_file, &model, error)) ||
      !lumos_graph_build(job, error)) {
    return false;
  }
  if (options->model_file != NULL) {
    lumos_program_model_give(job, &model, base_name(options->model_file));
  }
  return true;
}

static void put_row(const struct lumos_models_row *row, struct lumos_text *text) {
  lumos_text_format(text, "%-12s %9" PRId64 " %8" PRId64 " %8" PRId64, row->kind, row->kernels, row->shapes,
                    row->left_out);
  if (row->left_out > 0) {
    lumos_text_format(text, " %8.1f %8.1f\n", 100 * row->median, 100 * row->ninetieth);
  } else {
    lumos_text_format(text, " %8s %8s\n", "-", "-");
  }
}

static bool write_job(const struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  const struct options *options = stream->context;
  struct lumos_models_check check;
  struct lumos_output output;
  if (!options->check_models) {
    return tool_write(job, stream->output, error);
  }
  if (!lumos_models_check(job, NULL, &check, error) || !lumos_output_open(&output, stream->output, error)) {
    return false;
  }
  lumos_text_format(&output.text, "%-12s %9s %8s %8s %8s %8s\n", "kind", "measured", "shapes", "left out", "median %",
                    "90th %");
  for (int i = 0; i < check.count; i++) {
    put_row(&check.rows[i], &output.text);
  }
  return lumos_output_commit(&output, error);
}

int main(int argc, char **argv) {
  struct options given = {0};
  struct tool_stream stream = {.name = "lumos-graph", .change = build, .write = write_job, .context = &given};
  const struct lumos_option options[] = {
      {LUMOS_OPTION_TEXT, 0, "model-file", "FILE", &given.model_file,
       "Take the model's description from FILE where it says something, instead of from shapes. It is a JSON object "
       "with any "
       "of layers, hidden, heads, kv_heads, head_dim, ffn, ffn_matrices, sequence, vocabulary, micro_batch, "
       "micro_batches."},
      {LUMOS_OPTION_FLAG, 0, "check-models", NULL, &given.check_models,
       "Write a table instead of the graph. It shows by kind how far the models of durations are off when each "
       "measured "
       "shape is left out and predicted from the others."},
      TOOL_OUTPUT_OPTION(&stream.output),
      TOOL_INPUT_OPTIONS(&stream.input),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "Build the graph and keep it, for several what-ifs",
      "lumos-parse rank*.json.gz | lumos-graph -o job.graph",
      "Count the dependencies by kind",
      "lumos-graph job.parse | jq -r 'select(.type==\"dep\") | .kind' | sort | uniq -c",
      "See how well the trace's own kernels and transfers predict shapes that it does not have",
      "lumos-graph --check-models rank*.json.gz",
      NULL,
  };
  const struct lumos_command command = {
      .name = stream.name,
      .summary = "Find what must come before what: clocks, launches, waits, events, threads, collectives.",
      .usage = "[OPTION]... [STREAM|TRACE|FOLDER]...",
      .description =
          "Reads a stream of lumos-parse, or the traces themselves, and adds the dependencies with their evidence. "
          "Several inputs are the ranks of one job; without any it reads standard input. Later tools run this stage by "
          "themselves where it is missing.",
      .examples = examples,
      .options = options,
  };
  return tool_main(&command, argc, argv, tool_stream_body, &stream);
}
