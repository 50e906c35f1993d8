/* Collapsing a chain of thousands of tasks into boxes that can be read.
 *
 * What takes at least so long, an op or a task in it, stands alone; what is shorter is gathered with its neighbours in
 * time on the same lane. The least time is the smallest that keeps the boxes within a limit: where they all fit, every
 * task stands alone. Where half of the limit is left over, the first of those that take a nanosecond less stand alone
 * too: layers that are alike take times that are alike. A chain that changes its lane more often than the limit allows
 * is gathered across lanes.
 */
#ifndef LUMOS_REPORT_COLLAPSE_H
#define LUMOS_REPORT_COLLAPSE_H

#include <lumos/path.h>

/* Consecutive parts of the chain, as one box. */
struct report_piece {
  size_t first, count;
  uint32_t lane; /* LUMOS_NONE: several, or what is outside of the recording */
  bool alone;    /* not gathered */
};
LUMOS_VECTOR_TYPE(report_pieces, struct report_piece);

struct report_collapse {
  struct report_pieces pieces;
  lumos_string_id *names; /* of every part: the op or task that it counts for */
  int64_t least;          /* what stands alone takes at least so long, but for what is outside of the recording */
  int64_t first;          /* what takes a nanosecond less stands alone so many times, from the start */
  bool by_lane;
};

/* `limit` is at least 1. O(parts x depth of ops x 64). Free the collapse in any case. */
void report_collapse_make(const struct lumos_job *job, const struct lumos_path_parts *parts, size_t limit,
                          struct report_collapse *collapse);
/* The innermost op around a task, or around the call that launched it; LUMOS_NONE: none. */
uint32_t report_op_of(const struct lumos_job *job, uint32_t task);
/* The op around a task of a stream, which says more than a kernel's name; else the task's own name. */
lumos_string_id report_collapse_name(const struct lumos_job *job, uint32_t task);
void report_collapse_free(struct report_collapse *collapse);

#endif
