/* Recordings of several runs that lie in one folder. */
#ifndef LUMOS_TRACE_RUNS_H
#define LUMOS_TRACE_RUNS_H

#include "trace/part.h"
#include <lumos/error.h>
#include <lumos/trace.h>

/* Tell the parts' runs apart, by when they were recorded and by ranks that come again, and keep those of options->run:
 * the others are freed and leave `parts`, *others says how many. Several runs without a choice are refused, with the
 * files of each, unless options->ranks insists that they are one; so is a run that is not there. */
bool lumos_trace_choose_run(struct trace_parts *parts, const struct lumos_trace_options *options, size_t *others,
                            struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
