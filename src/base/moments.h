/* Starts and ends of intervals, to be swept over in the order of time. */
#ifndef LUMOS_BASE_MOMENTS_H
#define LUMOS_BASE_MOMENTS_H

#include <lumos/memory.h>
#include <stdbool.h>
#include <stdint.h>

struct lumos_moment {
  int64_t time;
  int32_t change; /* 1: it starts, -1: it ends */
  int32_t what;   /* the caller's */
};

struct lumos_moments {
  LUMOS_VECTOR(struct lumos_moment) list;
  LUMOS_VECTOR(struct lumos_moment) merged; /* room to sort them */
};

/* Nothing where the interval is empty. */
void lumos_moments_add(struct lumos_moments *moments, int32_t what, int64_t start, int64_t end);
/* By time. Linear where they are few ordered lists one behind the other, as those of streams are. */
void lumos_moments_sort(struct lumos_moments *moments);
void lumos_moments_free(struct lumos_moments *moments);

#endif
