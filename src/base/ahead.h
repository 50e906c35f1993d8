/* The first touch of a page costs more than what is then done with it, on a virtual machine ten times as much: of large
 * arrays that are filled from front to back a thread beside does it ahead of who fills them. */
#ifndef LUMOS_BASE_AHEAD_H
#define LUMOS_BASE_AHEAD_H

#include <stddef.h>

struct lumos_ahead_array {
  void *from;
  size_t bytes; /* that will be written */
};

/* NULL: it would not pay, or there is no thread for it (`threads` as of parallel.h). What the arrays hold stays as it is,
 * and they may be written meanwhile; of one that moves, the thread enters what takes its place, in vain. A wish: nothing
 * depends on it. */
struct lumos_ahead *lumos_ahead_begin(const struct lumos_ahead_array *arrays, size_t count, size_t threads);
/* Where it is. NULL is allowed. */
void lumos_ahead_end(struct lumos_ahead *ahead);

#endif
