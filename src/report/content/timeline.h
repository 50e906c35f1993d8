/* What the timeline shows: which lanes, from when to when, and what ran on them. */
#ifndef LUMOS_REPORT_TIMELINE_H
#define LUMOS_REPORT_TIMELINE_H

#include "report/content/facts.h"
#include "report/content/lane_roles.h"
#include "report/content/route.h"
#include "report/text/numbers.h"
#include <lumos/path.h>
#include <lumos/sim.h>

/* One lane that has tasks. */
struct report_lane {
  uint32_t lane;
  int64_t busy[TIMELINES]; /* its tasks' durations added up; LUMOS_ABSENT: no task has a time there */
  int64_t from, until;     /* of both timelines, job time; until before from: no task has a time */
  uint32_t kinds;          /* of its tasks: bit k is of kind k */
  uint8_t kind;            /* the kind with the longest total, measured (simulated where nothing was measured) */
};
LUMOS_VECTOR_TYPE(report_lanes, struct report_lane);

LUMOS_VECTOR_TYPE(report_boundaries, struct report_boundary);

struct report_timelines {
  const struct lumos_job *job;
  struct report_lane_roles roles;
  struct report_lanes open;   /* all streams and the busiest threads, as far as they fit; of many ranks the outlying */
  struct report_lanes folded; /* the others, as far as they fit */
  size_t left_out;            /* lanes that are not drawn */
  int64_t from, until;        /* what the picture shows: from the start of the first step; job time */
  int64_t begin; /* of everything that ran on the drawn lanes, also before the first step; or of the span */
  int64_t end;   /* of everything that ran on them */
  bool twice;    /* measured work differs visibly from simulated work, and both are drawn */
  struct report_boundaries steps; /* the job's, simulated */
  struct report_routes routes;    /* the steps' critical paths; none where they are not known or nobody asks */
  struct lumos_doubts doubts;     /* to be marked on the lanes; see doubt.h */
};

/* What of it a picture alone shows; all zero, or NULL: whatever is worth it. */
struct report_timeline_choice {
  const int32_t *ranks; /* numbers */
  size_t rank_count;    /* 0: no ranks in particular */
  bool has_span;
  int64_t from, until; /* from the axis's origin on */
};
bool report_timeline_chooses(const struct report_timeline_choice *choice, int32_t rank);

void report_timelines_read(const struct lumos_job *job, const struct report_timeline_choice *choice,
                           struct report_timelines *timelines);
void report_timelines_free(struct report_timelines *timelines);

/* The instant that the axis counts from: the start of the first step. */
int64_t report_timelines_origin(const struct report_timelines *timelines);

/* What makes job time of one lane's measured times, looked up once for all of its tasks. */
struct report_clock {
  const struct lumos_job *job;
  int64_t offset; /* without a drift: from the lane's clock to job time */
  bool drifts;
};
struct report_clock report_clock_of(const struct lumos_job *job, uint32_t lane);

/* Before any change. */
static inline int64_t report_recorded_duration(const struct lumos_job *job, const struct lumos_task *task) {
  int64_t was = task->detail == LUMOS_NONE ? LUMOS_ABSENT : job->details.items[task->detail].was;
  return was != LUMOS_ABSENT ? was : task->dur;
}

/* When a task ran, by the clock of its lane. False when it has no time in this
 * timeline. */
static inline bool report_task_time(const struct report_clock *clock, enum report_timeline timeline, uint32_t task,
                                    int64_t *start, int64_t *duration) {
  const struct lumos_job *job = clock->job;
  if (timeline == SIMULATED) {
    *start = task < job->runs.count ? job->runs.items[task].start : LUMOS_ABSENT;
    *duration = task < job->runs.count ? job->runs.items[task].dur : LUMOS_ABSENT;
  } else {
    const struct lumos_task *record = &job->tasks.items[task];
    *start = record->start == LUMOS_ABSENT ? LUMOS_ABSENT
             : clock->drifts               ? lumos_measured_start(job, task)
                                           : record->start + clock->offset;
    *duration = report_recorded_duration(job, record);
  }
  if (*start == LUMOS_ABSENT || *duration == LUMOS_ABSENT) {
    return false;
  }
  *start = report_bounded(*start);
  *duration = *duration < 0 ? 0 : report_bounded(*duration);
  return true;
}

#endif
