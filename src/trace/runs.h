/* Recordings of several runs that lie in one folder. */
#ifndef LUMOS_TRACE_RUNS_H
#define LUMOS_TRACE_RUNS_H

#include "base/text.h"
#include "trace/part.h"
#include <lumos/error.h>
#include <lumos/trace.h>

/* Files of runs that were not chosen. */
struct trace_other_runs {
  size_t files;
  struct lumos_text names; /* "a.json, b.json, c.json and 2 more" */
};

/* Tell the parts' runs apart, by when they were recorded and by ranks that come again, and keep those of options->run:
 * the others are freed and leave `parts`, and are added to *others. Several runs without a choice are refused, with the
 * files of each, unless options->ranks insists that they are one; so is a run that is not there. */
bool lumos_trace_choose_run(struct trace_parts *parts, const struct lumos_trace_options *options,
                            struct trace_other_runs *others, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
