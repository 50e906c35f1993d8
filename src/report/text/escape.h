/* Names from traces inside Markdown and CSV: shown as they are, and nothing that GitHub or a spreadsheet would act
 * on. */
#ifndef LUMOS_REPORT_ESCAPE_H
#define LUMOS_REPORT_ESCAPE_H

#include "base/text.h"

/* For GitHub's Markdown, inside a line and inside a table's cell: no mark-up, no link, nobody mentioned. */
void report_put_markdown(struct lumos_text *out, const char *bytes, size_t length);

/* A text as a field of CSV (RFC 4180): quoted where it has to be, and no formula. */
void report_put_csv(struct lumos_text *out, const char *bytes, size_t length);

#endif
