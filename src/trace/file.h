/* One trace, from text to a job of one rank. */
#ifndef LUMOS_TRACE_FILE_H
#define LUMOS_TRACE_FILE_H

#include "trace/scan.h"
#include <lumos/job.h>
#include <lumos/trace.h>

struct trace_file {
  struct lumos_job *job; /* NULL: the text is no trace */
  int32_t own_rank;      /* LUMOS_ABSENT_INT: the trace names none; the job's rank is then 0 and to be set */
  char fault[192];       /* why a text that may have been a trace is none: "byte 40: a block is invalid", or "" */
};

/* `name` is for messages, `source` the base name that the job keeps. False on failure; memory as promised in
 * lumos/trace.h. */
bool lumos_trace_file(struct lumos_input *input, const char *name, const char *source,
                      const struct lumos_trace_options *options, struct trace_file *file,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
