/* What a communication task says about itself. */
#ifndef LUMOS_TRACE_COMM_H
#define LUMOS_TRACE_COMM_H

#include "trace/build.h"

/* Fill `comm` and make the group's record where it is missing. Evidence in this order: the arguments of the row, those
 * of the op around its call
 * (`call` may be NULL), those of the ops before it whose sends and receives it launches together, an annotation
 * nccl:NAME around it, the kernel's name.
 * bytes: the whole payload, the larger of the elements in and out times the size of their type (so of an all-gather
 * what each rank holds in the end, of a reduce-scatter what it starts with). */
void lumos_trace_fill_comm(struct trace_build *build, const struct trace_device *row,
                           const struct trace_call *launched_by, struct lumos_comm *comm);
/* Is this operation point to point? */
bool lumos_trace_is_p2p(const struct lumos_job *job, lumos_string_id op);

/* What a trace says of a process group in one place. */
struct trace_group_facts {
  lumos_string_id name, description;
  const char *ranks;           /* as recorded: "[0, 1]", shortened with "...", or "" */
  int64_t size, start, stride; /* LUMOS_ABSENT; its ranks are start, start + stride, ... where stride is above 0 */
};

/* The index of the group of this recorded name, made when it is new; its ranks are completed when they were not. */
uint32_t lumos_trace_group(struct trace_build *build, const struct trace_group_facts *facts);

#endif
