/* The critical path of every step as a route over lanes: from when to when it is on which. Parts of one lane that
 * follow each other are one leg; where a leg begins, the path comes from the lane of the leg before it. */
#ifndef LUMOS_REPORT_ROUTE_H
#define LUMOS_REPORT_ROUTE_H

#include <lumos/path.h>

enum { REPORT_LEGS = 20000 }; /* of all steps; where there are more, the shortest are joined to what they follow */

struct report_leg {
  int64_t from, to;           /* job time */
  uint32_t lane;              /* LUMOS_NONE: outside of the recording */
  struct lumos_binding entry; /* what led here from the leg before */
};

struct report_route {
  int32_t step;
  size_t first, count; /* of its legs: without a gap from the start of the step to its end */
};

struct report_routes {
  LUMOS_VECTOR(struct report_route) of;
  LUMOS_VECTOR(struct report_leg) legs;
  int64_t joined; /* ns: legs shorter than this are joined to what they follow; 0: none */
};

/* A moment where the job's step ends. */
struct report_boundary {
  int32_t step;
  int64_t start, end;
};

/* `steps`: of the job, in order of time. O(tasks log steps + parts). */
void report_routes_read(const struct lumos_job *job, const struct lumos_held *bindings,
                        const struct report_boundary *steps, size_t count, struct report_routes *routes);
void report_routes_free(struct report_routes *routes);

#endif
