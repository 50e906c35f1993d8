/* The room's door: a job becomes a report in the form that was asked for.
 *
 * text/ says how numbers and names are written, draw/ how scenes are laid out and painted; content/ is what a report
 * says of a job, in figures, tables and scenes; forms/ is what it is written as. Each uses only those before it.
 */
#include <lumos/report.h>

#include "report/content/content.h"
#include "report/diagnosis/first_screen.h"
#include "report/forms/csv.h"
#include "report/forms/document.h"
#include "report/forms/markdown.h"
#include "report/forms/page.h"
#include "report/forms/pictures.h"
#include "report/text/privacy.h"
#include <lumos/sim.h>
#include <string.h>

/* A form that a report takes. To add one: a row here, and a file that writes it. */
struct form {
  const char *name; /* and ending */
  bool (*write)(struct report_content *content, struct lumos_text *out, struct lumos_error *error);
  enum lumos_report_format format;
  bool views; /* it can show one picture alone, or its numbers */
  bool text;  /* for people and scripts, without control bytes */
};

static const struct form forms[] = {
    {"html", report_page_write, LUMOS_REPORT_HTML, false, false},
    {"svg", report_svg_write, LUMOS_REPORT_SVG, true, false},
    {"png", report_png_write, LUMOS_REPORT_PNG, true, false},
    {"pdf", report_pdf_write, LUMOS_REPORT_PDF, true, false},
    {"md", report_markdown_write, LUMOS_REPORT_MARKDOWN, false, true},
    {"json", report_document_write, LUMOS_REPORT_JSON, false, true},
    {"csv", report_csv_write, LUMOS_REPORT_CSV, true, true},
};

enum { FORMS = sizeof forms / sizeof forms[0] };

/* NULL when there is none. */
static const struct form *form_of(enum lumos_report_format format) {
  for (size_t i = 0; i < FORMS; i++) {
    if (forms[i].format == format) {
      return &forms[i];
    }
  }
  return NULL;
}

const char *lumos_report_format_name(enum lumos_report_format format) {
  const struct form *form = form_of(format);
  return form != NULL ? form->name : NULL;
}

enum lumos_report_format lumos_report_format_named(const char *name) {
  for (size_t i = 0; i < FORMS; i++) {
    if (strcmp(forms[i].name, name) == 0) {
      return forms[i].format;
    }
  }
  return LUMOS_REPORT_UNKNOWN;
}

enum lumos_report_format lumos_report_format_of_path(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  return dot != NULL && dot != base ? lumos_report_format_named(dot + 1) : LUMOS_REPORT_UNKNOWN;
}

bool lumos_report_format_is_text(enum lumos_report_format format) {
  const struct form *form = form_of(format);
  return form != NULL && form->text;
}

bool lumos_report_format_has_views(enum lumos_report_format format) {
  const struct form *form = form_of(format);
  return form != NULL && form->views;
}

/* Note on the job why the dependency graph has no picture. False: the report would differ for want of a descriptor. */
static bool note_picture(struct lumos_job *job, const struct report_dependencies *dependencies,
                         struct lumos_error *error) {
  static const char *const reasons[] = {
      [LAYOUT_TIMED_OUT] = "the dependency graph has no picture: Graphviz took too long",
      [LAYOUT_FAILED] = "the dependency graph has no picture: Graphviz could not lay it out",
      [LAYOUT_NOT_STARTED] = "the dependency graph has no picture: the system did not start Graphviz"};
  if (!dependencies->is_drawn) {
    return true;
  }
  if (dependencies->outcome == LAYOUT_NO_DESCRIPTORS) {
    return lumos_fail(error,
                      "the dependency graph cannot be drawn: too many files are open; raise the limit (ulimit -n)");
  }
  const char *reason = dependencies->outcome < sizeof reasons / sizeof *reasons ? reasons[dependencies->outcome] : NULL;
  if (reason != NULL) {
    lumos_job_note(job, "report.no_picture", LUMOS_WARNING, LUMOS_ABSENT, NULL, reason,
                   dependencies->outcome == LAYOUT_NOT_STARTED ? "write the report again"
                                                               : "ask for fewer nodes (--graph-nodes)");
  }
  return true;
}

bool lumos_report(struct lumos_job *job, const struct lumos_report_options *options, struct lumos_text *out,
                  struct lumos_error *error) {
  const struct form *form = form_of(options->format == LUMOS_REPORT_UNKNOWN ? LUMOS_REPORT_HTML : options->format);
  if (form == NULL) {
    return lumos_fail(error, "there is no format %d", (int)options->format);
  }
  if (job->stage < LUMOS_STAGE_SIM && !lumos_simulate(job, error)) {
    return false;
  }
  lumos_watch(&job->watcher, "report", LUMOS_WATCH_NOTHING, 0, 0);
  struct lumos_strings *fit = options->details ? NULL : report_privacy_strings(job);
  struct lumos_job shown = *job;
  shown.watcher = (struct lumos_watcher){0}; /* it may be simulated again, on another thread: that is the report's */
  shown.strings = options->details ? job->strings : fit;
  struct report_content content;
  bool done = report_content_read(&shown, options, &content, error);
  lumos_watch(&job->watcher, "report", LUMOS_WATCH_NOTHING, 0, 0);
  done = done && form->write(&content, out, error) && note_picture(job, &content.dependencies, error);
  report_content_free(&content);
  lumos_strings_free(fit);
  return done;
}

bool lumos_report_verdict(const struct lumos_job *job, struct lumos_text *out, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_SIM) {
    return lumos_fail(error, "the job has not been simulated; run lumos-sim first");
  }
  struct lumos_text sentence = LUMOS_TEXT_BUFFER;
  struct report_result result;
  report_result_read(job, &result);
  report_put_diagnosis(&result, &sentence);
  report_result_free(&result);
  /* No-break spaces are for the page; a terminal gets plain ones. */
  for (size_t i = 0; i < sentence.length; i++) {
    bool no_break = i + 1 < sentence.length && sentence.bytes[i] == '\xC2' && sentence.bytes[i + 1] == '\xA0';
    lumos_text_add(out, no_break ? " " : &sentence.bytes[i], 1);
    i += no_break;
  }
  lumos_text_free(&sentence);
  return true;
}
