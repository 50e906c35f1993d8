/* The least that a step of a planned job can take: what its passes need where nothing but GPUs and what passes need of
 * each other holds them, found without building the job.
 */
#ifndef LUMOS_REBUILD_LEAST_H
#define LUMOS_REBUILD_LEAST_H

#include "rebuild/contended.h"
#include "rebuild/plan.h"

/* What is counted: kernels that every configuration has where as many ranks share tensors and sequences, or some do; or
 * where none does any more, and what they did to share them goes: products and attention alone. */
enum rebuild_counts { REBUILD_COUNTS_KERNELS, REBUILD_COUNTS_PRODUCTS };

/* How long a block keeps the stream busy that its rank computes most on, as long as kernels take beside no
 * communication, and its thread, for launching these; ns. */
struct rebuild_busy {
  int64_t stream, host;
};
/* By block. left_out: by task, what is not counted. The caller frees it. O(tasks + blocks). */
struct rebuild_busy *rebuild_busy_find(const struct rebuild_blocks *blocks, const struct rebuild_contended *contended,
                                       enum rebuild_counts counts, const uint8_t *left_out);

/* ns: the mean over built steps but the first. `busy`: of the plan's blocks. No step that is simulated is shorter: a
 * stream does one kernel at a time, a thread one thing, a pass begins behind what sends to it, and the first stage's
 * next step behind its last pass. LUMOS_ABSENT: the plan is none that can go on. O(items + ranks x passes). */
int64_t rebuild_least(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                      const struct rebuild_busy *busy);

#endif
