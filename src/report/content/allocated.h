/* How much memory PyTorch's allocator holds for a GPU over time, by the trace's memory events: of the rank that has
 * most allocated at once, with what its allocator has reserved. Nothing is known of it after a change. CPUs allocate
 * ahead of the kernels, so the picture has an axis of its own: from the first event to the last, with the steps of the
 * CPU. */
#ifndef LUMOS_REPORT_ALLOCATED_H
#define LUMOS_REPORT_ALLOCATED_H

#include "report/content/table.h"
#include "report/content/timeline.h"
#include "report/draw/scene.h"

/* The most at once in a bin, in bytes; LUMOS_ABSENT: it is not known yet. */
struct report_allocated_bin {
  int64_t allocated, reserved;
};

enum { REPORT_ALLOCATED_BINS = 1000 }; /* at most */

struct report_allocated {
  const struct report_timelines *timelines;
  LUMOS_VECTOR(struct report_allocated_bin) bins; /* none: no memory was recorded */
  int64_t width, from, until;                     /* of a bin, ns; from the first event to the last, job time */
  struct report_boundaries steps;                 /* the CPU's, from the first event of each */
  int64_t peak, reserved;                         /* over all bins; reserved: LUMOS_ABSENT */
  int64_t capacity;                               /* of the GPU; LUMOS_ABSENT */
  uint32_t rank;                                  /* whose it is: an index */
  size_t ranks; /* that were looked at: those asked for of which memory was recorded */
};

/* `choice`: as of report_timelines_read. O(memory events + bins). */
void report_allocated_read(const struct report_facts *facts, const struct report_timelines *timelines,
                           const struct report_timeline_choice *choice, struct report_allocated *allocated);
void report_allocated_free(struct report_allocated *allocated);

/* "Rank 3's GPU has up to 10.4 GB allocated, the most of 8 ranks, and 11.5 GB reserved, of 85.0 GB" */
void report_put_allocated_finding(const struct report_allocated *allocated, struct lumos_text *out);
void report_put_allocated_reading(const struct report_allocated *allocated, struct lumos_text *out);
void report_allocated_table(const struct report_allocated *allocated, struct report_table *table);

/* False: there is nothing to show; the scene is not begun. */
bool report_allocated_scene(const struct report_allocated *allocated, struct report_scene *scene);
void report_allocated_paints(const struct report_allocated *allocated, bool shown[PAINT_COUNT]);

#endif
