/* How the page writes numbers: every time, share and count goes through here, so that one value never has two looks.
 *
 * Between a number and its unit stands a no-break space (U+00A0); thousands are parted by commas. LUMOS_ABSENT is
 * written as an en dash. Rounding is half away from zero.
 */
#ifndef LUMOS_REPORT_NUMBERS_H
#define LUMOS_REPORT_NUMBERS_H

#include "base/text.h"
#include <lumos/job.h>
#include <stdint.h>

/* Shares are integers in millionths of the whole; LUMOS_ABSENT where the whole is not positive or a part is absent. */
int64_t report_share(int64_t part, int64_t whole);

/* Sums that a hostile stream cannot make wrap: they stop at the ends of int64_t. LUMOS_ABSENT counts as nothing. */
static inline int64_t report_sum(int64_t left, int64_t right) {
  if (left == LUMOS_ABSENT) {
    return right;
  }
  if (right == LUMOS_ABSENT) {
    return left;
  }
  int64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) {
    return left < 0 ? -INT64_MAX : INT64_MAX;
  }
  return sum;
}

/* What `count` of a value come to, within the same ends; LUMOS_ABSENT stays. */
static inline int64_t report_product(int64_t value, int64_t count) {
  int64_t product = 0;
  if (value == LUMOS_ABSENT || !__builtin_mul_overflow(value, count, &product)) {
    return value == LUMOS_ABSENT ? LUMOS_ABSENT : product;
  }
  return value < 0 ? -INT64_MAX : INT64_MAX;
}

/* Times beyond this are no times of a recording; pictures stop there. */
#define REPORT_FARTHEST ((int64_t)1 << 57)
static inline int64_t report_bounded(int64_t time) {
  return time > REPORT_FARTHEST ? REPORT_FARTHEST : time < -REPORT_FARTHEST ? -REPORT_FARTHEST : time;
}

/* A time in three significant digits, in the unit that leaves some before the point: "41.8 ms", "7.50 µs", "250 ns". */
void report_put_time(struct lumos_text *text, int64_t nanoseconds);
/* The same beside another time: with up to two digits more where both would look alike without being so. */
void report_put_time_beside(struct lumos_text *text, int64_t nanoseconds, int64_t other);
/* "88.1 ms to 91.2 ms" */
void report_put_time_range(struct lumos_text *text, int64_t low, int64_t high);
/* "2,912 of 2,917 kernels and copies"; an absent part is none. */
void report_put_part(struct lumos_text *text, int64_t part, int64_t whole, const char *nouns);
/* The label of an axis whose ticks are `distance` apart: whole units, such as "20 ms" or "1,500 µs"; "0". */
void report_put_tick(struct lumos_text *text, int64_t nanoseconds, int64_t distance);
/* value / 10^exponent with exactly `decimals` decimals and no unit: columns of tables, whose header names the unit. */
void report_put_fixed(struct lumos_text *text, int64_t value, int exponent, int decimals);
/* "12.3 %"; "0 %" is nothing at all, "<0.1 %" something small, "–" unknown. */
void report_put_share(struct lumos_text *text, int64_t millionths);
/* With two decimals, for errors: "0.03 %", "<0.01 %". */
void report_put_fine_share(struct lumos_text *text, int64_t millionths);
/* "1,234". */
void report_put_count(struct lumos_text *text, int64_t count);
/* "3 ranks", "1 rank": the count and the noun, with an s behind it unless the count is 1. */
void report_put_counted(struct lumos_text *text, int64_t count, const char *noun);
/* "1.5 GB" in powers of 1000. */
void report_put_bytes(struct lumos_text *text, int64_t bytes);

#endif
