/* lumos-compare: two jobs in, what differs and why out. */
#include "tools/comparing.h"

struct options {
  struct tool_comparing comparing;
};

static bool compare(const struct lumos_operands *operands, void *given, struct lumos_error *error) {
  const struct options *options = given;
  return tool_compare("lumos-compare", operands, &options->comparing, error);
}

int main(int argc, char **argv) {
  struct options options = {0};
  const struct lumos_option table[] = {
      TOOL_COMPARING_OPTIONS(&options.comparing),
      {LUMOS_OPTION_TEXT, 0, "trace", "FILE", &options.comparing.trace,
       "Write the measured and the simulated timelines of all jobs to FILE, for Perfetto (ui.perfetto.dev) or "
       "chrome://tracing. The steps nearest to the mean begin at one instant. It is compressed where the name ends in "
       ".gz."},
      TOOL_INPUT_OPTIONS(&options.comparing.input),
      TOOL_OUTPUT_OPTION(&options.comparing.output),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "What differs between two recordings?",
      "lumos-compare rank0.json.gz rank1.json.gz",
      "A page to look at, and to hand on",
      "lumos-compare rank0.json.gz rank1.json.gz -o change.html",
      "Several jobs on one page, each against the first",
      "lumos-compare job.graph job.sim rank0.json.gz -o jobs.html",
      "For a comment on GitHub",
      "lumos-compare rank0.json.gz rank1.json.gz -o change.md",
      "Both timelines on one axis, to look at in Perfetto",
      "lumos-compare rank0.json.gz rank1.json.gz --trace both.json.gz",
      "For a script",
      "lumos-compare job.graph job.sim -f json | jq -r .verdict",
      NULL,
  };
  const struct lumos_command command = {
      .name = "lumos-compare",
      .summary = "Compare jobs: what changed in a step, by how much, and why.",
      .usage = "[OPTION]... TRACE|FOLDER|STREAM TRACE|FOLDER|STREAM...",
      .description =
          "The first job is A, the second B. Work is matched by what it is for: its phase, layer, op, shapes and "
          "kernel. Several traces of one job go into a folder, or into a stream of lumos-graph. Of more than two jobs "
          "each is compared with the first: one line a job, then all of them.",
      .examples = examples,
      .options = table,
  };
  return tool_main(&command, argc, argv, compare, &options);
}
