/* What is lost of a step, as titles of pictures. */
#ifndef LUMOS_REPORT_LOSSES_H
#define LUMOS_REPORT_LOSSES_H

#include "base/text.h"
#include "report/content/facts.h"

/* The largest of what is lost of a step. */
enum report_figure report_largest_loss(const struct report_facts *facts);

/* "Exposed communication is 18.4 % of the step, from 12.1 % (rank 3) to 24.0 % (rank 1)" : the title of the
 * breakdown. */
void report_put_breakdown_finding(const struct report_facts *facts, struct lumos_text *out);
/* "Simulated steps take 41.84 ms, 0.02 % more than measured" : the title of the timeline. */
void report_put_timeline_finding(const struct report_facts *facts, struct lumos_text *out);

#endif
