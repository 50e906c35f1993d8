/* lumos-render: simulated job in, one self-contained HTML page out. */
#include "tools/tool.h"

#include <lumos/report.h>
#include <lumos/sim.h>
#include <string.h>
#include <unistd.h>

struct options {
  const char *output, *template_folder;
  bool edited, verdict;
};

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), end_length = strlen(end);
  return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* Can the page go where it is asked to go? Asked before any work is done. */
static bool check_output(const struct options *options, struct lumos_error *error) {
  bool to_standard_output = options->output == NULL || strcmp(options->output, "-") == 0;
  if (options->output == NULL && options->verdict) {
    return true;
  }
  if (to_standard_output && options->verdict) {
    return lumos_fail(
        error, "--verdict and the page cannot both go to standard output; name a file for the page, as -o report.html");
  }
  if (to_standard_output && isatty(STDOUT_FILENO)) {
    return lumos_fail(error, "the page would be written to a terminal; use -o report.html, or redirect the output");
  }
  return to_standard_output || ends_with(options->output, ".html") ||
         lumos_fail(error, "%s: only .html can be written; use -o NAME.html", options->output);
}

static bool write_page(struct lumos_job *job, const struct options *options, struct lumos_error *error) {
  const struct lumos_report_options report = {.template_folder = options->template_folder};
  struct lumos_text page = LUMOS_TEXT_BUFFER; /* whole before a byte is written: a failure leaves nothing behind */
  struct lumos_output output;
  bool good = lumos_report(job, &report, &page, error) && lumos_output_open(&output, options->output, error);
  if (good) {
    lumos_text_add(&output.text, page.bytes, page.length);
    good = lumos_output_commit(&output, error);
  }
  lumos_text_free(&page);
  return good;
}

static bool write_verdict(const struct lumos_job *job, struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, NULL, error)) {
    return false;
  }
  bool good = lumos_report_verdict(job, &output.text, error);
  if (!good) {
    lumos_output_discard(&output);
    return false;
  }
  lumos_text_char(&output.text, '\n');
  return lumos_output_commit(&output, error);
}

static bool render_job(struct lumos_job *job, const struct options *options, struct lumos_error *error) {
  enum lumos_stage before = job->stage;
  if (before < LUMOS_STAGE_SIM && !lumos_simulate(job, error)) {
    return false;
  }
  tool_warn(job, "lumos-render", before);
  bool wants_page = options->output != NULL || !options->verdict;
  return (!wants_page || write_page(job, options, error)) && (!options->verdict || write_verdict(job, error));
}

static bool render(const struct lumos_operands *operands, void *options, struct lumos_error *error) {
  const struct options *given = options;
  if (operands->count > 1) {
    return lumos_fail(error,
                      "%zu streams: comparisons do not exist yet; render each alone, or join the ranks of one job with "
                      "'lumos-sim STREAM... | lumos-render -o report.html'",
                      operands->count);
  }
  if (!check_output(given, error)) {
    return false;
  }
  struct lumos_job *job = tool_read(operands, given->edited, error);
  if (job == NULL) {
    return false;
  }
  bool good = render_job(job, given, error);
  lumos_job_free(job);
  return good;
}

int main(int argc, char **argv) {
  struct options options = {0};
  const struct lumos_option table[] = {
      {LUMOS_OPTION_TEXT, 'o', "output", "FILE.html", &options.output,
       "Write the page to FILE.html instead of standard output; it appears whole or not at all."},
      {LUMOS_OPTION_TEXT, 't', "template", "DIR", &options.template_folder,
       "Use the templates in DIR instead of those compiled in."},
      {LUMOS_OPTION_FLAG, 0, "verdict", NULL, &options.verdict,
       "Print the page's verdict to standard output, one line; the page itself is written only with -o."},
      TOOL_EDITED_OPTION(&options.edited),
      TOOL_LAST_OPTION,
  };
  static const char *const examples[] = {
      "From traces to a page",
      "lumos-parse rank*.json.gz | lumos-sim | lumos-render -o report.html",
      "Only the sentence that says where the time went",
      "lumos-parse rank*.json.gz | lumos-render --verdict",
      NULL,
  };
  const struct lumos_command command = {
      .name = "lumos-render",
      .summary = "Write the report: one HTML file that needs nothing else.",
      .usage = "[OPTION]... [STREAM]",
      .description =
          "Reads one stream (none named: standard input), runs the stages that are missing, and writes the page.",
      .examples = examples,
      .options = table,
  };
  return tool_main(&command, argc, argv, render, &options);
}
