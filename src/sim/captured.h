/* What CPU threads would not do any more if each pass were captured as a CUDA graph. */
#ifndef LUMOS_SIM_CAPTURED_H
#define LUMOS_SIM_CAPTURED_H

#include <lumos/job.h>

/* A graph is what one thread launches in a row for one pass of one micro-batch in one step, forward, backward,
 * optimizer or other, as far as nothing in between makes the thread wait, or silent for over 1 ms, which cannot be
 * captured. Its first launch stays, as the launch of the graph.
 *
 * By task: 1 where it stands behind a graph's first launch, up to its last: the thread did it when the graph was
 * captured. NULL, with *graphs 0: no pass has two launches. The caller frees it. O(tasks). */
uint8_t *lumos_find_captured(const struct lumos_job *job, int64_t *graphs);

/* Whether communication is captured, too, and so keeps its place beside other kernels, depends on the program; it is
 * predicted as if it were. If not, it comes behind the graph: of what overlaps anything between nothing and all is
 * lost. The root mean square from 0 to 1. */
#define LUMOS_GRAPHS_LOSE 0.577

#endif
