/* What the tools that change a graph share: the options that say how, and the changes in their order. To add a what-if:
 * a row here, and a call of the library.
 */
#ifndef LUMOS_TOOLS_TRANSFORMING_H
#define LUMOS_TOOLS_TRANSFORMING_H

#include "tools/tool.h"

struct tool_transforming {
  struct lumos_option_list scale;
  bool unprofiled;
};

/* The rows, for a `struct tool_transforming *`. */
#define TOOL_TRANSFORMING_OPTIONS(transforming)                                                                      \
  {LUMOS_OPTION_LIST,                                                                                                \
   's',                                                                                                              \
   "scale",                                                                                                          \
   "SELECTOR=FACTOR",                                                                                                \
   &(transforming)->scale,                                                                                           \
   "Multiply the durations of the selected tasks. SELECTOR is host, device, or terms joined by commas, all of "      \
   "which must hold: kind=NAME (gemm attention elementwise norm reduction optimizer embedding copy memset "          \
   "collective p2p op launch sync event alloc other), name~REGEX (POSIX extended), op=NAME, rank=N, group=NAME. "    \
   "FACTOR is a decimal of at least 0, after the last '='. May be given again; the scales apply in order."},         \
  {                                                                                                                  \
    LUMOS_OPTION_FLAG, 0, "unprofiled", NULL, &(transforming)->unprofiled,                                           \
        "Take out what recording takes on the host, as far as the recording shows it, so that the prediction is of " \
        "the job without the profiler."                                                                              \
  }

/* Is any change asked for? */
bool tool_transforming_asked(const struct tool_transforming *transforming);

/* Bring the job to stage transform, with the changes that are asked for. */
bool tool_transforming_apply(struct lumos_job *job, const struct tool_transforming *transforming,
                             struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
