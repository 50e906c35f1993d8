/* What the files of the benchmark share: one input, the stages that are measured on it, and what a measurement
 * gives. */
#ifndef LUMOS_TESTS_BENCH_H
#define LUMOS_TESTS_BENCH_H

#include <lumos/error.h>
#include <lumos/job.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The traces of one job, and where streams made of them lie. */
struct bench_input {
  const char *label;
  int64_t scale;
  const char *const *paths; /* plain; the same with .gz and .zst behind are the compressed ones, where they are there */
  size_t count;
  const char *work; /* a folder for streams and pages */
  const char *bin;  /* the folder of the tools */
  unsigned groups;  /* of stages, which are measured: the sum of enum bench_group */
};

enum { BENCH_FLOORS = 4 };
enum bench_form { BENCH_PLAIN, BENCH_GZIP, BENCH_ZSTD };

/* Which stages: those of reading traces, those of all that comes behind, and other programs that read the same. */
enum bench_group { BENCH_READING = 1, BENCH_BEHIND = 2, BENCH_PEERS = 4 };

/* What a stage works on, in the process that runs it. */
struct bench_work {
  const struct bench_input *input;
  struct lumos_error error;
  char *bytes; /* a text in memory, a NUL behind it */
  size_t length;
  struct lumos_job *job;
  uint64_t sum; /* of what was seen, so that no compiler drops the looking */
  int64_t handled;
};

/* `prepare` is not timed; it may be NULL. Both fail with work->error. The stage sets `handled`: bytes, or tasks where
 * the rate is told in tasks. */
struct bench_stage {
  const char *name;
  const char
      *needs; /* an ending that the input's files must have, or a program that must be installed; NULL: nothing */
  const char *floors[BENCH_FLOORS]; /* stages whose times added up are the least that this one could take */
  enum bench_group group;
  bool by_tasks;
  bool in_children; /* it runs other programs: theirs are the time and the memory */
  bool (*prepare)(struct bench_work *work);
  bool (*run)(struct bench_work *work);
};
extern const struct bench_stage bench_stages[];
extern const size_t bench_stage_count;

/* How large the job is. */
struct bench_size {
  int64_t bytes, tasks, strings; /* bytes of the plain traces; bytes of the distinct strings of the job */
};

bool bench_possible(const struct bench_stage *stage, const struct bench_input *input);
/* Make the streams that the stages read, where any does. Leaves memory to the end of the process: for bench_prepare. */
bool bench_make_streams(const struct bench_input *input, struct bench_size *size, struct lumos_error *error);

/* bench_make_streams in a process of its own: what a process holds when it forks would count as its child's. */
bool bench_prepare(const struct bench_input *input, struct bench_size *size, struct lumos_error *error);

/* One run, in a process of its own. */
struct bench_sample {
  double wall, cpu; /* seconds */
  int64_t peak;     /* bytes resident at most, what was prepared included */
  int64_t handled;
};
bool bench_measure(const struct bench_stage *stage, const struct bench_input *input, struct bench_sample *sample,
                   struct lumos_error *error);

/* Write a trace of at least this many bytes, made of the one at `path`, which is plain JSON. */
bool bench_repeat(const char *path, int64_t bytes, int descriptor, struct lumos_error *error);

#endif
