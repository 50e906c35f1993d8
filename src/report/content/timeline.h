/* What the timeline shows: which lanes, from when to when, and what ran on them. */
#ifndef LUMOS_REPORT_TIMELINE_H
#define LUMOS_REPORT_TIMELINE_H

#include "base/text.h"
#include "report/content/facts.h"
#include <lumos/path.h>

/* One lane that has tasks. */
struct report_lane {
  uint32_t lane;
  int64_t busy[TIMELINES]; /* its tasks' durations added up; LUMOS_ABSENT: no task has a time there */
  uint8_t kind;            /* the kind with the longest total, measured (simulated where nothing was measured) */
};
LUMOS_VECTOR_TYPE(report_lanes, struct report_lane);

/* A moment where the job's step ends. */
struct report_boundary {
  int32_t step;
  int64_t start, end;
};
LUMOS_VECTOR_TYPE(report_boundaries, struct report_boundary);

struct report_timelines {
  const struct lumos_job *job;
  struct report_lanes open;       /* all streams and the busiest threads, as far as they fit */
  struct report_lanes folded;     /* the others, as far as they fit */
  size_t left_out;                /* lanes that are not drawn */
  int64_t from, until;            /* of everything that is drawn; job time */
  struct report_boundaries steps; /* the job's, simulated */
  struct lumos_doubts doubts;     /* to be marked on the lanes; see doubt.h */
};

void report_timelines_read(const struct lumos_job *job, struct report_timelines *timelines);
void report_timelines_free(struct report_timelines *timelines);

/* The instant that the axis counts from: the start of the first step. */
int64_t report_timelines_origin(const struct report_timelines *timelines);

/* When a task ran. False when it has no time in this timeline. */
bool report_task_time(const struct lumos_job *job, enum report_timeline timeline, uint32_t task, int64_t *start,
                      int64_t *duration);

/* "stream 7", "thread 1382": a lane in words; long numbers keep their end. */
void report_put_lane(struct lumos_text *out, const struct lumos_job *job, uint32_t lane);

#endif
