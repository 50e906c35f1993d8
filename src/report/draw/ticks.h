/* How far apart the ticks of an axis are. */
#ifndef LUMOS_REPORT_TICKS_H
#define LUMOS_REPORT_TICKS_H

#include <stdint.h>

/* 1, 2 or 5 times a power of ten, so that at most twelve ticks fit in `span`. */
int64_t report_tick_distance(int64_t span);

#endif
