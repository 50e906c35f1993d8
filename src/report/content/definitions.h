/* What every term on the page means. Headings and figures lead here: the id of a term is "term-" and its key. */
#ifndef LUMOS_REPORT_DEFINITIONS_H
#define LUMOS_REPORT_DEFINITIONS_H

#include "report/content/table.h"
#include "report/text/template.h"

struct report_definition {
  const char *key;  /* "exposed_compute" */
  const char *name; /* "compute (exposed)" */
  const char *text;
};

/* Of a metric, by its name, or of another term. False when there is none. */
bool report_definition(const char *key, struct report_definition *found);

/* Does a column of the table lead to the term? Never of a table without rows, which is not shown. */
bool report_table_leads_to(const struct report_table *table, const char *key);

/* Section `definitions` (key, name, text): the metrics, then the other terms; of those that are `wanted`, or all of
 * them where that is NULL. */
typedef bool report_wants_term(const void *context, const char *key);
void report_fill_definitions(struct report_scope *scope, report_wants_term *wanted, const void *context);

#endif
