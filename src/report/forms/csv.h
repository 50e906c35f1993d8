/* The report as CSV: every metric of the stream, a row each, for spreadsheets and scripts. */
#ifndef LUMOS_REPORT_CSV_H
#define LUMOS_REPORT_CSV_H

#include "report/content/content.h"

/* name,value,unit,of,source,rank,step,lane,kind,group,layer,task,low,high: as in the stream, what is absent is empty. */
bool report_csv_write(const struct report_content *content, struct lumos_text *out,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
