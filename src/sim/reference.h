/* With whom ranks that do the same are compared: one that a quarter of the others come before. So three slow ranks of
 * four are found, and one of eight that is fast makes nobody slow. */
#ifndef LUMOS_SIM_REFERENCE_H
#define LUMOS_SIM_REFERENCE_H

#include <lumos/job.h>

/* One of those that are compared, and what it took. */
struct lumos_contender {
  __int128 time;
  int64_t weight;
  size_t number;
};
LUMOS_VECTOR_TYPE(lumos_contenders, struct lumos_contender);

/* The number of that one; `count`: how often each stands among them; 0: there are none. They are sorted by what they
 * took. O(n log n). */
size_t lumos_reference_of(struct lumos_contenders *contenders, int64_t count);

#endif
