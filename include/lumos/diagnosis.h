/* What a step loses, who causes it, why, and how sure that is: computed once, and shown by every form of the report.
 *
 * Times are of the job's mean step: the measured one, or the simulated one of a job that was changed or never measured
 * (the first of three steps or more, of a changed job of two, left out). Shares are millionths of that step. A finding
 * is what one cause costs; findings overlap less than breakdown classes do, since waiting goes to the rank that is
 * waited for, but they need not add up to the step.
 */
#ifndef LUMOS_DIAGNOSIS_H
#define LUMOS_DIAGNOSIS_H

#include <lumos/job.h>

/* In the document: "slow_cpu" and so on. */
enum lumos_cause {
  LUMOS_CAUSE_COMPUTE,         /* no overhead stands out: GPUs compute */
  LUMOS_CAUSE_SLOW_CPU,        /* ranks whose threads take longer than those of similar ranks: others wait for them */
  LUMOS_CAUSE_SLOW_GPU,        /* the same of their kernels */
  LUMOS_CAUSE_UNRECORDED_RANK, /* a late rank whose GPU neither runs recorded work nor waits for its CPU */
  LUMOS_CAUSE_DATA_LOADER,     /* waiting for the next batch, on some ranks or all */
  LUMOS_CAUSE_SLOW_LINK,       /* transfers of a group take longer than the same ones of like groups */
  LUMOS_CAUSE_IMBALANCE,       /* a pipeline stage has more work than the others */
  LUMOS_CAUSE_BUBBLE,          /* what the pipeline's schedule costs, and uneven passes */
  LUMOS_CAUSE_WAITING,         /* ranks wait for each other, and none is always the last */
  LUMOS_CAUSE_COMMUNICATION,   /* exposed transfers */
  LUMOS_CAUSE_CPU_BOUND,       /* GPUs have nothing to do, because threads have not launched it yet */
  LUMOS_CAUSE_SYNCHRONIZATION, /* the same, because a thread was blocked until the GPU had finished */
  LUMOS_CAUSE_COPIES,          /* copies that nothing hides */
  LUMOS_CAUSE_IDLE,            /* idle GPUs for any other reason: dependencies, unexplained delays */
  LUMOS_CAUSE_NOT_RECORDED,    /* GPUs show nothing, and wait for what lies outside the recording */
  LUMOS_CAUSE_UNSPLIT,         /* communication whose peers are not known: waiting or transfer */
  LUMOS_CAUSE_PROFILER,        /* recording slows the threads that launch; not the job's, and so behind all others */
  LUMOS_CAUSES
};
const char *lumos_cause_name(enum lumos_cause cause);

enum { LUMOS_FINDING_RANKS = 8, LUMOS_FINDING_STAGES = 32 };

struct lumos_finding {
  enum lumos_cause cause;
  int64_t time, share;                     /* of a step, as above */
  uint32_t ranks[LUMOS_FINDING_RANKS];     /* who causes it: indexes in job->ranks, the worst first */
  int64_t rank_times[LUMOS_FINDING_RANKS]; /* what each is late by, or takes longer */
  uint32_t rank_count;                     /* 0: nobody in particular */
  int32_t stage;                           /* of the pipeline; LUMOS_ABSENT_INT */
  uint8_t part;       /* enum lumos_part: of an unbalanced stage, what takes most of the difference; 0: none */
  int64_t ratio;      /* how much more work a stage has, or longer a kernel or transfer takes, in millionths: 1500000 is
                       one and a half times; LUMOS_ABSENT */
  int32_t layers;     /* that an unbalanced stage holds; LUMOS_ABSENT_INT: not known */
  int64_t part_ratio; /* what part takes to what a layer does, in millionths; LUMOS_ABSENT */
  int32_t stages;     /* of that pipeline */
  int32_t idle, next; /* how many of them wait for it; the heaviest that is nearly as heavy: LUMOS_ABSENT_INT: none */
  int32_t split[LUMOS_FINDING_STAGES]; /* where layers is known, how many each stage should hold: split[0 .. stages) */
  uint32_t group;                      /* index in job->groups; LUMOS_NONE */
  lumos_string_id op;                  /* the op, kernel or collective that most of it is spent in; LUMOS_NO_STRING */
  int64_t waiting; /* ns of time that are waiting for other ranks: of LUMOS_CAUSE_CPU_BOUND for their CPUs, of
                      LUMOS_CAUSE_NOT_RECORDED for ranks that are late for a cause that was not recorded; else 0 */
  bool before_op;  /* the time is spent outside of any op, before that one */
  lumos_string_id annotation; /* with before_op: the program's own annotation around most of it; LUMOS_NO_STRING */
  int64_t op_time;  /* ns of a step spent in op or part (of a late rank: more than on similar ranks); LUMOS_ABSENT */
  int64_t cpu_time; /* of LUMOS_CAUSE_UNRECORDED_RANK: what of the first rank's delay its CPU takes; LUMOS_ABSENT */
};

