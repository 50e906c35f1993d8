/* The members that stand beside the list of events: those that we know, and their values as JSON that can be
 * trusted. */
#ifndef LUMOS_TRACE_ENVELOPE_H
#define LUMOS_TRACE_ENVELOPE_H

#include "base/json.h"
#include "trace/raw.h"

/* Is the key one that Kineto writes? *fact: what it tells, TRACE_FACTS where it is not kept. */
bool lumos_trace_envelope_key(const struct lumos_slice *key, enum trace_fact *fact);

enum { TRACE_REPEATED = 4U }; /* a remark: a key stands twice, with two values; the first one holds */

/* The value's text for the caller to free: numbers that JSON lacks become null (remark TRACE_LOST, also of those that
 * are out of range), bytes that are no UTF-8 are replaced (TRACE_REPLACED). NULL when it is no valid JSON. */
char *lumos_trace_envelope_value(enum trace_fact fact, const struct lumos_slice *value, unsigned *remarks);

/* Of the damaged text of distributedInfo, the members that can be read around the damage, as an object for the caller
 * to free; NULL: none. */
char *lumos_trace_envelope_salvage(const char *begin, const char *end);

#endif
