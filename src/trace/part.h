/* One input of a parse, read apart from the others: a trace, or a stream that an earlier parse wrote. */
#ifndef LUMOS_TRACE_PART_H
#define LUMOS_TRACE_PART_H

#include <lumos/job.h>
#include <lumos/memory.h>
#include <stdbool.h>
#include <stdint.h>

struct trace_part {
  struct lumos_job *job; /* NULL: the file is no trace */
  const char *name;      /* base name */
  bool is_stream;        /* its ranks are fixed */
  int32_t rank;          /* of a trace; LUMOS_ABSENT_INT while it has none */
  int64_t run;           /* which of several runs it is of, from 1 by time; see runs.h */
};

LUMOS_VECTOR_TYPE(trace_parts, struct trace_part);

static inline bool trace_part_has_rank(const struct trace_part *part, int32_t rank) {
  return part->is_stream ? lumos_job_rank(part->job, rank) != LUMOS_NONE : part->rank == rank;
}

#endif
