/* The steps of a recording: where the marks "ProfilerStep#N" stand, which of them are wanted, and when each ends on the
 * device. */
#ifndef LUMOS_TRACE_STEPS_H
#define LUMOS_TRACE_STEPS_H

#include "trace/clock.h"
#include "trace/raw.h"
#include <lumos/error.h>
#include <lumos/trace.h>

struct trace_mark {
  int64_t number;
  int64_t start, end; /* what starts in [start, end) on the host belongs to the step */
  bool unfinished;
  bool works; /* an op or call starts in it */
  bool idle;  /* none does, and it is a step all the same */
  /* how many steps' marks are lost here: 0 for a mark that was recorded, 1 for a step between two of those */
  int64_t unmarked;
  /* Of its tasks, filled by threads.c and streams.c, selected or not; LUMOS_ABSENT while there are none. */
  int64_t host_start, host_end, device_end;
};

struct trace_steps {
  LUMOS_VECTOR(struct trace_mark) marks; /* by start; without any mark one that holds everything */
  bool recorded;                         /* there are marks */
  bool ignored;                          /* ... but no work lies inside them, so they are not used */
  int64_t dropped;                       /* marks whose number does not rise */
  int64_t restored;                      /* steps whose mark is lost: all between two marks */
  int64_t idle;                          /* steps between others of which only the mark was recorded */
  int64_t merged;                        /* steps that cannot be told apart, for the marks between them are lost */
  size_t first, last;                    /* the wanted ones */
  int64_t base;                          /* of a trace that Lumos wrote, where its first step starts; LUMOS_ABSENT */
  LUMOS_VECTOR(int64_t) carried_ends;    /* of device work launched before the first mark */
};

/* Which mark holds a host instant; TRACE_BEFORE_STEPS, or marks.count behind the last. */
enum { TRACE_BEFORE_STEPS = -1 };
static inline int64_t trace_mark_at(const struct trace_steps *steps, int64_t time) {
  size_t low = 0;
  size_t high = steps->marks.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (steps->marks.items[middle].start <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool behind = low == steps->marks.count && time >= steps->marks.items[low - 1].end;
  return behind ? (int64_t)low : (int64_t)low - 1;
}

static inline bool trace_mark_wanted(const struct trace_steps *steps, int64_t mark) {
  return mark >= (int64_t)steps->first && mark <= (int64_t)steps->last;
}

/* Collect the marks of the host rows, and find those that are alone. */
void lumos_trace_find_steps(struct trace *trace, const struct trace_clock *clock, struct trace_steps *steps);
void lumos_trace_free_steps(struct trace_steps *steps);

/* Choose the wanted ones; fails when there are none. */
bool lumos_trace_select_steps(struct trace_steps *steps, const struct lumos_trace_options *options, const char *name,
                              struct lumos_error *error) LUMOS_MUST_CHECK;

/* When the first wanted step starts: the end of the step before, E_(k-1). Step k ends with its device tasks (its host
 * tasks when it has none), never before step k-1; before the first recorded step stands the end of the device work
 * launched before its mark, else its first host task's start. What ends with that step's own device work or later, or
 * when most of it has started, does not count: a stream runs in order, so it holds no step up. Device tasks stand in
 * the job from `first_task` on. */
int64_t lumos_trace_step_base(struct trace_steps *steps, const struct lumos_job *job, size_t first_task);

#endif
