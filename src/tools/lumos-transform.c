/* lumos-transform: execution graph in, edited execution graph out. */
#include "tools/transforming.h"

static bool transform(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  return tool_transforming_apply(job, stream->context, error);
}

int main(int argc, char **argv) {
  struct tool_transforming transforming = {0};
  struct tool_stream stream = {.name = "lumos-transform", .change = transform, .context = &transforming};
  const struct lumos_option options[] = {
      TOOL_TRANSFORMING_OPTIONS(&transforming) TOOL_OUTPUT_OPTION(&stream.output),
      TOOL_INPUT_OPTIONS(&stream.input),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "What if matrix products took half the time?",
      "lumos-parse rank*.json.gz | lumos-transform --scale kind=gemm=0.5 | lumos-sim | lumos-render -o whatif.html",
      "What if normalization took no time, and elementwise work were fused?",
      "lumos-transform --remove kind=norm --fuse kind=elementwise job.graph | lumos-sim | lumos-render -o whatif.html",
      "The same job on another GPU",
      "lumos-transform --gpu H200 job.graph | lumos-sim | lumos-render -o h200.html",
      "A slow rank and a network twice as fast",
      "lumos-transform -s rank=3=1.2 -s kind=collective=0.5 job.graph | lumos-sim | lumos-render -o whatif.html",
      NULL,
  };
  const struct lumos_command command = {
      .name = stream.name,
      .summary = "Ask what if: change the execution graph before it is simulated.",
      .usage = "[OPTION]... [STREAM|TRACE|FOLDER]...",
      .description =
          "Reads a stream of lumos-parse or lumos-graph, or the traces themselves, and edits the job. Every changed "
          "duration keeps its first value and says where the new one comes from. Transforms compose through the pipe. "
          "Several inputs are the ranks of one job; without any it reads standard input.",
      .examples = examples,
      .options = options,
  };
  return tool_main(&command, argc, argv, tool_stream_body, &stream);
}
