/* Kineto traces in: from JSON (gzip, zstd or plain) to the records of stage `parse`.
 *
 * One pass over the text with a window of about 1 MiB; memory: about 64 MB + 96 bytes a task + strings for each file in
 * work, and files are in work on all cores at once.
 */
#ifndef LUMOS_TRACE_H
#define LUMOS_TRACE_H

#include <lumos/error.h>
#include <lumos/job.h>
#include <lumos/watch.h>

enum lumos_steps { LUMOS_STEPS_COMPLETE, LUMOS_STEPS_LAST, LUMOS_STEPS_RANGE };

/* Of the runs that lie in one folder, by time. */
enum { LUMOS_RUN_ALL = 0, LUMOS_RUN_LAST = -1 };

struct lumos_trace_options {
  enum lumos_steps steps;        /* default: all complete ones; a trace without step marks is one step, number 0 */
  int64_t first_step, last_step; /* LUMOS_STEPS_RANGE, inclusive */
  bool stacks;                   /* keep python_function rows as spans of kind python */
  bool strict;                   /* the first invalid event is a failure (status LUMOS_CHECK_FAILED) */
  bool without_hta;              /* leave out what lumos_hta reads and a stream carries for it: nobody asks for that */
  bool edited;                   /* for inputs that are streams: see lumos_read_options */
  const int32_t *ranks;          /* --rank: numbers for the files in their order, or NULL */
  size_t rank_count;
  int64_t run; /* --run: from 1, or LUMOS_RUN_LAST; the default takes all inputs, which must be of one run */
  const char *const
      *lists; /* --files-from: files that name inputs, one a line ("-": standard input), read behind `paths` */
  size_t list_count;
  size_t threads; /* files that are read at once; 0: one for every core. The result is the same with any */
  struct lumos_watcher watcher; /* hears of the reading: of the files that the caller's own thread reads */
};

/* "all", "last", "N" or "N-M" into options; false with an error otherwise. */
bool lumos_steps_parse(const char *text, struct lumos_trace_options *options,
                       struct lumos_error *error) LUMOS_MUST_CHECK;
/* "last" or a number from 1 into options->run; false with an error otherwise. */
bool lumos_run_parse(const char *text, struct lumos_trace_options *options, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Parse traces, folders of traces (*.json, *.json.gz, *.json.zst directly inside, by name) and streams ("-", and no
 * path and no list: standard input) into one job at stage `parse`: each file apart, then joined. Files that are
 * not traces are skipped with a note; none left is an error. Ranks: options->ranks, else distributedInfo, else a "rank"
 * number in the file's name, else the lowest free by base name, with a note; several files without a rank of their own
 * that were not recorded at the same time, ranks of different devices, names of the job or members of a group, are
 * refused unless options->ranks says so. Several runs (recordings more than a minute apart, or a rank that was recorded
 * again later) are refused, and named, unless options->run chooses one or options->ranks says that they are one.
 * Invalid events are skipped, counted and noted; a cut file gives every complete event and a note. NULL with an error
 * when nothing can be used; of several files that fail, the error is that of the first in their order. */
struct lumos_job *lumos_trace_parse(const char *const *paths, size_t count, const struct lumos_trace_options *options,
                                    struct lumos_error *error) LUMOS_MUST_CHECK;

/* What the tools after lumos-parse begin with. Streams alone are read, and joined when there are several, at the stage
 * that they are at (*parsed is false). With a trace or a folder among the paths it is lumos_trace_parse (*parsed is
 * true). Beside a stream nothing is skipped: what is neither a trace nor a stream is an error. */
struct lumos_job *lumos_trace_open(const char *const *paths, size_t count, const struct lumos_trace_options *options,
                                   bool *parsed, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The kind of a kernel or copy from its category ("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events"), its name,
 * and the name of the op that launched it ("" where unknown). Table-driven; names are matched as the table says. */
enum lumos_task_kind lumos_classify_device(const char *category, const char *name, const char *op);

#endif
