/* The tables that are read straight off the tasks: kernels, ops, collectives, ranks. Every one is begun here and freed
 * by the caller. */
#ifndef LUMOS_REPORT_TABLES_H
#define LUMOS_REPORT_TABLES_H

#include "report/content/facts.h"
#include "report/content/table.h"

/* Per step and rank, all names. */
void report_table_kernels(const struct report_facts *facts, struct report_table *table);
void report_table_ops(const struct report_facts *facts, struct report_table *by_device, struct report_table *by_host);
void report_table_collectives(const struct lumos_job *job, struct report_table *table);
/* With `details` the ranks' hosts and traces too. */
void report_table_ranks(const struct lumos_job *job, bool details, struct report_table *table);
void report_table_clocks(const struct lumos_job *job, struct report_table *table);
/* Without rows where nothing is known. */
void report_table_model(const struct lumos_job *job, struct report_table *table);

/* In a caption: which durations a changed job's tables add up. */
void report_put_which_durations(const struct lumos_job *job, struct lumos_text *out);

#endif
