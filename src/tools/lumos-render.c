/* lumos-render: simulated job in, report out. */
#include "tools/comparing.h"
#include "tools/gating.h"
#include "tools/indexing.h"
#include "tools/rendering.h"

struct options {
  struct tool_rendering rendering;
  struct tool_gating gating;
  struct tool_input input;
  const char *index; /* a folder; NULL: none is asked for */
  bool schema, thresholds_schema;
};

static bool write_schema(const struct options *options, struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, options->rendering.output, error)) {
    return false;
  }
  if (!(options->schema ? lumos_report_schema : lumos_thresholds_schema)(&output.text, error)) {
    lumos_output_discard(&output);
    return false;
  }
  return lumos_output_commit(&output, error);
}

/* Where something else is written than the report of one job; `instead` says what. */
static bool refuse_of_one_job(const struct tool_rendering *rendering, const char *instead, struct lumos_error *error) {
  const struct {
    const char *option;
    bool given;
  } of_one_job[] = {
      {"--view", rendering->view != NULL},
      {"--step", rendering->step != NULL},
      {"--graph-nodes", rendering->graph_nodes != NULL},
      {"--detail", rendering->detail != NULL},
      {"--marks", rendering->report.marks},
      {"--details", rendering->report.details},
      {"--verdict", rendering->verdict},
      {"--summary", rendering->summary != NULL},
      {"--picture", rendering->picturing.picture != NULL},
      {"--size", rendering->picturing.size != NULL},
      {"--ranks", rendering->picturing.ranks != NULL},
      {"--span", rendering->picturing.span != NULL},
      {"--no-verdict", rendering->report.no_verdict},
  };
  for (size_t i = 0; i < sizeof of_one_job / sizeof *of_one_job; i++) {
    if (of_one_job[i].given) {
      return lumos_fail(error, "%s is for the report of one job, and %s here; leave it out", of_one_job[i].option,
                        instead);
    }
  }
  return true;
}

/* Many nights: how they went. */
static bool write_index(const struct lumos_operands *operands, const struct options *given, struct lumos_error *error) {
  const struct tool_rendering *rendering = &given->rendering;
  const struct lumos_nights_options options = {.title = rendering->report.title,
                                               .template_folder = rendering->report.template_folder};
  if (operands->count > 0 || given->gating.thresholds != NULL || given->gating.baselines.count > 0 ||
      given->gating.junit != NULL || rendering->report.full) {
    return lumos_fail(error, "--index reads the folder of a history alone, with what gates wrote there; leave out %s",
                      operands->count > 0      ? "the other inputs"
                      : rendering->report.full ? "--full"
                                               : "--gate and its options");
  }
  return refuse_of_one_job(rendering, "a history is shown", error) &&
         tool_index(given->index, &options, rendering->output, rendering->format, error);
}

/* Several jobs: what differs. */
static bool compare(const struct lumos_operands *operands, const struct options *given, struct lumos_error *error) {
  const struct tool_rendering *rendering = &given->rendering;
  if (!refuse_of_one_job(rendering, "jobs are compared", error)) {
    return false;
  }
  const struct tool_comparing comparing = {
      .format = rendering->format,
      .output = rendering->output,
      .page = {.title = rendering->report.title, .template_folder = rendering->report.template_folder},
      .otherwise = LUMOS_COMPARE_HTML,
      .full = rendering->report.full,
      .input = given->input,
  };
  return tool_compare("lumos-render", operands, &comparing, error);
}

static bool render(const struct lumos_operands *operands, void *options, struct lumos_error *error) {
  struct options *given = options;
  if (given->schema || given->thresholds_schema) {
    return operands->count == 0
               ? write_schema(given, error)
               : lumos_fail(error, "--%s takes no stream", given->schema ? "schema" : "thresholds-schema");
  }
  if (given->index != NULL) {
    return write_index(operands, given, error);
  }
  if (given->gating.thresholds != NULL || given->gating.baselines.count > 0 || given->gating.junit != NULL) {
    return tool_gate("lumos-render", operands, &given->gating, &given->input, given->rendering.output,
                     given->rendering.format, error);
  }
  if (operands->count >= 2) {
    return compare(operands, given, error);
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
      TOOL_GATING_OPTIONS(&options.gating),
      TOOL_GROUP("History"),
      TOOL_TEXT_ROW(0, "index", "DIR", &options.index,
                    "Write the page of a history instead of a report: the trend of each job in DIR, its changes and "
                    "nights. DIR holds summaries (lumos-report --summary DIR/JOB/2026-07-01.json)."),
      TOOL_GROUP("Schema"),
      TOOL_FLAG_ROW("schema", &options.schema,
                    "Print the JSON schema of reports in JSON (-o report.json), and do nothing else."),
      TOOL_FLAG_ROW("thresholds-schema", &options.thresholds_schema,
                    "Print the JSON schema of thresholds (--gate), and do nothing else."),
      TOOL_LAST_OPTION,
  };
  static const char gate_example[] = "echo '{\"format\":1,\"metrics\":[{\"metric\":\"idle\",\"relative\":0.1}]}' >t; "
                                     "lumos-render --gate t --baseline rank0* job.sim";
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
      "What differs between two jobs",
      "lumos-render job.graph job.sim -o change.html",
      "Is it worse than before? Exits with 1 if it is",
      gate_example,
      "The trend of many nights, each with its summary",
      "mkdir -p n/job; lumos-render --summary n/job/2026-07-01.json job.sim; lumos-render --index n -o n/index.html",
      "The kernels that take longest",
      "lumos-render job.sim --format json | jq '.tables.kernels.rows[:5]'",
      NULL,
  };
  const struct lumos_command command = {
      .name = "lumos-render",
      .summary = "Write the report: one HTML file that needs nothing else, its pictures, its words, or its numbers.",
      .usage = "[OPTION]... [STREAM|TRACE|FOLDER...]",
      .description =
          "Reads one stream, one trace or one folder of traces (without any: standard input), runs the stages that are "
          "missing, and writes the report. Of several it writes what differs, as lumos-compare does.",
      .examples = examples,
      .options = table,
  };
  int status = tool_main(&command, argc, argv, render, &options);
  lumos_vector_free(&options.rendering.picturing.numbers);
  return status;
}
