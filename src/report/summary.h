/* The page's numbers as JSON, embedded in it: what a script reads instead of the HTML. */
#ifndef LUMOS_REPORT_SUMMARY_H
#define LUMOS_REPORT_SUMMARY_H

#include "report/facts.h"
#include "report/table.h"
#include "report/timeline.h"

/* {"format","verdict","edited","world","step_time","loss","trust","timeline","rank_steps_left_out","rank_steps","job_steps_left_out","job_steps","tables","notes"}; safe inside <script>. */
void report_summary(const struct report_facts *facts, const struct report_timelines *timelines,
                    const struct report_table *const *tables, size_t table_count, struct lumos_text *out);

#endif
