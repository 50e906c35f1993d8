/* The files of templates/, compiled into the library in the order of their names. */
#ifndef LUMOS_REPORT_TEMPLATES_H
#define LUMOS_REPORT_TEMPLATES_H

#include <stddef.h>

struct lumos_template {
  const char *name;  /* "report.html" */
  const char *bytes; /* a NUL follows them */
  size_t length;
};

extern const struct lumos_template lumos_templates[];
extern const size_t lumos_template_count;

#endif
