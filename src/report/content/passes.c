/* Choosing the step whose passes are shown. */
#include "report/content/passes.h"

#include "report/content/chain.h"

void report_passes_read(const struct lumos_job *job, const struct report_boundaries *steps,
                        const struct lumos_report_options *options, struct lumos_passes *passes) {
  static const struct lumos_passes_limits limits = {.stages = REPORT_STAGES, .alike = REPORT_ALIKE};
  struct report_boundary shown;
  *passes = (struct lumos_passes){.job = job};
  if (job->runs.count < job->tasks.count || job->runs.count == 0 || !report_chain_step(steps, options, &shown)) {
    return;
  }
  const struct lumos_step step = {LUMOS_NONE, shown.step, shown.start, shown.end};
  lumos_passes_read(job, job->runs.items, &step, &limits, passes);
}
