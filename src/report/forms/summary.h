/* The page's numbers as JSON: embedded in it, and a form of its own; what a script reads instead of the HTML. */
#ifndef LUMOS_REPORT_SUMMARY_H
#define LUMOS_REPORT_SUMMARY_H

#include "report/content/content.h"

/* {"format","title","verdict","edited","world","step_time","loss","trust","timeline","rank_steps_left_out","rank_steps","job_steps_left_out",
 * "job_steps","tables","notes"}, a title where one was given; safe inside <script>. */
void report_summary(const struct report_content *content, struct lumos_text *out);

bool report_summary_write(const struct report_content *content, struct lumos_text *out,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
