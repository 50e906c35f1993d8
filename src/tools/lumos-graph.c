/* lumos-graph: tasks in, execution graph out. */
#include "tools/tool.h"

#include <lumos/graph.h>

static bool build(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  (void)stream;
  return lumos_graph_build(job, error);
}

int main(int argc, char **argv) {
  struct tool_stream stream = {.name = "lumos-graph", .change = build};
  const struct lumos_option options[] = {
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
      .usage = "[OPTION]... [STREAM]...",
      .description =
          "Reads a stream of lumos-parse (several are joined: the ranks of one job; none: standard input) and adds "
          "the dependencies with their evidence. Any later tool does this by itself where it is missing.",
      .examples = examples,
      .options = options,
  };
  return tool_main(&command, argc, argv, tool_stream_body, &stream);
}
