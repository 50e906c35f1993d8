/* What two sequences of names have in common.
 *
 * A common subsequence, the longest where the two differ little: Myers' greedy search over diagonals, which takes time
 * by differences and not by length. After LUMOS_ALIGN_SPAN differences it settles for the path that has come furthest
 * and begins anew from there, so the time is linear in the length whatever the sequences are.
 */
#ifndef LUMOS_SIM_ALIGN_H
#define LUMOS_SIM_ALIGN_H

#include <stddef.h>
#include <stdint.h>

enum { LUMOS_ALIGN_SPAN = 256 }; /* differences. Chosen: it bounds time and memory */

/* For every item of left (count entries) the index of its partner in right, or UINT32_MAX; partners ascend. Returns the
 * number of pairs. O((left + right) * LUMOS_ALIGN_SPAN), O(left + right) where they are alike. */
size_t lumos_align(const uint32_t *left, size_t left_count, const uint32_t *right, size_t right_count,
                   uint32_t *partners);

#endif
