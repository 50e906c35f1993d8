/* What a recording holds, what it lacks, what each gap costs in the analysis, and how to record it: `lumos-parse
 * --check`.
 *
 * Every finding is a count beside its denominator: so many of so many waits, collectives, ranks. What a recording has
 * no use for is not a finding: nothing is said of waits between streams where there is one stream, nor of collectives
 * where there are none.
 *
 * Grades. A finding's grade follows from its share by one table (src/trace/checkup.c; its user's form is in
 * lumos-parse(1)): that of the row for what is absent, for what is there in part, or A. The recording's grade is its
 * worst finding's. A row's grade in part is at most as bad as its absence, and what another recording option, or
 * another rank of a job whose size is known, may make a finding of is graded no worse than the lack of that option or
 * rank: recording more never lowers the grade.
 */
#ifndef LUMOS_CHECKUP_H
#define LUMOS_CHECKUP_H

#include <lumos/job.h>

enum lumos_grade {
  LUMOS_GRADE_A = 1, /* nothing is missing that the analysis has a use for */
  LUMOS_GRADE_B,     /* all of the step is known, some detail is not */
  LUMOS_GRADE_C,     /* a part of the step has to be guessed */
  LUMOS_GRADE_D,     /* one side of the job is missing: the GPU or the CPU */
  LUMOS_GRADE_F,     /* nothing to analyze */
};

struct lumos_checkup_row {
  const char *code; /* stable: "sync_events" */
  const char *name; /* "sync events" */
  const char *unit; /* what is counted: "waits"; may be "" */
  int64_t have, of; /* of > 0 */
  int64_t before;   /* of those missing: launched before the recording, which loses them whatever its options; no gap */
  enum lumos_grade grade;
  const char *cost;  /* a gap's: what the analysis does without, a clause; NULL where nothing is missing */
  const char *cure;  /* how to record it: a line of Python, or what to do */
  const char *names; /* of what is missing, text of the job; NULL */
};

enum { LUMOS_CHECKUP_ROWS = 24 };

struct lumos_checkup {
  enum lumos_grade grade;
  /* What the recording holds. */
  int64_t ranks, world;                         /* world LUMOS_ABSENT: unknown */
  int64_t steps;                                /* with a mark of the profiler */
  bool idle_steps;                              /* there are marks, but no work lies inside them */
  int64_t duration;                             /* of the longest of the recordings, ns */
  int64_t events;                               /* that were read */
  int64_t device_tasks, streams, communication; /* communication: those of device_tasks that are */
  int64_t host_tasks, threads;
  /* What was asked of it. */
  struct lumos_checkup_row findings[LUMOS_CHECKUP_ROWS]; /* in the order of the table */
  size_t count;
};

/* Examine a job at stage parse (lumos_job_rewind: what graph has inferred is not recorded). O(tasks and the spans
 * around them). */
void lumos_checkup_take(const struct lumos_job *job, struct lumos_checkup *checkup);

/* Is the finding one that lowers the grade? What has a cost and the grade A is optional. */
static inline bool lumos_is_gap(const struct lumos_checkup_row *finding) { return finding->grade > LUMOS_GRADE_A; }

/* "A" to "D", "F". */
const char *lumos_grade_name(enum lumos_grade grade);
/* The recording's grade in a clause: "a part of the step has to be guessed". */
const char *lumos_grade_meaning(enum lumos_grade grade);

#endif
