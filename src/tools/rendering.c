/* From a job to a report in its place. */
#include "tools/rendering.h"

#include "base/ascii.h"
#include "base/duration.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool goes_to_standard_output(const struct tool_rendering *rendering) {
  return rendering->output == NULL || strcmp(rendering->output, "-") == 0;
}

/* --verdict without -o prints the sentence alone, --summary writes its file alone. */
static bool wants_report(const struct tool_rendering *rendering) {
  return rendering->output != NULL || (!rendering->verdict && rendering->summary == NULL);
}

/* "html, json", or ".html, .json" */
static void put_formats(struct lumos_text *text, const char *before) {
  for (int i = LUMOS_REPORT_HTML; i <= LUMOS_REPORT_CSV; i++) {
    const char *name = lumos_report_format_name((enum lumos_report_format)i);
    if (name != NULL) {
      lumos_text_format(text, "%s%s%s", text->length == 0 ? "" : ", ", before, name);
    }
  }
  lumos_text_char(text, '\0');
}

static bool unknown_format(const struct tool_rendering *rendering, bool named, struct lumos_error *error) {
  struct lumos_text formats = LUMOS_TEXT_BUFFER;
  put_formats(&formats, named ? "" : ".");
  if (named) {
    (void)lumos_fail(error, "option --format: '%s' is not a format; the formats are %s", rendering->format,
                     formats.bytes);
  } else {
    (void)lumos_fail(error, "%s: its ending is not a format; end it in one of %s, or add --format", rendering->output,
                     formats.bytes);
  }
  lumos_text_free(&formats);
  return false;
}

static bool choose_format(struct tool_rendering *rendering, struct lumos_error *error) {
  enum lumos_report_format named = LUMOS_REPORT_UNKNOWN;
  enum lumos_report_format ending = LUMOS_REPORT_UNKNOWN;
  if (rendering->format != NULL) {
    named = lumos_report_format_named(rendering->format);
    if (named == LUMOS_REPORT_UNKNOWN) {
      return unknown_format(rendering, true, error);
    }
  }
  if (!goes_to_standard_output(rendering)) {
    ending = lumos_report_format_of_path(rendering->output);
    if (ending == LUMOS_REPORT_UNKNOWN && named == LUMOS_REPORT_UNKNOWN) {
      return unknown_format(rendering, false, error);
    }
  }
  if (named != LUMOS_REPORT_UNKNOWN && ending != LUMOS_REPORT_UNKNOWN && named != ending) {
    return lumos_fail(error, "%s: its ending says %s, but --format says %s; leave one of the two out",
                      rendering->output, lumos_report_format_name(ending), rendering->format);
  }
  rendering->report.format = named != LUMOS_REPORT_UNKNOWN    ? named
                             : ending != LUMOS_REPORT_UNKNOWN ? ending
                                                              : LUMOS_REPORT_HTML;
  return true;
}

static bool choose_view(struct tool_rendering *rendering, struct lumos_error *error) {
  const char *format = lumos_report_format_name(rendering->report.format);
  if (rendering->view == NULL) {
    return true;
  }
  rendering->report.view = lumos_report_view_named(rendering->view);
  if (rendering->report.view == LUMOS_VIEW_DEFAULT) {
    struct lumos_text views = LUMOS_TEXT_BUFFER;
    const char *name = NULL;
    for (int i = LUMOS_VIEW_BREAKDOWN; (name = lumos_report_view_name((enum lumos_report_view)i)) != NULL; i++) {
      lumos_text_format(&views, "%s%s", i == LUMOS_VIEW_BREAKDOWN ? "" : ", ", name);
    }
    lumos_text_char(&views, '\0');
    (void)lumos_fail(error, "option --view: '%s' is not a picture; name one of %s", rendering->view, views.bytes);
    lumos_text_free(&views);
    return false;
  }
  return lumos_report_format_has_views(rendering->report.format) || rendering->picturing.picture != NULL ||
         lumos_fail(error,
                    "--view is for one picture or its numbers; leave it out for %s, or write .svg, .png, .pdf or .csv",
                    format);
}

/* A whole number from `least` to `most`; *number stays as it is where none is given. */
static bool read_number(const char *option, const char *text, int32_t least, int32_t most, int32_t *number,
                        struct lumos_error *error) {
  if (text == NULL) {
    return true;
  }
  char *end = NULL;
  errno = 0;
  long value = lumos_is_digit(*text) ? strtol(text, &end, 10) : -1;
  if (value < least || value > most || errno != 0 || *end != '\0') {
    return lumos_fail(error, "option %s: '%s' is not a whole number from %d to %d", option, text, (int)least,
                      (int)most);
  }
  *number = (int32_t)value;
  return true;
}

static bool choose_graph(struct tool_rendering *rendering, struct lumos_error *error) {
  enum { MOST_NODES = 500 };
  struct lumos_report_options *report = &rendering->report;
  report->has_step = rendering->step != NULL;
  return read_number("--step", rendering->step, 0, INT32_MAX - 1, &report->step, error) &&
         read_number("--graph-nodes", rendering->graph_nodes, 1, MOST_NODES, &report->graph_nodes, error);
}

