/* What the allocator held in the steps that are wanted. */
#include "trace/build.h"

#include <stdlib.h>

static const int64_t most = (INT64_C(1) << 53U) - 1; /* of numbers in the stream */

/* Threads of one process are written one after the other. */
static int by_time(const void *left, const void *right) {
  const struct trace_memory *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : LUMOS_ORDER(a->place, b->place);
}

void lumos_trace_build_memory(struct trace_build *build) {
  struct trace *trace = build->trace;
  lumos_vector_sort(&trace->memory, by_time);
  for (size_t i = 0; i < trace->memory.count; i++) {
    const struct trace_memory *row = &trace->memory.items[i];
    int64_t mark = trace_mark_at(build->steps, row->start);
    bool fits = row->start >= 0 && row->allocated <= most && (row->reserved == LUMOS_ABSENT || row->reserved <= most);
    if (!fits || !trace_mark_wanted(build->steps, mark)) {
      trace->others['i']++; /* as those that say nothing of memory */
      continue;
    }
    struct lumos_memory_event event = lumos_memory_event_empty;
    event.t = row->start;
    event.allocated = row->allocated;
    event.reserved = row->reserved;
    event.device = row->device;
    event.step = (int32_t)build->steps->marks.items[mark].number;
    lumos_vector_push(&build->job->memory, event);
  }
  lumos_vector_fit(&build->job->memory);
}
