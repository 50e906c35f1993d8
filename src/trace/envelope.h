/* The members that stand beside the list of events: those that we know, and their values as JSON that can be trusted. */
#ifndef LUMOS_TRACE_ENVELOPE_H
#define LUMOS_TRACE_ENVELOPE_H

#include "base/json.h"
#include "trace/raw.h"

/* Is the key one that Kineto writes? *fact: what it tells, TRACE_FACTS where it is not kept. */
bool lumos_trace_envelope_key(const struct lumos_slice *key, enum trace_fact *fact);

/* The value's text for the caller to free: numbers that JSON lacks become null (remark TRACE_LOST), bytes that are no UTF-8 are
 * replaced (TRACE_REPLACED). NULL when it is no valid JSON. */
char *lumos_trace_envelope_value(const struct lumos_slice *value, unsigned *remarks);

#endif
