/* What a report says, read once from the job, whatever form it takes: figures, lanes, tables. */
#ifndef LUMOS_REPORT_CONTENT_H
#define LUMOS_REPORT_CONTENT_H

#include "report/content/allocated.h"
#include "report/content/busy.h"
#include "report/content/dependencies.h"
#include "report/content/facts.h"
#include "report/content/layers.h"
#include "report/content/metric_tables.h"
#include "report/content/opportunities.h"
#include "report/content/passes.h"
#include "report/content/table.h"
#include "report/content/timeline.h"
#include "report/diagnosis/result.h"
#include <lumos/path.h>
#include <lumos/report.h>

/* All tables; the page, the summary and Markdown hold the same ones. */
enum report_table_number {
  TABLE_BREAKDOWN,
  TABLE_CHANGE,
  TABLE_CONFIGURATION,
  TABLE_STEPS,
  TABLE_OPPORTUNITIES,
  TABLE_IMPROVEMENTS,
  TABLE_LANES,
  TABLE_BUSY,
  TABLE_ALLOCATED,
  TABLE_COLLECTIVES,
  TABLE_KERNELS,
  TABLE_OPS_DEVICE,
  TABLE_OPS_HOST,
  TABLE_RANKS,
  TABLE_CLOCKS,
  TABLE_DEPENDENCIES,
  TABLE_PIPELINE,
  TABLE_RECORDED_PIPELINE,
  TABLE_LAYERS,
  TABLE_MODEL,
  TABLE_METRICS, /* the first of those of metric_tables.h, in their order */
  TABLES = TABLE_METRICS + METRIC_TABLES
};

struct report_content {
  const struct lumos_job *job;
  const struct lumos_report_options *options;
  struct report_result result;
  struct report_timelines timelines;
  struct report_busy busy;
  struct report_allocated allocated;
  struct report_dependencies dependencies;
  struct lumos_passes passes;
  struct lumos_passes recorded; /* passes of the job that this one was rebuilt from */
  struct report_layers layers;
  struct report_table tables[TABLES];
  const struct lumos_held *bindings; /* what held every task: the job's, or those found; NULL: nobody asks, or */
  struct lumos_error unknown;        /* the simulation did not run again as it stands in the stream */
  struct lumos_held found;
};

/* The job is at stage sim and outlives the content, as do the options. A child may still lay out the dependencies:
 * settle them before they are drawn. False when the options ask for what is not
 * there. Free the content in any case. */
bool report_content_read(const struct lumos_job *job, const struct lumos_report_options *options,
                         struct report_content *content, struct lumos_error *error) LUMOS_MUST_CHECK;
void report_content_free(struct report_content *content);

/* The title that was asked for, or NULL: then the diagnosis is the title. */
const char *report_title(const struct report_content *content);

/* Are passes of both jobs known, and has one of them a pipeline? */
bool report_compares_pipelines(const struct report_content *content);

/* "8 ranks · NVIDIA H100 80GB HBM3 · DP 8 x TP 1 x PP 1 · steps 2 to 5": what the report is about. */
void report_put_subject(const struct report_content *content, struct lumos_text *out);

#endif
