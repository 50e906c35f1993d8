/* The passes of the step that the page shows. */
#ifndef LUMOS_REPORT_PASSES_H
#define LUMOS_REPORT_PASSES_H

#include "report/content/timeline.h"
#include "sim/pipeline/passes.h"
#include <lumos/report.h>

enum {
  REPORT_STAGES = 64, /* stages that are shown, at most */
  REPORT_ALIKE = 16,  /* ranks, where there is no pipeline */
};

/* Simulated. No stages: nothing was recovered, or there is no step. */
void report_passes_read(const struct lumos_job *job, const struct report_boundaries *steps,
                        const struct lumos_report_options *options, struct lumos_passes *passes);

/* Of a rebuilt job: the passes of a recorded step, from the records that it keeps. Its times count from the start of
 * the step. No stages: there are no such records. */
void report_recorded_passes_read(const struct report_facts *facts, struct lumos_passes *passes);

#endif
