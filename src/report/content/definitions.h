/* What every term on the page means. Headings and figures lead here: the id of a term is "term-" and its key. */
#ifndef LUMOS_REPORT_DEFINITIONS_H
#define LUMOS_REPORT_DEFINITIONS_H

#include "report/text/template.h"

struct report_definition {
  const char *key;  /* "exposed_compute" */
  const char *name; /* "compute (exposed)" */
  const char *text;
};

/* NULL when there is none. */
const struct report_definition *report_definition(const char *key);

/* Section `definitions` (key, name, text), in the table's order. */
void report_fill_definitions(struct report_scope *scope);

#endif
