/* lumos-render: simulated job in, report out. */
#include "tools/rendering.h"

struct options {
  struct tool_rendering rendering;
  struct tool_input input;
  bool schema;
};

static bool write_schema(const struct options *options, struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, options->rendering.output, error)) {
    return false;
  }
  if (!lumos_report_schema(&output.text, error)) {
    lumos_output_discard(&output);
    return false;
  }
  return lumos_output_commit(&output, error);
}

static bool render(const struct lumos_operands *operands, void *options, struct lumos_error *error) {
  struct options *given = options;
  if (given->schema) {
    return operands->count == 0 ? write_schema(given, error) : lumos_fail(error, "--schema takes no stream");
  }
  if (operands->count > 1) {
    return lumos_fail(
        error,
        "%zu inputs: comparisons of jobs do not exist yet; for the ranks of one job use lumos-report, for "
        "several jobs render each alone",
        operands->count);
  }
  if (!tool_rendering_check(&given->rendering, error)) {
    return false;
  }
  struct lumos_progress progress;
  enum lumos_stage before = (enum lumos_stage)0;
  struct lumos_job *job = tool_read(operands, &given->input, &progress, &before, error);
  if (job == NULL) {
    return false;
  }
  bool good = tool_rendering_write(job, "lumos-render", before, &given->rendering, error);
  tool_close(job);
  return good;
}

int main(int argc, char **argv) {
  struct options options = {0};
  const struct lumos_option table[] = {
      TOOL_GROUP("Input"),
      TOOL_INPUT_OPTIONS(&options.input),
      TOOL_RENDERING_OPTIONS(&options.rendering),
      TOOL_FLAG_ROW("schema", &options.schema,
                    "Print the JSON schema of reports in JSON (-o report.json), and do nothing else."),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "From traces to a page",
      "lumos-parse rank*.json.gz | lumos-sim | lumos-render -o report.html",
      "Only the sentence that says where the time went",
      "lumos-parse rank*.json.gz | lumos-render --verdict",
      "One picture for a slide: two ranks, 20 ms, without the verdict",
      "lumos-render --view gantt --size 16:9 --ranks 0-1 --span 10ms-30ms --no-verdict job.sim -o timeline.png",
      "A comment for a pull request, with a picture beside it",
      "lumos-render job.sim -o comment.md --picture breakdown.png",
      "Every table as Markdown",
      "lumos-render --full job.sim -o report.md",
      "The kernels that take longest",
      "lumos-render job.sim --format json | jq '.tables.kernels.rows[:5]'",
      NULL,
  };
  const struct lumos_command command = {
      .name = "lumos-render",
      .summary = "Write the report: one HTML file that needs nothing else, its pictures, its words, or its numbers.",
      .usage = "[OPTION]... [STREAM|TRACE|FOLDER]",
      .description =
          "Reads one stream, one trace or one folder of traces (without any: standard input), runs the stages that are "
          "missing, and writes the report.",
      .examples = examples,
      .options = table,
  };
  int status = tool_main(&command, argc, argv, render, &options);
  lumos_vector_free(&options.rendering.picturing.numbers);
  return status;
}
