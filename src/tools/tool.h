/* What the mains share: everything around a library call. A tool holds no logic; it turns options into a call and a
 * failure into a message and an exit status (0 done, 1 a check failed, 2 usage or input that cannot be used).
 *
 * To add a tool: write src/tools/lumos-NAME.c (the build finds it by its name) with a struct of options, a body, and a
 * main that holds the option table and calls tool_main. A body that turns one stream into another is one line: see
 * lumos-graph.c.
 */
#ifndef LUMOS_TOOLS_TOOL_H
#define LUMOS_TOOLS_TOOL_H

#include "base/options.h"
#include "base/output.h"
#include "base/progress.h"
#include <lumos/error.h>
#include <lumos/job.h>

/* The rows that every tool which reads or writes streams has. */
#define TOOL_OUTPUT_OPTION(target)                                                                                   \
  {                                                                                                                  \
    LUMOS_OPTION_TEXT, 'o', "output", "FILE", target,                                                                \
        "Write to FILE instead of standard output; it appears whole or not at all, compressed if it ends in .gz or " \
        ".zst."                                                                                                      \
  }
#define TOOL_INPUT_OPTIONS(input)                                                                                   \
  {LUMOS_OPTION_FLAG,                                                                                               \
   0,                                                                                                               \
   "edited",                                                                                                        \
   NULL,                                                                                                            \
   &(input)->edited,                                                                                                \
   "Accept a stream that was edited on the way, by grep or jq. Lumos recounts it, drops references to missing "     \
   "records and adds a note to the report."},                                                                       \
  {                                                                                                                 \
    LUMOS_OPTION_NUMBER, 'j', "jobs", "N", &(input)->threads,                                                       \
        "Work with up to N threads; the default, 0, is one for every core. The output is the same with any number." \
  }
#define TOOL_LAST_OPTION \
  { LUMOS_OPTION_END, 0, NULL, NULL, NULL, NULL }

/* A heading among the rows. */
#define TOOL_GROUP(heading) \
  { LUMOS_OPTION_GROUP, 0, NULL, NULL, NULL, heading }

/* How a job is read and worked on, as the rows of TOOL_INPUT_OPTIONS say. */
struct tool_input {
  bool edited;
  int64_t threads;
};

/* Does the work; false with an error. */
typedef bool tool_body(const struct lumos_operands *operands, void *options, struct lumos_error *error);

/* Parse the command line into the targets of given->options, run `body` with `options`, report; returns the exit
 * status. */
int tool_main(const struct lumos_command *given, int argc, char **argv, tool_body *body, void *options);

/* How this process takes memory from the system: in large pages, and for good. Called by tool_main; before any thread
 * is made. */
void tool_keep_memory(void);

/* False, with a text that says what the tool expects, when it would wait for a person to type a stream or a trace. */
bool tool_input_given(const struct lumos_operands *operands, const char *expected,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

/* Read the streams, traces and folders named, or standard input, and join them. NULL with an error. `progress`, which
 * is begun here and must outlive the job, shows a person on a terminal the reading and all further work on the job.
 * *before: the last stage whose warnings somebody has been told of; 0 where traces were parsed. */
struct lumos_job *tool_read(const struct lumos_operands *operands, const struct tool_input *input,
                            struct lumos_progress *progress, enum lumos_stage *before,
                            struct lumos_error *error) LUMOS_MUST_CHECK;
/* Wipe the progress of work on the job: before anything is printed that is not told to `tool_warn`, which does so by
 * itself. */
void tool_wipe(const struct lumos_job *job);
/* The end of a body: wipe the progress and free the job, which may be NULL. */
void tool_close(struct lumos_job *job);

/* Is this a terminal that shows colours, whose user wants them? */
bool tool_wants_colour(int descriptor);

/* Write the job as a stream to `path`, or to standard output where it is NULL. */
bool tool_write(const struct lumos_job *job, const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;

/* "name: WHAT OF" on standard error; both texts printable. */
void tool_say(const char *name, const char *what, const char *of);

/* Tell a person on standard error of the warnings that the stages after `before` have left in the job: a few, the
 * report has all. */
void tool_warn(const struct lumos_job *job, const char *name, enum lumos_stage before);

/* A tool that reads streams, changes the job, and writes a stream. */
struct tool_stream {
  const char *name;
  const char *output;
  struct tool_input input;
  bool (*check)(const struct tool_stream *stream,
                struct lumos_error *error); /* the options, before any work; or NULL */
  bool (*change)(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error);
  /* Instead of the stream; NULL: the stream is written. */
  bool (*write)(const struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error);
  const void *context; /* what else these need */
};
tool_body tool_stream_body; /* its options are a struct tool_stream */

#endif
