/* The report as a comment: what a reviewer needs, on a screen. At most 40 lines and 4 kB, whatever the job. */
#ifndef LUMOS_REPORT_BRIEF_H
#define LUMOS_REPORT_BRIEF_H

#include "report/content/content.h"
#include "report/text/template.h"

/* The values of templates/brief.md. */
void report_fill_brief(const struct report_content *content, struct report_scope *root);

#endif