enum lumos_confidence { LUMOS_CONFIDENCE_UNKNOWN, LUMOS_POOR, LUMOS_FAIR, LUMOS_GOOD };
const char *lumos_confidence_name(enum lumos_confidence confidence); /* "unknown", "poor", "fair", "good" */

/* What limits confidence most. */
enum lumos_limit {
  LUMOS_LIMIT_NONE,
  LUMOS_LIMIT_NOTHING_MEASURED, /* there is nothing to compare a replay with */
  LUMOS_LIMIT_CHANGED,          /* the job was changed: its replay error is known for the unchanged one alone */
  LUMOS_LIMIT_REPLAY,           /* replay error */
  LUMOS_LIMIT_REBUILD,          /* rebuild error: the recorded configuration, written anew */
  LUMOS_LIMIT_CROSS_STEP,       /* one step predicted from another */
  LUMOS_LIMIT_NO_GPU,           /* of the ranks: no GPU work was recorded */
  LUMOS_LIMIT_NOT_RECORDED,     /* of the step: outside the recording */
  LUMOS_LIMIT_BOUNDARY,         /* of the step: GPU starts held by work outside the recording */
  LUMOS_LIMIT_UNEXPLAINED,      /* of the step: unexplained delays of GPU starts */
  LUMOS_LIMIT_UNSPLIT,          /* of the step: communication whose peers are not known */
  LUMOS_LIMIT_UNJOINED,         /* of the step: communication kept at its measured length, overlapped or exposed */
  LUMOS_LIMIT_VARIATION,        /* similar steps differ by so much */
  LUMOS_LIMIT_BLAMED_UNKNOWN,   /* of a late rank's own delay: outside any recorded op */
  LUMOS_LIMIT_CPU_UNKNOWN,      /* of the step: CPU gaps and calls without an explanation */
  LUMOS_LIMIT_PROFILER,         /* of the step: what the profiler takes on threads, where CPUs are to blame */
  LUMOS_LIMIT_RECORDING,        /* of the step without the profiler: how much longer recorded steps are */
  LUMOS_LIMIT_UNLAUNCHED,       /* of the kernels and copies: without a launch */
  LUMOS_LIMIT_UNTIED,           /* the job was changed, and who waits for whom in it is not known */
  LUMOS_LIMITS
};

/* How large a limit is, and above what size the grade is fair at best, or poor; in millionths. */
struct lumos_limit_size {
  int64_t size; /* LUMOS_ABSENT: not known, or it does not apply */
  int64_t fair, poor;
};

struct lumos_diagnosis {
  int64_t step_time; /* LUMOS_ABSENT: there is no complete step */
  bool edited;       /* it is that of a changed job */
  struct lumos_finding
      *findings; /* the worst first, the profiler behind all; at least one where there is a step on GPUs */
  size_t count;
  bool cpus_set_pace; /* threads' own work, calls and gaps take more than half of the critical path */
  enum lumos_confidence confidence;
  enum lumos_limit limit;                       /* the worst */
  int64_t limit_share;                          /* its size, in millionths; LUMOS_ABSENT */
  struct lumos_limit_size limits[LUMOS_LIMITS]; /* all of them; NONE, NOTHING_MEASURED, CHANGED, UNTIED have no size */
};

/* The job is at stage sim or later, and outlives the diagnosis. O(metrics + tasks). */
void lumos_diagnose(const struct lumos_job *job, struct lumos_diagnosis *diagnosis);
void lumos_diagnosis_free(struct lumos_diagnosis *diagnosis);

#endif
