/* Two jobs side by side: what both do, what one does alone, and where the difference of their steps comes from.
 *
 * Work is aligned by what it is for, never by row or name alone: by its place in the program (phase, layer, module),
 * the op that launched it, the shapes of its inputs and its kernel. What has no partner so is looked for at coarser
 * levels (enum lumos_match): another GPU runs other kernels for the same ops, a compiled program other ops in the same
 * layer.
 *
 * Times are means over the compared steps, per rank, in whole nanoseconds. The mean step is the sum of the compared
 * steps of the job (sim.h: from the latest end of one to that of the next) by their number, rounded down. At every
 * instant of a step a rank does one thing: the kernel that runs, a computing one before communication before a copy, of
 * like ones the one that started first; or nothing, and is idle. So every row of work accounts for some of the step,
 * and rows add up to it. Sums are rounded as they run, so parts add up exactly, and so do their differences.
 *
 * Whether two means differ is asked of the steps: Student's t-test of the compared steps of both jobs, whose variance
 * is taken for one, at half of LUMOS_COMPARE_LEVEL for the step, and at the other half, divided by the number of
 * questions (Bonferroni), for rows. Of few steps a row's variance is hardly known; so rows are first asked together how
 * much they vary, as a share of what they take, and each is bound to that (student.c). With one step of each there is
 * no spread to compare with, and nothing is known of what is chance. Of few steps noise is large only because they are
 * few: then a smaller difference is neither shown nor ruled out (LUMOS_COMPARE_INCONCLUSIVE). The test knows how steps
 * of a recording vary, not how recordings do.
 */
#ifndef LUMOS_COMPARE_H
#define LUMOS_COMPARE_H

#include <lumos/job.h>

#define LUMOS_COMPARE_LEVEL 0.001 /* how likely it is that anything is said to differ that does not. Chosen */

enum { LUMOS_COMPARE_JOBS = 26 }; /* that have names: several jobs are each compared with the first */
/* "A" of the first, 0; `job` is less than LUMOS_COMPARE_JOBS. */
const char *lumos_compared_name(size_t job);

/* How work of the two jobs is matched, the finest first. Kinds of kernels (enum lumos_task_kind) agree at all levels
 * but `op` and `name`, where the kernel itself does. */
enum lumos_match {
  LUMOS_MATCH_EXACT,     /* same phase, layer, module, op, shapes and kernel */
  LUMOS_MATCH_MODULE,    /* another module, or modules that only one job recorded */
  LUMOS_MATCH_KERNEL,    /* same phase, layer, op and shapes, another kernel */
  LUMOS_MATCH_SHAPES,    /* same phase, layer and op, other shapes */
  LUMOS_MATCH_OP,        /* same phase, layer and kernel, another op or none, as of what a CUDA graph launches */
  LUMOS_MATCH_ELSEWHERE, /* same phase, op and shapes in another layer */
  LUMOS_MATCH_NAME,      /* same phase and kernel */
  LUMOS_MATCH_LAYER,     /* same phase and layer, nothing else */
  LUMOS_MATCH_PHASE,     /* same phase, nothing else */
  LUMOS_MATCHES,
  LUMOS_MATCH_NONE = LUMOS_MATCHES /* only one job does it */
};
/* "exact" "module" "kernel" "shapes" "op" "elsewhere" "name" "layer" "phase" "none" */
const char *lumos_match_name(enum lumos_match match);

/* Strings are ids of lumos_comparison.strings. Pairs are of A, then B. */
struct lumos_compared_job {
  uint32_t steps_recorded, steps;     /* complete ones, and those that are compared */
  int64_t ranks;                      /* that the steps are means over */
  lumos_string_id device;             /* name of the GPU; LUMOS_NO_STRING: unknown, or several */
  int64_t step, shortest, longest;    /* the mean step and its extremes */
  int64_t gpu_time;                   /* of all kernels and copies of a step, summed over streams */
  int64_t matched[LUMOS_MATCHES];     /* of it, by how it is matched; what is left only this job does */
  int32_t typical;                    /* the compared step whose length is nearest to the mean: its number, */
  int64_t typical_start, typical_end; /* and its ends in job time */
  lumos_string_id damage; /* which trace is cut or damaged, so that steps may lack work; LUMOS_NO_STRING: none */
};

