/* The text of a trace, whole: envelope, events, and what to do where the text is broken. */
#ifndef LUMOS_TRACE_SCAN_H
#define LUMOS_TRACE_SCAN_H

#include "trace/raw.h"
#include "trace/window.h"
#include <lumos/error.h>
#include <lumos/trace.h>

struct trace_scan_options {
  bool stacks;                 /* keep python_function rows */
  bool strict;                 /* the first invalid event fails with LUMOS_CHECK_FAILED */
  size_t window, window_limit; /* 0: TRACE_WINDOW_BYTES, TRACE_WINDOW_LIMIT */
  struct lumos_watcher watcher;
  const char *source; /* the name that it is told */
};

/* Read the input to its end into `trace` (initialised by the caller, who clears it also on failure). A text that is no
 * trace leaves trace->recognised false and is no failure. Invalid events are counted, a cut text sets trace->truncated.
 * O(bytes); memory: the window and the rows. */
bool lumos_trace_scan(struct trace *trace, struct lumos_input *input, const char *name,
                      const struct trace_scan_options *options, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
