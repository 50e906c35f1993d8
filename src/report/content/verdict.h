/* The page's first screen: what is so, in one sentence and three numbers, and how far to trust it. */
#ifndef LUMOS_REPORT_VERDICT_H
#define LUMOS_REPORT_VERDICT_H

#include "report/content/opportunities.h"
#include "report/text/template.h"

/* The sentence, with no-break spaces between numbers and units. */
void report_put_verdict(const struct report_facts *facts, const struct report_opportunities *opportunities,
                        struct lumos_text *out);

/* Sections `tiles` (label, figure, evidence) and `trust` (term, name, figure, evidence), and `trust_sentence`. */
void report_fill_verdict(const struct report_facts *facts, const struct report_opportunities *opportunities,
                         struct report_scope *scope);

/* A figure that says how much is carried, in millionths of the step (of an error: the worst); LUMOS_ABSENT. */
int64_t report_trust(const struct report_facts *facts, enum report_figure figure);

/* The figure that the verdict names: the largest of what is lost of a step. */
enum report_figure report_largest_loss(const struct report_facts *facts);

/* Sums of coverage over the ranks that have it. */
struct report_coverage {
  int64_t device_tasks, launched, collectives, joined; /* LUMOS_ABSENT */
};
struct report_coverage report_coverage_of(const struct lumos_job *job);

/* "Exposed communication is 18.4 % of the step, from 12.1 % (rank 3) to 24.0 % (rank 1)" : the title of the
 * breakdown. */
void report_put_breakdown_finding(const struct report_facts *facts, struct lumos_text *out);
/* "Simulated steps take 41.84 ms, 0.02 % more than measured" : the title of the timeline. */
void report_put_timeline_finding(const struct report_facts *facts, struct lumos_text *out);

#endif
