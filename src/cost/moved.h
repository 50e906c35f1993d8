/* How many bytes an op that does not multiply moves, from the shapes of its inputs. */
#ifndef LUMOS_COST_MOVED_H
#define LUMOS_COST_MOVED_H

#include <lumos/job.h>

struct lumos_traffic { /* bytes */
  double read, written;
};

/* Inputs are read once, and what an op of this kind writes is written once: as much as the largest input; as the first
 * where it works in place or on lists, or reads nothing of it; what is gathered by indices is read and written; of a
 * reduction nothing. Nothing of either: unknown. `shapes` and `dtypes` as recorded. */
struct lumos_traffic lumos_bytes_moved(enum lumos_task_kind kind, const char *op, const char *shapes,
                                       const char *dtypes);

/* The innermost op with shapes around the call that launched a kernel: index of its span, or LUMOS_NONE. */
uint32_t lumos_shaped_op(const struct lumos_job *job, const struct lumos_task *task);

#endif
