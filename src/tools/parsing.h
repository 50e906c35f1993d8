/* What the tools that read traces share: the options that say what of them is read, and the reading.
 * To add an option: a row here, and a field of struct lumos_trace_options.
 */
#ifndef LUMOS_TOOLS_PARSING_H
#define LUMOS_TOOLS_PARSING_H

#include "tools/tool.h"

struct tool_parsing {
  const char *steps, *run; /* as given */
  struct lumos_option_list ranks, lists;
  bool stacks, strict;
  struct tool_input input;
  bool without_hta; /* set by the tool: neither lumos_hta nor a stream follows */
};

/* The rows, for a `struct tool_parsing *`; TOOL_INPUT_OPTIONS are the tool's own. */
#define TOOL_PARSING_OPTIONS(parsing)                                                                                  \
  {LUMOS_OPTION_TEXT,                                                                                                  \
   0,                                                                                                                  \
   "steps",                                                                                                            \
   "all|last|N|N-M",                                                                                                   \
   &(parsing)->steps,                                                                                                  \
   "Which profiler steps to keep; the default is all complete ones. A trace without step marks is one step, 0."},      \
      {LUMOS_OPTION_LIST,                                                                                              \
       'r',                                                                                                            \
       "rank",                                                                                                         \
       "N[,N...]",                                                                                                     \
       &(parsing)->ranks,                                                                                              \
       "The ranks of the files, in their order, where the traces do not name them. Can be given several times."},      \
      {LUMOS_OPTION_TEXT,                                                                                              \
       0,                                                                                                              \
       "run",                                                                                                          \
       "last|N",                                                                                                       \
       &(parsing)->run,                                                                                                \
       "Which run to keep where the files belong to several: the last one, or the Nth by time."},                      \
      {LUMOS_OPTION_LIST, 'T',                                                                                         \
       "files-from",      "FILE",                                                                                      \
       &(parsing)->lists, "Read the names of further traces and folders from FILE, one a line; - is standard input."}, \
      {LUMOS_OPTION_FLAG, 0, "stacks", NULL, &(parsing)->stacks, "Keep Python functions as spans."}, {                 \
    LUMOS_OPTION_FLAG, 0, "strict", NULL, &(parsing)->strict,                                                          \
        "Fail (exit status 1) at the first invalid event instead of skipping it."                                      \
  }

/* Is any of these options given that only has a meaning for traces? */
bool tool_parsing_asked(const struct tool_parsing *parsing);

/* As tool_input_given; a list of files is input as well. */
bool tool_parsing_given(const struct lumos_operands *operands, const struct tool_parsing *parsing, const char *expected,
                        struct lumos_error *error) LUMOS_MUST_CHECK;

/* Read the traces, folders and streams named, or standard input. NULL with an error. `progress` is as in tool_read. */
struct lumos_job *tool_parsing_read(const struct lumos_operands *operands, const struct tool_parsing *parsing,
                                    struct lumos_progress *progress, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
