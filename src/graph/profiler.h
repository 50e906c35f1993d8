/* What recording itself takes on the host: it is in every gap between rows, and no change of the host's own work
 * changes it.
 */
#ifndef LUMOS_GRAPH_PROFILER_H
#define LUMOS_GRAPH_PROFILER_H

#include <lumos/job.h>

/* Of a task on a thread what recording is taken to take: of its dur as recorded, and of its lag. That is the most that
 * it can be between rows, or, where steps were timed without the profiler, as much of that as those show. */
struct lumos_profiled {
  int64_t dur, lag;
};
struct lumos_profiled lumos_profiled_part(const struct lumos_job *job, uint32_t task);

#endif
