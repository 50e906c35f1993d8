/* Tables that are metrics laid out: a row for each scope, a column for each metric, the mean over the job's steps. A
 * new one is a row in metric_tables.c. */
#ifndef LUMOS_REPORT_METRIC_TABLES_H
#define LUMOS_REPORT_METRIC_TABLES_H

#include "report/content/facts.h"
#include "report/content/table.h"

enum report_metric_table {
  METRICS_PATH_KINDS,
  METRICS_PATH_OPS,
  METRICS_PATH_MODULES,
  METRICS_PATH_LAYERS,
  METRICS_PATH_RANKS,
  METRICS_PATH_CROSSINGS,
  METRICS_IDLE,
  METRICS_IDLE_OPS,
  METRICS_IDLE_STREAMS,
  METRICS_GROUPS,
  METRICS_WAITS,
  METRICS_STRAGGLERS,
  METRICS_BUBBLES,
  METRICS_MODULES,
  METRICS_PHASES,
  METRICS_MFU,
  METRICS_RATES,
  METRICS_OCCUPANCY,
  METRICS_KINDS,
  METRICS_ANNOTATIONS,
  METRICS_CALLS,
  METRICS_COPIES,
  METRICS_MEMORY,
  METRIC_TABLES
};

/* Where the names of things that a metric is of are written as the page writes them. Without rows where there are no
 * such metrics. */
void report_metric_table(const struct report_facts *facts, enum report_metric_table number, struct report_table *table);

/* Its rows: what tells them apart (the number of a rank, the
 * string of a kind) and the first figure. The caller frees them. */
#define REPORT_KEY_ABSENT INT64_MIN
#define REPORT_KEY_REST (INT64_MIN + 1)
struct report_metric_entry {
  int64_t keys[2];
  int64_t value;
};
LUMOS_VECTOR_TYPE(report_metric_entries, struct report_metric_entry);
void report_metric_entries(const struct report_facts *facts, enum report_metric_table number,
                           struct report_metric_entries *entries);

/* "GEMM 45.8 %, host gap 12.0 %, ...": the findings of the sections that show these tables; nothing where there is
 * nothing. */
void report_put_path_finding(const struct report_facts *facts, const struct report_table *kinds,
                             const struct report_table *ranks, struct lumos_text *out);
/* "GPU time is 33.1 % GEMM, 27.2 % collective and 12.3 % elementwise" */
void report_put_kinds_finding(const struct report_table *kinds, struct lumos_text *out);
void report_put_mfu_finding(const struct report_table *mfu, struct lumos_text *out);
/* Does the finding name a late rank? */
bool report_has_late_rank(const struct report_table *waits, const struct report_table *stragglers);
void report_put_waits_finding(const struct report_table *waits, const struct report_table *stragglers,
                              struct lumos_text *out);

#endif
