/* What to do about a kind of work, and how to make a change: in the imperative, and nothing that the job already
 * does. */
#ifndef LUMOS_REPORT_ADVICE_H
#define LUMOS_REPORT_ADVICE_H

#include "base/text.h"
#include "report/content/practice.h"

/* About a kind of work, as opportunities name it: a sentence with its full stop; false: it is none that this version
 * knows. */
bool report_put_advice(const struct report_practice *practice, const char *kind, struct lumos_text *out);

/* About communication of a group; NULL: of an unknown one. */
void report_put_group_advice(const struct report_practice *practice, const struct lumos_job *job,
                             const struct lumos_group *group, struct lumos_text *out);

/* How to make a change that was simulated; false: it is none that this version knows. */
bool report_put_change_advice(const struct report_practice *practice, const char *change, struct lumos_text *out);

/* Are most GEMMs in fp32, TF32 or fp64, so that a narrower format would more than halve their time? */
bool report_practice_multiplies_wide(const struct report_practice *practice);

/* Do CUDA graphs launch some of its kernels, so that what they save can be the rest alone? */
bool report_practice_uses_graphs(const struct report_practice *practice);

/* "Capture the step in CUDA graphs", or what of it is not captured yet: a clause without its full stop. */
void report_put_graphs_advice(const struct report_practice *practice, struct lumos_text *out);

#endif
