/* What a rebuilt job was built from, and what it became: the sizes of both, and what they train in a second. */
#ifndef LUMOS_REPORT_CONFIGURATION_H
#define LUMOS_REPORT_CONFIGURATION_H

#include "report/content/facts.h"
#include "report/content/passes.h"
#include "report/content/table.h"

/* Two rows, recorded and predicted; none of a job that was not rebuilt. The passes tell the schedules. */
void report_configuration_table(const struct report_facts *facts, const struct lumos_passes *recorded,
                                const struct lumos_passes *passes, struct report_table *table);

/* What became of the global batch; nothing where it is not known, or the same. */
void report_put_batch_reading(const struct report_facts *facts, struct lumos_text *out);

#endif
