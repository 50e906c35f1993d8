/* The report as a JSON document: the numbers that the page embeds, every metric of the stream, and what each of them
 * means; and the schema of such documents (templates/report.schema.json). */
#ifndef LUMOS_REPORT_DOCUMENT_H
#define LUMOS_REPORT_DOCUMENT_H

#include "report/content/content.h"

bool report_document_write(struct report_content *content, struct lumos_text *out,
                           struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
