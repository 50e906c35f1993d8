/* What the files of a history share. */
#ifndef LUMOS_HISTORY_HISTORY_H
#define LUMOS_HISTORY_HISTORY_H

#include "history/changes.h"
#include "history/night.h"
#include <lumos/history.h>

/* A place on the axis: a night, or several that are missing. */
struct history_slot {
  size_t night;    /* of the job; HISTORY_MISSING */
  int64_t missing; /* of a gap: how many */
};
#define HISTORY_MISSING SIZE_MAX
LUMOS_VECTOR_TYPE(history_slots, struct history_slot);
LUMOS_VECTOR_TYPE(history_nights, struct history_night);

/* Changes of a series: `at`, `first` and `last` are nights of the job. */
struct history_trend {
  struct history_changes changes;
  double least, most; /* of values and limits; NAN: there is none */
  size_t known;       /* values */
};

struct history_job {
  const char *name;
  const struct history_night *nights; /* the oldest first */
  size_t count, left_out;             /* those that are kept, and older ones */
  struct history_slots slots;
  int64_t missing;
  bool detailed; /* pictures have room for each night */
  struct history_trend trends[HISTORY_SERIES];
};

struct lumos_nights {
  struct lumos_arena *arena;
  struct history_nights nights; /* job by job */
  LUMOS_VECTOR(struct history_job) jobs;
};

/* From nights, in any order, to jobs with all that is known of them. */
void history_settle(struct lumos_nights *history);
/* Slots and trends of the jobs, once their nights are known. */
void history_find_trends(struct lumos_nights *history);

/* The job's last night with a report; NULL. */
const struct history_night *history_last_good(const struct history_job *job);

#endif
