/* What the metrics mean: one row for each, which their records, the page, the schema and the manual follow. */
#ifndef LUMOS_METRIC_H
#define LUMOS_METRIC_H

#include <stddef.h>

struct lumos_metric_definition {
  const char *name; /* of the records: "exposed_compute" */
  const char *term; /* in words: "compute" */
  const char *unit; /* "ns"; "share": a fraction with 6 decimals; or another */
  /* the denominator of a share of it: the name of a metric or of a count of rank.coverage; NULL: there is none */
  const char *of;
  const char *text; /* whole sentences, UTF-8 */
};

/* NULL when there is none of that name. O(definitions). */
const struct lumos_metric_definition *lumos_metric_definition(const char *name);
/* All of them, from the whole to the parts, but for those of hta.h. */
const struct lumos_metric_definition *lumos_metric_definitions(size_t *count);

#endif