#define LUMOS_COMPARE_PART(part) (1U << (part)) /* enum lumos_part; 0: in none that is known */

/* What one job does of a row. */
struct lumos_compared_work {
  lumos_string_id op, shapes, name; /* of what takes longest in the row; LUMOS_NO_STRING: unknown or none */
  int32_t first_layer, last_layer;  /* LUMOS_ABSENT_INT: in none that is known */
  int32_t layers;                   /* how many: fewer than from first to last where some in between do none of it */
  uint8_t parts;                    /* of the model where it is: LUMOS_COMPARE_PART of each */
  int64_t time;                     /* GPU time of a step; of calls CPU time */
  int64_t step;                     /* what of the step it accounts for; 0 of calls */
  int64_t count;                    /* kernels or calls in a step, in thousandths */
};

struct lumos_compared_row {
  enum lumos_match match;
  uint8_t phase, kind; /* 0: none, as of calls */
  struct lumos_compared_work work[2];
  int64_t noise;      /* times differ from this difference on; LUMOS_ABSENT: not known, or not asked */
  bool sized;         /* of LUMOS_MATCH_SHAPES: each job has just the shapes of its work, counterparts of each other */
  bool time_differs;  /* by more than that */
  bool count_differs; /* by more than their steps vary; where there is one step of each, at all */
};

/* A part of both steps. */
struct lumos_compared_part {
  lumos_string_id label;
  int32_t
      key; /* of classes: as they stand in struct lumos_partition, from 0; of kinds: enum lumos_task_kind, 0 is idle;
                  of layers and ranks: their number. LUMOS_ABSENT_INT: no single one */
  int64_t time[2];
};
LUMOS_VECTOR_TYPE(lumos_compared_parts, struct lumos_compared_part);
LUMOS_VECTOR_TYPE(lumos_compared_rows, struct lumos_compared_row);

/* A rank that alone makes the difference: its own time (all but waiting for others) changes by most of what the step
 * does, and that of no other rank by half as much. */
struct lumos_compared_rank {
  int32_t rank;        /* its number; LUMOS_ABSENT_INT: there is none */
  int64_t others;      /* how many more ranks there are, */
  bool others_wait;    /* which wait longer (or, where the step became shorter, less long) for it */
  int64_t own;         /* how much longer it takes itself in B than in A */
  uint8_t kind;        /* of its own work, or 0, idle: what changed most the same way, */
  int64_t kind_change; /* by how much; 0: nothing did */
};

/* What a job's own report says first, in sentences: LUMOS_NO_STRING where it says nothing, or was not asked. */
struct lumos_compared_diagnosis {
  lumos_string_id sentence, remedy;
  lumos_string_id grade, reason; /* of the confidence */
  lumos_string_id problem;       /* why there is none: it could not be simulated */
};

/* What is known of the difference of the steps. */
enum lumos_compare_outcome {
  LUMOS_COMPARE_UNKNOWN,      /* noise is not known: one step of each */
  LUMOS_COMPARE_ALIKE,        /* no difference beyond noise, or none at all */
  LUMOS_COMPARE_INCONCLUSIVE, /* within noise, and the steps are too few to say that there is none; or a trace is cut */
  LUMOS_COMPARE_DIFFERENT
};
/* "unknown" "alike" "inconclusive" "different" */
const char *lumos_compare_outcome_name(enum lumos_compare_outcome outcome);

