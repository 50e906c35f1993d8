/* lumos-sim: execution graph in, simulated timeline and metrics out. */
#include "tools/tool.h"

#include <lumos/sim.h>

static bool simulate(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  const char *name = *(const char *const *)stream->context;
  enum lumos_model model = LUMOS_MODEL_LUMOS;
  if (name != NULL && !lumos_model_find(name, &model)) {
    return lumos_fail(error, "--model: '%s' is no model; use lumos, dpro or daydream", name);
  }
  return lumos_simulate_by(job, model, error);
}

int main(int argc, char **argv) {
  const char *model = NULL;
  struct tool_stream stream = {.name = "lumos-sim", .change = simulate, .context = &model};
  const struct lumos_option options[] = {
      {LUMOS_OPTION_TEXT, 0, "model", "lumos|dpro|daydream", &model,
       "What the simulation knows of: all that the graph has; or, to see what dependencies are worth, what others' "
       "models "
       "know: dpro neither waits between streams nor calls that wait for the device, daydream neither waits between "
       "streams nor ranks that wait for each other."},
      TOOL_OUTPUT_OPTION(&stream.output),
      TOOL_EDITED_OPTION(&stream.edited),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "From traces to a page",
      "lumos-parse rank*.json.gz | lumos-sim | lumos-render -o report.html",
      "The metrics as a table",
      "lumos-sim job.graph | jq -r 'select(.type==\"metric\") | [.name, .source, .value, .unit] | @tsv'",
      "How wrong is the replay without waits between streams and calls that wait?",
      "lumos-sim --model dpro job.graph | jq 'select(.name==\"replay_error\" and .scope=={}).value'",
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
