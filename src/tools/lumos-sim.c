/* lumos-sim: execution graph in, simulated timeline and metrics out. */
#include "tools/tool.h"

#include <lumos/sim.h>

static bool simulate(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  (void)stream;
  return lumos_simulate(job, error);
}

int main(int argc, char **argv) {
  struct tool_stream stream = {.name = "lumos-sim", .change = simulate};
  const struct lumos_option options[] = {
      TOOL_OUTPUT_OPTION(&stream.output),
      TOOL_EDITED_OPTION(&stream.edited),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "From traces to a page",
      "lumos-parse rank*.json.gz | lumos-sim | lumos-render -o report.html",
      "The metrics as a table",
      "lumos-sim job.graph | jq -r 'select(.type==\"metric\") | [.name, .source, .value, .unit] | @tsv'",
      NULL,
  };
  const struct lumos_command command = {
      .name = stream.name,
      .summary = "Simulate the execution graph and measure where every step goes.",
      .usage = "[OPTION]... [STREAM]...",
      .description =
          "Reads a stream of lumos-parse, lumos-graph or lumos-transform (several are joined: the ranks of one job; "
          "none: standard input), runs the stages that are missing, and adds simulated times and metrics.",
      .examples = examples,
      .options = options,
  };
  return tool_main(&command, argc, argv, tool_stream_body, &stream);
}