struct lumos_comparison {
  struct lumos_strings *strings;
  const char *names[2]; /* of the jobs: "A", and "B", or of several the other's */
  bool simulated;       /* one of the jobs was changed: simulated times of both are compared, */
  bool one_recording;   /* of the same steps of one recording: what differs is what was changed, and noise is 0 */
  struct lumos_compared_job jobs[2];
  int64_t noise;     /* steps differ from this difference on; LUMOS_ABSENT: not known */
  bool step_differs; /* by more than that, or by what changed rows account for half of */
  enum lumos_compare_outcome outcome;
  /* Each of these adds up to both mean steps. */
  struct lumos_compared_parts classes; /* of the breakdown (struct lumos_partition) */
  struct lumos_compared_parts kinds;   /* of kernels, and idle */
  struct lumos_compared_parts layers;  /* and other parts of the model, and idle */
  struct lumos_compared_parts ranks;   /* what each does but wait, as its share of a mean over ranks, and waiting */
  struct lumos_compared_rank carrier;
  struct lumos_compared_diagnosis diagnoses[2];
  struct lumos_compared_rows rows;  /* of kernels and copies: what accounts for most of the difference first */
  struct lumos_compared_rows calls; /* of calls into the runtime by name: the largest change of their number first */
};

/* Which steps are compared. */
struct lumos_compare_options {
  const int32_t
      *steps[2]; /* numbers of steps; NULL: all complete ones but, of three recorded or more, the first, in which
                              the recording may begin; where a job was changed, of two or more */
  size_t step_counts[2];
  size_t other;   /* of several jobs the number of B, from 1; 0: there are two */
  bool simulated; /* compare simulated times even where neither job was changed, as beside one that was */
  bool changed;   /* of several jobs: one was changed, be it neither of these two */
};

/* Compare two jobs from stage `parse` on; the graph is built where it is missing, and where one of them was changed
 * both are simulated. Fails (LUMOS_UNUSABLE) where one has no GPU work in a complete step, or not the steps that were
 * asked for. Free with lumos_comparison_free. O((tasks + deps) log tasks). */
struct lumos_comparison *lumos_compare(struct lumos_job *a, struct lumos_job *b,
                                       const struct lumos_compare_options *options,
                                       struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_comparison_free(struct lumos_comparison *comparison); /* NULL is allowed */

/* Add the diagnosis of both jobs, which are simulated where they are not yet: O(what simulating them takes). */
void lumos_comparison_diagnose(struct lumos_comparison *comparison, struct lumos_job *const jobs[2]);

enum lumos_compare_format { LUMOS_COMPARE_TEXT, LUMOS_COMPARE_MARKDOWN, LUMOS_COMPARE_JSON, LUMOS_COMPARE_HTML };
struct lumos_text;
/* Write it in any form but LUMOS_COMPARE_HTML: the verdict first. `full`: every row; else the first of each kind. */
void lumos_comparison_write(const struct lumos_comparison *comparison, enum lumos_compare_format format, bool full,
                            struct lumos_text *out);
struct lumos_compare_page {
  const char *title;           /* NULL: the verdict is the title */
  const char *template_folder; /* NULL: the templates compiled in */
};
/* Of one or several comparisons with the same first job: `count` of them, numbered from 1 on
 * (lumos_compare_options.other), all of simulated times or none; and all jobs, the first one first, count + 1. */
struct lumos_compared {
  const struct lumos_comparison *const *comparisons;
  struct lumos_job *const *jobs;
  size_t count;
};
/* Write them as one page that needs nothing else, with the diagnosis of all jobs that have one, and a step of each on
 * one axis of time. Jobs are simulated where they are not yet. */
bool lumos_comparison_page(const struct lumos_compared *compared, const struct lumos_compare_page *options,
                           struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;
/* The measured and simulated timelines of all, for Perfetto, as export.h describes them; simulated where they are
 * not. */
bool lumos_comparison_timelines(const struct lumos_compared *compared, const char *path,
                                struct lumos_error *error) LUMOS_MUST_CHECK;
/* The verdict alone, a sentence or two, without a line end. */
void lumos_comparison_verdict(const struct lumos_comparison *comparison, struct lumos_text *out);

#endif
