/* Independent pieces of work on several cores, with the outcome that one core would give. */
#ifndef LUMOS_BASE_PARALLEL_H
#define LUMOS_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

/* Do the piece `index`, touching nothing that another piece touches; false when it failed. `callers`: this is the
 * thread that called lumos_parallel, the only one from which a watcher may be told. */
typedef bool lumos_piece(void *context, size_t index, bool callers);

/* Do the pieces 0 to count - 1, begun in this order, on up to `threads` threads (0: one for every core that the process
 * may use), the caller's among them, which does the first. Once a piece has failed no later one begins. Returns when
 * all that began are done: `count`, or the lowest index that failed, which is the same whatever the threads, for all
 * before it were done. */
size_t lumos_parallel(size_t count, size_t threads, lumos_piece *piece, void *context);

/* On how many threads lumos_parallel does so many pieces; 0: there are none. */
size_t lumos_parallel_threads(size_t count, size_t threads);

#endif
