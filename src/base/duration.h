/* Durations as people write them: "10ms", "1.5us", "0.25s". */
#ifndef LUMOS_BASE_DURATION_H
#define LUMOS_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Read one at *at (a decimal number and ns, us, ms or s) and move *at behind it. False, with *at left as it is, when
 * there is none, when it is finer than a nanosecond, or beyond int64_t. */
bool lumos_duration_read(const char **at, int64_t *nanoseconds);

#endif
