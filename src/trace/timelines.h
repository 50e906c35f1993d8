/* A trace that lumos-sim --trace wrote: several ranks in one file, each with its measured lanes beside its simulated
 * ones.
 *
 * Numbers of processes and threads mean nothing there but places on the screen. What each stands for says a document
 * before the events, "lumos_timelines"; a row of a place that it does not name (all simulated ones) is not kept. Ranks
 * lie side by side in job time, so a shift of whole nanoseconds leads back to the clock of each.
 */
#ifndef LUMOS_TRACE_TIMELINES_H
#define LUMOS_TRACE_TIMELINES_H

#include "base/json.h"
#include "trace/raw.h"

/* A rank of the file: a trace of its own. */
struct trace_timeline {
  struct lumos_job *job; /* whose strings the trace has; owned until somebody takes it */
  struct trace trace;
};

/* A place on the screen, and what was recorded there. */
struct trace_screen_place {
  int64_t process, thread;
  uint32_t timeline;
  uint32_t lane; /* in the timeline's trace; LUMOS_NONE: rows that are of no lane */
  int64_t shift; /* ns later than on the rank's own clock */
};

struct trace_timelines {
  LUMOS_VECTOR(struct trace_timeline) items;
  LUMOS_VECTOR(struct trace_screen_place) places; /* by process, then thread */
  size_t last;                                    /* the place of the row before */
};

/* From the document's text; NULL when it is none that this version writes. */
struct trace_timelines *lumos_trace_timelines_new(const char *text);
void lumos_trace_timelines_free(struct trace_timelines *timelines); /* NULL is allowed */

/* The place of a row by its pid and tid; NULL when the document has none. */
const struct trace_screen_place *lumos_trace_timelines_place(struct trace_timelines *timelines,
                                                             const struct lumos_slice *process,
                                                             const struct lumos_slice *thread);

#endif
