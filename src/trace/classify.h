/* What a call does beyond taking time: rows of the table of calls. */
#ifndef LUMOS_TRACE_CLASSIFY_H
#define LUMOS_TRACE_CLASSIFY_H

#include <lumos/job.h>
#include <stdbool.h>

/* Is the pattern (in lower case) a piece of the text, whatever its case? ^ ties it to the start, $ to the end, * stands
 * for anything. */
bool lumos_trace_matches(const char *pattern, const char *text);

struct trace_call_rule {
  const char *pattern;
  enum lumos_task_kind kind;
  enum lumos_wait_on wait;   /* 0: the call does not wait */
  enum lumos_event_op event; /* 0: it neither records an event nor makes a stream wait for one */
};

/* The first row that matches; there is always one. */
const struct trace_call_rule *lumos_trace_call_rule(const char *name);

#endif