static bool choose_detail(struct tool_rendering *rendering, struct lumos_error *error) {
  struct lumos_report_options *report = &rendering->report;
  const char *at = rendering->detail;
  if (at == NULL) {
    return true;
  }
  bool good = lumos_duration_read(&at, &report->detail_from) && *at++ == '-' &&
              lumos_duration_read(&at, &report->detail_until) && *at == '\0';
  if (!good || report->detail_from >= report->detail_until) {
    return lumos_fail(error, "option --detail: '%s' is not a span of time; give its start and its end, as 10ms-25ms",
                      rendering->detail);
  }
  report->has_detail = true;
  return report->format == LUMOS_REPORT_HTML ||
         lumos_fail(error, "--detail is for the page: %s shows no single tasks; leave it out, or write .html",
                    lumos_report_format_name(report->format));
}

bool tool_rendering_check(struct tool_rendering *rendering, struct lumos_error *error) {
  if (!tool_simulating_check(&rendering->simulating, error) || !choose_format(rendering, error) ||
      !choose_view(rendering, error) || !choose_graph(rendering, error) || !choose_detail(rendering, error) ||
      !tool_picturing_check(&rendering->picturing, rendering->output, &rendering->report, error)) {
    return false;
  }
  const char *name = lumos_report_format_name(rendering->report.format);
  if (!lumos_output_try(rendering->summary, error)) {
    return false;
  }
  if (!wants_report(rendering)) {
    return true;
  }
  if (!goes_to_standard_output(rendering)) {
    return lumos_output_try(rendering->output, error);
  }
  if (rendering->verdict) {
    return lumos_fail(
        error,
        "--verdict and the report cannot both go to standard output; name a file for the report, as -o report.%s",
        name);
  }
  if (lumos_report_format_is_text(rendering->report.format) || !isatty(STDOUT_FILENO)) {
    return true;
  }
  if (!rendering->names_file || rendering->output != NULL) {
    return lumos_fail(error, "the report would be written to a terminal; use -o report.%s, or redirect the output",
                      name);
  }
  (void)snprintf(rendering->named, sizeof rendering->named, "report.%s", name);
  rendering->output = rendering->named;
  return lumos_output_try(rendering->output, error);
}

/* The report is whole before a byte of it is written: a failure leaves nothing behind. */
static bool write_report(struct lumos_job *job, const char *name, const struct tool_rendering *rendering,
                         struct lumos_error *error) {
  struct lumos_text report = LUMOS_TEXT_BUFFER;
  struct lumos_output output;
  bool good = tool_picturing_write(&rendering->picturing, job, &rendering->report, error) &&
              lumos_report(job, &rendering->report, &report, error) &&
              lumos_output_open(&output, rendering->output, error);
  tool_wipe(job);
  if (good) {
    lumos_text_add(&output.text, report.bytes, report.length);
    good = lumos_output_commit(&output, error);
  }
  if (good) {
    tool_warn(job, name, LUMOS_STAGE_SIM); /* of what the report itself notes */
  }
  if (good && rendering->output == rendering->named) {
    tool_say(name, "wrote ", rendering->named);
  }
  lumos_text_free(&report);
  return good;
}

/* Of the same job, and with the same title. */
static bool write_summary(struct lumos_job *job, const struct tool_rendering *rendering, struct lumos_error *error) {
  const struct lumos_report_options brief = {.format = LUMOS_REPORT_JSON,
                                             .summary = true,
                                             .title = rendering->report.title,
                                             .details = rendering->report.details};
  struct lumos_text summary = LUMOS_TEXT_BUFFER;
  struct lumos_output output;
  bool good = lumos_report(job, &brief, &summary, error) && lumos_output_open(&output, rendering->summary, error);
  tool_wipe(job);
  if (good) {
    lumos_text_add(&output.text, summary.bytes, summary.length);
    good = lumos_output_commit(&output, error);
  }
  lumos_text_free(&summary);
  return good;
}

static bool write_verdict(const struct lumos_job *job, struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, NULL, error)) {
    return false;
  }
  if (!lumos_report_verdict(job, &output.text, error)) {
    lumos_output_discard(&output);
    return false;
  }
  lumos_text_char(&output.text, '\n');
  return lumos_output_commit(&output, error);
}

static bool has_metrics(const struct lumos_report_options *report) {
  return report->format == LUMOS_REPORT_JSON ||
         (report->format == LUMOS_REPORT_CSV && report->view == LUMOS_VIEW_DEFAULT);
}

static bool simulate(struct lumos_job *job, const struct tool_rendering *rendering, struct lumos_error *error) {
  if (!tool_simulate(job, LUMOS_MODEL_LUMOS, &rendering->simulating, error)) {
    return false;
  }
  if (rendering->simulating.hta && !has_metrics(&rendering->report)) {
    lumos_job_note(job, "sim.hta_not_shown", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "HTA's figures are among the metrics, which this form of the report does not list",
                   "write .json, or .csv without --view");
  }
  return true;
}

bool tool_rendering_write(struct lumos_job *job, const char *name, enum lumos_stage before,
                          const struct tool_rendering *rendering, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_SIM && !simulate(job, rendering, error)) {
    return false;
  }
  tool_warn(job, name, before);
  return (!wants_report(rendering) || write_report(job, name, rendering, error)) &&
         (rendering->summary == NULL || write_summary(job, rendering, error)) &&
         (!rendering->verdict || write_verdict(job, error));
}
