/* Where every event of a trace went: tasks and spans, and what is left out by its reason. */
#ifndef LUMOS_TRACE_LEDGER_H
#define LUMOS_TRACE_LEDGER_H

#include "trace/build.h"

/* Note it on the job's rank, once the records are made. The events that are no valid ones have notes of their own. */
void lumos_trace_note_ledger(const struct trace_build *build, const struct trace_clock *clock);

#endif
