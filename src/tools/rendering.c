/* From a job to a report in its place. */
#include "tools/rendering.h"

#include <lumos/sim.h>
#include <string.h>
#include <unistd.h>

static bool goes_to_standard_output(const struct tool_rendering *rendering) {
  return rendering->output == NULL || strcmp(rendering->output, "-") == 0;
}

/* --verdict without -o prints the sentence alone. */
static bool wants_report(const struct tool_rendering *rendering) {
  return rendering->output != NULL || !rendering->verdict;
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
    (void)lumos_fail(error, "option --format: '%s' is no format; the formats are %s", rendering->format, formats.bytes);
  } else {
    (void)lumos_fail(error, "%s: its ending names no format; end it in one of %s, or add --format", rendering->output,
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
    (void)lumos_fail(error, "option --view: '%s' is no picture; name one of %s", rendering->view, views.bytes);
    lumos_text_free(&views);
    return false;
  }
  return lumos_report_format_has_views(rendering->report.format) ||
         lumos_fail(error, "--view is for pictures, and %s shows everything; leave it out, or write .svg, .png or .pdf",
                    format);
}

bool tool_rendering_check(struct tool_rendering *rendering, struct lumos_error *error) {
  if (!choose_format(rendering, error) || !choose_view(rendering, error)) {
    return false;
  }
  const char *name = lumos_report_format_name(rendering->report.format);
  if (!goes_to_standard_output(rendering) || !wants_report(rendering)) {
    return true;
  }
  if (rendering->verdict) {
    return lumos_fail(
        error,
        "--verdict and the report cannot both go to standard output; name a file for the report, as -o report.%s",
        name);
  }
  if (!lumos_report_format_is_text(rendering->report.format) && isatty(STDOUT_FILENO)) {
    return lumos_fail(error, "the report would be written to a terminal; use -o report.%s, or redirect the output",
                      name);
  }
  return true;
}

/* The report is whole before a byte of it is written: a failure leaves nothing behind. */
static bool write_report(struct lumos_job *job, const struct tool_rendering *rendering, struct lumos_error *error) {
  struct lumos_text report = LUMOS_TEXT_BUFFER;
  struct lumos_output output;
  bool good =
      lumos_report(job, &rendering->report, &report, error) && lumos_output_open(&output, rendering->output, error);
  tool_wipe(job);
  if (good) {
    lumos_text_add(&output.text, report.bytes, report.length);
    good = lumos_output_commit(&output, error);
  }
  lumos_text_free(&report);
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

bool tool_rendering_write(struct lumos_job *job, const char *name, enum lumos_stage before,
                          const struct tool_rendering *rendering, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_SIM && !lumos_simulate(job, error)) {
    return false;
  }
  tool_warn(job, name, before);
  return (!wants_report(rendering) || write_report(job, rendering, error)) &&
         (!rendering->verdict || write_verdict(job, error));
}
