/* lumos-transform: execution graph in, edited execution graph out. */
#include "tools/tool.h"

#include <lumos/transform.h>

static bool transform(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  bool good = stream->scale.count > 0 || lumos_transform_begin(job, error);
  for (size_t i = 0; good && i < stream->scale.count; i++) {
    good = lumos_transform_scale(job, stream->scale.items[i], error);
  }
  return good;
}

int main(int argc, char **argv) {
  struct tool_stream stream = {.name = "lumos-transform", .change = transform};
  const struct lumos_option options[] = {
      {LUMOS_OPTION_LIST, 's', "scale", "SELECTOR=FACTOR", &stream.scale,
       "Multiply the durations of the selected tasks. SELECTOR is host, device, or terms joined by commas, all of "
       "which must "
       "hold: kind=NAME, name~REGEX (POSIX extended), op=NAME, rank=N, group=NAME. FACTOR is a decimal of at least 0, "
       "after the "
       "last '='. May be given again; the scales apply in order."},
      TOOL_OUTPUT_OPTION(&stream.output),
      TOOL_EDITED_OPTION(&stream.edited),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "What if matrix products took half the time?",
      "lumos-parse rank*.json.gz | lumos-transform --scale kind=gemm=0.5 | lumos-sim | lumos-render -o whatif.html",
      "A slow rank and a network twice as fast",
      "lumos-transform -s rank=3=1.2 -s kind=collective=0.5 job.graph | lumos-sim | lumos-render -o whatif.html",
      NULL,
  };
  const struct lumos_command command = {
      .name = stream.name,
      .summary = "Ask what if: change the execution graph before it is simulated.",
      .usage = "[OPTION]... [STREAM]...",
      .description =
          "Reads a stream of lumos-parse or lumos-graph (several are joined: the ranks of one job; none: standard "
          "input) and edits it. Every changed duration keeps what it was and says where it comes from; transforms "
          "compose through the pipe.",
      .examples = examples,
      .options = options,
  };
  return tool_main(&command, argc, argv, tool_stream_body, &stream);
}
