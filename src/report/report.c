/* The room's door: a job becomes a report in the form that was asked for. */
#include <lumos/report.h>

#include "report/content.h"
#include "report/page.h"
#include "report/verdict.h"
#include <lumos/sim.h>
#include <string.h>

/* A form that a report takes. To add one: a row here, and a file that writes it. */
struct form {
  const char *name, *suffix;
  enum lumos_report_format format;
  bool picture; /* it shows pictures alone, and --view chooses among them */
  bool (*write)(const struct report_content *content, struct lumos_text *out, struct lumos_error *error);
};

static const struct form forms[] = {
    {"html", ".html", LUMOS_REPORT_HTML, false, report_page_write},
};

enum { FORMS = sizeof forms / sizeof forms[0] };

static const struct form *form_of(enum lumos_report_format format) {
  for (size_t i = 0; i < FORMS; i++) {
    if (forms[i].format == format) {
      return &forms[i];
    }
  }
  return &forms[0];
}

enum lumos_report_format lumos_report_format_of_path(const char *path) {
  size_t length = strlen(path);
  for (size_t i = 0; i < FORMS; i++) {
    size_t suffix = strlen(forms[i].suffix);
    if (length > suffix && strcmp(path + length - suffix, forms[i].suffix) == 0) {
      return forms[i].format;
    }
  }
  return LUMOS_REPORT_UNKNOWN;
}

bool lumos_report(struct lumos_job *job, const struct lumos_report_options *options, struct lumos_text *out,
                  struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_SIM && !lumos_simulate(job, error)) {
    return false;
  }
  struct report_content content;
  report_content_read(job, options, &content);
  bool done = form_of(options->format)->write(&content, out, error);
  report_content_free(&content);
  return done;
}
bool lumos_report_verdict(const struct lumos_job *job, struct lumos_text *out, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_SIM) {
    return lumos_fail(error, "the job has not been simulated; run lumos-sim first");
  }
  struct report_facts facts;
  struct lumos_text sentence = LUMOS_TEXT_BUFFER;
  report_facts_read(job, &facts);
  report_put_verdict(&facts, &sentence);
  report_facts_free(&facts);
  /* No-break spaces are for the page; a terminal gets plain ones. */
  for (size_t i = 0; i < sentence.length; i++) {
    bool no_break = i + 1 < sentence.length && sentence.bytes[i] == '\xC2' && sentence.bytes[i + 1] == '\xA0';
    lumos_text_add(out, no_break ? " " : &sentence.bytes[i], 1);
    i += no_break;
  }
  lumos_text_free(&sentence);
  return true;
}
