/* What stands beside the events: who recorded, on what, in which groups. */
#ifndef LUMOS_TRACE_FACTS_H
#define LUMOS_TRACE_FACTS_H

#include "trace/build.h"

/* The rank that the trace names itself, LUMOS_ABSENT_INT when it does not. */
int32_t lumos_trace_own_rank(const struct trace *trace);

/* World, host, device, versions of build->rank, and the groups of distributedInfo. */
void lumos_trace_take_facts(struct trace_build *build);

#endif
