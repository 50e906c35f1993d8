/* The single tasks that a page holds besides the picture of all of them, so that a reader can zoom in: all of them
 * where there are few, else the longest, those of the chain that a step waits for, those of a span of time that was
 * asked for, and what launched and what held these.
 *
 * They are embedded as columns of integers (packed.c), because a page with a file's worth of records would be too large
 * to hand on. Only tasks of lanes that are drawn, and that have a simulated time.
 */
#ifndef LUMOS_REPORT_DETAIL_H
#define LUMOS_REPORT_DETAIL_H

#include "report/content/chain.h"
#include "report/content/timeline.h"
#include <lumos/path.h>
#include <lumos/report.h>

enum {
  REPORT_LONGEST = 20000, /* of more than REPORT_EMBEDDED tasks, by the longer of their two durations */
  REPORT_CHAIN = 20000,   /* of the chain; the longest where there are more */
  REPORT_WINDOW = 20000,  /* of the span that was asked for; the longest where there are more */
  REPORT_EMBEDDED = 60000 /* altogether */
};

/* What they are chosen from. */
struct report_detail_source {
  const struct report_timelines *timelines;
  const struct lumos_report_options *options;
  const struct lumos_held *bindings; /* what held every task; NULL: not known */
  const struct report_chain *chain;  /* what a step waits for; NULL: not known */
  /* On a page of several jobs: of each only what runs in the picture's span, in the timeline that is drawn, and of the
   * room its part. */
  size_t jobs;                /* so many; 0: it is the only one, and what follows says nothing */
  const char *name;           /* "A" */
  enum report_timeline shown; /* what alone is drawn */
};

struct report_detail {
  struct report_detail_source from;
  uint32_t *ordinals; /* by task: its place among the embedded, lane by lane as drawn; LUMOS_NONE */
  uint32_t *chosen;   /* the embedded tasks, in that order */
  int64_t tasks, embedded;
  int64_t shortest;     /* of the longest; LUMOS_ABSENT: all tasks are among them */
  int64_t chain_tasks;  /* on the chain, and drawn */
  int64_t window_tasks; /* of the span */
};

/* What `from` holds outlives the detail. O(tasks log REPORT_LONGEST). */
void report_detail_read(const struct report_detail_source *from, struct report_detail *detail);
void report_detail_free(struct report_detail *detail);

/* Which tasks are embedded, in words. */
void report_put_detail(const struct report_detail *detail, struct lumos_text *out);
/* The tasks as JSON, safe inside <script>: see packed.c. Of several jobs, with lanes in the order of their picture:
 * those of the first, then those of the second. */
void report_details_json(const struct report_detail *details, size_t count, struct lumos_text *out);
static inline void report_detail_json(const struct report_detail *detail, struct lumos_text *out) {
  report_details_json(detail, 1, out);
}
/* Does the task run in the span that the picture of several jobs shows? On a page of one job all do. */
bool report_detail_spans(const struct report_detail *detail, const struct report_clock *clock, uint32_t task);

#endif
