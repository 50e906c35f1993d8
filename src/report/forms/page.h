/* The report as one HTML page. */
#ifndef LUMOS_REPORT_PAGE_H
#define LUMOS_REPORT_PAGE_H

#include "report/content/content.h"

bool report_page_write(struct report_content *content, struct lumos_text *out,
                       struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
