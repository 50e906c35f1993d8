/* The rows of a trace as HTA reads them: see rank.hta of stream.h. */
#ifndef LUMOS_TRACE_HTA_H
#define LUMOS_TRACE_HTA_H

#include "trace/raw.h"

/* Fill *out from what was scanned, before clocks and steps change it. O(rows). */
void lumos_trace_keep_hta(struct trace *trace, struct lumos_hta_rows *out);

#endif
