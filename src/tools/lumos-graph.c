/* lumos-graph: tasks in, execution graph out. */
#include "tools/tool.h"

#include <lumos/graph.h>
#include <lumos/program.h>
#include <string.h>

struct model_file {
  const char *path; /* NULL: none */
};

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* The file is read before the work of the graph, so that a mistake in it is told at once. */
static bool build(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  const struct model_file *file = stream->context;
  struct lumos_model_description model = lumos_model_description_empty;
  if ((file->path != NULL && !lumos_program_model_read(file->path, &model, error)) || !lumos_graph_build(job, error)) {
    return false;
  }
  if (file->path != NULL) {
    lumos_program_model_give(job, &model, base_name(file->path));
  }
  return true;
}

int main(int argc, char **argv) {
  struct model_file file = {0};
  struct tool_stream stream = {.name = "lumos-graph", .change = build, .context = &file};
  const struct lumos_option options[] = {
      {LUMOS_OPTION_TEXT, 0, "model-file", "FILE", &file.path,
       "Take the model's description from FILE where it says something, instead of from shapes: a JSON object with any "
       "of layers, hidden, heads, kv_heads, head_dim, ffn, ffn_matrices, sequence, vocabulary, micro_batch, "
       "micro_batches."},
      TOOL_OUTPUT_OPTION(&stream.output),
      TOOL_EDITED_OPTION(&stream.edited),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "Build the graph and keep it, for several what-ifs",
      "lumos-parse rank*.json.gz | lumos-graph -o job.graph",
      "Count the dependencies by kind",
      "lumos-graph job.parse | jq -r 'select(.type==\"dep\") | .kind' | sort | uniq -c",
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
