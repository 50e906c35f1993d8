/* One trace, from text to a job of one rank; of a file that Lumos wrote, to one job for each. */
#ifndef LUMOS_TRACE_FILE_H
#define LUMOS_TRACE_FILE_H

#include "trace/scan.h"
#include <lumos/job.h>
#include <lumos/trace.h>

/* A rank that a file holds. */
struct trace_file_rank {
  struct lumos_job *job;
  int32_t own_rank; /* LUMOS_ABSENT_INT: the trace names none; the job's rank is then 0 and to be set */
};

struct trace_file {
  LUMOS_VECTOR(struct trace_file_rank)
  ranks;            /* none: the text is no trace. Several: a file that lumos-sim --trace wrote */
  char fault[192];  /* where there are none, why: "is empty", "is damaged at byte 40: a block is invalid" */
  const char *cure; /* ... and what to do */
};

/* `name` is for messages, `source` the base name that the job keeps. The caller frees the vector and the jobs. False on
 * failure, with none; memory as promised in lumos/trace.h. */
bool lumos_trace_file(struct lumos_input *input, const char *name, const char *source,
                      const struct lumos_trace_options *options, struct trace_file *file,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
