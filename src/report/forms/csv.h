/* The report as CSV, for spreadsheets and scripts: every metric of the stream, a row each, or the numbers of a
 * picture. */
#ifndef LUMOS_REPORT_CSV_H
#define LUMOS_REPORT_CSV_H

#include "report/content/content.h"

/* Without a view
 * name,value,unit,of,source,rank,step,lane,kind,group,layer,task,low,high,stage,peer,op,module,scope_name,phase: as in
 * the stream, what is absent is empty. With one the table of its picture; fails when there is nothing of the kind. */
bool report_csv_write(struct report_content *content, struct lumos_text *out,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
