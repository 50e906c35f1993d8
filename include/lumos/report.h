/* The report: a job at stage `sim` becomes one self-contained page. */
#ifndef LUMOS_REPORT_H
#define LUMOS_REPORT_H

#include <lumos/error.h>
#include <lumos/job.h>

struct lumos_text;

struct lumos_report_options {
  const char *template_folder; /* NULL: the templates compiled in */
};

/* Write the page. Runs the missing stages first. No network, everything escaped, same job same bytes. */
bool lumos_report_html(struct lumos_job *job, const struct lumos_report_options *options, struct lumos_text *out,
                       struct lumos_error *error) LUMOS_MUST_CHECK;

/* The page's first sentence as plain text, without a line end: what quickstart prints. */
bool lumos_report_verdict(const struct lumos_job *job, struct lumos_text *out,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
