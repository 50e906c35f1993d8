/* Typical values by group: samples in, trimmed means out.
 *
 * A group is named by up to three numbers. Its typical value is the mean of its samples with a tenth dropped on
 * either side: medians and minima drift on traces that count whole microseconds, and a plain mean follows its
 * outliers.
 */
#ifndef LUMOS_GRAPH_TYPICAL_H
#define LUMOS_GRAPH_TYPICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lumos_typical;
struct lumos_typical *lumos_typical_new(void);
/* Whose means leave out the smallest and the largest part in `one_in` of a group instead of a tenth. */
struct lumos_typical *lumos_typical_new_trimmed(size_t one_in);
void lumos_typical_free(struct lumos_typical *typical);

/* The dense number of the group (a, b, c), made when new. */
uint32_t lumos_typical_group(struct lumos_typical *typical, uint32_t a, uint32_t b, uint32_t c);
/* All samples are added before the first is asked for. */
void lumos_typical_add(struct lumos_typical *typical, uint32_t group, int64_t value);
/* The group's typical value; false when it has fewer than `enough` samples. */
bool lumos_typical_value(struct lumos_typical *typical, uint32_t group, size_t enough, int64_t *value);

/* Sort ascending. */
void lumos_sort_times(int64_t *values, size_t count);
/* The mean of the middle, a tenth (rounded down) dropped on either side, and of three to nine one that lies apart from
 * all others, by over 2 us; rounded half away from zero; 0 of none.
 * Moves the values. O(count). */
int64_t lumos_trimmed_mean(int64_t *values, size_t count);
/* The value that at least `percent` percent of the values do not exceed; of sorted values. count > 0. */
int64_t lumos_percentile(const int64_t *sorted, size_t count, unsigned percent);
/* The 50th percentile of values that need not be sorted. Moves them. O(count). */
int64_t lumos_median(int64_t *values, size_t count);
/* The same of values each of which stands for as many alike as its weight says, at least 1; `weights` NULL: for one.
 * Moves the values, not the weights. O(count), with weights O(count log count). */
int64_t lumos_weighted_median(int64_t *values, const int64_t *weights, size_t count);

#endif
