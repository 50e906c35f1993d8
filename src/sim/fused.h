/* Kernels that could be one: those that follow each other on a stream, launched one after the other by a thread that
 * does not wait in between. */
#ifndef LUMOS_SIM_FUSED_H
#define LUMOS_SIM_FUSED_H

#include <lumos/job.h>

struct lumos_fused_run {
  uint32_t first, end; /* tasks [first, end), at least two */
};
LUMOS_VECTOR_TYPE(lumos_fused_runs, struct lumos_fused_run);

/* Of the chosen tasks, by task, within a step. Copies, memsets and communication are never fused. O(tasks + deps). */
void lumos_find_fused_runs(const struct lumos_job *job, const uint8_t *chosen, struct lumos_fused_runs *runs);

/* What kernels that only move memory take as one, in ns, by run: the caller frees it.
 *
 * What one of them writes and the next reads is not moved: their time goes down as their bytes do, but not below the
 * longest of them. Where the recording does not say what each of them moves, they take all of their time, and only
 * launches and the gaps between them are saved. O(device tasks). */
int64_t *lumos_fused_times(const struct lumos_job *job, const struct lumos_fused_runs *runs);

#endif
