/* How many bytes an op that does not multiply moves, from the shapes of its inputs. */
#ifndef LUMOS_COST_MOVED_H
#define LUMOS_COST_MOVED_H

#include <lumos/job.h>

/* Inputs are read once, and what an op of this kind writes is written once: as much as the largest input; as the first
 * where it works in place or on lists; what is gathered by indices is read and written; of a reduction nothing.
 * 0: unknown. `shapes` and `dtypes` as recorded. */
double lumos_bytes_moved(enum lumos_task_kind kind, const char *op, const char *shapes, const char *dtypes);

#endif
