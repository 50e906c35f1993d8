/* The page's numbers as JSON: embedded in it, and the first part of a form of its own (document.h). */
#ifndef LUMOS_REPORT_SUMMARY_H
#define LUMOS_REPORT_SUMMARY_H

#include "report/content/content.h"

/* {"format","title","verdict","edited","world","step_time","loss","best","trust","timeline","rank_steps_left_out","rank_steps","job_steps_left_out",
 * "job_steps","tables","notes"}, a title where one was given; safe inside <script>. */
void report_summary(const struct report_content *content, struct lumos_text *out);
/* The same without the brace that ends it: more members may follow. */
void report_summary_begin(const struct report_content *content, struct lumos_text *out);
/* Of a history (lumos_report_options.summary): {"format","title","summary","recorded","ranks" and of the above those
 * from "verdict" to "loss", and "trust". */
void report_summary_begin_brief(const struct report_content *content, struct lumos_text *out);

#endif
