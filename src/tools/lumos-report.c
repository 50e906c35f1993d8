/* lumos-report: traces in, report out; the whole pipe in one process, without the text between. */
#include "tools/parsing.h"
#include "tools/rendering.h"
#include "tools/transforming.h"

struct options {
  struct tool_parsing parsing;
  struct tool_transforming transforming;
  struct tool_rendering rendering;
};

static bool report(const struct lumos_operands *operands, void *given, struct lumos_error *error) {
  struct options *options = given;
  if (!tool_rendering_check(&options->rendering, error) ||
      !tool_parsing_given(operands, &options->parsing,
                          "name traces or folders of traces, as in 'lumos-report rank*.json.gz -o report.html'; "
                          "--help says more",
                          error)) {
    return false;
  }
  options->parsing.without_hta = !options->rendering.simulating.hta;
  struct lumos_progress progress;
  struct lumos_job *job = tool_parsing_read(operands, &options->parsing, &progress, error);
  bool good = job != NULL;
  if (good && tool_transforming_asked(&options->transforming)) {
    good = tool_transforming_apply(job, &options->transforming, error);
  }
  good = good && tool_rendering_write(job, "lumos-report", (enum lumos_stage)0, &options->rendering, error);
  tool_close(job);
  return good;
}

int main(int argc, char **argv) {
  struct options options = {.rendering.names_file = true};
  const struct lumos_option table[] = {
      TOOL_GROUP("Input"),
      TOOL_PARSING_OPTIONS(&options.parsing),
      TOOL_INPUT_OPTIONS(&options.parsing.input),
      TOOL_GROUP("What-if"),
      TOOL_TRANSFORMING_OPTIONS(&options.transforming) TOOL_RENDERING_OPTIONS(&options.rendering),
      TOOL_SIMULATING_OPTIONS(&options.rendering.simulating),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "From traces to a page",
      "lumos-report rank*.json.gz -o report.html",
      "Only the verdict, one line",
      "lumos-report --verdict rank*.json.gz",
      "What if matrix products took half the time?",
      "lumos-report --scale kind=gemm=0.5 rank*.json.gz -o whatif.html",
      NULL,
  };
  const struct lumos_command command = {
      .name = "lumos-report",
      .summary = "Go from traces to the report in one call: parse, graph, transform, sim and render.",
      .usage = "[OPTION]... [TRACE|FOLDER|STREAM|-]...",
      .description =
          "Reads what lumos-parse reads and writes what lumos-render writes: the same bytes as the pipe of the tools, "
          "without the streams between them. On a terminal, without -o, the report goes to report.html in the current "
          "folder; in a pipe it goes to standard output.",
      .examples = examples,
      .options = table,
  };
  int status = tool_main(&command, argc, argv, report, &options);
  lumos_vector_free(&options.rendering.picturing.numbers);
  return status;
}
