/* Sorting what is nearly in order: lists that were put together from a few which are. */
#ifndef LUMOS_BASE_SORT_H
#define LUMOS_BASE_SORT_H

#include <stddef.h>

/* As qsort. O(items) compares where they are few ascending runs. */
void lumos_sort_runs(void *items, size_t count, size_t size, int (*compare)(const void *left, const void *right));

#endif
