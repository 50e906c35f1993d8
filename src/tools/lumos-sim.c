/* lumos-sim: execution graph in, simulated timeline and metrics out. */
#include "tools/tool.h"

#include <lumos/export.h>
#include <lumos/sim.h>
#include <string.h>

struct simulating {
  const char *model; /* NULL: ours */
  const char *trace; /* where the timelines go; NULL: nowhere */
  bool opportunities;
};

static bool is_standard_output(const char *path) { return path == NULL || strcmp(path, "-") == 0; }

static bool simulate(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  const struct simulating *simulating = stream->context;
  enum lumos_model model = LUMOS_MODEL_LUMOS;
  if (simulating->model != NULL && !lumos_model_find(simulating->model, &model)) {
    return lumos_fail(error, "--model: '%s' is no model; use lumos, dpro or daydream", simulating->model);
  }
  if (simulating->trace != NULL && is_standard_output(simulating->trace) && is_standard_output(stream->output)) {
    return lumos_fail(error, "--trace -: the stream goes to standard output, too; send one of them to a file");
  }
  return lumos_simulate_by(job, model, error) && (!simulating->opportunities || lumos_find_opportunities(job, error)) &&
         (simulating->trace == NULL || lumos_timelines_write(job, simulating->trace, error));
}

int main(int argc, char **argv) {
  struct simulating simulating = {NULL, NULL, false};
  struct tool_stream stream = {.name = "lumos-sim", .change = simulate, .context = &simulating};
  const struct lumos_option options[] = {
      {LUMOS_OPTION_TEXT, 0, "model", "lumos|dpro|daydream", &simulating.model,
       "What the simulation knows of: all that the graph has; or, to see what dependencies are worth, what others' "
       "models "
       "know: dpro neither waits between streams nor calls that wait for the device, daydream neither waits between "
       "streams nor ranks that wait for each other."},
      {LUMOS_OPTION_FLAG, 0, "opportunities", NULL, &simulating.opportunities,
       "Simulate every step again without each kind of work, and with half of it: what would help most."},
      TOOL_OUTPUT_OPTION(&stream.output),
      {LUMOS_OPTION_TEXT, 0, "trace", "FILE", &simulating.trace,
       "Write the measured and the simulated timeline of all ranks, side by side, to FILE, for Perfetto "
       "(ui.perfetto.dev) or chrome://tracing; compressed where the name ends in .gz. lumos-parse reads the measured "
       "tasks from it."},
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
      "What would help most, if it took half of its time?",
      "lumos-sim --opportunities job.graph | jq -c 'select(.name==\"opportunity_half\") | [.value, .scope]' | sort -V",
      "Both timelines side by side, to look at in Perfetto",
      "lumos-sim job.graph --trace timelines.json.gz -o job.sim",
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
