/* The first touch of a page costs more than what is then done with it, on a virtual machine ten times as much: of large
 * arrays that are filled from front to back a thread beside does it ahead of who fills them. A wish: nothing depends on
 * it. */
#ifndef LUMOS_BASE_AHEAD_H
#define LUMOS_BASE_AHEAD_H

#include <stddef.h>

/* NULL: there is no thread for it (`threads` as of parallel.h). Every function takes it. */
struct lumos_ahead *lumos_ahead_begin(size_t threads);
/* Array `index`, below LUMOS_AHEAD_ARRAYS, is there now, and its first bytes, so many of which there is room for, will
 * be written soon. What they hold stays as it is, and they may be written, moved and freed meanwhile. */
enum { LUMOS_AHEAD_ARRAYS = 8 };
void lumos_ahead_tell(struct lumos_ahead *ahead, size_t index, void *from, size_t bytes);
void lumos_ahead_end(struct lumos_ahead *ahead);

#endif
