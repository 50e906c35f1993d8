/* The report as GitHub's Markdown, to be pasted into a comment: what the page says in words and tables. */
#ifndef LUMOS_REPORT_MARKDOWN_H
#define LUMOS_REPORT_MARKDOWN_H

#include "report/content/content.h"

bool report_markdown_write(struct report_content *content, struct lumos_text *out,
                           struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
